package oracle

import (
	"context"
	"encoding/json"
	"errors"

	resourceapi "k8s.io/api/resource/v1"
)

type celRequest struct {
	envelope
	Expression string          `json:"expression"`
	Device     json.RawMessage `json:"device"`
	Driver     string          `json:"driver"`
	// ListTypeAttributes is the gate DRAListTypeAttributes, off by default.
	ListTypeAttributes bool `json:"listTypeAttributes"`
}

type celAnswer struct {
	ID      json.RawMessage `json:"id"`
	Matches bool            `json:"matches"`
}

// answerCEL evaluates like the allocator: with the environment for stored
// expressions.
func answerCEL(id json.RawMessage, line []byte) (any, error) {
	var request celRequest
	if err := decodeRequest(line, &request); err != nil {
		return nil, err
	}
	if request.Device == nil {
		return nil, errors.New("device is missing")
	}
	var device resourceapi.Device
	if err := decodeStrictly(request.Device, &device, false); err != nil {
		return nil, err
	}
	compiled, err := compileExpression(request.Expression, request.ListTypeAttributes)
	if err != nil {
		return nil, err
	}
	if compiled.Error != nil {
		return errorAnswer{ID: id, Error: compiled.Error.Error(), Stage: "compile"}, nil
	}
	input, err := celDevice(request.Driver, &device)
	if err != nil {
		return nil, err
	}
	matches, _, err := compiled.DeviceMatches(context.Background(), input)
	if err != nil {
		return errorAnswer{ID: id, Error: err.Error(), Stage: "runtime"}, nil
	}
	return celAnswer{ID: id, Matches: matches}, nil
}
