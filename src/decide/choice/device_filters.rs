//! Devices selected by attributes and by use: `--where`, `--pod` and their like.

use super::ambiguous::{AmbiguousNumber, NamedBy, NumberUse, SharedNumber, ambiguous};
use super::comparison_limit::{ComparisonLimit, not_compared};
use super::idle::{IdleName, idle};
use super::no_match::{no_such, nothing};
use crate::decide::identity::Hardware;
use crate::decide::identity::identifying_attributes::AttributeMeaning;
use crate::engine::expression::{AttributeCondition, DeviceExpression, ExpressionError};
use crate::engine::{DeviceCondition, FilteredDevices, Semantics, filter_devices, with_siblings};
use crate::error::{ExitStatus, Failure};
use crate::model::{
    DeviceId, DeviceSelector, Kind, NamespacedName, Reading, ResourceSlice, Snapshot,
};
use crate::naming::shell::word;

/// What was typed to choose devices by what they are, and by who uses them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFilterFlags {
    /// `--where`
    pub expressions: Vec<String>,
    /// `--node`
    pub node: Option<String>,
    /// `--class`
    pub class: Option<String>,
    /// `--pod`
    pub pod: Option<String>,
    /// `--claim`
    pub claim: Option<String>,
    /// `--attribute`
    pub attributes: Vec<String>,
    /// Hardware by its numbers: `uuid=GPU-18db…`; any of them.
    pub identities: Vec<Hardware>,
    /// `--identity-attribute`: attributes that identify hardware beside those that are known.
    pub identity_attributes: Vec<String>,
    /// `--skip-errors`
    pub skips_errors: bool,
    /// What the command takes to leave devices out that cannot be compared.
    pub limit: ComparisonLimit,
    /// `--with-partitions`
    pub with_partitions: bool,
    /// The namespace of names that have none.
    pub namespace: Option<String>,
}

/// Conditions on devices that have been understood.
#[derive(Clone, Debug)]
pub struct DeviceFilter {
    conditions: Vec<DeviceCondition>,
    class: Option<String>,
    typed: DeviceFilterFlags,
}

/// What conditions choose, and what there is to say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterResult {
    /// The devices, by name.
    pub devices: Vec<DeviceId>,
    /// What to know about the choice.
    pub notes: Vec<String>,
    /// The unpublished devices that were not compared with numbers of hardware, of which notes tell.
    pub not_compared: Vec<DeviceId>,
    /// The numbers of hardware that several of them have.
    pub ambiguous: Vec<AmbiguousNumber>,
    /// The numbers under which several drivers of a node publish the same hardware.
    pub shared: Vec<SharedNumber>,
}

impl FilterResult {
    /// The result with what `by` takes of a number of hardware that several devices have: what is changed is the
    /// device that was meant, and what is looked at is all that is the same hardware.
    ///
    /// # Errors
    ///
    /// When it is not known which of the devices are meant.
    pub fn unambiguous(mut self, by: &NamedBy<'_>, use_of: NumberUse) -> Result<Self, Failure> {
        let mut shared = self.shared.iter();
        let refused = shared.find(|shared| !shared.is_meant(use_of));
        let refused = refused.map(|shared| &shared.number);
        if let Some(found) = self.ambiguous.first().or(refused) {
            return Err(found.failure(by));
        }
        let notes: Vec<String> = self.shared.iter().map(SharedNumber::describe).collect();
        self.notes.extend(notes);
        Ok(self)
    }
}

/// What was found of the hardware that was named, which decides what unpublished devices mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoundHardware {
    /// All of it: unpublished devices are other hardware.
    All,
    /// All of it, and unpublished devices may be more of it: another address of the same digits, or what rules record.
    Enough,
    /// Not all of it: an unpublished device may be the rest.
    Missing,
}

fn is_unpublished(error: &ExpressionError) -> bool {
    *error == ExpressionError::Unpublished
}

/// Two filters are the same if the same was typed.
impl PartialEq for DeviceFilter {
    fn eq(&self, other: &Self) -> bool {
        self.typed == other.typed
    }
}

impl Eq for DeviceFilter {}

impl DeviceFilterFlags {
    /// Whether nothing was typed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty()
            && self.identities.is_empty()
            && self.attributes.is_empty()
            && [&self.node, &self.class, &self.pod, &self.claim]
                .iter()
                .all(|way| way.is_none())
    }
}

