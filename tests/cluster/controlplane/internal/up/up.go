package up

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

// event is a line on stdout with --machine.
type event struct {
	// Event is ready or failed.
	Event   string `json:"event"`
	Message string `json:"message,omitempty"`
	*readyEvent
}

// readyEvent is how to reach the control plane.
type readyEvent struct {
	Server   string `json:"server"`
	Admin    user   `json:"admin"`
	Users    []user `json:"users"`
	Folder   string `json:"folder"`
	Binaries string `json:"binaries"`
}

// Main runs a control plane until it is told to end, and returns the exit code. The components
// end with it, however it ends.
func Main(program string, arguments []string) int {
	options, err := parseOptions(program, arguments, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return 2
	}
	// The kernel kills the components when the thread that started them ends.
	runtime.LockOSThread()
	// A reader of stdout that is gone must not keep us from killing the components.
	signal.Ignore(syscall.SIGPIPE)
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()

	err = run(stop, cancel, options)
	if err == nil || errors.Is(err, errStopped) {
		return 0
	}
	report(options, event{Event: "failed", Message: err.Error()})
	return 1
}

func run(stop context.Context, cancel context.CancelFunc, options options) error {
	if options.machine {
		go func() {
			// The end of stdin is the end of the parent process.
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	plane, err := newPlane(options)
	if err != nil {
		return err
	}
	defer plane.kill()
	if err := plane.start(stop); err != nil {
		return plane.end(err)
	}
	report(options, event{Event: "ready", readyEvent: plane.ready()})
	return plane.end(plane.serve(stop))
}

// end kills the components and removes their files. After a failure the user will want to read the
// logs: they stay until the next failure.
func (plane *plane) end(err error) error {
	plane.kill()
	if err == nil || errors.Is(err, errStopped) {
		_ = os.RemoveAll(plane.folder)
		return err
	}
	kept := filepath.Join(plane.options.parent, "failed")
	_ = os.RemoveAll(kept)
	_ = os.Rename(plane.folder, kept)
	return fmt.Errorf("%w\nall logs are in %s", err, kept)
}

// serve waits for the end, and for components that end by themselves.
func (plane *plane) serve(stop context.Context) error {
	for {
		select {
		case <-stop.Done():
			return errStopped
		case component := <-plane.exits:
			if plane.named(component.name) != component || component.exited == nil || component.running() {
				// Also one of an earlier attempt, which found its port taken.
				continue
			}
			if !component.startsAgain() {
				return component.failure("ended")
			}
			if err := component.start(plane.exits); err != nil {
				return err
			}
		}
	}
}

// ready describes the running control plane.
func (plane *plane) ready() *readyEvent {
	return &readyEvent{
		Server:   plane.client.address,
		Admin:    plane.files.admin,
		Users:    plane.files.users,
		Folder:   plane.folder,
		Binaries: plane.binaries(),
	}
}

// report tells the caller what happened, in JSON for a program and in words for a person.
func report(options options, event event) {
	switch {
	case options.machine:
		line, _ := json.Marshal(event)
		fmt.Println(string(line))
	case event.Event == "failed":
		fmt.Fprintf(os.Stderr, "error: %s\n", event.Message)
	case event.Event == "ready":
		fmt.Printf("The control plane is ready at %s; its logs are in %s.\n", event.Server, event.Folder)
		fmt.Printf("In another terminal:\n\n  export KUBECONFIG=%s\n  export PATH=%s:$PATH\n\n", event.Admin.Kubeconfig, event.Binaries)
		for _, user := range event.Users {
			fmt.Printf("%s, who may do nothing yet: %s\n", user.Name, user.Kubeconfig)
		}
		fmt.Println("Ctrl-C ends it and removes everything.")
	}
}

// Program is the file that is running, for use as the program that has all components.
func Program() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}
