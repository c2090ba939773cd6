// Package said is a server of the kubelet's podresources API, made from the official Go module, that
// says what a file tells it to: shapes and failures that a real kubelet does not show here.
package said

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"k8s.io/kubelet/pkg/apis/podresources/v1"
)

// server speaks v1 as long as its mood does not say otherwise.
type server struct {
	v1.UnimplementedPodResourcesListerServer
	list  v1.ListPodResourcesResponse
	mood  string
	calls int
}

// Main serves until the process is killed, and returns the exit code.
func Main(arguments []string) int {
	flags := flag.NewFlagSet("podresources", flag.ExitOnError)
	socket := flags.String("socket", "", "where to listen")
	list := flags.String("list", "", "file with the answer to List, as JSON")
	mood := flags.String("mood", "well", "well, another, hangs, slow, limited, limited-then-hangs, busy, unavailable, refuses or drops")
	_ = flags.Parse(arguments)
	if err := serve(*socket, *list, *mood); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return 1
	}
	return 0
}

func serve(socket, list, mood string) error {
	_ = os.Remove(socket)
	server := &server{mood: mood}
	content, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	if err := protojson.Unmarshal(content, &server.list); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	served := grpc.NewServer()
	// Another service of the kubelet, such as that for plugins, does not know it.
	if mood != "another" {
		v1.RegisterPodResourcesListerServer(served, server)
	}
	fmt.Println("ready")
	return served.Serve(listener)
}

// List is what the file says, as the mood has it.
func (server *server) List(ctx context.Context, _ *v1.ListPodResourcesRequest) (*v1.ListPodResourcesResponse, error) {
	if err := server.suffer(ctx); err != nil {
		return nil, err
	}
	return &server.list, nil
}

// suffer does what the mood does to every call.
func (server *server) suffer(ctx context.Context) error {
	server.calls++
	switch server.mood {
	case "hangs":
		<-ctx.Done()
		return ctx.Err()
	case "slow":
		time.Sleep(2 * time.Second)
	case "limited":
		return status.Error(codes.ResourceExhausted, "rejected by rate limit")
	case "busy":
		if server.calls < 3 {
			return status.Error(codes.ResourceExhausted, "rejected by rate limit")
		}
	case "limited-then-hangs":
		if server.calls < 3 {
			return status.Error(codes.ResourceExhausted, "rejected by rate limit")
		}
		<-ctx.Done()
		return ctx.Err()
	case "unavailable":
		return status.Error(codes.Unavailable, "not ready yet")
	case "refuses":
		return status.Error(codes.PermissionDenied, "not for you")
	case "drops":
		os.Exit(0)
	}
	return nil
}
