package oracle

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// This file has what expressions and the allocator take up to 1.37: devices as
// they are in the API. Later versions have types of their own and replace it.

// sharedDevice identifies a device of which claims have shares.
type sharedDevice = structured.SharedDeviceID

func makeSharedDevice(device structured.DeviceID, share *types.UID) sharedDevice {
	return structured.MakeSharedDeviceID(device, share)
}

// consumedCapacityError says whether what a claim holds prevents every
// allocation. Nothing does.
func consumedCapacityError(*resourceapi.ResourceClaim) error {
	return nil
}

// allocatorSlices are the slices as the allocator takes them.
func allocatorSlices(slices []*resourceapi.ResourceSlice) ([]*resourceapi.ResourceSlice, error) {
	return slices, nil
}

// celDevice is a device as compiled expressions take it.
func celDevice(driver string, device *resourceapi.Device) (dracel.Device, error) {
	return dracel.Device{
		Driver:                   driver,
		AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes:               device.Attributes,
		Capacity:                 device.Capacity,
	}, nil
}
