package pretended

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// entry is where a program is in its container.
const entry = "/program"

// system are the folders of the machine that a program needs, such as its libraries.
var system = []string{"/usr", "/bin", "/lib", "/lib64", "/etc"}

// programs are images whose containers are really run, with the program that is the entry point of each: root without
// privileges, that sees nothing but the machine's programs and the mounts of its pod, all read-only unless the pod says
// otherwise. What it prints is where the kubelet wants logs.
type programs struct {
	folder string
	paths  map[string]string

	lock      sync.Mutex
	prepared  map[string]*runtimeapi.CreateContainerRequest
	processes map[string]*os.Process
}

// newPrograms takes entries of the form IMAGE=PATH; roots of containers are below folder.
func newPrograms(folder string, entries []string) (*programs, error) {
	result := &programs{
		folder: folder, paths: map[string]string{},
		prepared: map[string]*runtimeapi.CreateContainerRequest{}, processes: map[string]*os.Process{},
	}
	for _, each := range entries {
		image, path, found := strings.Cut(each, "=")
		if !found {
			return nil, fmt.Errorf("%q is not IMAGE=PATH", each)
		}
		result.paths[image] = path
	}
	return result, nil
}

// path is the program of the container's image, as the pod names it.
func (programs *programs) path(config *runtimeapi.ContainerConfig) string {
	if path := programs.paths[config.Image.UserSpecifiedImage]; path != "" {
		return path
	}
	return programs.paths[config.Image.Image]
}

// note remembers how a container is to be run, if it is.
func (programs *programs) note(container string, request *runtimeapi.CreateContainerRequest) {
	if programs.path(request.Config) == "" {
		return
	}
	programs.lock.Lock()
	defer programs.lock.Unlock()
	programs.prepared[container] = request
}

// start runs the container, if it is one that is run, and calls ended with its exit code.
func (programs *programs) start(container string, ended func(int32)) error {
	programs.lock.Lock()
	request := programs.prepared[container]
	programs.lock.Unlock()
	if request == nil {
		return nil
	}
	root := filepath.Join(programs.folder, container)
	if err := programs.makeRoot(root, request.Config); err != nil {
		return err
	}
	path := filepath.Join(request.SandboxConfig.LogDirectory, request.Config.LogPath)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	started := make(chan error)
	go func() {
		// The process is killed with the thread that has started it.
		goruntime.LockOSThread()
		defer log.Close()
		ended(programs.run(container, root, request.Config, log, started))
	}()
	return <-started
}

// run waits until the process has ended, and returns its exit code.
func (programs *programs) run(
	container, root string, config *runtimeapi.ContainerConfig, log io.Writer, started chan<- error,
) int32 {
	// As the pods of this project ask for it, which drop all capabilities.
	arguments := append([]string{"--bounding-set=-all", "--inh-caps=-all", entry}, config.Args...)
	command := exec.Command("/usr/bin/setpriv", arguments...)
	command.Dir = "/"
	command.Env = []string{"PATH=/usr/bin:/bin"}
	for _, variable := range config.Envs {
		command.Env = append(command.Env, variable.Key+"="+string(variable.Value))
	}
	lines := &logWriter{log: log}
	command.Stdout, command.Stderr = lines.stream("stdout"), lines.stream("stderr")
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		started <- err
		return killed
	}
	programs.lock.Lock()
	programs.processes[container] = command.Process
	programs.lock.Unlock()
	started <- nil
	err := command.Wait()
	programs.lock.Lock()
	delete(programs.processes, container)
	programs.lock.Unlock()
	lines.flush()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return int32(exit.ExitCode())
	default:
		return killed
	}
}

// stop kills the process of a container, if one runs.
func (programs *programs) stop(container string) {
	programs.lock.Lock()
	defer programs.lock.Unlock()
	if process := programs.processes[container]; process != nil {
		_ = process.Kill()
	}
}

// remove takes down what a container was run in.
func (programs *programs) remove(container string) {
	programs.stop(container)
	programs.lock.Lock()
	request := programs.prepared[container]
	delete(programs.prepared, container)
	programs.lock.Unlock()
	if request == nil {
		return
	}
	root := filepath.Join(programs.folder, container)
	for _, path := range append(programs.mountPoints(request.Config), system...) {
		_ = syscall.Unmount(filepath.Join(root, path), syscall.MNT_DETACH)
	}
	// Only what is empty: a mount that is still there is not the machine's to lose.
	removeEmpty(root)
}

