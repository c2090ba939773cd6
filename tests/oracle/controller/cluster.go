package oracle

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// cluster is the fake API. It is what fake.NewClientset returns, except that it
// knows only the types of this package: on each write the tracker goes over all
// types that it knows, and with all of Kubernetes that takes more time than
// everything else in a case together.
type cluster struct {
	client  *fake.Clientset
	tracker clienttesting.ObjectTracker
}

var clusterScheme = newClusterScheme()

func newClusterScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion,
		&corev1.Pod{}, &corev1.PodList{}, &corev1.Event{}, &corev1.EventList{})
	scheme.AddKnownTypes(resourceapi.SchemeGroupVersion,
		&resourceapi.ResourceClaim{}, &resourceapi.ResourceClaimList{},
		&resourceapi.ResourceSlice{}, &resourceapi.ResourceSliceList{},
		&resourceapi.DeviceClass{}, &resourceapi.DeviceClassList{})
	scheme.AddKnownTypes(ruleGroupVersion, &taintRule{}, &taintRuleList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, resourceapi.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, ruleGroupVersion)
	return scheme
}

func newCluster() *cluster {
	tracker := clienttesting.NewFieldManagedObjectTracker(clusterScheme,
		serializer.NewCodecFactory(clusterScheme).UniversalDecoder(),
		applyconfigurations.NewTypeConverter(clusterScheme))
	client := &fake.Clientset{}
	client.AddReactor("*", "*", clienttesting.ObjectReaction(tracker))
	client.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		var options metav1.ListOptions
		if watchAction, ok := action.(clienttesting.WatchActionImpl); ok {
			options = watchAction.ListOptions
		}
		watcher, err := tracker.Watch(action.GetResource(), action.GetNamespace(), options)
		return err == nil, watcher, err
	})
	return &cluster{client: client, tracker: tracker}
}
