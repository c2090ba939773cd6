//! Arbitrary wire objects, among them such as no server would send.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use crate::wire::attribute::{DeviceAttribute, DeviceCapacity};
use crate::wire::claim::*;
use crate::wire::meta::{ObjectMeta, OwnerReference};
use crate::wire::pod::*;
use crate::wire::rule::{DeviceTaint, DeviceToleration};
use crate::wire::shape::WireObject;
use crate::wire::slice::*;
use crate::wire::time::{Quantity, Time};

fn text() -> BoxedStrategy<Option<String>> {
    of(prop_oneof![
        "[a-z0-9./-]{0,12}",
        Just("NoExecute".to_owned()),
        Just("Exists".to_owned()),
        any::<String>(),
    ])
    .boxed()
}

fn time() -> impl Strategy<Value = Option<Time>> {
    of(
        (-62_135_596_800..253_402_207_200_i64).prop_map(|seconds| Time {
            seconds: Some(seconds),
        }),
    )
}

/// At most two. Boxed, like everything that is nested, or else the types grow beyond the stack.
fn few<S: Strategy + 'static>(element: S) -> BoxedStrategy<Vec<S::Value>> {
    vec(element.boxed(), 0..3).boxed()
}

fn maybe<S: Strategy + 'static>(element: S) -> BoxedStrategy<Option<S::Value>> {
    of(element.boxed()).boxed()
}

prop_compose! {
    fn owner()(api_version in text(), kind in text(), name in text(), uid in text(), controller in any::<Option<bool>>())
        -> OwnerReference
    {
        OwnerReference { api_version, kind, name, uid, controller }
    }
}

prop_compose! {
    fn metadata()(
        texts in (text(), text(), text(), text()),
        numbers in any::<(Option<i64>, Option<i64>)>(),
        times in (time(), time()),
        owner_references in few(owner()),
        finalizers in vec("[a-z/.]{1,12}", 0..3),
        (labels, annotations) in (pairs(), pairs()),
    ) -> ObjectMeta {
        let (name, namespace, uid, resource_version) = texts;
        let (generation, deletion_grace_period_seconds) = numbers;
        let (creation_timestamp, deletion_timestamp) = times;
        ObjectMeta {
            name, namespace, uid, resource_version, generation, creation_timestamp,
            deletion_timestamp, deletion_grace_period_seconds, labels, annotations, finalizers, owner_references,
        }
    }
}

fn pairs() -> impl Strategy<Value = BTreeMap<String, String>> {
    proptest::collection::btree_map("[a-z./]{1,12}", "[a-z]{0,8}", 0..3)
}

prop_compose! {
    fn taint()(key in text(), value in text(), effect in text(), time_added in time()) -> DeviceTaint {
        DeviceTaint { key, value, effect, time_added }
    }
}

prop_compose! {
    fn toleration()(texts in (text(), text(), text(), text()), toleration_seconds in any::<Option<i64>>())
        -> DeviceToleration
    {
        let (key, operator, value, effect) = texts;
        DeviceToleration { key, operator, value, effect, toleration_seconds }
    }
}

prop_compose! {
    fn attribute()(
        (int, bool) in any::<(Option<i64>, Option<bool>)>(),
        (string, version) in (text(), text()),
        (ints, bools) in (few(any::<i64>()), few(any::<bool>())),
        (strings, versions) in (few(any::<String>()), few(any::<String>())),
    ) -> DeviceAttribute {
        DeviceAttribute { int, bool, string, version, ints, bools, strings, versions }
    }
}

fn quantity() -> impl Strategy<Value = Quantity> {
    "[0-9]{1,4}(Ki|Gi|m)?".prop_map(|text| Quantity { text: Some(text) })
}

fn quantities() -> impl Strategy<Value = BTreeMap<String, Quantity>> {
    proptest::collection::btree_map("[a-z./]{1,8}", quantity(), 0..3)
}

fn counters() -> impl Strategy<Value = BTreeMap<String, Counter>> {
    let counter = of(quantity()).prop_map(|value| Counter { value });
    proptest::collection::btree_map("[a-z]{1,8}", counter, 0..3)
}

prop_compose! {
    fn requirement()(key in text(), operator in text(), values in few(any::<String>())) -> NodeSelectorRequirement {
        NodeSelectorRequirement { key, operator, values }
    }
}

fn node_selector() -> impl Strategy<Value = NodeSelector> {
    let term =
        (few(requirement()), few(requirement())).prop_map(|(match_expressions, match_fields)| {
            NodeSelectorTerm {
                match_expressions,
                match_fields,
            }
        });
    few(term).prop_map(|node_selector_terms| NodeSelector {
        node_selector_terms,
    })
}

