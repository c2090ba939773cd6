package oracle

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Goroutines of the controller catch their own panics and report them here. A
// report does not say which case it belongs to. Therefore all cases that ran
// at that time are repeated alone.
var (
	panicCount atomic.Int64
	lastPanic  atomic.Value
	aloneOrNot sync.RWMutex
)

// survivePanics keeps the process alive after a panic in a worker or handler.
func survivePanics() {
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, recovered any) {
		lastPanic.Store(fmt.Sprint(recovered))
		panicCount.Add(1)
	})
}

// watchingForPanics runs a case and reports a panic of the controller as the
// error of the case that caused it.
func watchingForPanics(run func() (any, error)) (any, error) {
	answer, err, panicked := runAmongOthers(run)
	if !panicked {
		return answer, err
	}
	aloneOrNot.Lock()
	defer aloneOrNot.Unlock()
	before := panicCount.Load()
	answer, err = run()
	if panicCount.Load() != before {
		return nil, fmt.Errorf("panic in the controller: %v", lastPanic.Load())
	}
	return answer, err
}

func runAmongOthers(run func() (any, error)) (answer any, err error, panicked bool) {
	aloneOrNot.RLock()
	defer aloneOrNot.RUnlock()
	before := panicCount.Load()
	answer, err = run()
	return answer, err, panicCount.Load() != before
}
