package up

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// Names of the components, as in a Kubernetes release.
const (
	nameEtcd              = "etcd"
	nameAPIServer         = "kube-apiserver"
	nameControllerManager = "kube-controller-manager"
	nameScheduler         = "kube-scheduler"
	nameKubectl           = "kubectl"
)

// plane is a control plane: its files and its processes, in the order in which they start.
type plane struct {
	options options
	folder  string
	// lock keeps other runs from removing the folder. Go closes unreferenced files.
	lock      *os.File
	files     credentials
	client    *client
	processes []*process
	etcd      string
	exits     chan *process
}

// newPlane prepares all files. Nothing runs yet.
func newPlane(options options) (*plane, error) {
	folder, lock, err := makeFolder(options.parent)
	if err != nil {
		return nil, err
	}
	files, err := writeCredentials(folder, options.users)
	if err != nil {
		return nil, err
	}
	result := &plane{options: options, folder: folder, lock: lock, files: files, exits: make(chan *process, 16)}
	return result, result.linkKubectl()
}

// linkKubectl makes a folder for PATH that has kubectl and the plugin alone.
func (plane *plane) linkKubectl() error {
	program, err := plane.options.component(nameKubectl)
	if err != nil {
		return err
	}
	if err := os.Mkdir(plane.binaries(), 0o700); err != nil {
		return err
	}
	if err := os.Symlink(program[0], filepath.Join(plane.binaries(), nameKubectl)); err != nil {
		return err
	}
	if plane.options.plugin == "" {
		return nil
	}
	plugin, err := filepath.Abs(plane.options.plugin)
	if err != nil {
		return err
	}
	return os.Symlink(plugin, filepath.Join(plane.binaries(), filepath.Base(plugin)))
}

func (plane *plane) binaries() string { return filepath.Join(plane.folder, "bin") }

// component is how a component is called: a file of its own or a subcommand of the program.
func (options options) component(name string) ([]string, error) {
	if options.assets != "" {
		path, err := filepath.Abs(filepath.Join(options.assets, name))
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err == nil {
			return []string{path}, nil
		}
	}
	if options.program == "" {
		return nil, fmt.Errorf("there is no %s in %q, and no --program that has it", name, options.assets)
	}
	return []string{options.program, name}, nil
}

// start starts all components, with other ports if another process was faster with one of them.
func (plane *plane) start(stop context.Context) error {
	const attempts = 5
	for attempt := 1; ; attempt++ {
		err := plane.startOnce(stop)
		if failure, ok := err.(*componentError); ok && failure.portTaken() && attempt < attempts {
			plane.kill()
			plane.processes = nil
			continue
		}
		return err
	}
}

func (plane *plane) startOnce(stop context.Context) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	plane.etcd = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	if plane.client, err = newClient(fmt.Sprintf("https://127.0.0.1:%d", ports[2]), plane.files); err != nil {
		return err
	}
	if err := plane.files.writeKubeconfigs(plane.client.address); err != nil {
		return err
	}

	data := filepath.Join(plane.folder, fmt.Sprintf("etcd-%d", ports[0]))
	if err := plane.run(nameEtcd, etcdArguments(data, plane.etcd, fmt.Sprintf("http://127.0.0.1:%d", ports[1]))); err != nil {
		return err
	}
	health := &client{address: plane.etcd, http: plane.client.http}
	if err := waitUntilReady(stop, plane.named(nameEtcd), func() error {
		_, err := health.get("/health")
		return err
	}); err != nil {
		return err
	}
	if err := plane.run(nameAPIServer, plane.apiServerArguments(ports[2])); err != nil {
		return err
	}
	if err := plane.apiServerReady(stop); err != nil {
		return err
	}
	if plane.options.controllers != "" {
		if err := plane.run(nameControllerManager, plane.controllerManagerArguments()); err != nil {
			return err
		}
	}
	if !plane.options.scheduler {
		return nil
	}
	arguments, err := plane.schedulerArguments()
	if err != nil {
		return err
	}
	return plane.run(nameScheduler, arguments)
}

func (plane *plane) apiServerReady(stop context.Context) error {
	return waitUntilReady(stop, plane.named(nameAPIServer), func() error {
		return plane.client.ready(plane.options.apis.versions)
	})
}

// run starts a component for the first time.
func (plane *plane) run(name string, arguments []string) error {
	program, err := plane.options.component(name)
	if err != nil {
		return err
	}
	if plane.options.featureGates != "" && name != nameEtcd {
		arguments = append(arguments, "--feature-gates="+plane.options.featureGates)
	}
	component := &process{
		name:      name,
		program:   program,
		arguments: arguments,
		log:       filepath.Join(plane.folder, name+".log"),
	}
	plane.processes = append(plane.processes, component)
	return component.start(plane.exits)
}

// named is the component with this name, nil if it is not part of the plane.
func (plane *plane) named(name string) *process {
	for _, component := range plane.processes {
		if component.name == name {
			return component
		}
	}
	return nil
}

// kill ends all components: first those that would complain about the loss of the others.
func (plane *plane) kill() {
	for _, name := range []string{nameScheduler, nameControllerManager, nameAPIServer, nameEtcd} {
		if component := plane.named(name); component != nil {
			component.kill()
		}
	}
}

// freePorts are ports without a listener at the moment.
func freePorts(count int) ([]int, error) {
	var result []int
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		// Open until all are found, so that they differ.
		defer listener.Close()
		result = append(result, listener.Addr().(*net.TCPAddr).Port)
	}
	return result, nil
}
