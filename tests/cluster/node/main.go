// Command node is a Kubernetes node in one program: the kubelet, a container runtime that only
// pretends, and a DRA driver; `up` runs them together.
package main

import (
	"fmt"
	"os"
	"runtime"

	"devicetaint.test/node/internal/driver"
	"devicetaint.test/node/internal/pretended"
	"devicetaint.test/node/internal/said"
	"devicetaint.test/node/internal/up"
)

// roles maps the name of a role to the function that plays it and returns the exit code.
var roles = map[string]func(arguments []string) int{
	"kubelet":      runKubelet,
	"runtime":      pretended.Main,
	"driver":       driver.Main,
	"up":           up.Main,
	"podresources": said.Main,
}

// The kernel kills the processes of a node when the thread that started them ends, and a mount
// namespace belongs to a thread: everything is started from the first one.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) < 2 || roles[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: node up|kubelet|runtime|driver|podresources FLAGS")
		os.Exit(2)
	}
	os.Exit(roles[os.Args[1]](os.Args[2:]))
}
