package up

import (
	"os"
	"path/filepath"
	"syscall"
)

// makeFolder makes a folder for this run below parent and removes those of runs that were killed. The
// lock on it ends with the process, however that ends.
func makeFolder(parent string) (string, *os.File, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", nil, err
	}
	guard, err := lock(filepath.Join(parent, "lock"), syscall.LOCK_EX)
	if err != nil {
		return "", nil, err
	}
	defer guard.Close()
	abandoned, _ := filepath.Glob(filepath.Join(parent, "n-*"))
	for _, folder := range abandoned {
		if file, err := lock(filepath.Join(folder, "lock"), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			_ = os.RemoveAll(folder)
			_ = file.Close()
		}
	}
	folder, err := os.MkdirTemp(parent, "n-")
	if err != nil {
		return "", nil, err
	}
	held, err := lock(filepath.Join(folder, "lock"), syscall.LOCK_EX)
	return folder, held, err
}

func lock(path string, how int) (*os.File, error) {
	descriptor, err := syscall.Open(path, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := syscall.Flock(descriptor, how); err != nil {
		_ = syscall.Close(descriptor)
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return os.NewFile(uintptr(descriptor), path), nil
}
