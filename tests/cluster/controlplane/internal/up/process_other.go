//go:build unix && !linux

package up

import "syscall"

// processAttributes give a component its own process group, so that Ctrl-C does not reach it
// before the others.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
