package up

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// logTail is how much of a component's log is shown when it fails.
const logTail = 4000

// process is a component; it can be started again after it was killed.
type process struct {
	name      string
	program   []string
	arguments []string
	log       string

	command *exec.Cmd
	// exited is closed when the running command has ended.
	exited chan struct{}
	// panics is how often it was started again after one.
	panics int
}

// start runs the component; its output is added to its log. The calling goroutine has to be
// locked to its thread: Linux kills the component when that thread ends.
func (component *process) start(exits chan<- *process) error {
	log, err := os.OpenFile(component.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()

	arguments := append(component.program[1:len(component.program):len(component.program)], component.arguments...)
	command := exec.Command(component.program[0], arguments...)
	command.Stdout, command.Stderr = log, log
	command.Dir = filepath.Dir(component.log)
	command.Env = environment()
	command.SysProcAttr = processAttributes()
	if err := command.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w", component.name, err)
	}
	exited := make(chan struct{})
	component.command, component.exited = command, exited
	go func() {
		_ = command.Wait()
		close(exited)
		exits <- component
	}()
	return nil
}

// garbage lets a component collect garbage when its heap is four times what is in use, instead of twice: a
// quarter less of processor time, for some 100 MB more of memory.
const garbage = "GOGC"

func environment() []string {
	if _, isSet := os.LookupEnv(garbage); isSet {
		return os.Environ()
	}
	return append(os.Environ(), garbage+"=300")
}

// mostPanics is how often a scheduler is started again that has panicked.
const mostPanics = 3

// startsAgain says whether a component that has ended by itself is started again, as the kubelet of a control plane
// does. Only a scheduler that has panicked is: that of 1.37.2 does so when a DeviceTaintRule changes while a
// ResourceSlice gets more devices (syncSlice of k8s.io/dynamic-resource-allocation/resourceslice/tracker), and one
// test would end all others that share the control plane. Everything else that ends is a failure.
func (component *process) startsAgain() bool {
	if component.name != nameScheduler || component.panics >= mostPanics {
		return false
	}
	content, err := os.ReadFile(component.log)
	if err != nil || strings.Count(string(content), "\npanic: ") <= component.panics {
		return false
	}
	component.panics++
	return true
}

// running says whether the component was started and has not ended.
func (component *process) running() bool {
	if component.exited == nil {
		return false
	}
	select {
	case <-component.exited:
		return false
	default:
		return true
	}
}

// kill ends the component at once and waits until it is gone. An API server that lost its etcd
// would take minutes to leave by itself.
func (component *process) kill() {
	if !component.running() {
		return
	}
	_ = component.command.Process.Kill()
	<-component.exited
	component.exited = nil
}

// failure describes why a component is not up, with the end of its log.
func (component *process) failure(reason string) error {
	content, _ := os.ReadFile(component.log)
	if len(content) > logTail {
		content = content[len(content)-logTail:]
	}
	return &componentError{component: component.name, reason: reason, log: strings.TrimSpace(string(content))}
}

// componentError is a component that does not run.
type componentError struct {
	component, reason, log string
}

func (err *componentError) Error() string {
	return fmt.Sprintf("%s %s; the end of its log:\n%s", err.component, err.reason, err.log)
}

// portTaken says whether another process was faster with one of the ports.
func (err *componentError) portTaken() bool {
	return strings.Contains(err.log, "address already in use")
}
