package up

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// readyDeadline is how long a node may take to become ready.
const readyDeadline = 120 * time.Second

// node is a running node: its files, and its processes in the order in which they start.
type node struct {
	options   options
	program   string
	folder    string
	lock      *os.File
	client    kubernetes.Interface
	processes []*process
	// isUp says of each process whether the next one can be started: a driver registers in a folder of
	// the kubelet.
	isUp map[string]func(context.Context) error
}

func newNode(options options) (*node, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", options.kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	folder, lock, err := makeFolder(options.parent)
	if err != nil {
		return nil, err
	}
	result := &node{options: options, program: program, folder: folder, lock: lock, client: client}
	result.isUp = map[string]func(context.Context) error{
		"runtime": result.runtimeListens, "kubelet": result.nodeReady, "driver": result.devicesPublished,
	}
	if err := enterNamespace(folder); err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	return result, nil
}

func (node *node) path(name string) string { return filepath.Join(node.folder, name) }

// start starts everything and waits until the node is ready and its devices are published.
func (node *node) start(stop context.Context) error {
	configuration, err := node.writeConfiguration()
	if err != nil {
		return err
	}
	for _, each := range []*process{
		{name: "runtime", arguments: []string{"--socket", node.path("cri.sock"), "--broken", node.path("sandbox-broken")}},
		{name: "kubelet", arguments: []string{
			"--config", configuration, "--kubeconfig", node.options.kubeconfig, "--root-dir", node.path("k"),
			"--cert-dir", node.path("pki"), "--hostname-override", node.options.name, "--v=2",
		}},
		{name: "driver", arguments: []string{
			"--name", node.options.driver, "--node", node.options.name, "--kubeconfig", node.options.kubeconfig,
			"--root", node.path("k"), "--prepared", node.path("prepared.json"),
		}},
	} {
		each.log = node.path(each.name + ".log")
		node.processes = append(node.processes, each)
		if err := each.start(node.program); err != nil {
			return err
		}
		if err := node.wait(stop, each, node.isUp[each.name]); err != nil {
			return err
		}
	}
	return nil
}

func (node *node) runtimeListens(context.Context) error {
	_, err := os.Stat(node.path("cri.sock"))
	return err
}

func (node *node) nodeReady(stop context.Context) error {
	found, err := node.client.CoreV1().Nodes().Get(stop, node.options.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range found.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return fmt.Errorf("it is not ready: %s", condition.Message)
		}
	}
	if len(found.Status.Conditions) == 0 || len(found.Spec.Taints) > 0 {
		return fmt.Errorf("it has the taints %v", found.Spec.Taints)
	}
	return nil
}

func (node *node) devicesPublished(stop context.Context) error {
	selector := "spec.nodeName=" + node.options.name
	found, err := node.client.ResourceV1().ResourceSlices().List(stop, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return err
	}
	if len(found.Items) == 0 {
		return fmt.Errorf("there are no slices")
	}
	return nil
}

// wait asks until the condition holds. It fails early when the process has ended.
func (node *node) wait(stop context.Context, process *process, condition func(context.Context) error) error {
	deadline := time.After(readyDeadline)
	for {
		err := condition(stop)
		if err == nil {
			return nil
		}
		select {
		case <-process.exited:
			return process.failure("ended while it started")
		case <-deadline:
			return process.failure(fmt.Sprintf("was not ready after %s (%v)", readyDeadline, err))
		case <-stop.Done():
			return errStopped
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// execute does what a line such as "kill driver" asks for.
func (node *node) execute(command string) error {
	verb, name, _ := strings.Cut(command, " ")
	if name == "sandbox" {
		return node.sandbox(verb)
	}
	process := node.named(name)
	if process == nil {
		return fmt.Errorf("%q names no process of this node", command)
	}
	switch verb {
	case "kill":
		process.end(syscall.SIGKILL)
	case "stop":
		process.end(syscall.SIGTERM)
	case "freeze":
		process.signal(syscall.SIGSTOP)
	case "thaw":
		process.signal(syscall.SIGCONT)
	case "start":
		if process.running() {
			return nil
		}
		return process.start(node.program)
	default:
		return fmt.Errorf("%q is none of kill, stop, freeze, thaw and start", command)
	}
	return nil
}

// sandbox breaks or mends what stops sandboxes.
func (node *node) sandbox(verb string) error {
	if verb == "break" {
		return os.WriteFile(node.path("sandbox-broken"), nil, 0o600)
	}
	if err := os.Remove(node.path("sandbox-broken")); !os.IsNotExist(err) {
		return err
	}
	return nil
}

func (node *node) named(name string) *process {
	for _, process := range node.processes {
		if process.name == name {
			return process
		}
	}
	return nil
}

// end kills all processes, the kubelet first, and removes what they have left: volumes of pods are
// mounts in the node's own namespace and go with it.
func (node *node) end() {
	for _, name := range []string{"kubelet", "driver", "runtime"} {
		if process := node.named(name); process != nil {
			process.end(syscall.SIGKILL)
		}
	}
	unmountBelow(node.folder)
	_ = os.RemoveAll(node.folder)
}

// unmountBelow takes down the mounts of pods' volumes, so that their mount points can be removed.
func unmountBelow(folder string) {
	content, _ := os.ReadFile("/proc/thread-self/mountinfo")
	lines := strings.Split(string(content), "\n")
	for index := len(lines) - 1; index >= 0; index-- {
		fields := strings.Fields(lines[index])
		if len(fields) > 4 && strings.HasPrefix(fields[4], folder+"/") {
			_ = syscall.Unmount(fields[4], syscall.MNT_DETACH)
		}
	}
}

// freePort is a port without a listener at the moment.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// writeConfiguration says how the kubelet differs from one on a machine of its own: no cgroups, no
// packet filters, no permitted clients, and no thresholds that a full disk could cross.
func (node *node) writeConfiguration() (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	path := node.path("kubelet.yaml")
	content := fmt.Sprintf(configuration, port, node.path("cri.sock"), node.path("logs"), node.path("volumes"))
	return path, os.WriteFile(path, []byte(content), 0o600)
}

const configuration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: %d
readOnlyPort: 0
healthzPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
authorization: {mode: AlwaysAllow}
enableDebuggingHandlers: false
containerRuntimeEndpoint: unix://%s
podLogsDir: %s
volumePluginDir: %s
failSwapOn: false
failCgroupV1: false
cgroupsPerQOS: false
enforceNodeAllocatable: []
makeIPTablesUtilChains: false
oomScoreAdj: 0
resolvConf: ""
evictionHard: {memory.available: 1Mi, nodefs.available: 1Mi, imagefs.available: 1Mi}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
syncFrequency: 10s
nodeStatusUpdateFrequency: 2s
nodeLeaseDurationSeconds: 10
`
