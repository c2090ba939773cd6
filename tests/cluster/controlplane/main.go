// Command controlplane is etcd, kube-apiserver, kube-controller-manager, kube-scheduler and
// kubectl of one Kubernetes release in one program, and `up`, which runs them together.
//
// The first argument selects the component. A link to the program that carries the name of a
// component runs that component.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"devicetaint.test/controlplane/internal/up"
)

// components maps the name of a component to the function that runs it and returns the exit
// code. The component reads its flags from os.Args.
var components = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          runAPIServer,
	"kube-controller-manager": runControllerManager,
	"kube-scheduler":          runScheduler,
	"kubectl":                 runKubectl,
	"up":                      runUp,
}

func main() {
	if run, found := components[filepath.Base(os.Args[0])]; found {
		os.Exit(run())
	}
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|up FLAGS")
		os.Exit(2)
	}
	name := os.Args[1]
	run, found := components[name]
	if !found {
		fmt.Fprintf(os.Stderr, "error: unknown component %q\n", name)
		os.Exit(2)
	}
	os.Args = append([]string{name}, os.Args[2:]...)
	os.Exit(run())
}

func runUp() int { return up.Main(up.Program(), os.Args[1:]) }
