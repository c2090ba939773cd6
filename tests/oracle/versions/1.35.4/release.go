package oracle

import (
	"context"
	"errors"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	resourcealpha "k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/kubernetes/pkg/controller/devicetainteviction"
	"k8s.io/kubernetes/pkg/features"
)

// This file, version.go and devices.go have all that differs between releases of
// Kubernetes. A release may have its own.

const (
	conditionEvictionInProgress = resourcealpha.DeviceTaintConditionEvictionInProgress

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

// taintOf gives the taint of a rule as devices have it.
func taintOf(rule *taintRule) resourceapi.DeviceTaint {
	taint := rule.Spec.Taint
	return resourceapi.DeviceTaint{
		Key:       taint.Key,
		Value:     taint.Value,
		Effect:    resourceapi.DeviceTaintEffect(taint.Effect),
		TimeAdded: taint.TimeAdded,
	}
}

func conditionsOf(rule *taintRule) []metav1.Condition {
	return rule.Status.Conditions
}

func enableFeatures() error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		string(features.DRADeviceTaints):     true,
		string(features.DRADeviceTaintRules): true,
	})
}

// newController returns the function that runs the controller.
func newController(client kubernetes.Interface, factory informers.SharedInformerFactory, workloadResourceClaims bool, workers int) (func(context.Context) error, error) {
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
	return func(ctx context.Context) error { return controller.Run(ctx, workers) }, nil
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

// allocatorFeatures are those that are on by default, and device taints: a cluster with rules has turned them on.
func allocatorFeatures() structured.Features {
	return structured.Features{
		AdminAccess:     true,
		PrioritizedList: true,
		DeviceTaints:    true,
	}
}
