package oracle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// terminateGracefully makes a deleted pod behave as with an API server and a
// kubelet: a pod on a node keeps terminating for a while before it is gone. The
// fake clientset alone removes it at once.
func (c *cluster) terminateGracefully(duration time.Duration) {
	c.client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		namespace := action.GetNamespace()
		name := action.(clienttesting.DeleteAction).GetName()
		stored, err := c.tracker.Get(action.GetResource(), namespace, name)
		if err != nil {
			return true, nil, err
		}
		pod := stored.(*corev1.Pod).DeepCopy()
		if pod.Spec.NodeName == "" {
			return false, nil, nil
		}
		if pod.DeletionTimestamp != nil {
			return true, nil, nil
		}
		now := metav1.Now()
		pod.DeletionTimestamp = &now
		time.AfterFunc(duration, func() { c.removeTerminated(pod) })
		return true, nil, c.tracker.Update(action.GetResource(), pod, namespace)
	})
}

// removeTerminated leaves a pod alone that has replaced the terminated one.
func (c *cluster) removeTerminated(pod *corev1.Pod) {
	stored, err := c.tracker.Get(gvrOf(pod), pod.Namespace, pod.Name)
	if err != nil || stored.(*corev1.Pod).UID != pod.UID {
		return
	}
	// It can only be gone already, and then all is well.
	_ = c.tracker.Delete(gvrOf(pod), pod.Namespace, pod.Name)
}
