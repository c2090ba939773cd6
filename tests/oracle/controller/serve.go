package oracle

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
)

// pendingRequests bounds how many lines are read ahead of the answers.
const pendingRequests = 256

// job is one line of input together with the place for its answer.
type job struct {
	line   []byte
	answer chan []byte
}

// serve answers every line of input with one line of output, in order. Several
// requests are worked on at the same time because each bubble of virtual time
// is independent of the others.
func serve(t *testing.T, input io.Reader, output io.Writer) error {
	jobs := make(chan job)
	answers := make(chan chan []byte, pendingRequests)

	var readError error
	go func() {
		defer close(answers)
		defer close(jobs)
		readError = readLines(input, func(line []byte) {
			next := job{line: line, answer: make(chan []byte, 1)}
			answers <- next.answer
			jobs <- next
		})
	}()

	var workers sync.WaitGroup
	for range cmp.Or(parallelCases, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			// Each worker gets its own T: synctest.Test must not share one.
			t.Run("worker", func(t *testing.T) {
				for next := range jobs {
					next.answer <- answerLine(t, next.line)
				}
			})
		})
	}

	writeError := writeLines(output, answers)
	workers.Wait()
	return errors.Join(readError, writeError)
}

func readLines(input io.Reader, handle func(line []byte)) error {
	reader := bufio.NewReaderSize(input, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			handle(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
	}
}

// writeLines flushes after every answer because the other side may wait for it
// before it sends the next request.
func writeLines(output io.Writer, answers <-chan chan []byte) error {
	var firstError error
	for answer := range answers {
		line := append(<-answer, '\n')
		if firstError != nil {
			continue // Drain, so that no sender blocks.
		}
		if _, err := output.Write(line); err != nil {
			firstError = fmt.Errorf("write answer: %w", err)
		}
	}
	return firstError
}

// envelope is what all requests have in common.
type envelope struct {
	ID json.RawMessage `json:"id"`
	Op string          `json:"op"`
}

type errorAnswer struct {
	ID    json.RawMessage `json:"id"`
	Error string          `json:"error"`
	Stage string          `json:"stage,omitempty"`
}

// answerLine never fails: whatever goes wrong becomes part of the answer.
func answerLine(t *testing.T, line []byte) []byte {
	var head envelope
	if err := json.Unmarshal(line, &head); err != nil {
		return encode(head.ID, errorAnswer{Error: fmt.Sprintf("decode request: %v", err)})
	}
	answer, err := dispatch(t, head, line)
	if err != nil {
		answer = errorAnswer{ID: head.ID, Error: err.Error()}
	}
	return encode(head.ID, answer)
}

func encode(id json.RawMessage, answer any) []byte {
	encoded, err := json.Marshal(answer)
	if err != nil {
		encoded, _ = json.Marshal(errorAnswer{ID: id, Error: fmt.Sprintf("encode answer: %v", err)})
	}
	return encoded
}

// dispatch turns a panic of the code under test into an error, so that one bad
// case does not take the others with it.
func dispatch(t *testing.T, head envelope, line []byte) (answer any, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			answer, err = nil, fmt.Errorf("panic: %v", recovered)
		}
	}()
	switch head.Op {
	case "controller":
		return answerController(t, head.ID, line)
	case "allocate":
		return answerAllocate(head.ID, line)
	case "cel":
		return answerCEL(head.ID, line)
	case "version":
		return versionAnswer{ID: head.ID, Kubernetes: kubernetesVersion}, nil
	default:
		return nil, fmt.Errorf("unknown op %q", head.Op)
	}
}

type versionAnswer struct {
	ID         json.RawMessage `json:"id"`
	Kubernetes string          `json:"kubernetes"`
}
