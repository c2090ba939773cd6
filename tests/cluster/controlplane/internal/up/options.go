// Package up runs a control plane: etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler, started in this order and killed in the opposite one.
//
// It starts the components as processes of their own and talks to them over HTTPS alone, so it
// needs nothing of Kubernetes itself and works with any build of the components.
package up

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// group is the API group whose versions can be switched.
const group = "resource.k8s.io"

// versions are the versions of the group that Kubernetes 1.37 knows, newest first.
var versions = []string{"v1", "v1beta2", "v1beta1", "v1alpha3"}

// options say which control plane to run; see the flags for their meaning.
type options struct {
	parent       string
	assets       string
	program      string
	apis         apiSelection
	featureGates string
	controllers  string
	scheduler    bool
	users        int
	plugin       string
	machine      bool
}

// parseOptions reads the flags; program is the file that has all components as subcommands,
// empty if there is none.
func parseOptions(program string, arguments []string, usage io.Writer) (options, error) {
	result := options{program: program}
	apis := strings.Join(versions, ",")

	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&result.parent, "parent", filepath.Join(os.TempDir(), "controlplane"),
		"folder below which a folder for this run is made; removed at the end")
	flags.StringVar(&result.assets, "assets", os.Getenv("KUBEBUILDER_ASSETS"),
		"folder with components to use instead of those built in; those it lacks are taken from the program")
	flags.StringVar(&result.program, "program", result.program,
		"program that has the components as subcommands")
	flags.StringVar(&apis, "apis", apis,
		"what to serve of "+group+": VERSION or -VERSION/RESOURCE, separated by commas, or none")
	flags.StringVar(&result.featureGates, "feature-gates", "",
		"feature gates for all components, such as DRADeviceTaintRules=false")
	flags.StringVar(&result.controllers, "controllers", "device-taint-eviction-controller,resourceclaim-controller",
		"controllers to run, or none")
	flags.BoolVar(&result.scheduler, "scheduler", true, "run a scheduler")
	flags.IntVar(&result.users, "users", 0,
		"number of users without permissions to make: user-0, user-1, …")
	flags.StringVar(&result.plugin, "plugin", "",
		"kubectl plugin to put beside kubectl")
	flags.BoolVar(&result.machine, "machine", false,
		"write one JSON object per event, and end when stdin does")
	if err := flags.Parse(arguments); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}

	var err error
	if result.apis, err = parseAPIs(apis); err != nil {
		return options{}, err
	}
	if result.controllers == "none" {
		result.controllers = ""
	}
	if result.parent, err = filepath.Abs(result.parent); err != nil {
		return options{}, err
	}
	return result, nil
}

// apiSelection is what is served of the group.
type apiSelection struct {
	// versions are those that are served with all their resources.
	versions []string
	// without are VERSION/RESOURCE.
	without []string
}

// parseAPIs understands a list such as v1,-v1/devicetaintrules,v1alpha3.
func parseAPIs(list string) (apiSelection, error) {
	var result apiSelection
	if list == "none" {
		return result, nil
	}
	for _, entry := range strings.Split(list, ",") {
		bare, remove := strings.CutPrefix(entry, "-")
		version, resource, single := strings.Cut(bare, "/")
		switch {
		case !slices.Contains(versions, version):
			return apiSelection{}, fmt.Errorf("unknown version in %q: there are %s", entry, strings.Join(versions, ", "))
		case remove != single, single && resource == "":
			return apiSelection{}, fmt.Errorf("%q is neither a version nor -VERSION/RESOURCE", entry)
		case remove:
			result.without = append(result.without, bare)
		default:
			result.versions = append(result.versions, version)
		}
	}
	return result, nil
}

// runtimeConfig is the value of the API server's flag of that name.
func (selection apiSelection) runtimeConfig() string {
	var entries []string
	for _, version := range versions {
		entries = append(entries, fmt.Sprintf("%s/%s=%t", group, version, slices.Contains(selection.versions, version)))
	}
	for _, resource := range selection.without {
		entries = append(entries, fmt.Sprintf("%s/%s=false", group, resource))
	}
	return strings.Join(entries, ",")
}
