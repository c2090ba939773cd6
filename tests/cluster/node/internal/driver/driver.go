// Package driver is a DRA driver without devices: it publishes what it is told to, and prepares
// claims by writing down that it has.
package driver

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/klog/v2"
)

// options say what the driver is; see the flags for their meaning.
type options struct {
	name, node, kubeconfig, root, prepared string
}

// held is a claim that is prepared: as long as it is, the driver holds its devices.
type held struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Devices   []string `json:"devices"`
}

// driver remembers in a file what is prepared, as real ones do, so that a restart changes nothing.
type driver struct {
	options options
	mutex   sync.Mutex
	claims  map[types.UID]held
}

// Main runs the driver until it is asked to end, and returns the exit code.
func Main(arguments []string) int {
	options := options{}
	flags := flag.NewFlagSet("driver", flag.ExitOnError)
	flags.StringVar(&options.name, "name", "gpu.example.com", "name of the driver")
	flags.StringVar(&options.node, "node", "", "name of the node, and of the pool")
	flags.StringVar(&options.kubeconfig, "kubeconfig", "", "how to reach the API server")
	flags.StringVar(&options.root, "root", "", "the kubelet's folder")
	flags.StringVar(&options.prepared, "prepared", "", "file for the claims that are prepared")
	_ = flags.Parse(arguments)
	if err := run(options); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return 1
	}
	return 0
}

func run(options options) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	driver := &driver{options: options, claims: map[types.UID]held{}}
	if content, err := os.ReadFile(options.prepared); err == nil {
		if err := json.Unmarshal(content, &driver.claims); err != nil {
			return err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", options.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	data := filepath.Join(options.root, "plugins", options.name)
	if err := os.MkdirAll(data, 0o750); err != nil {
		return err
	}
	helper, err := kubeletplugin.Start(stop, driver,
		kubeletplugin.DriverName(options.name),
		kubeletplugin.NodeName(options.node),
		kubeletplugin.KubeClient(client),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(options.root, "plugins_registry")),
		kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.HealthService(true),
		kubeletplugin.GRPCVerbosity(2),
	)
	if err != nil {
		return err
	}
	defer helper.Stop()
	slice := resourceslice.Slice{Devices: driver.devices()}
	pools := map[string]resourceslice.Pool{options.node: {Slices: []resourceslice.Slice{slice}}}
	if err := helper.PublishResources(stop, resourceslice.DriverResources{Pools: pools}); err != nil {
		return err
	}
	<-stop.Done()
	return nil
}

// names are those of the devices.
var names = []string{"gpu-0", "gpu-1", "gpu-2", "gpu-3"}

func (driver *driver) devices() []resourceapi.Device {
	var devices []resourceapi.Device
	for _, name := range names {
		serial := driver.options.node + "-" + name
		devices = append(devices, resourceapi.Device{
			Name:       name,
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"uuid": {StringValue: &serial}},
		})
	}
	return devices
}

// PrepareResourceClaims makes the devices ready for a pod.
func (driver *driver) PrepareResourceClaims(_ context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	driver.mutex.Lock()
	defer driver.mutex.Unlock()
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		result, entry := kubeletplugin.PrepareResult{}, held{Namespace: claim.Namespace, Name: claim.Name}
		for _, allocated := range claim.Status.Allocation.Devices.Results {
			if allocated.Driver != driver.options.name {
				continue
			}
			entry.Devices = append(entry.Devices, allocated.Device)
			result.Devices = append(result.Devices, kubeletplugin.Device{
				Requests:     []string{allocated.Request},
				PoolName:     allocated.Pool,
				DeviceName:   allocated.Device,
				ShareID:      allocated.ShareID,
				CDIDeviceIDs: []string{driver.options.name + "/device=" + allocated.Device},
			})
		}
		results[claim.UID] = result
		driver.claims[claim.UID] = entry
	}
	return results, driver.save()
}

// UnprepareResourceClaims gives the devices back.
func (driver *driver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	driver.mutex.Lock()
	defer driver.mutex.Unlock()
	results := map[types.UID]error{}
	for _, claim := range claims {
		delete(driver.claims, claim.UID)
		results[claim.UID] = nil
	}
	return results, driver.save()
}

// save replaces the file at once: readers see one state or the other.
func (driver *driver) save() error {
	content, err := json.Marshal(driver.claims)
	if err != nil {
		return err
	}
	next := driver.options.prepared + ".next"
	if err := os.WriteFile(next, content, 0o644); err != nil {
		return err
	}
	return os.Rename(next, driver.options.prepared)
}

// HandleError writes down what went wrong in the background.
func (driver *driver) HandleError(_ context.Context, err error, message string) {
	klog.ErrorS(err, message)
}

// WatchHealthStatus says again and again that all devices are well.
func (driver *driver) WatchHealthStatus(ctx context.Context, reports chan<- kubeletplugin.DeviceHealthReport) error {
	again := time.NewTicker(5 * time.Second)
	defer again.Stop()
	for {
		var devices []kubeletplugin.DeviceHealth
		for _, name := range names {
			devices = append(devices, kubeletplugin.DeviceHealth{
				PoolName: driver.options.node, DeviceName: name,
				Health: kubeletplugin.HealthStatusHealthy, LastUpdated: time.Now(),
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case reports <- kubeletplugin.DeviceHealthReport{Devices: devices}:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}
