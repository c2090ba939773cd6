package up

import "syscall"

// processAttributes give a component its own process group, so that Ctrl-C does not reach it
// before the others, and let the kernel kill it should this program be killed.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