impl DeviceFilter {
    /// Understands what was typed, and finds everything that can be wrong with it without a cluster;
    /// absent where nothing was typed.
    ///
    /// # Errors
    ///
    /// An expression that an API server would refuse, or that this plugin cannot evaluate; a comparison
    /// that is none; what only says how to choose where nothing is chosen.
    pub fn parse(typed: &DeviceFilterFlags) -> Result<Option<Self>, Failure> {
        if typed.is_empty() {
            if typed.skips_errors {
                return Err(Failure::usage(
                    "--skip-errors needs --where, --class or --attribute",
                ));
            }
            // It chooses nothing by itself, but widens what names choose.
            if !typed.with_partitions {
                return Ok(None);
            }
        }
        let mut conditions = Vec::new();
        conditions.extend(typed.node.clone().map(DeviceCondition::Node));
        let default = typed.namespace.as_deref();
        if let Some(claim) = &typed.claim {
            conditions.push(DeviceCondition::Claim(namespaced(claim, default)));
        }
        if let Some(pod) = &typed.pod {
            let pod = pod.strip_prefix("pod/").unwrap_or(pod);
            conditions.push(DeviceCondition::Pod(namespaced(pod, default)));
        }
        for text in &typed.attributes {
            let condition = AttributeCondition::parse(text).ok_or_else(|| no_comparison(text))?;
            conditions.push(DeviceCondition::Attribute(vec![condition]));
        }
        if !typed.identities.is_empty() {
            // One condition of all of them, since any of the numbers will do; conditions of their own would
            // all have to hold.
            let identities = typed.identities.iter();
            let more = &typed.identity_attributes;
            let identities = identities.flat_map(|hardware| hardware.conditions(more));
            conditions.push(DeviceCondition::Attribute(identities.collect()));
        }
        for text in &typed.expressions {
            let expression = DeviceExpression::compile(text);
            conditions.push(DeviceCondition::Expression(
                expression.map_err(|error| wrong_expression(text, &error))?,
            ));
        }
        Ok(Some(Self {
            conditions,
            class: typed.class.clone(),
            typed: typed.clone(),
        }))
    }

    /// The node of which it chooses all devices that meet its other conditions; absent where it chooses those of a pod or
    /// claim, which are known from the claim.
    #[must_use]
    pub fn whole_node(&self) -> Option<&str> {
        let typed = &self.typed;
        let is_of_user = typed.pod.is_some() || typed.claim.is_some();
        typed.node.as_deref().filter(|_| !is_of_user)
    }

    /// Whether it says which devices, and not only what else is meant with them.
    #[must_use]
    pub fn chooses(&self) -> bool {
        !self.typed.is_empty()
    }

    /// Whether the devices' attributes or counters have to be read for it.
    #[must_use]
    pub fn needs_attributes(&self) -> bool {
        let mut conditions = self.conditions.iter();
        self.class.is_some()
            || self.typed.with_partitions
            || conditions.any(DeviceCondition::is_about_attributes)
    }

    /// Whether the classes have to be read for it.
    #[must_use]
    pub fn needs_classes(&self) -> bool {
        self.class.is_some()
    }

    /// The devices of `reading` that meet all conditions and that one of each of `named` names; any where
    /// there are none.
    ///
    /// # Errors
    ///
    /// When nothing does, with what may have been meant; when it cannot be said of a device and that
    /// is not to be skipped; and when what is asked about could not be read.
    pub fn resolve(
        &self,
        reading: &Reading,
        named: &[&[DeviceSelector]],
        semantics: &Semantics,
    ) -> Result<FilterResult, Failure> {
        self.resolve_with_recorded(reading, named, &|_| false, semantics)
    }

