package up

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// settings are what a kubelet writes into the kernel. They are the machine's and not the node's.
var settings = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

// fixed are the folders that a kubelet uses whatever its flags say.
var fixed = []string{"/var/lib", "/var/log"}

// enterNamespace gives this thread, and all that is started from it, mounts of its own, in which the
// machine's settings and folders are out of a kubelet's reach. The kernel removes them with the last
// process that uses them.
func enterNamespace(folder string) error {
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a node needs root and mounts of its own (unshare: %w)", err)
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("a node needs mounts of its own (/: %w)", err)
	}
	for _, path := range fixed {
		if err := syscall.Mount("tmpfs", path, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=64m"); err != nil {
			return fmt.Errorf("a node needs mounts of its own (%s: %w)", path, err)
		}
	}
	for _, setting := range settings {
		path := filepath.Join("/proc/sys", setting)
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		instead := filepath.Join(folder, strings.ReplaceAll(setting, "/", "."))
		if err := os.WriteFile(instead, content, 0o600); err != nil {
			return err
		}
		if err := syscall.Mount(instead, path, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("a node must not write the machine's settings (%s: %w)", path, err)
		}
	}
	return nil
}
