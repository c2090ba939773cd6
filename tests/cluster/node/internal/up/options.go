// Package up runs a node: a container runtime that pretends, the kubelet, and a DRA driver, in a mount
// namespace of its own; and several nodes with a control plane, for trying by hand.
package up

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// options say which node to run; see the flags for their meaning.
type options struct {
	parent, kubeconfig, name, driver string
	devices                          int
	health, machine                  bool
	featureGates                     string
	programs                         []string
}

func parseOptions(arguments []string) (options, error) {
	result := options{}
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	// Sockets live below, and their paths must be short.
	flags.StringVar(&result.parent, "parent", filepath.Join(os.TempDir(), "devicetaint-nodes"),
		"folder below which a folder for this run is made; removed at the end")
	flags.StringVar(&result.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "how to reach the API server")
	flags.StringVar(&result.name, "name", "node-0", "name of the node")
	flags.StringVar(&result.driver, "driver", "gpu.example.com", "name of the DRA driver")
	flags.IntVar(&result.devices, "devices", 4, "how many devices the driver has")
	flags.BoolVar(&result.health, "health", true, "the driver says how its devices are")
	flags.StringVar(&result.featureGates, "feature-gates", "", "feature gates of the kubelet, such as A=true,B=false")
	flags.Func("program", "IMAGE=PATH: containers of this image run this program, others run nothing; repeatable",
		func(entry string) error {
			result.programs = append(result.programs, entry)
			return nil
		})
	flags.BoolVar(&result.machine, "machine", false,
		"write one JSON object per event, read commands from stdin, and end when stdin does")
	if err := flags.Parse(arguments); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if result.kubeconfig == "" {
		return options{}, fmt.Errorf("--kubeconfig or KUBECONFIG has to say which API server")
	}
	return result, nil
}