    /// As [`DeviceFilter::resolve`], where rules record some hardware: `is_recorded` accepts it.
    ///
    /// # Errors
    ///
    /// As [`DeviceFilter::resolve`].
    pub fn resolve_with_recorded(
        &self,
        reading: &Reading,
        named: &[&[DeviceSelector]],
        is_recorded: &dyn Fn(&Hardware) -> bool,
        semantics: &Semantics,
    ) -> Result<FilterResult, Failure> {
        let snapshot = &reading.snapshot;
        self.refuse_unread(reading)?;
        let mut conditions = Vec::new();
        // A condition for each list, since every list has to name the device.
        let named = named.iter().filter(|named| !named.is_empty());
        conditions.extend(named.map(|named| DeviceCondition::Named(named.to_vec())));
        conditions.extend(self.conditions.iter().cloned());
        conditions.extend(self.of_class(snapshot)?);
        let FilteredDevices {
            mut devices,
            mut failed,
        } = filter_devices(snapshot, &conditions, semantics);
        let mut uncompared = Vec::new();
        match self.found_hardware(snapshot, &conditions, is_recorded, semantics) {
            FoundHardware::All => failed.retain(|(_, error)| !is_unpublished(error)),
            FoundHardware::Enough => {
                let (unpublished, others): (Vec<_>, Vec<_>) = failed
                    .into_iter()
                    .partition(|(_, error)| is_unpublished(error));
                uncompared.extend(unpublished.into_iter().map(|(id, _)| id));
                failed = others;
            }
            FoundHardware::Missing => {}
        }
        let mut notes = Vec::from_iter(not_compared(&uncompared));
        if !failed.is_empty() {
            // What fails for the expression's own sake says nothing of any device, so that all of them would
            // be skipped.
            let unsure = failed.iter().any(|(_, error)| !error.is_of_the_device());
            if !self.typed.skips_errors || unsure {
                return Err(self.undecided(&failed, &snapshot.slices));
            }
            let they = if failed.len() == 1 {
                "it matches"
            } else {
                "they match"
            };
            notes.push(format!(
                "skipped {}: cannot tell whether {they}",
                counted(failed.len())
            ));
        }
        if devices.is_empty() {
            return Err(nothing(&conditions, snapshot, semantics));
        }
        let identities = &self.typed.identities;
        let more = &self.typed.identity_attributes[..];
        let (ambiguous, shared) = ambiguous(identities, &devices, snapshot, more, semantics);
        if self.typed.with_partitions {
            let before = devices.len();
            devices = with_siblings(snapshot, &devices, semantics);
            let more = devices.len().saturating_sub(before);
            if more > 0 {
                let verb = if more == 1 { "shares" } else { "share" };
                notes.push(format!(
                    "also includes {} that {verb} hardware with the selected devices",
                    counted(more)
                ));
            }
        }
        Ok(FilterResult {
            devices,
            notes,
            not_compared: uncompared,
            ambiguous,
            shared,
        })
    }

    /// That unpublished devices cannot be compared, if there are any and devices are chosen by hardware numbers.
    #[must_use]
    pub fn not_compared(&self, reading: &Reading, semantics: &Semantics) -> Option<String> {
        self.refuse_unread(reading).ok()?;
        let failed = filter_devices(&reading.snapshot, &self.conditions, semantics).failed;
        let failed = failed
            .into_iter()
            .filter(|(_, error)| is_unpublished(error));
        let unpublished: Vec<DeviceId> = failed.map(|(id, _)| id).collect();
        not_compared(&unpublished).filter(|_| self.compares_numbers_alone())
    }

    /// What was named and has no devices: it may be there all the same, or be mistyped.
    #[must_use]
    pub fn idle(&self, snapshot: &Snapshot) -> Option<IdleName> {
        idle(&self.conditions, snapshot)
    }

    /// These conditions with more `hardware` among what was named.
    ///
    /// # Errors
    ///
    /// As [`DeviceFilter::parse`].
    pub fn with_hardware(&self, hardware: Vec<Hardware>) -> Result<Self, Failure> {
        let mut typed = self.typed.clone();
        typed.identities.extend(hardware);
        Ok(Self::parse(&typed)?.unwrap_or_else(|| self.clone()))
    }

    /// Whether devices are chosen by the numbers of their hardware alone.
    #[must_use]
    pub fn is_by_hardware_alone(&self) -> bool {
        let others = DeviceFilterFlags {
            identities: Vec::new(),
            ..self.typed.clone()
        };
        !self.typed.identities.is_empty() && others.is_empty()
    }

    /// The hardware that was named.
    #[must_use]
    pub fn identities(&self) -> &[Hardware] {
        &self.typed.identities
    }

    /// Whether nothing but numbers of hardware is compared with what devices publish.
    fn compares_numbers_alone(&self) -> bool {
        let typed = &self.typed;
        let compares_more =
            !typed.expressions.is_empty() || !typed.attributes.is_empty() || typed.class.is_some();
        !typed.identities.is_empty() && !compares_more
    }

