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
	"google.golang.org/protobuf/proto"
	"k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
)

// answers are the contents of the files, read once.
type answers struct {
	list        v1.ListPodResourcesResponse
	allocatable v1.AllocatableResourcesResponse
}

// server speaks v1 as long as its mood does not say otherwise.
type server struct {
	v1.UnimplementedPodResourcesListerServer
	answers answers
	mood    string
	calls   int
}

// Main serves until the process is killed, and returns the exit code.
func Main(arguments []string) int {
	flags := flag.NewFlagSet("podresources", flag.ExitOnError)
	socket := flags.String("socket", "", "where to listen")
	list := flags.String("list", "", "file with the answer to List, as JSON")
	allocatable := flags.String("allocatable", "", "file with the answer to GetAllocatableResources, as JSON")
	mood := flags.String("mood", "well", "well, unknown-fields, many, old, get-off, hangs, slow, limited, busy, refuses or drops")
	_ = flags.Parse(arguments)
	if err := serve(*socket, *list, *allocatable, *mood); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return 1
	}
	return 0
}

func serve(socket, list, allocatable, mood string) error {
	_ = os.Remove(socket)
	server := &server{mood: mood}
	for path, message := range map[string]proto.Message{list: &server.answers.list, allocatable: &server.answers.allocatable} {
		if path == "" {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := protojson.Unmarshal(content, message); err != nil {
			return err
		}
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	served := grpc.NewServer(grpc.MaxSendMsgSize(1 << 30))
	if mood != "old" {
		v1.RegisterPodResourcesListerServer(served, server)
	}
	v1alpha1.RegisterPodResourcesListerServer(served, &old{server: server})
	fmt.Println("ready")
	return served.Serve(listener)
}

// strange is a field that no version of the API has: number 1000, of bytes.
var strange = []byte{0xc2, 0x3e, 0x03, 'n', 'e', 'w'}

// List is what the file says, as the mood has it.
func (server *server) List(ctx context.Context, _ *v1.ListPodResourcesRequest) (*v1.ListPodResourcesResponse, error) {
	if err := server.suffer(ctx); err != nil {
		return nil, err
	}
	response := proto.Clone(&server.answers.list).(*v1.ListPodResourcesResponse)
	switch server.mood {
	case "unknown-fields":
		response.ProtoReflect().SetUnknown(strange)
		for _, pod := range response.PodResources {
			pod.ProtoReflect().SetUnknown(strange)
			for _, container := range pod.Containers {
				container.ProtoReflect().SetUnknown(strange)
			}
		}
	case "many":
		response.PodResources = many(10_000)
	}
	return response, nil
}

// Get looks for the pod in the file.
func (server *server) Get(ctx context.Context, request *v1.GetPodResourcesRequest) (*v1.GetPodResourcesResponse, error) {
	if err := server.suffer(ctx); err != nil {
		return nil, err
	}
	if server.mood == "get-off" {
		return nil, fmt.Errorf("PodResources API Get method disabled")
	}
	for _, pod := range server.answers.list.PodResources {
		if pod.Name == request.PodName && pod.Namespace == request.PodNamespace {
			return &v1.GetPodResourcesResponse{PodResources: pod}, nil
		}
	}
	return nil, fmt.Errorf("pod %s in namespace %s not found", request.PodName, request.PodNamespace)
}

// GetAllocatableResources is what the file says.
func (server *server) GetAllocatableResources(ctx context.Context, _ *v1.AllocatableResourcesRequest) (*v1.AllocatableResourcesResponse, error) {
	if err := server.suffer(ctx); err != nil {
		return nil, err
	}
	return &server.answers.allocatable, nil
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
	case "refuses":
		return status.Error(codes.PermissionDenied, "not for you")
	case "drops":
		os.Exit(0)
	}
	return nil
}

func many(count int) []*v1.PodResources {
	var pods []*v1.PodResources
	for index := range count {
		name := fmt.Sprintf("pod-%05d", index)
		device := &v1.ClaimResource{
			CdiDevices: []*v1.CDIDevice{{Name: "gpu.example.com/device=gpu-" + name}},
			DriverName: "gpu.example.com", PoolName: "node-0", DeviceName: "gpu-" + name,
		}
		claim := &v1.DynamicResource{ClaimName: name, ClaimNamespace: "many", ClaimResources: []*v1.ClaimResource{device}}
		container := &v1.ContainerResources{Name: "main", DynamicResources: []*v1.DynamicResource{claim}}
		pods = append(pods, &v1.PodResources{Name: name, Namespace: "many", Containers: []*v1.ContainerResources{container}})
	}
	return pods
}

// old speaks v1alpha1, which knows device plugins alone.
type old struct {
	v1alpha1.UnimplementedPodResourcesListerServer
	server *server
}

// List is what v1 says, without what v1alpha1 has no words for.
func (old *old) List(ctx context.Context, _ *v1alpha1.ListPodResourcesRequest) (*v1alpha1.ListPodResourcesResponse, error) {
	if err := old.server.suffer(ctx); err != nil {
		return nil, err
	}
	response := &v1alpha1.ListPodResourcesResponse{}
	for _, pod := range old.server.answers.list.PodResources {
		reduced := &v1alpha1.PodResources{Name: pod.Name, Namespace: pod.Namespace}
		for _, container := range pod.Containers {
			entry := &v1alpha1.ContainerResources{Name: container.Name}
			for _, devices := range container.Devices {
				entry.Devices = append(entry.Devices, &v1alpha1.ContainerDevices{ResourceName: devices.ResourceName, DeviceIds: devices.DeviceIds})
			}
			reduced.Containers = append(reduced.Containers, entry)
		}
		response.PodResources = append(response.PodResources, reduced)
	}
	return response, nil
}