prop_compose! {
    fn policy()(
        default in of(quantity()),
        valid_values in few(quantity()),
        range in of((of(quantity()), of(quantity()), of(quantity()))),
    ) -> CapacityRequestPolicy {
        let valid_range = range.map(|(min, max, step)| CapacityRequestPolicyRange { min, max, step });
        CapacityRequestPolicy { default, valid_values, valid_range }
    }
}

prop_compose! {
    fn use_of_counters()(counter_set in text(), counters in counters(), compatibility_groups in few(any::<String>()))
        -> DeviceCounterConsumption
    {
        DeviceCounterConsumption { counter_set, counters, compatibility_groups }
    }
}

prop_compose! {
    fn alternative()(
        (name, device_class_name, allocation_mode) in (text(), text(), text()),
        selectors in selectors(),
        count in any::<Option<i64>>(),
        tolerations in few(toleration()),
        requests in maybe(quantities()),
        derived in 0_usize..2,
    ) -> DeviceSubRequest {
        DeviceSubRequest {
            name, device_class_name, allocation_mode, selectors, count, tolerations,
            capacity: requests.map(|requests| CapacityRequirements { requests }),
            derived_attributes: vec![DerivedAttribute {}; derived],
        }
    }
}

prop_compose! {
    fn request()(name in text(), exactly in maybe(alternative()), admin_access in any::<Option<bool>>(), first_available in few(alternative()))
        -> DeviceRequest
    {
        let exactly = exactly.map(|one| ExactDeviceRequest {
            device_class_name: one.device_class_name,
            selectors: one.selectors,
            allocation_mode: one.allocation_mode,
            count: one.count,
            admin_access,
            tolerations: one.tolerations,
            capacity: one.capacity,
            derived_attributes: one.derived_attributes,
        });
        DeviceRequest { name, exactly, first_available }
    }
}

prop_compose! {
    fn constraint()(requests in few(any::<String>()), match_attribute in text(), distinct_attribute in text()) -> DeviceConstraint {
        DeviceConstraint { requests, match_attribute, distinct_attribute }
    }
}

fn claim_spec() -> impl Strategy<Value = ResourceClaimSpec> {
    let devices =
        (few(request()), few(constraint())).prop_map(|(requests, constraints)| DeviceClaim {
            requests,
            constraints,
        });
    of(devices).prop_map(|devices| ResourceClaimSpec { devices })
}

prop_compose! {
    fn device()(
        (name, node_name) in (text(), text()),
        (node_selector, all_nodes) in (maybe(node_selector()), any::<Option<bool>>()),
        consumes_counters in few(use_of_counters()),
        policy in maybe(policy()),
        attributes in proptest::collection::btree_map(any::<String>(), attribute(), 0..4).boxed(),
        capacity in proptest::collection::btree_map(any::<String>(), quantity(), 0..3),
        taints in few(taint()),
        allow_multiple_allocations in any::<Option<bool>>(),
    ) -> Device {
        let capacity = capacity.into_iter().map(|(name, value)| {
            (name, DeviceCapacity { value: Some(value), request_policy: policy.clone() })
        });
        let capacity = capacity.collect();
        Device {
            name, node_name, taints, allow_multiple_allocations, node_selector, all_nodes, consumes_counters,
            attributes, capacity,
        }
    }
}

prop_compose! {
    fn slice()(
        metadata in maybe(metadata()),
        (driver, node_name) in (text(), text()),
        pool in maybe((text(), any::<Option<i64>>(), any::<Option<i64>>())),
        devices in few(device()),
        per_device_node_selection in any::<Option<bool>>(),
        (node_selector, all_nodes) in (maybe(node_selector()), any::<Option<bool>>()),
        shared_counters in few((text(), counters()).prop_map(|(name, counters)| CounterSet { name, counters })),
    ) -> ResourceSlice {
        let pool = pool.map(|(name, generation, resource_slice_count)| ResourcePool { name, generation, resource_slice_count });
        ResourceSlice { metadata, spec: Some(ResourceSliceSpec {
            driver, pool, node_name, devices, per_device_node_selection, node_selector, all_nodes, shared_counters,
        }) }
    }
}

prop_compose! {
    fn result()(
        (request, driver, pool) in (text(), text(), text()),
        (device, share_id) in (text(), text()),
        admin_access in any::<Option<bool>>(),
        tolerations in few(toleration()),
        consumed_capacity in quantities(),
    ) -> DeviceRequestAllocationResult {
        DeviceRequestAllocationResult {
            request, driver, pool, device, admin_access, tolerations, share_id, consumed_capacity,
        }
    }
}

prop_compose! {
    fn claim()(
        metadata in maybe(metadata()),
        spec in maybe(claim_spec()),
        results in maybe(few(result())),
        node_selector in maybe(node_selector()),
        consumers in few((text(), text(), text(), text())),
        has_status in any::<bool>(),
    ) -> ResourceClaim {
        let allocation = results.map(|results| AllocationResult {
            devices: Some(DeviceAllocationResult { results }),
            node_selector,
        });
        let consumers = consumers.into_iter();
        let reserved_for = consumers.map(|(api_group, resource, name, uid)| ResourceClaimConsumerReference {
            api_group, resource, name, uid,
        }).collect();
        ResourceClaim { metadata, spec, status: has_status.then_some(ResourceClaimStatus { allocation, reserved_for }) }
    }
}