    /// Whether all hardware that was named is published and chosen, or recorded on rules.
    fn found_hardware(
        &self,
        snapshot: &Snapshot,
        conditions: &[DeviceCondition],
        is_recorded: &dyn Fn(&Hardware) -> bool,
        semantics: &Semantics,
    ) -> FoundHardware {
        let identities = &self.typed.identities;
        let is_published = |hardware: &Hardware| {
            let is =
                DeviceCondition::Attribute(hardware.conditions(&self.typed.identity_attributes));
            let also = [conditions, &[is]].concat();
            !filter_devices(snapshot, &also, semantics)
                .devices
                .is_empty()
        };
        let mut is_one_place = true;
        for hardware in identities {
            let is_published = is_published(hardware);
            if !is_published && !is_recorded(hardware) {
                return FoundHardware::Missing;
            }
            // What is published in one place is in no other, so that what is unpublished is other hardware.
            is_one_place &= is_published && hardware.means() == AttributeMeaning::Hardware;
        }
        if identities.is_empty() {
            FoundHardware::Missing
        } else if is_one_place {
            FoundHardware::All
        } else if self.compares_numbers_alone() {
            FoundHardware::Enough
        } else {
            FoundHardware::Missing
        }
    }

    /// What is not known to be all is not chosen from.
    fn refuse_unread(&self, reading: &Reading) -> Result<(), Failure> {
        let by_claims = self.typed.pod.is_some() || self.typed.claim.is_some();
        let mut kinds = Vec::new();
        if by_claims {
            kinds.push((Kind::ResourceClaim, "the devices of a claim or a pod"));
        }
        if self.typed.node.is_some() || self.needs_attributes() {
            let what = if self.needs_attributes() {
                "the attributes of devices"
            } else {
                "the nodes of devices"
            };
            kinds.push((Kind::ResourceSlice, what));
        }
        if self.needs_classes() {
            kinds.push((Kind::DeviceClass, "the devices of a class"));
        }
        for (kind, what) in kinds {
            if let Some(gap) = reading.without(kind) {
                let reason = reading.gaps.iter().find(|gap| gap.kind() == Some(kind));
                let gap = reason.unwrap_or(&gap);
                return Err(Failure::new(
                    ExitStatus::Failed,
                    format!("{what} are unknown: {}", gap.why),
                )
                // Claims name devices too, and only those that they hold.
                .hint(if kind == Kind::ResourceSlice {
                    "specify allocated devices as DRIVER/POOL/DEVICE; without ResourceSlices, other \
                     devices are unknown"
                } else {
                    "specify devices as DRIVER/POOL/DEVICE"
                }));
            }
        }
        Ok(())
    }

    /// It cannot be said of some devices whether they are meant.
    fn undecided(
        &self,
        failed: &[(DeviceId, ExpressionError)],
        slices: &[ResourceSlice],
    ) -> Failure {
        const FEW: usize = 5;
        let verb = if failed.len() == 1 {
            "matches"
        } else {
            "match"
        };
        let failure = Failure::new(
            ExitStatus::Failed,
            format!("cannot tell whether {} {verb}", counted(failed.len())),
        );
        let shown = failed.iter().take(FEW);
        let failure = shown.fold(failure, |failure, (id, error)| {
            failure.detail(format!("{id}: {error}"))
        });
        let more = failed.len().saturating_sub(FEW);
        let failure = if more > 0 {
            failure.detail(format!("and {more} more"))
        } else {
            failure
        };
        let mut errors = failed.iter().map(|(_, error)| error);
        let limit = self.typed.limit;
        if errors.clone().all(is_unpublished) {
            let unpublished: Vec<&DeviceId> = failed.iter().map(|(id, _)| id).collect();
            return limit.explain(failure, &unpublished, slices);
        }
        if !errors.all(ExpressionError::is_of_the_device) {
            return failure.hint("rewrite the expression");
        }
        let mend = if self.typed.expressions.is_empty() && self.class.is_none() {
            "compare with a value of the attribute's type, such as 3, 580.12 or 40Gi"
        } else {
            "in the CEL expression, make the attribute optional with has(…) or .?x.orValue(…)"
        };
        failure.hint(if limit.takes_skip_errors() {
            format!("{mend}, or skip these devices: --skip-errors")
        } else {
            mend.to_owned()
        })
    }

    /// The expressions of the class.
    fn of_class(&self, snapshot: &Snapshot) -> Result<Vec<DeviceCondition>, Failure> {
        let Some(name) = &self.class else {
            return Ok(Vec::new());
        };
        let mut classes = snapshot.classes.iter();
        let Some(class) = classes.find(|class| class.name.as_str() == name) else {
            let known = snapshot.classes.iter().map(|class| class.name.to_string());
            return Err(no_such("device class", name, known));
        };
        let expressions = class.expressions.iter().map(|text| {
            // A snapshot may have it redacted, which is no mistake in an expression.
            let compiled = DeviceExpression::stored(text);
            compiled.map(DeviceCondition::Expression).map_err(|error| {
                Failure::new(
                    ExitStatus::Failed,
                    format!("the selector of class {name} cannot be used: {error}"),
                )
            })
        });
        expressions.collect()
    }
}

