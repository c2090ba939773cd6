package oracle

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// recorder notes what the controller asks of the API. The reactors only look
// and leave the work to the fake clientset.
type recorder struct {
	start   time.Time
	cluster *cluster

	mutex           sync.Mutex
	deleted         map[string]float64
	conditioned     map[string]bool
	firstConditions map[string]ruleCondition
	events          []podEvent
	eventsByName    map[string]podEvent
}

// ruleCondition is the part of the EvictionInProgress condition that matters.
type ruleCondition struct {
	Status             string   `json:"status"`
	Reason             string   `json:"reason"`
	Message            string   `json:"message"`
	ObservedGeneration int64    `json:"observedGeneration"`
	AtSeconds          *float64 `json:"atSeconds,omitempty"`
}

type podEvent struct {
	Pod       string  `json:"pod"`
	Reason    string  `json:"reason"`
	Message   string  `json:"message"`
	AtSeconds float64 `json:"atSeconds"`
}

func newRecorder(cluster *cluster, start time.Time) *recorder {
	recorder := &recorder{
		start:           start,
		cluster:         cluster,
		deleted:         map[string]float64{},
		conditioned:     map[string]bool{},
		firstConditions: map[string]ruleCondition{},
		events:          []podEvent{},
		eventsByName:    map[string]podEvent{},
	}
	cluster.client.PrependReactor("delete", "pods", recorder.observe(recorder.podDeleted))
	cluster.client.PrependReactor("patch", "pods", recorder.observe(recorder.podPatched))
	cluster.client.PrependReactor("patch", "devicetaintrules", recorder.observe(recorder.rulePatched))
	cluster.client.PrependReactor("create", "events", recorder.observe(recorder.eventCreated))
	cluster.client.PrependReactor("patch", "events", recorder.observe(recorder.eventPatched))
	return recorder
}

func (r *recorder) observe(look func(clienttesting.Action)) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		look(action)
		return false, nil, nil
	}
}

func (r *recorder) seconds() float64 {
	return time.Since(r.start).Seconds()
}

func (r *recorder) podDeleted(action clienttesting.Action) {
	name := action.(clienttesting.DeleteAction).GetName()
	// A request for a pod that is already gone is not a deletion.
	if _, err := r.cluster.tracker.Get(action.GetResource(), action.GetNamespace(), name); err != nil {
		return
	}
	key := action.GetNamespace() + "/" + name
	if _, found := r.deleted[key]; !found {
		r.deleted[key] = r.seconds()
	}
}

func (r *recorder) podPatched(action clienttesting.Action) {
	patch := action.(clienttesting.PatchAction)
	if strings.Contains(string(patch.GetPatch()), string(corev1.DisruptionTarget)) {
		r.conditioned[action.GetNamespace()+"/"+patch.GetName()] = true
	}
}

func (r *recorder) rulePatched(action clienttesting.Action) {
	patch := action.(clienttesting.PatchAction)
	if _, found := r.firstConditions[patch.GetName()]; found {
		return
	}
	var applied struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(patch.GetPatch(), &applied); err != nil {
		return
	}
	if condition, found := evictionCondition(applied.Status.Conditions); found {
		at := r.seconds()
		condition.AtSeconds = &at
		r.firstConditions[patch.GetName()] = condition
	}
}

func (r *recorder) eventCreated(action clienttesting.Action) {
	event, ok := action.(clienttesting.CreateAction).GetObject().(*corev1.Event)
	if !ok {
		return
	}
	seen := podEvent{
		Pod:       event.InvolvedObject.Namespace + "/" + event.InvolvedObject.Name,
		Reason:    event.Reason,
		Message:   event.Message,
		AtSeconds: r.seconds(),
	}
	r.eventsByName[event.Name] = seen
	r.events = append(r.events, seen)
}

// eventPatched sees the repetition of an event: the recorder of client-go
// then only raises the count of the first one.
func (r *recorder) eventPatched(action clienttesting.Action) {
	seen, found := r.eventsByName[action.(clienttesting.PatchAction).GetName()]
	if !found {
		return
	}
	seen.AtSeconds = r.seconds()
	r.events = append(r.events, seen)
}

func evictionCondition(conditions []metav1.Condition) (ruleCondition, bool) {
	for _, condition := range conditions {
		if condition.Type == conditionEvictionInProgress {
			return ruleCondition{
				Status:             string(condition.Status),
				Reason:             condition.Reason,
				Message:            condition.Message,
				ObservedGeneration: condition.ObservedGeneration,
			}, true
		}
	}
	return ruleCondition{}, false
}

// sortedEvents puts the events into an order that does not depend on which
// worker was faster.
func (r *recorder) sortedEvents() []podEvent {
	slices.SortStableFunc(r.events, func(a, b podEvent) int {
		return cmp.Or(cmp.Compare(a.AtSeconds, b.AtSeconds), cmp.Compare(a.Pod, b.Pod))
	})
	return r.events
}

func (r *recorder) disruptionTargets() []string {
	targets := slices.Sorted(maps.Keys(r.conditioned))
	if targets == nil {
		return []string{}
	}
	return targets
}
