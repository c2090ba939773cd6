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
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
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
	mood := flags.String("mood", "well", "well, unknown-fields, many, another, hangs, slow, limited, limited-then-hangs, busy, unavailable, refuses or drops")
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
	served := grpc.NewServer(grpc.MaxSendMsgSize(1 << 30))
	// Another service of the kubelet, such as that for plugins, does not know it.
	if mood != "another" {
		v1.RegisterPodResourcesListerServer(served, server)
	}
	fmt.Println("ready")
	return served.Serve(listener)
}

// say is the message as the mood has it.
func say[M proto.Message](server *server, message M) M {
	said := proto.Clone(message).(M)
	if server.mood == "unknown-fields" {
		addStrange(said.ProtoReflect())
	}
	return said
}

// addStrange adds to the message, and to everything in it, what a later version of the API may say: fields
// of every kind, whose numbers are not assigned.
func addStrange(message protoreflect.Message) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for index := range value.List().Len() {
				addStrange(value.List().Get(index).Message())
			}
		default:
			addStrange(value.Message())
		}
		return true
	})
	strange := protowire.AppendTag(nil, 15, protowire.BytesType)
	strange = protowire.AppendString(strange, "new")
	strange = protowire.AppendTag(strange, 16, protowire.VarintType)
	strange = protowire.AppendVarint(strange, 1<<63)
	strange = protowire.AppendTag(strange, 1000, protowire.Fixed64Type)
	strange = protowire.AppendFixed64(strange, 7)
	strange = protowire.AppendTag(strange, 1001, protowire.Fixed32Type)
	strange = protowire.AppendFixed32(strange, 7)
	strange = protowire.AppendTag(strange, 1002, protowire.StartGroupType)
	strange = protowire.AppendTag(strange, 1002, protowire.EndGroupType)
	message.SetUnknown(strange)
}

// List is what the file says, as the mood has it.
func (server *server) List(ctx context.Context, _ *v1.ListPodResourcesRequest) (*v1.ListPodResourcesResponse, error) {
	if err := server.suffer(ctx); err != nil {
		return nil, err
	}
	if server.mood == "many" {
		return &v1.ListPodResourcesResponse{PodResources: many(10_000)}, nil
	}
	return say(server, &server.list), nil
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

// many is more than a client takes without being told to: 4 MB.
func many(count int) []*v1.PodResources {
	var pods []*v1.PodResources
	for index := range count {
		name := fmt.Sprintf("pod-%05d", index)
		var containers []*v1.ContainerResources
		for _, container := range []string{"main", "beside", "sidecar"} {
			device := &v1.ClaimResource{
				CdiDevices: []*v1.CDIDevice{{Name: "gpu.example.com/device=gpu-" + name + "-" + container}},
				DriverName: "gpu.example.com", PoolName: "node-0", DeviceName: "gpu-" + name + "-" + container,
			}
			claim := &v1.DynamicResource{
				ClaimName: name + "-" + container, ClaimNamespace: "many", ClaimResources: []*v1.ClaimResource{device},
			}
			plugin := &v1.ContainerDevices{ResourceName: "example.com/nic", DeviceIds: []string{name + "-0", name + "-1"}}
			containers = append(containers, &v1.ContainerResources{
				Name: container, Devices: []*v1.ContainerDevices{plugin}, CpuIds: []int64{0, 1, 2, 3},
				DynamicResources: []*v1.DynamicResource{claim},
			})
		}
		pods = append(pods, &v1.PodResources{Name: name, Namespace: "many", Containers: containers})
	}
	return pods
}