func (programs *programs) mountPoints(config *runtimeapi.ContainerConfig) []string {
	points := []string{entry}
	for _, mount := range config.Mounts {
		points = append(points, mount.ContainerPath)
	}
	return points
}

// makeRoot makes the folder that the container sees as its own.
func (programs *programs) makeRoot(root string, config *runtimeapi.ContainerConfig) error {
	for _, path := range system {
		target, err := os.Readlink(path)
		switch {
		case os.IsNotExist(err):
		case err == nil:
			if err := os.MkdirAll(root, 0o755); err != nil {
				return err
			}
			if err := os.Symlink(target, filepath.Join(root, path)); err != nil && !os.IsExist(err) {
				return err
			}
		default:
			if err := bind(path, filepath.Join(root, path), true); err != nil {
				return err
			}
		}
	}
	if err := bind(programs.path(config), filepath.Join(root, entry), true); err != nil {
		return err
	}
	for _, mount := range config.Mounts {
		if err := bind(mount.HostPath, filepath.Join(root, mount.ContainerPath), mount.Readonly); err != nil {
			return err
		}
	}
	return nil
}

// bind shows a file or folder at another place, which is made.
func bind(from, to string, readOnly bool) error {
	found, err := os.Stat(from)
	if err != nil {
		return err
	}
	if found.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
		var file *os.File
		if file, err = os.OpenFile(to, os.O_CREATE, 0o644); err == nil {
			err = file.Close()
		}
	}
	if err != nil {
		return err
	}
	if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s at %s: %w", from, to, err)
	}
	if !readOnly {
		return nil
	}
	flags := uintptr(syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY)
	if err := syscall.Mount("", to, "", flags, ""); err != nil {
		return fmt.Errorf("%s read-only: %w", to, err)
	}
	return nil
}

// removeEmpty removes a folder with all empty files and folders in it.
func removeEmpty(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if entry.IsDir() {
			removeEmpty(path)
		} else if found, err := entry.Info(); err == nil && (found.Size() == 0 || found.Mode()&os.ModeSymlink != 0) {
			_ = os.Remove(path)
		}
	}
	_ = os.Remove(folder)
}

// logWriter writes lines as kubelets read them: TIME STREAM F LINE.
type logWriter struct {
	lock sync.Mutex
	log  io.Writer
	ends []func()
}

func (writer *logWriter) stream(name string) io.Writer {
	reader, pipe := io.Pipe()
	done := make(chan struct{})
	writer.ends = append(writer.ends, func() { _ = pipe.Close(); <-done })
	go func() {
		defer close(done)
		lines := bufio.NewScanner(reader)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			writer.lock.Lock()
			_, _ = fmt.Fprintf(writer.log, "%s %s F %s\n", time.Now().UTC().Format(time.RFC3339Nano), name, lines.Text())
			writer.lock.Unlock()
		}
	}()
	return pipe
}

// flush waits until everything is written.
func (writer *logWriter) flush() {
	for _, end := range writer.ends {
		end()
	}
}

// CreateContainer notes containers that are run.
func (runtime *runtime) CreateContainer(ctx context.Context, request *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	response, err := runtime.RemoteRuntime.CreateContainer(ctx, request)
	if err == nil {
		runtime.programs.note(response.ContainerId, request)
		runtime.log(response.ContainerId, filepath.Join(request.SandboxConfig.LogDirectory, request.Config.LogPath))
	}
	return response, err
}

// log says where the container's log is, as the kubelet asks later.
func (runtime *runtime) log(container, path string) {
	service := runtime.RuntimeService
	service.Lock()
	defer service.Unlock()
	if found, known := service.Containers[container]; known {
		found.LogPath = path
	}
}

// RemoveContainer takes down what a container was run in.
func (runtime *runtime) RemoveContainer(ctx context.Context, request *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	runtime.programs.remove(request.ContainerId)
	return runtime.RemoteRuntime.RemoveContainer(ctx, request)
}
