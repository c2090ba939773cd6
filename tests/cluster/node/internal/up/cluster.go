package up

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// controllers are those that a cluster with nodes needs beside the two of devices.
const controllers = "device-taint-eviction-controller,resourceclaim-controller,node-lifecycle-controller," +
	"garbage-collector-controller,namespace-controller,deployment-controller,replicaset-controller," +
	"daemonset-controller,job-controller"

// child is a program that ends when its stdin does, and says when it is ready.
type child struct {
	command *exec.Cmd
	input   io.Closer
	ready   map[string]any
}

// Cluster runs a control plane and nodes, for trying by hand, and returns the exit code. What is not
// for it goes to the control plane.
func Cluster(arguments []string) int {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	program := flags.String("controlplane", "", "the program with the control plane")
	count := flags.Int("nodes", 1, "how many nodes")
	devices := flags.Int("devices", 4, "how many devices each has")
	if err := flags.Parse(arguments); err != nil {
		return 2
	}
	signal.Ignore(syscall.SIGPIPE)
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if err := cluster(stop, *program, *count, *devices, flags.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return 1
	}
	return 0
}

func cluster(stop context.Context, program string, count, devices int, more []string) error {
	plane, err := open(program, append([]string{"up", "--machine", "--controllers=" + controllers}, more...))
	if err != nil {
		return err
	}
	defer plane.close()
	admin, _ := plane.ready["admin"].(map[string]any)
	kubeconfig, _ := admin["kubeconfig"].(string)
	fmt.Printf("The control plane is ready at %s; its logs are in %s.\n", plane.ready["server"], plane.ready["folder"])
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for index := range count {
		node, err := open(self, []string{
			"up", "--machine", "--kubeconfig", kubeconfig,
			fmt.Sprintf("--name=node-%d", index), fmt.Sprintf("--devices=%d", devices),
		})
		if err != nil {
			return err
		}
		defer node.close()
		fmt.Printf("The node %s is ready; its logs are in %s,\n  what its kubelet says is in use is to be had at %s.\n",
			node.ready["name"], node.ready["folder"], node.ready["socket"])
	}
	fmt.Printf("In another terminal:\n\n  export KUBECONFIG=%s\n  export PATH=%s:$PATH\n\n", kubeconfig, plane.ready["binaries"])
	fmt.Println("Ctrl-C ends it and removes everything.")
	<-stop.Done()
	return nil
}

// open starts a program and waits until it says that it is ready, or why not.
func open(program string, arguments []string) (*child, error) {
	command := exec.Command(program, arguments...)
	// Ctrl-C is for this program, which ends the others in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	result := &child{command: command, input: input, ready: map[string]any{}}
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		result.close()
		return nil, fmt.Errorf("%s %s ended while it started", program, arguments[0])
	}
	if err := json.Unmarshal(lines.Bytes(), &result.ready); err != nil {
		result.close()
		return nil, err
	}
	if result.ready["event"] != "ready" {
		result.close()
		return nil, fmt.Errorf("%v", result.ready["message"])
	}
	go func() {
		for lines.Scan() {
			fmt.Println(lines.Text())
		}
	}()
	return result, nil
}

// close ends the program and waits until it has cleaned up.
func (child *child) close() {
	_ = child.input.Close()
	_ = child.command.Wait()
}
