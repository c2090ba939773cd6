package oracle

import (
	"context"
	"encoding/json"
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
	ID      json.RawMessage          `json:"id"`
	Deleted map[string]float64       `json:"deleted"`
	Rules   map[string]ruleCondition `json:"rules"`
}

// objectsByList has the lists of the request under their names there.
type objectsByList map[string][]apiObject

// listNames is the order in which the lists are stored at the start. It does
// not matter: informers see all of them at once.
var listNames = []string{"pods", "claims", "slices", "rules"}

// scenario is a decoded request.
type scenario struct {
	request   controllerRequest
	atStart   []apiObject
	afterSync []apiObject
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
	var request controllerRequest
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
	return result, nil
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
	} {
		decoded, err := decodeObjects(list.raws, list.kind, request.IgnoreUnknownFields)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list.name, err)
		}
		objects[list.name] = decoded
	}
	return objects, nil
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
	return &controllerAnswer{Deleted: recorder.deleted, Rules: finalConditions(cluster, scenario)}, nil
}

// startController starts the informers, lets them fill their caches, and only
// then starts the controller. Its event handlers get everything from the
// caches, and no change can fall between the list and the watch of an informer.
func startController(client *fake.Clientset, request *controllerRequest) (stop func() error, err error) {
	const neverResync = 0
	factory := informers.NewSharedInformerFactory(client, neverResync)
	run, err := newController(client, factory, request.WorkloadResourceClaims, defaultWorkers)
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

// playScenario adds what comes after the sync, and lets time pass to the horizon.
func playScenario(cluster *cluster, scenario *scenario, start time.Time) error {
	for _, object := range scenario.afterSync {
		if err := cluster.add(object, start); err != nil {
			return err
		}
		settle()
	}
	time.Sleep(time.Until(start.Add(seconds(scenario.request.HorizonSeconds))))
	settle()
	return nil
}

// ruleCondition is the part of the EvictionInProgress condition that matters.
type ruleCondition struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// finalConditions reads the rules that still exist at the end.
func finalConditions(cluster *cluster, scenario *scenario) map[string]ruleCondition {
	conditions := map[string]ruleCondition{}
	for _, object := range slices.Concat(scenario.atStart, scenario.afterSync) {
		rule, ok := object.(*taintRule)
		if !ok {
			continue
		}
		stored, err := cluster.tracker.Get(gvrOf(rule), "", rule.Name)
		if err != nil {
			continue
		}
		for _, condition := range conditionsOf(stored.(*taintRule)) {
			if condition.Type == conditionEvictionInProgress {
				conditions[rule.Name] = ruleCondition{string(condition.Status), condition.Reason, condition.Message}
			}
		}
	}
	return conditions
}
