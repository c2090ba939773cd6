package oracle

import (
	"strings"
	"sync"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// A goroutine of the controller that panics must cost its own case only.
func TestPanicInGoroutineIsReported(t *testing.T) {
	answer, err := watchingForPanics(func() (any, error) {
		var running sync.WaitGroup
		running.Go(func() {
			defer utilruntime.HandleCrash()
			panic("on purpose")
		})
		running.Wait()
		return "answer", nil
	})
	if answer != nil || err == nil || !strings.Contains(err.Error(), "on purpose") {
		t.Fatalf("got %v, %v", answer, err)
	}
}

func TestPanicInBubbleReachesTheCaller(t *testing.T) {
	defer func() {
		if recovered := recover(); recovered != "on purpose" {
			t.Fatalf("recovered %v", recovered)
		}
	}()
	inOwnTime(t, func() { panic("on purpose") })
}

// Goroutines that a failed case leaves behind must not end the process.
func TestAbandonedGoroutineReachesTheCaller(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	inOwnTime(t, func() {
		never := make(chan struct{})
		go func() { <-never }()
	})
}

func TestRequestsAreStrict(t *testing.T) {
	for line, expected := range map[string]string{
		`{"id":1,"op":"controller","horizon":1}`:                                         `unknown field "horizon"`,
		`{"id":1,"op":"controller","pods":[{"kind":"Node"}]}`:                            `kind is "Node", expected "Pod"`,
		`{"id":1,"op":"controller","rules":[{"apiVersion":"resource.k8s.io/v1alpha3"}]}`: `expected "resource.k8s.io/v1"`,
		`{"id":1,"op":"controller","timeline":[{"atSeconds":1}]}`:                        `exactly one of`,
		`{"id":1,"op":"controller","afterSync":["pod"]}`:                                 `unknown list "pod"`,
		`{"id":1,"op":"controller"`:                                                      `decode request`,
	} {
		if answer := string(answerLine(t, []byte(line))); !strings.Contains(strings.ReplaceAll(answer, `\"`, `"`), expected) {
			t.Errorf("%s: got %s", line, answer)
		}
	}
}
