package up

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// logTail is how much of a log is shown when its process fails.
const logTail = 3000

// process is one of the processes of a node; it can be started again.
type process struct {
	name      string
	arguments []string
	log       string

	command *exec.Cmd
	exited  chan struct{}
}

// start runs this program in another role. Has to be called on the locked thread: the process gets its
// mounts, and is killed by the kernel when it ends.
func (process *process) start(program string) error {
	log, err := os.OpenFile(process.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(program, append([]string{process.name}, process.arguments...)...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return fmt.Errorf("cannot start the %s: %w", process.name, err)
	}
	exited := make(chan struct{})
	process.command, process.exited = command, exited
	go func() {
		_ = command.Wait()
		close(exited)
	}()
	return nil
}

// running says whether the process was started and has not ended.
func (process *process) running() bool {
	if process.exited == nil {
		return false
	}
	select {
	case <-process.exited:
		return false
	default:
		return true
	}
}

// signal tells the process something; one that has ended hears nothing.
func (process *process) signal(signal syscall.Signal) {
	if process.running() {
		_ = process.command.Process.Signal(signal)
	}
}

// end signals the process and waits until it is gone.
func (process *process) end(signal syscall.Signal) {
	if process.running() {
		process.signal(signal)
		// A frozen one would not hear.
		process.signal(syscall.SIGCONT)
		<-process.exited
	}
}

// failure describes why the process is not up, with the end of its log.
func (process *process) failure(reason string) error {
	content, _ := os.ReadFile(process.log)
	if len(content) > logTail {
		content = content[len(content)-logTail:]
	}
	return fmt.Errorf("the %s %s; the end of its log:\n%s", process.name, reason, strings.TrimSpace(string(content)))
}
