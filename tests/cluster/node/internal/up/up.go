package up

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// errStopped is the end that was asked for.
var errStopped = errors.New("stopped")

// event is a line on stdout.
type event struct {
	// Event is ready, done or failed.
	Event   string `json:"event"`
	Message string `json:"message,omitempty"`
	*readyEvent
}

// readyEvent is where things are on a node.
type readyEvent struct {
	Name     string `json:"name"`
	Driver   string `json:"driver"`
	Socket   string `json:"socket"`
	Prepared string `json:"prepared"`
}

// Main runs a node until it is told to end, and returns the exit code. Its processes end with it,
// however it ends.
func Main(arguments []string) int {
	options, err := parseOptions(arguments)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return 2
	}
	// A reader of stdout that is gone must not keep us from cleaning up.
	signal.Ignore(syscall.SIGPIPE)
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if err := run(stop, cancel, options); err != nil && !errors.Is(err, errStopped) {
		report(event{Event: "failed", Message: err.Error()})
		return 1
	}
	return 0
}

func run(stop context.Context, cancel context.CancelFunc, options options) error {
	commands := make(chan string)
	go readCommands(commands, cancel)
	node, err := newNode(options)
	if err != nil {
		return err
	}
	defer node.end()
	if err := node.start(stop); err != nil {
		return err
	}
	report(event{Event: "ready", readyEvent: node.ready()})
	for {
		select {
		case <-stop.Done():
			return errStopped
		case command := <-commands:
			if err := node.execute(command); err != nil {
				return err
			}
			report(event{Event: "done", Message: command})
		}
	}
}

func (node *node) ready() *readyEvent {
	return &readyEvent{
		Name:     node.options.name,
		Driver:   node.options.driver,
		Socket:   filepath.Join(node.folder, "k", "pod-resources", "kubelet.sock"),
		Prepared: node.path("prepared.json"),
	}
}

// readCommands passes on the lines of stdin. The end of stdin is the end of the parent process.
func readCommands(commands chan<- string, cancel context.CancelFunc) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		commands <- strings.TrimSpace(lines.Text())
	}
	cancel()
}

// report tells the caller what happened.
func report(event event) {
	line, _ := json.Marshal(event)
	fmt.Println(string(line))
}
