package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// allocateRequest asks where some claims could be placed if they had no
// devices, with all other claims as they are and the rules in place.
type allocateRequest struct {
	envelope
	Slices  []json.RawMessage `json:"slices"`
	Claims  []json.RawMessage `json:"claims"`
	Classes []json.RawMessage `json:"classes"`
	Rules   []json.RawMessage `json:"rules"`
	Nodes   []json.RawMessage `json:"nodes"`
	// Place names the claims, each placed alone, as NAMESPACE/NAME.
	Place []string `json:"place"`
}

// placement is what the allocator says of one claim on each node.
type placement struct {
	Nodes map[string]string `json:"nodes"`
	// Fatal names the nodes with an error that ends the attempt to schedule the
	// pod: the scheduler then takes no other node either.
	Fatal []string `json:"fatal,omitempty"`
}

type allocateAnswer struct {
	ID         json.RawMessage      `json:"id"`
	Placements map[string]placement `json:"placements"`
}

const (
	nodePlaced = "placed"
	nodeFailed = "failed"
	nodeError  = "error: "
)

// answerAllocate asks the structured allocator as the scheduler does.
func answerAllocate(id json.RawMessage, line []byte) (any, error) {
	var request allocateRequest
	if err := decodeRequest(line, &request); err != nil {
		return nil, err
	}
	world, err := decodeWorld(&request)
	if err != nil {
		return nil, err
	}
	answer := allocateAnswer{ID: id, Placements: map[string]placement{}}
	for _, name := range request.Place {
		placed, err := world.place(name)
		if err != nil {
			return nil, fmt.Errorf("claim %s: %w", name, err)
		}
		answer.Placements[name] = placed
	}
	return answer, nil
}

// world is a cluster as the allocator sees it.
type world struct {
	slices  []*resourceapi.ResourceSlice
	claims  []*resourceapi.ResourceClaim
	classes classLister
	nodes   []*corev1.Node
}

// expressions are compiled once for all clusters.
var expressions = dracel.NewCache(256, dracel.Features{EnableConsumableCapacity: true})

func decodeWorld(request *allocateRequest) (*world, error) {
	world := &world{classes: classLister{}}
	rules, err := decodeAll[taintRule](request.Rules)
	if err != nil {
		return nil, err
	}
	if world.slices, err = decodeAll[resourceapi.ResourceSlice](request.Slices); err != nil {
		return nil, err
	}
	taint(world.slices, rules)
	if world.claims, err = decodeAll[resourceapi.ResourceClaim](request.Claims); err != nil {
		return nil, err
	}
	classes, err := decodeAll[resourceapi.DeviceClass](request.Classes)
	if err != nil {
		return nil, err
	}
	for _, class := range classes {
		world.classes[class.Name] = class
	}
	if world.nodes, err = decodeAll[corev1.Node](request.Nodes); err != nil {
		return nil, err
	}
	return world, nil
}

func decodeAll[T any](raws []json.RawMessage) ([]*T, error) {
	objects := make([]*T, 0, len(raws))
	for index, raw := range raws {
		object := new(T)
		if err := decodeStrictly(raw, object, false); err != nil {
			return nil, fmt.Errorf("object #%d: %w", index, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// taint does what the tracker of slices does for the scheduler: the taint of
// every rule that selects a device comes after the device's own.
func taint(slices []*resourceapi.ResourceSlice, rules []*taintRule) {
	for _, slice := range slices {
		for index := range slice.Spec.Devices {
			device := &slice.Spec.Devices[index]
			for _, rule := range rules {
				selector := rule.Spec.DeviceSelector
				if selector != nil && fits(selector.Driver, slice.Spec.Driver) &&
					fits(selector.Pool, slice.Spec.Pool.Name) && fits(selector.Device, device.Name) {
					device.Taints = append(device.Taints, taintOf(rule))
				}
			}
		}
	}
}

func fits(wanted *string, actual string) bool {
	return wanted == nil || *wanted == actual
}

// place tries every node: whether the scheduler would look at it for other
// reasons is not asked.
func (w *world) place(name string) (placement, error) {
	claims, state, stateError := w.without(name)
	if len(claims) != 1 {
		return placement{}, errors.New("there is no such claim")
	}
	allocator, err := w.allocator(state)
	if err != nil {
		return placement{}, err
	}
	result := placement{Nodes: map[string]string{}}
	for _, node := range w.nodes {
		if stateError != nil {
			result.note(node.Name, false, stateError)
			continue
		}
		found, err := allocator.Allocate(context.Background(), node, claims)
		result.note(node.Name, len(found) == 1, err)
	}
	return result, nil
}

// note records what the allocator says of one node.
//
// Upstream: Filter in the scheduler's plugin dynamicresources.
func (p *placement) note(node string, placed bool, err error) {
	switch {
	case err != nil:
		p.Nodes[node] = nodeError + err.Error()
		if !errors.Is(err, structured.ErrFailedAllocationOnNode) {
			p.Fatal = append(p.Fatal, node)
		}
	case placed:
		p.Nodes[node] = nodePlaced
	default:
		p.Nodes[node] = nodeFailed
	}
}

func (w *world) allocator(state structured.AllocatedState) (structured.Allocator, error) {
	published, err := allocatorSlices(w.slices)
	if err != nil {
		return nil, err
	}
	return structured.NewAllocator(context.Background(), allocatorFeatures(), state, w.classes, published, expressions)
}

// without gives the claim of this name with no devices, and what all others hold. An error about one of those prevents every allocation.
//
// Upstream: foreachAllocatedDevice and GatherAllocatedState in the scheduler's
// plugin dynamicresources.
func (w *world) without(name string) ([]*resourceapi.ResourceClaim, structured.AllocatedState, error) {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[sharedDevice](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	var invalid error
	var wanted []*resourceapi.ResourceClaim
	for _, claim := range w.claims {
		if name == claim.Namespace+"/"+claim.Name {
			claim = claim.DeepCopy()
			claim.Status = resourceapi.ResourceClaimStatus{}
			wanted = append(wanted, claim)
			continue
		}
		if claim.Status.Allocation == nil {
			continue
		}
		if err := consumedCapacityError(claim); err != nil && invalid == nil {
			invalid = fmt.Errorf("gather allocation state: %w", err)
		}
		hold(&state, claim.Status.Allocation.Devices.Results)
	}
	return wanted, state, invalid
}

func hold(state *structured.AllocatedState, results []resourceapi.DeviceRequestAllocationResult) {
	for _, result := range results {
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if result.ShareID == nil {
			state.AllocatedDevices.Insert(id)
			continue
		}
		state.AllocatedSharedDeviceIDs.Insert(makeSharedDevice(id, result.ShareID))
		if result.ConsumedCapacity != nil {
			state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	}
}

// classLister is a fixed set of classes.
type classLister map[string]*resourceapi.DeviceClass

func (l classLister) List() ([]*resourceapi.DeviceClass, error) {
	classes := make([]*resourceapi.DeviceClass, 0, len(l))
	for _, class := range l {
		classes = append(classes, class)
	}
	return classes, nil
}

func (l classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, ok := l[name]; ok {
		return class, nil
	}
	return nil, fmt.Errorf("deviceclass %s not found", name)
}
