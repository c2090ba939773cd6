package oracle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// defaultWorkers is the default of kube-controller-manager.
const defaultWorkers = 8

// controllerName is the name under which kube-controller-manager runs it.
const controllerName = "device-taint-eviction-controller"

type controllerAnswer struct {
	ID               json.RawMessage          `json:"id"`
	Deleted          map[string]float64       `json:"deleted"`
	DisruptionTarget []string                 `json:"disruptionTarget"`
	Rules            map[string]ruleCondition `json:"rules"`
	FirstConditions  map[string]ruleCondition `json:"firstConditions"`
	Events           []podEvent               `json:"events"`
}

// objectsByList has the lists of the request under their names there.
type objectsByList map[string][]apiObject

// listNames is the order in which the lists are stored at the start. It does
// not matter: informers see all of them at once.
var listNames = []string{"pods", "claims", "slices", "rules", "classes"}

// scenario is a decoded request.
type scenario struct {
	request   controllerRequest
	atStart   []apiObject
	afterSync []apiObject
	timeline  []change
}

// change is a decoded timeline entry.
type change struct {
	at     time.Duration
	create apiObject
	update apiObject
	delete *objectReference
}

func answerController(t *testing.T, id json.RawMessage, line []byte) (any, error) {
	// A case that is repeated is decoded again: the API owns what it got.
	return watchingForPanics(func() (any, error) {
		scenario, err := decodeScenario(line)
		if err != nil {
			return nil, err
		}
		var answer *controllerAnswer
		inOwnTime(t, func() {
			answer, err = simulate(scenario)
		})
		if err != nil {
			return nil, err
		}
		answer.ID = id
		return answer, nil
	})
}

func decodeScenario(line []byte) (*scenario, error) {
	request := controllerRequest{Workers: defaultWorkers}
	if err := decodeRequest(line, &request); err != nil {
		return nil, err
	}
	objects, err := decodeLists(&request)
	if err != nil {
		return nil, err
	}
	result := &scenario{request: request}
	if request.RulesAfterSync {
		request.AfterSync = append(request.AfterSync, "rules")
	}
	for _, name := range request.AfterSync {
		if !slices.Contains(listNames, name) {
			return nil, fmt.Errorf("afterSync: unknown list %q", name)
		}
		result.afterSync = append(result.afterSync, objects[name]...)
		delete(objects, name)
	}
	for _, name := range listNames {
		result.atStart = append(result.atStart, objects[name]...)
	}
	result.timeline, err = decodeTimeline(&request)
	return result, err
}

func decodeLists(request *controllerRequest) (objectsByList, error) {
	objects := objectsByList{}
	for _, list := range []struct {
		name, kind string
		raws       []json.RawMessage
	}{
		{"pods", "Pod", request.Pods},
		{"claims", "ResourceClaim", request.Claims},
		{"slices", "ResourceSlice", request.Slices},
		{"rules", "DeviceTaintRule", request.Rules},
		{"classes", "DeviceClass", request.Classes},
	} {
		decoded, err := decodeObjects(list.raws, list.kind, request.IgnoreUnknownFields)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list.name, err)
		}
		objects[list.name] = decoded
	}
	return objects, nil
}