fn selectors() -> impl Strategy<Value = Vec<DeviceSelector>> {
    few(maybe(text()).prop_map(|cel| DeviceSelector {
        cel: cel.map(|expression| CelDeviceSelector { expression }),
    }))
}

prop_compose! {
    fn spec()(
        (node_name, priority_class_name, group) in (text(), text(), maybe(text())),
        termination_grace_period_seconds in any::<Option<i64>>(),
        priority in any::<Option<i32>>(),
        claims in few((text(), text(), text())),
        volumes in few(any::<bool>()),
        (node_selector, required, gates) in (pairs(), maybe(node_selector()), few(text())),
        tolerations in few(toleration()),
        requests in few(quantities()),
    ) -> PodSpec {
        let local = VolumeSource { empty_dir: Some(EmptyDir {}) };
        PodSpec {
            volumes: volumes.into_iter().map(|is_local| Volume { source: is_local.then(|| local.clone()) }).collect(),
            termination_grace_period_seconds, node_name, priority_class_name, priority, node_selector, tolerations,
            affinity: required.map(|required| Affinity {
                node_affinity: Some(NodeAffinity {
                    required_during_scheduling_ignored_during_execution: Some(required),
                }),
            }),
            scheduling_gates: gates.into_iter().map(|name| PodSchedulingGate { name }).collect(),
            resource_claims: claims.into_iter().map(|(name, resource_claim_name, resource_claim_template_name)| {
                PodResourceClaim { name, resource_claim_name, resource_claim_template_name }
            }).collect(),
            scheduling_group: group.map(|pod_group_name| PodSchedulingGroup { pod_group_name }),
            containers: requests.into_iter().map(|requests| Container {
                resources: Some(ContainerResources { requests }),
            }).collect(),
        }
    }
}

fn containers() -> impl Strategy<Value = Vec<ContainerStatus>> {
    let ended = maybe(time().prop_map(|finished_at| Terminated { finished_at }));
    let state = (maybe(Just(Running {})), ended);
    let state = state.prop_map(|(running, terminated)| ContainerState {
        running,
        terminated,
    });
    let health = (text(), text()).prop_map(|(resource_id, health)| ResourceHealth {
        resource_id,
        health,
    });
    let reported = (text(), few(health));
    let reported = reported.prop_map(|(name, resources)| ResourceStatus { name, resources });
    let status = (maybe(state), few(reported));
    few(
        status.prop_map(|(state, allocated_resources_status)| ContainerStatus {
            state,
            allocated_resources_status,
        }),
    )
}

prop_compose! {
    fn pod()(
        metadata in maybe(metadata()),
        spec in maybe(spec()),
        (phase, qos_class, nominated_node_name) in (text(), text(), text()),
        statuses in few((text(), text())),
        extended in maybe(text()),
        conditions in few((text(), text(), time(), text(), text())),
        (containers, init_containers, ephemeral_containers) in (containers(), containers(), containers()),
    ) -> Pod {
        let conditions = conditions.into_iter().map(|(r#type, status, last_transition_time, reason, message)| {
            PodCondition { r#type, status, last_transition_time, reason, message }
        }).collect();
        let statuses = statuses.into_iter();
        Pod {
            metadata,
            spec,
            status: Some(PodStatus {
                phase, qos_class, conditions, nominated_node_name,
                container_statuses: containers,
                init_container_statuses: init_containers,
                ephemeral_container_statuses: ephemeral_containers,
                resource_claim_statuses: statuses.map(|(name, resource_claim_name)| PodResourceClaimStatus {
                    name, resource_claim_name,
                }).collect(),
                extended_resource_claim_status: extended.map(|resource_claim_name| PodExtendedResourceClaimStatus {
                    resource_claim_name,
                }),
            }),
        }
    }
}

prop_compose! {
    fn class()(metadata in of(metadata()), selectors in selectors(), extended_resource_name in text()) -> DeviceClass {
        DeviceClass { metadata, spec: Some(DeviceClassSpec { selectors, extended_resource_name }) }
    }
}

/// An object of any kind that servers send as protobuf.
pub(super) fn any_object() -> impl Strategy<Value = WireObject> {
    prop_oneof![
        slice().prop_map(WireObject::ResourceSlice).boxed(),
        claim().prop_map(WireObject::ResourceClaim).boxed(),
        class().prop_map(WireObject::DeviceClass).boxed(),
        pod().prop_map(WireObject::Pod).boxed(),
    ]
}
