// Package oracle answers questions about device taints with the real
// Kubernetes code: the eviction controller, the expression compiler, the
// toleration check and the validation of the API server.
//
// It is a test binary because virtual time (testing/synctest) needs a
// *testing.T. It reads JSON lines on stdin and writes JSON lines on stdout.
package oracle

import (
	"os"
	"runtime/debug"
	"testing"
)

// protocolOutput is the real standard output. Everything else in the process,
// the testing package with its closing PASS included, gets standard error.
var protocolOutput = redirectStandardOutput()

func redirectStandardOutput() *os.File {
	output := os.Stdout
	os.Stdout = os.Stderr
	return output
}

func TestMain(m *testing.M) {
	// A case leaves much short-lived garbage and the process lives for seconds.
	debug.SetGCPercent(400)
	if err := prepareProcess(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestOracle serves requests until the end of input.
func TestOracle(t *testing.T) {
	if err := serve(t, os.Stdin, protocolOutput); err != nil {
		t.Fatal(err)
	}
}