func decodeTimeline(request *controllerRequest) ([]change, error) {
	changes := make([]change, 0, len(request.Timeline))
	for index, entry := range request.Timeline {
		decoded, err := decodeChange(entry, request.IgnoreUnknownFields)
		if err != nil {
			return nil, fmt.Errorf("timeline #%d: %w", index, err)
		}
		changes = append(changes, decoded)
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return changes, nil
}

func decodeChange(entry timelineEntry, ignoreUnknown bool) (change, error) {
	decoded := change{at: seconds(entry.AtSeconds), delete: entry.Delete}
	actions := 0
	var err error
	if entry.Create != nil {
		actions++
		decoded.create, err = decodeObject(entry.Create, "", ignoreUnknown)
	}
	if entry.Update != nil && err == nil {
		actions++
		decoded.update, err = decodeObject(entry.Update, "", ignoreUnknown)
	}
	if entry.Delete != nil {
		actions++
	}
	if err == nil && actions != 1 {
		err = errors.New("exactly one of create, update and delete must be set")
	}
	return decoded, err
}

func seconds(value float64) time.Duration {
	return time.Duration(value * float64(time.Second))
}

// simulate runs the controller over the cluster of the scenario.
func simulate(scenario *scenario) (*controllerAnswer, error) {
	start := time.Now()
	cluster := newCluster()
	for _, object := range scenario.atStart {
		if err := cluster.add(object, start); err != nil {
			return nil, err
		}
	}
	if scenario.request.TerminationSeconds > 0 {
		cluster.terminateGracefully(seconds(scenario.request.TerminationSeconds))
	}
	recorder := newRecorder(cluster, start)

	stop, err := startController(cluster.client, &scenario.request)
	if err != nil {
		return nil, err
	}
	err = playScenario(cluster, scenario, start)
	if stopError := stop(); err == nil {
		err = stopError
	}
	if err != nil {
		return nil, err
	}
	return recorder.summarize(finalConditions(cluster, scenario))
}

// startController starts the informers, lets them fill their caches, and only
// then starts the controller. Its event handlers get everything from the
// caches, and no change can fall between the list and the watch of an informer.
func startController(client *fake.Clientset, request *controllerRequest) (stop func() error, err error) {
	const neverResync = 0
	factory := informers.NewSharedInformerFactory(client, neverResync)
	run, err := newController(client, factory, request.WorkloadResourceClaims, request.Workers)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	settle()

	var runError error
	var running sync.WaitGroup
	running.Go(func() { runError = run(ctx) })
	waitUntilSynced()
	return func() error {
		cancel()
		running.Wait()
		factory.Shutdown()
		settle()
		return runError
	}, nil
}

// playScenario applies the changes. What the controller does at the very
// moment of a change comes before the change.
func playScenario(cluster *cluster, scenario *scenario, start time.Time) error {
	for _, object := range scenario.afterSync {
		if err := cluster.add(object, start); err != nil {
			return err
		}
		settle()
	}
	horizon := seconds(scenario.request.HorizonSeconds)
	for _, change := range scenario.timeline {
		if change.at > horizon {
			return fmt.Errorf("timeline: %v is after the horizon", change.at)
		}
		time.Sleep(time.Until(start.Add(change.at)))
		settle()
		if err := change.apply(cluster); err != nil {
			return fmt.Errorf("at %v: %w", change.at, err)
		}
		settle()
	}
	time.Sleep(time.Until(start.Add(horizon)))
	settle()
	return nil
}

func (c *change) apply(cluster *cluster) error {
	now := time.Now()
	switch {
	case c.create != nil:
		return cluster.add(c.create, now)
	case c.update != nil:
		return cluster.update(c.update, now)
	default:
		return cluster.delete(*c.delete)
	}
}

// finalConditions reads the rules that still exist at the end.
func finalConditions(cluster *cluster, scenario *scenario) map[string]ruleCondition {
	conditions := map[string]ruleCondition{}
	for _, name := range scenario.ruleNames() {
		stored, err := cluster.tracker.Get(gvrOf(&taintRule{}), "", name)
		if err != nil {
			continue
		}
		if condition, found := evictionCondition(conditionsOf(stored.(*taintRule))); found {
			conditions[name] = condition
		}
	}
	return conditions
}

func (s *scenario) ruleNames() []string {
	var names []string
	for _, object := range slices.Concat(s.atStart, s.afterSync) {
		if rule, ok := object.(*taintRule); ok {
			names = append(names, rule.Name)
		}
	}
	for _, change := range s.timeline {
		if rule, ok := change.create.(*taintRule); ok {
			names = append(names, rule.Name)
		}
	}
	return names
}

func (r *recorder) summarize(rules map[string]ruleCondition) (*controllerAnswer, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return &controllerAnswer{
		Deleted:          r.deleted,
		DisruptionTarget: r.disruptionTargets(),
		Rules:            rules,
		FirstConditions:  r.firstConditions,
		Events:           r.sortedEvents(),
	}, nil
}
