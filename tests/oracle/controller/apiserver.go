package oracle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The fake clientset stores what it is given. The functions here do what the
// API server would have done on top: defaults, generations, kept status.

func gvkOf(object apiObject) schema.GroupVersionKind {
	kinds, _, err := clusterScheme.ObjectKinds(object)
	if err != nil {
		// Only types from newObjectOfKind get here and all are registered.
		panic(err)
	}
	return kinds[0]
}

func gvrOf(object apiObject) schema.GroupVersionResource {
	switch object.(type) {
	case *corev1.Pod:
		return corev1.SchemeGroupVersion.WithResource("pods")
	case *resourceapi.ResourceClaim:
		return resourceapi.SchemeGroupVersion.WithResource("resourceclaims")
	case *resourceapi.ResourceSlice:
		return resourceapi.SchemeGroupVersion.WithResource("resourceslices")
	case *resourceapi.DeviceClass:
		return resourceapi.SchemeGroupVersion.WithResource("deviceclasses")
	case *taintRule:
		return ruleGroupVersion.WithResource("devicetaintrules")
	default:
		panic(fmt.Sprintf("unexpected type %T", object))
	}
}

// setDefaults sets what API server defaulting sets and the controller relies on.
func setDefaults(object apiObject, now time.Time) {
	switch object := object.(type) {
	case *resourceapi.ResourceSlice:
		for i := range object.Spec.Devices {
			taints := object.Spec.Devices[i].Taints
			for j := range taints {
				setTimeAdded(&taints[j].TimeAdded, now)
			}
		}
	case *taintRule:
		setTimeAdded(&object.Spec.Taint.TimeAdded, now)
	}
}

func setTimeAdded(timeAdded **metav1.Time, now time.Time) {
	if *timeAdded == nil {
		*timeAdded = &metav1.Time{Time: now.Truncate(time.Second)}
	}
}

// add puts an object into the cluster before or while it runs.
func (c *cluster) add(object apiObject, now time.Time) error {
	setDefaults(object, now)
	if rule, ok := object.(*taintRule); ok && rule.Generation == 0 {
		rule.Generation = 1
	}
	if err := c.tracker.Create(gvrOf(object), object, object.GetNamespace()); err != nil {
		return fmt.Errorf("create %s %s: %w", gvkOf(object).Kind, object.GetName(), err)
	}
	return nil
}