/// A text that compares an attribute in no way that there is.
fn no_comparison(text: &str) -> Failure {
    let failure = Failure::usage(format!("--attribute {text:?} is not a comparison"));
    if let Some((name, value)) = text.split_once("!=") {
        let expression = format!("!(device.attributes[\"DRIVER\"].{name} == {value:?})");
        return failure.hint(format!(
            "to use !=, write an expression: --where {}",
            word(&expression)
        ));
    }
    if let Some((name, value)) = text.split_once("==") {
        let single = word(&format!("{name}={value}"));
        return failure.hint(format!("use = instead of ==: --attribute {single}"));
    }
    failure.hint("use NAME=VALUE, or >=, <=, > or <: --attribute 'memory>=40Gi'")
}

fn counted(count: usize) -> String {
    crate::naming::phrase::counted(count, "device")
}

/// The expression with the place that is wrong in it.
fn wrong_expression(text: &str, error: &ExpressionError) -> Failure {
    let failure = Failure::usage(format!("--where: {error}"));
    let Some(at) = error.position() else {
        return failure;
    };
    let line = text
        .lines()
        .nth(at.line.saturating_sub(1))
        .unwrap_or_default();
    // As much of a long line as stands around it.
    let from = at.column.saturating_sub(40);
    let shown: String = line.chars().skip(from).take(70).collect();
    let gap = " ".repeat(at.column.saturating_sub(from).saturating_sub(1));
    failure.detail(shown).detail(format!("{gap}^"))
}

