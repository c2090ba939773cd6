// Package up runs a node: a container runtime that pretends, the kubelet, and a DRA driver, in a mount
// namespace of its own.
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
