// Package pretended is a container runtime that runs nothing: containers are entries in a map.
//
// The annotation node.test/stops-after of a pod says how long its containers take to stop.
//
// As long as the file named by --broken exists, no sandbox can be stopped: what a broken network
// plugin does.
package pretended

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/fake"
	"k8s.io/cri-client/pkg/util"
)

const (
	stopsAfter = "node.test/stops-after"
	// killed is the exit code of a container that did not stop in time.
	killed = 137
)

// runtime answers as the fake one of Kubernetes' own tests, with what follows replaced.
type runtime struct {
	*fake.RemoteRuntime
	broken string
}

// Main serves the runtime until the process is killed, and returns the exit code.
func Main(arguments []string) int {
	flags := flag.NewFlagSet("runtime", flag.ExitOnError)
	socket := flags.String("socket", "", "where to listen")
	broken := flags.String("broken", "", "file that keeps sandboxes from being stopped")
	_ = flags.Parse(arguments)

	listener, err := util.CreateListener("unix://" + *socket)
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return 1
	}
	pretended := &runtime{RemoteRuntime: fake.NewFakeRemoteRuntime(), broken: *broken}
	// Without a size, a kubelet takes no image that it has pulled before.
	pretended.ImageService.SetFakeImageSize(1)
	pretended.RuntimeService.FakeStatus = &runtimeapi.RuntimeStatus{
		Conditions: []*runtimeapi.RuntimeCondition{
			{Type: runtimeapi.RuntimeReady, Status: true},
			{Type: runtimeapi.NetworkReady, Status: true},
		},
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, pretended)
	runtimeapi.RegisterImageServiceServer(server, pretended)
	if err := server.Serve(listener); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return 1
	}
	return 0
}

// RuntimeConfig names a cgroup driver; the kubelet does not start without.
func (runtime *runtime) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{
		Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS},
	}, nil
}

// ListContainerStats has nothing to say, and nothing to fail with.
func (runtime *runtime) ListContainerStats(context.Context, *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	return &runtimeapi.ListContainerStatsResponse{}, nil
}

// ListPodSandboxStats has nothing to say, and nothing to fail with.
func (runtime *runtime) ListPodSandboxStats(context.Context, *runtimeapi.ListPodSandboxStatsRequest) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	return &runtimeapi.ListPodSandboxStatsResponse{}, nil
}

// ImageFsInfo says where images would be; the kubelet wants to know how full that is.
func (runtime *runtime) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	usage := []*runtimeapi.FilesystemUsage{{
		Timestamp:  time.Now().UnixNano(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{},
		InodesUsed: &runtimeapi.UInt64Value{},
	}}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
}

// StopContainer takes as long as the pod's annotation says, and at most the grace period.
func (runtime *runtime) StopContainer(_ context.Context, request *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	after := runtime.annotated(request.ContainerId)
	grace := time.Duration(request.Timeout) * time.Second
	code := int32(0)
	if after > grace {
		after, code = grace, killed
	}
	time.Sleep(after)
	runtime.end(request.ContainerId, code)
	return &runtimeapi.StopContainerResponse{}, nil
}

// StopPodSandbox fails as long as the file says so, and may be repeated.
func (runtime *runtime) StopPodSandbox(ctx context.Context, request *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	if _, err := os.Stat(runtime.broken); err == nil {
		return nil, errors.New("plugin type=\"pretended\" failed (delete): the network cannot be taken down")
	}
	if response, err := runtime.RemoteRuntime.StopPodSandbox(ctx, request); err == nil {
		return response, nil
	}
	// One that is gone is stopped.
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

// end marks the container as ended, unless it has ended before.
func (runtime *runtime) end(container string, code int32) {
	service := runtime.RuntimeService
	service.Lock()
	defer service.Unlock()
	found, known := service.Containers[container]
	if !known || found.State == runtimeapi.ContainerState_CONTAINER_EXITED {
		return
	}
	found.State = runtimeapi.ContainerState_CONTAINER_EXITED
	found.FinishedAt = time.Now().UnixNano()
	found.ExitCode = code
	found.Reason = "Completed"
	if code != 0 {
		found.Reason = "Error"
	}
}

// annotated is the time that the container's pod takes to stop.
func (runtime *runtime) annotated(container string) time.Duration {
	service := runtime.RuntimeService
	service.Lock()
	defer service.Unlock()
	if found, known := service.Containers[container]; known && service.Sandboxes[found.SandboxID] != nil {
		after, _ := time.ParseDuration(service.Sandboxes[found.SandboxID].Annotations[stopsAfter])
		return after
	}
	return 0
}