/// NAMESPACE/NAME, or NAME in the namespace that is meant elsewhere.
fn namespaced(text: &str, default: Option<&str>) -> NamespacedName {
    // As kubectl, if neither the command line nor the context has a namespace.
    let default = default.unwrap_or("default");
    let (namespace, name) = text.split_once('/').unwrap_or((default, text));
    NamespacedName {
        namespace: namespace.into(),
        name: name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_found_without_a_cluster() {
        let expression = |text: &str| DeviceFilterFlags {
            expressions: vec![text.to_owned()],
            ..DeviceFilterFlags::default()
        };
        let attribute_is = |text: &str| DeviceFilterFlags {
            attributes: vec![text.to_owned()],
            ..DeviceFilterFlags::default()
        };
        let skips = DeviceFilterFlags {
            skips_errors: true,
            ..DeviceFilterFlags::default()
        };
        for (name, typed, said) in [
            (
                "no comparison",
                attribute_is("model"),
                "--attribute \"model\" is not a comparison",
            ),
            (
                "twice the sign",
                attribute_is("model==H100"),
                "--attribute \"model==H100\" is not a comparison",
            ),
            (
                "a negation",
                attribute_is("model!=H100"),
                "--attribute \"model!=H100\" is not a comparison",
            ),
            (
                "a type",
                expression("device.driver == 1"),
                "--where: compilation failed at column 15: found no matching overload for '_==_' applied to '(string, int)'",
            ),
            (
                "nothing to skip",
                skips,
                "--skip-errors needs --where, --class or --attribute",
            ),
        ] {
            let failure = DeviceFilter::parse(&typed).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Usage);
            assert_eq!(failure.to_string(), said, "{name}");
        }
        assert_eq!(
            DeviceFilter::parse(&DeviceFilterFlags::default()).unwrap(),
            None
        );
    }

    #[test]
    fn a_wrong_expression_is_pointed_at() {
        let text = format!("{}nope", " ".repeat(60));
        let failure = wrong_expression(&text, &DeviceExpression::compile(&text).unwrap_err());
        let [shown, mark] = failure.details() else {
            panic!("two lines");
        };
        assert_eq!(shown.find("nope"), mark.find('^'));
    }

    #[test]
    fn what_was_not_read_is_chosen_by_nothing_that_needs_it() {
        use crate::report::testing;
        let text = |text: &str| Some(text.to_owned());
        let flags = DeviceFilterFlags::default;
        let (claims, slices, classes) =
            (Kind::ResourceClaim, Kind::ResourceSlice, Kind::DeviceClass);
        for (name, typed, needed, unknown) in [
            (
                "a pod",
                DeviceFilterFlags {
                    pod: text("team-a/train-0"),
                    ..flags()
                },
                vec![claims],
                "the devices of a claim or a pod are unknown: ",
            ),
            (
                "a claim",
                DeviceFilterFlags {
                    claim: text("team-a/train-0"),
                    ..flags()
                },
                vec![claims],
                "the devices of a claim or a pod are unknown: ",
            ),
            (
                "a node",
                DeviceFilterFlags {
                    node: text("node-7"),
                    ..flags()
                },
                vec![slices],
                "the nodes of devices are unknown: ",
            ),
            (
                "an attribute",
                DeviceFilterFlags {
                    attributes: vec!["model=H100".to_owned()],
                    ..flags()
                },
                vec![slices],
                "the attributes of devices are unknown: ",
            ),
            (
                "hardware with all that is on it",
                DeviceFilterFlags {
                    pod: text("team-a/train-0"),
                    with_partitions: true,
                    ..flags()
                },
                vec![slices, claims],
                " are unknown: ",
            ),
            (
                "a class",
                DeviceFilterFlags {
                    class: text("gpu.example.com"),
                    ..flags()
                },
                vec![slices, classes],
                " are unknown: ",
            ),
        ] {
            let filter = DeviceFilter::parse(&typed).unwrap().expect("a condition");
            for kind in Kind::ALL {
                let mut reading = testing::reading();
                reading.known.remove(&kind);
                let gap = crate::model::Gap::of(kind, "it was in the way");
                let other = if kind == Kind::Node {
                    Kind::Pod
                } else {
                    Kind::Node
                };
                reading.gaps = vec![crate::model::Gap::of(other, "it was denied"), gap];
                let read = filter.refuse_unread(&reading);
                assert_eq!(read.is_err(), needed.contains(&kind), "{name}: {kind:?}");
                let Err(failure) = read else { continue };
                let chosen = filter.resolve(&reading, &[], &testing::semantics(37));
                let chosen = chosen.unwrap_err().to_string();
                assert_eq!(chosen, failure.to_string(), "{name}: {kind:?}");
                assert_eq!(failure.status(), ExitStatus::Failed);
                let said = failure.to_string();
                assert!(said.contains(unknown), "{name}: {said}");
                assert!(said.contains("it was in the way"), "{name}: {said}");
                let names_all = failure.hints()[0].ends_with("other devices are unknown");
                assert_eq!(names_all, kind == slices, "{:?}", failure.hints());
            }
        }
    }

    /// One published GPU, and one that only a claim knows.
    fn half_published() -> Reading {
        use crate::model::{Allocation, AllocationResult, ResourceClaim};
        use crate::report::testing;
        let attributes = [("uuid", "GPU-1"), ("pciBusID", "0")];
        let result = AllocationResult {
            request: "gpu".into(),
            device: testing::device("gone"),
            admin_access: false,
            share_id: None,
            tolerations: Vec::new(),
            consumed_capacity: None,
        };
        Reading {
            snapshot: Snapshot {
                slices: vec![testing::slice(vec![testing::published(
                    "gpu-0",
                    &attributes,
                )])],
                claims: vec![ResourceClaim {
                    name: testing::name("ml", "claim"),
                    uid: "1".into(),
                    controller: None,
                    spec: None,
                    allocation: Some(Allocation {
                        node: None,
                        results: vec![result],
                    }),
                    reserved_for: Vec::new(),
                }],
                ..Snapshot::default()
            },
            ..testing::reading()
        }
    }

    #[test]
    fn hardware_that_is_published_is_in_one_place_only() {
        let newest = crate::model::Minor {
            minor: 37,
            patch: None,
        };
        let semantics = Semantics::of(newest).unwrap();
        let chosen = |identities: &[(&str, &str)], named: &[&[DeviceSelector]]| {
            let identities = identities.iter();
            let filters = DeviceFilterFlags {
                identities: identities
                    .map(|(name, value)| Hardware::named(name, value))
                    .collect(),
                ..DeviceFilterFlags::default()
            };
            let filter = DeviceFilter::parse(&filters).unwrap().unwrap();
            let filtered = filter.resolve(&half_published(), named, &semantics);
            filtered.map(|filtered| filtered.devices.len()).ok()
        };
        let known = [("uuid", "GPU-1")];
        assert_eq!(chosen(&known, &[]), Some(1));
        // The other may be the one that nobody publishes.
        assert_eq!(chosen(&[("uuid", "GPU-1"), ("uuid", "GPU-2")], &[]), None);
        assert_eq!(chosen(&[("uuid", "GPU-2")], &[]), None);
        assert_eq!(chosen(&[("pciBusID", "1")], &[]), None);
        assert_eq!(chosen(&[("pciBusID", "0")], &[]), Some(1));
        let names = |device: &str| crate::decide::testing::selector(device);
        assert_eq!(chosen(&[("pciBusID", "0")], &[&[names("gpu-0")]]), Some(1));
        assert_eq!(chosen(&known, &[&[names("gpu-0")], &[names("gone")]]), None);
        assert_eq!(chosen(&known, &[&[], &[names("gpu-0")]]), Some(1));
    }

    #[test]
    fn an_address_that_is_published_is_enough_and_what_is_unpublished_is_noted() {
        let semantics = crate::report::testing::semantics(37);
        let resolved = |address: &str, limit: ComparisonLimit, expressions: &[&str]| {
            let filters = DeviceFilterFlags {
                identities: vec![Hardware::named("pciBusID", address)],
                expressions: expressions.iter().map(|text| (*text).to_owned()).collect(),
                limit,
                ..DeviceFilterFlags::default()
            };
            let filter = DeviceFilter::parse(&filters).unwrap().unwrap();
            filter.resolve(&half_published(), &[], &semantics)
        };
        let found = resolved("0", ComparisonLimit::Drivers, &[]).unwrap();
        assert_eq!(found.devices.len(), 1);
        assert_eq!(
            found.notes,
            [
                "no ResourceSlice lists this allocated device, so it is unknown whether it matches: \
                gpu.example.com/node-7/gone"
            ]
        );
        // Whether a condition on attributes holds is not known of what is not published.
        let with = "device.attributes['gpu.example.com'].pciBusID == '0'";
        assert!(resolved("0", ComparisonLimit::Drivers, &[with]).is_err());
        for (limit, hint) in [
            (
                ComparisonLimit::Names,
                "name the device as device/DRIVER/POOL/DEVICE; list the devices with \
                 `kubectl devicetaint devices`",
            ),
            (
                ComparisonLimit::Drivers,
                "to select only devices of one driver, add 'DRIVER/*/*'",
            ),
            (
                ComparisonLimit::SkipErrors,
                "add 'DRIVER/*/*' to select only devices of one driver, or skip these devices: \
                 --skip-errors",
            ),
        ] {
            let failure = resolved("1", limit, &[]).unwrap_err();
            assert_eq!(failure.to_string(), "cannot tell whether 1 device matches");
            assert_eq!(failure.hints(), [hint]);
        }
    }

    #[test]
    fn an_incomplete_pool_is_named_when_its_devices_cannot_be_compared() {
        let semantics = crate::report::testing::semantics(37);
        let filters = DeviceFilterFlags {
            identities: vec![Hardware::named("uuid", "GPU-2")],
            limit: ComparisonLimit::SkipErrors,
            ..DeviceFilterFlags::default()
        };
        let filter = DeviceFilter::parse(&filters).unwrap().unwrap();
        let mut reading = half_published();
        reading.snapshot.slices[0].pool.slice_count = 2;
        let failure = |reading: &Reading| filter.resolve(reading, &[], &semantics).unwrap_err();
        let incomplete = failure(&reading);
        assert_eq!(
            incomplete.details().last().map(String::as_str),
            Some(
                "pool gpu.example.com/node-7 is incomplete: only 1 of 2 slices of its newest generation \
                 exist, so the attributes of its allocated devices are unknown"
            )
        );
        let again =
            "run the command again after driver gpu.example.com has published the whole pool";
        assert_eq!(
            incomplete.hints(),
            [
                again,
                "to select an allocated device now, specify it as DRIVER/POOL/DEVICE"
            ]
        );
        // Another driver is away.
        let results = reading.snapshot.claims[0].allocation.as_mut().unwrap();
        let mut away = results.results[0].clone();
        away.device.driver = "vfio.example.com".into();
        results.results.push(away);
        let both = failure(&reading);
        assert_eq!(both.hints()[0], again);
        assert!(both.hints()[1].contains("--skip-errors"), "{both:?}");
    }

    #[test]
    fn a_number_that_drivers_of_one_node_share_is_one_device_to_who_looks() {
        use crate::model::SliceNodes;
        let semantics = crate::report::testing::semantics(37);
        let mut reading = half_published();
        reading.snapshot.claims.clear();
        let mut other = reading.snapshot.slices[0].clone();
        other.name = "vfio".into();
        other.driver = "vfio.example.com".into();
        reading.snapshot.slices.push(other);
        let found = |reading: &Reading, identity: (&str, &str), use_of: NumberUse| {
            let filters = DeviceFilterFlags {
                identities: vec![Hardware::named(identity.0, identity.1)],
                ..DeviceFilterFlags::default()
            };
            let filter = DeviceFilter::parse(&filters).unwrap().unwrap();
            let filtered = filter.resolve(reading, &[], &semantics).unwrap();
            let filtered = filtered.unambiguous(&NamedBy::Devices, use_of).ok();
            filtered.map(|found| (found.devices.len(), found.notes.join("\n")))
        };
        let (uuid, address) = (("uuid", "GPU-1"), ("pciBusID", "0"));
        let note = |number: &str| {
            format!(
                "several drivers on node node-7 publish {number}, so all of these devices are \
                selected: \
                 gpu.example.com/node-7/gpu-0, vfio.example.com/node-7/gpu-0"
            )
        };
        assert_eq!(
            found(&reading, uuid, NumberUse::Read),
            Some((2, note("uuid=GPU-1")))
        );
        // Not both are tainted by the UUID of one.
        assert_eq!(found(&reading, uuid, NumberUse::Change), None);
        for use_of in [NumberUse::Read, NumberUse::Change] {
            assert_eq!(
                found(&reading, address, use_of),
                Some((2, note("pciBusID=0")))
            );
        }
        let other = &mut reading.snapshot.slices[1];
        other.nodes = SliceNodes::One("node-8".into());
        assert_eq!(found(&reading, uuid, NumberUse::Read), None);
        assert_eq!(found(&reading, address, NumberUse::Read), None);
    }

    #[test]
    fn a_number_that_two_devices_have_is_ambiguous_unless_they_are_parts_of_one() {
        use crate::model::{CounterUse, DeviceTerms, SliceNodes};
        let semantics = crate::report::testing::semantics(37);
        let mut reading = half_published();
        reading.snapshot.claims.clear();
        let devices = &mut reading.snapshot.slices[0].devices;
        let mut twin = devices[0].clone();
        twin.name = "gpu-1".into();
        devices.push(twin);
        let ambiguous = |reading: &Reading, identity: (&str, &str), named: &[&[DeviceSelector]]| {
            let filters = DeviceFilterFlags {
                identities: vec![Hardware::named(identity.0, identity.1)],
                ..DeviceFilterFlags::default()
            };
            let filter = DeviceFilter::parse(&filters).unwrap().unwrap();
            let filtered = filter.resolve(reading, named, &semantics).unwrap();
            let refused = filtered
                .unambiguous(&NamedBy::Devices, NumberUse::Change)
                .err();
            refused.map(|failure| (failure.to_string(), failure.hints().join("\n")))
        };
        let uuid = ("uuid", "GPU-1");
        let (text, hint) = ambiguous(&reading, uuid, &[]).expect("two of them");
        let (first, second) = (
            "gpu.example.com/node-7/gpu-0",
            "gpu.example.com/node-7/gpu-1",
        );
        assert!(text.contains(first) && text.contains(second), "{text}");
        assert_eq!(
            hint,
            format!(
                "instead of uuid=GPU-1, name one of these devices, or all of them: {first} {second}\n\
                 to see these devices: kubectl devicetaint devices {first} {second}"
            )
        );
        let named = [crate::decide::testing::selector("gpu-1")];
        assert_eq!(ambiguous(&reading, uuid, &[&named]), None);
        // Whatever is in a place may be several.
        assert_eq!(ambiguous(&reading, ("pciBusID", "0"), &[]), None);
        // On one node: the same machines have the same places.
        let mut machines = reading.clone();
        let mut other = machines.snapshot.slices[0].clone();
        other.name = "other".into();
        other.pool.name = "other".into();
        other.nodes = SliceNodes::One("node-8".into());
        machines.snapshot.slices.push(other);
        let (text, _) = ambiguous(&machines, ("pciBusID", "0"), &[]).expect("two nodes");
        assert!(text.contains("other/gpu-0"), "{text}");
        for device in &mut reading.snapshot.slices[0].devices {
            device.terms = Some(Box::new(DeviceTerms {
                consumes: vec![CounterUse {
                    set: "gpu".into(),
                    ..CounterUse::default()
                }],
                ..DeviceTerms::default()
            }));
        }
        assert_eq!(ambiguous(&reading, uuid, &[]), None);
    }
}
