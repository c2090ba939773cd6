package oracle

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// recorder notes when the controller deletes a pod. It only looks and leaves
// the work to the fake clientset.
type recorder struct {
	mutex   sync.Mutex
	deleted map[string]float64
}

func newRecorder(cluster *cluster, start time.Time) *recorder {
	recorder := &recorder{deleted: map[string]float64{}}
	cluster.client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		recorder.mutex.Lock()
		defer recorder.mutex.Unlock()
		name := action.(clienttesting.DeleteAction).GetName()
		key := action.GetNamespace() + "/" + name
		// A request for a pod that is already gone is not a deletion.
		_, err := cluster.tracker.Get(action.GetResource(), action.GetNamespace(), name)
		if _, found := recorder.deleted[key]; !found && err == nil {
			recorder.deleted[key] = time.Since(start).Seconds()
		}
		return false, nil, nil
	})
	return recorder
}
