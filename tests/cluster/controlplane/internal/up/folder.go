package up

import (
	"os"
	"path/filepath"
	"syscall"
)

// lockName is the file in a run's folder that is locked as long as the run lasts.
const lockName = "lock"

// makeFolder makes a folder for this run below parent and removes those of runs that were
// killed. The file holds the lock on the folder, which ends with the process, however it ends.
func makeFolder(parent string) (string, *os.File, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", nil, err
	}
	guard, err := lock(filepath.Join(parent, lockName), syscall.LOCK_EX)
	if err != nil {
		return "", nil, err
	}
	defer guard.Close()
	removeAbandoned(parent)

	folder, err := os.MkdirTemp(parent, "run-")
	if err != nil {
		return "", nil, err
	}
	held, err := lock(filepath.Join(folder, lockName), syscall.LOCK_EX)
	return folder, held, err
}

func removeAbandoned(parent string) {
	folders, _ := filepath.Glob(filepath.Join(parent, "run-*"))
	for _, folder := range folders {
		file, err := lock(filepath.Join(folder, lockName), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(folder)
		_ = file.Close()
	}
}

// lock opens the file and locks it until it is closed or the process ends.
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
