package oracle

import (
	"fmt"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	draapi "k8s.io/dynamic-resource-allocation/api"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// This file has what expressions and the allocator take since 1.38: slices that
// are converted, with every name of an attribute or a capacity qualified.

// sharedDevice identifies a device of which claims have shares.
type sharedDevice = structured.DeviceID

func makeSharedDevice(device structured.DeviceID, _ *types.UID) sharedDevice {
	return device
}

// consumedCapacityError says whether what a claim holds prevents every
// allocation: the sum over all claims would be too small.
//
// Upstream: the function of that name in the scheduler's plugin dynamicresources.
func consumedCapacityError(claim *resourceapi.ResourceClaim) error {
	for _, result := range claim.Status.Allocation.Devices.Results {
		for _, name := range slices.Sorted(maps.Keys(result.ConsumedCapacity)) {
			if quantity := result.ConsumedCapacity[name]; quantity.Sign() < 0 {
				device := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
				return fmt.Errorf("claim %s/%s, device %s: consumed capacity %q must not be negative, got %s",
					claim.Namespace, claim.Name, device, name, quantity.String())
			}
		}
	}
	return nil
}

// allocatorSlices are the slices as the allocator takes them.
func allocatorSlices(stored []*resourceapi.ResourceSlice) ([]*draapi.ResourceSlice, error) {
	converted := make([]*draapi.ResourceSlice, 0, len(stored))
	for _, slice := range stored {
		one := new(draapi.ResourceSlice)
		if err := draapi.Convert_v1_ResourceSlice_To_api_ResourceSlice(slice, one, nil); err != nil {
			return nil, fmt.Errorf("convert slice %s: %w", slice.Name, err)
		}
		converted = append(converted, one)
	}
	return converted, nil
}

// celDevice is a device as compiled expressions take it. Devices can only be
// converted within a slice.
func celDevice(driver string, device *resourceapi.Device) (dracel.Device, error) {
	slice := &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{
		Driver:  driver,
		Devices: []resourceapi.Device{*device},
	}}
	converted, err := allocatorSlices([]*resourceapi.ResourceSlice{slice})
	if err != nil {
		return dracel.Device{}, err
	}
	return dracel.Device{
		Driver:                   driver,
		AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes:               converted[0].Spec.Devices[0].Attributes,
		Capacity:                 converted[0].Spec.Devices[0].Capacity,
		LookupUniqueString:       converted[0].LookupUniqueString,
	}, nil
}
