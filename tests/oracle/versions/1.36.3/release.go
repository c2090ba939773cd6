package oracle

import (
	"context"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	resourcebeta "k8s.io/api/resource/v1beta2"
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
	conditionEvictionInProgress = resourcebeta.DeviceTaintConditionEvictionInProgress

	// startupDelay is the virtual time that the controller needs to start.
	startupDelay = 0 * time.Second
)

// The version of the rule that the controller's informer uses.
type (
	taintRule     = resourcebeta.DeviceTaintRule
	taintRuleList = resourcebeta.DeviceTaintRuleList
)

var ruleGroupVersion = resourcebeta.SchemeGroupVersion

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
	controller := devicetainteviction.New(client,
		factory.Core().V1().Pods(),
		factory.Resource().V1().ResourceClaims(),
		factory.Resource().V1().ResourceSlices(),
		factory.Resource().V1beta2().DeviceTaintRules(),
		factory.Resource().V1().DeviceClasses(),
		controllerName,
		workloadResourceClaims)
	return func(ctx context.Context) error { return controller.Run(ctx, workers) }, nil
}

func compileExpression(expression string, listTypeAttributes bool) (dracel.CompilationResult, error) {
	compiler := dracel.GetCompiler(dracel.Features{
		EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		EnableListTypeAttributes: listTypeAttributes,
	})
	return compiler.CompileCELExpression(expression, dracel.Options{}), nil
}

// allocatorFeatures are those that the scheduler turns on by default.
//
// Upstream: AllocatorFeatures in the plugin dynamicresources.
func allocatorFeatures() structured.Features {
	enabled := utilfeature.DefaultFeatureGate.Enabled
	return structured.Features{
		AdminAccess:            enabled(features.DRAAdminAccess),
		PrioritizedList:        enabled(features.DRAPrioritizedList),
		PartitionableDevices:   enabled(features.DRAPartitionableDevices),
		DeviceTaints:           enabled(features.DRADeviceTaints),
		DeviceBindingAndStatus: enabled(features.DRADeviceBindingConditions) && enabled(features.DRAResourceClaimDeviceStatus),
		ConsumableCapacity:     enabled(features.DRAConsumableCapacity),
		ListTypeAttributes:     enabled(features.DRAListTypeAttributes),
	}
}
