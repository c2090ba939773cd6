package oracle

import (
	"context"
	"errors"
	"time"

	resourcealpha "k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/kubernetes/pkg/controller/devicetainteviction"
	"k8s.io/kubernetes/pkg/features"
)

// This file has everything that depends on the Kubernetes version.

const (
	kubernetesVersion           = "v1.34.4"
	conditionEvictionInProgress = "EvictionInProgress"
	effectChangeBumpsTimeAdded  = false

	// resyncPeriod is longer than any case. With zero, which means never, the
	// informers of this version wait on a channel of the package client-go/tools/cache.
	// It is not part of the bubble, so virtual time would stand still.
	resyncPeriod = 100_000 * time.Hour

	// startupDelay is the virtual time that the controller needs to start: it
	// looks every 100 ms whether the informers have synced.
	startupDelay = 200 * time.Millisecond
)

// The version of the rule that the controller's informer uses.
type (
	taintRule     = resourcealpha.DeviceTaintRule
	taintRuleList = resourcealpha.DeviceTaintRuleList
)

var ruleGroupVersion = resourcealpha.SchemeGroupVersion

// conditionsOf returns nothing: rules have no status in this version.
func conditionsOf(*taintRule) []metav1.Condition {
	return nil
}

func keepStatus(_, _ *taintRule) {}

func enableFeatures() error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		string(features.DRADeviceTaints): true,
	})
}

// newController returns the function that runs the controller.
func newController(client kubernetes.Interface, factory informers.SharedInformerFactory, workloadResourceClaims bool, _ int) (func(context.Context) error, error) {
	if workloadResourceClaims {
		return nil, errors.New("PodGroups do not reserve claims in this version")
	}
	controller := devicetainteviction.New(client,
		factory.Core().V1().Pods(),
		factory.Resource().V1().ResourceClaims(),
		factory.Resource().V1().ResourceSlices(),
		factory.Resource().V1alpha3().DeviceTaintRules(),
		factory.Resource().V1().DeviceClasses(),
		controllerName)
	return controller.Run, nil
}

func compileExpression(expression string, listTypeAttributes bool) (dracel.CompilationResult, error) {
	if listTypeAttributes {
		return dracel.CompilationResult{}, errors.New("attributes have no lists in this version")
	}
	compiler := dracel.GetCompiler(dracel.Features{
		EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
	})
	return compiler.CompileCELExpression(expression, dracel.Options{}), nil
}
