package oracle

import (
	"testing"
	"testing/synctest"
	"time"
)

// parallelCases is how many cases run at the same time. Zero: one per processor.
const parallelCases = 0

// inOwnTime runs one case in a bubble of virtual time that starts at
// 2000-01-01T00:00:00Z.
func inOwnTime(t *testing.T, run func()) {
	var recovered any
	synctest.Test(t, func(*testing.T) {
		// The testing package would end the process.
		defer func() { recovered = recover() }()
		run()
	})
	if recovered != nil {
		panic(recovered)
	}
}

// settle waits until all goroutines of the case have nothing left to do at the
// present instant.
func settle() {
	synctest.Wait()
}

// waitUntilSynced waits until the workers of the controller run.
func waitUntilSynced() {
	synctest.Wait()
	if startupDelay > 0 {
		time.Sleep(startupDelay)
		synctest.Wait()
	}
}
