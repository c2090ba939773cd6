//! Devices selected by what they are: `--where`, `--node`, hardware IDs.

use super::ambiguous::{AmbiguousNumber, NumberUse, SharedNumber, ambiguous};
use super::idle::IdleNode;
use super::no_match::nothing;
use crate::decide::identity::Hardware;
use crate::decide::identity::identifying_attributes::AttributeMeaning;
use crate::engine::expression::{DeviceExpression, ExpressionError};
use crate::engine::{DeviceCondition, FilteredDevices, Semantics, filter_devices, with_siblings};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, Kind, Reading, Snapshot};
use crate::naming::phrase::few;

/// What was typed to choose devices by what they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFilterFlags {
    /// `--where`
    pub expressions: Vec<String>,
    /// `--node`
    pub node: Option<String>,
    /// Hardware by its numbers: `uuid=GPU-18db…`; any of them.
    pub identities: Vec<Hardware>,
    /// `--skip-errors`
    pub skips_errors: bool,
    /// Whether the command has `--skip-errors`.
    pub has_skip_errors: bool,
    /// `--with-partitions`
    pub with_partitions: bool,
}

/// Conditions on devices that have been understood.
#[derive(Clone, Debug)]
pub struct DeviceFilter {
    conditions: Vec<DeviceCondition>,
    typed: DeviceFilterFlags,
}

/// What conditions choose, and what there is to say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterResult {
    /// The devices, by name.
    pub devices: Vec<DeviceId>,
    /// What to know about the choice.
    pub notes: Vec<String>,
    /// The numbers of hardware that several of them have.
    pub ambiguous: Vec<AmbiguousNumber>,
    /// The numbers under which several drivers of a node publish the same hardware.
    pub shared: Vec<SharedNumber>,
}

impl FilterResult {
    /// The result where a number of hardware says which devices are meant: what is changed is one device, and what is
    /// looked at is all that is the same hardware.
    ///
    /// # Errors
    ///
    /// When it is not known which of the devices are meant.
    pub fn unambiguous(mut self, use_of: NumberUse) -> Result<Self, Failure> {
        let mut shared = self.shared.iter();
        let refused = shared.find(|shared| !shared.is_meant(use_of));
        let refused = refused.map(|shared| &shared.number);
        if let Some(found) = self.ambiguous.first().or(refused) {
            return Err(found.failure());
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
        self.expressions.is_empty() && self.identities.is_empty() && self.node.is_none()
    }
}

impl DeviceFilter {
    /// Understands what was typed, and finds everything that can be wrong with it without a cluster;
    /// absent where nothing was typed.
    ///
    /// # Errors
    ///
    /// An expression that an API server would refuse, or that this plugin cannot evaluate; what only says how to
    /// choose where nothing is chosen.
    pub fn parse(typed: &DeviceFilterFlags) -> Result<Option<Self>, Failure> {
        if typed.is_empty() {
            if typed.skips_errors {
                return Err(Failure::usage("--skip-errors needs --where"));
            }
            // It chooses nothing by itself, but widens what names choose.
            if !typed.with_partitions {
                return Ok(None);
            }
        }
        let mut conditions = Vec::new();
        conditions.extend(typed.node.clone().map(DeviceCondition::Node));
        if !typed.identities.is_empty() {
            // One condition of all of them, since any of the numbers will do; conditions of their own would
            // all have to hold.
            let identities = typed.identities.iter().flat_map(Hardware::conditions);
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
            typed: typed.clone(),
        }))
    }

    /// The node of which it chooses all devices that meet its other conditions.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.typed.node.as_deref()
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
        self.typed.with_partitions || conditions.any(DeviceCondition::is_about_attributes)
    }

    /// The devices of `reading` that meet all conditions and that one of `named` names; any where
    /// there are none.
    ///
    /// # Errors
    ///
    /// When nothing does, with what may have been meant; when it cannot be said of a device and that
    /// is not to be skipped; and when what is asked about could not be read.
    pub fn resolve(
        &self,
        reading: &Reading,
        named: &[DeviceSelector],
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
        named: &[DeviceSelector],
        is_recorded: &dyn Fn(&Hardware) -> bool,
        semantics: &Semantics,
    ) -> Result<FilterResult, Failure> {
        let snapshot = &reading.snapshot;
        self.refuse_unread(reading)?;
        let mut conditions = Vec::new();
        if !named.is_empty() {
            conditions.push(DeviceCondition::Named(named.to_vec()));
        }
        conditions.extend(self.conditions.iter().cloned());
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
                return Err(self.undecided(&failed));
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
        let (ambiguous, shared) = ambiguous(identities, &devices, snapshot, semantics);
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

    /// The node that was named, if it has no devices: it may exist all the same, or be mistyped.
    #[must_use]
    pub fn idle(&self, snapshot: &Snapshot) -> Option<IdleNode> {
        IdleNode::of(self.node()?, snapshot)
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

    /// The hardware that was named.
    #[must_use]
    pub fn identities(&self) -> &[Hardware] {
        &self.typed.identities
    }

    /// Whether nothing but numbers of hardware is compared with what devices publish.
    fn compares_numbers_alone(&self) -> bool {
        !self.typed.identities.is_empty() && self.typed.expressions.is_empty()
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
            let is = DeviceCondition::Attribute(hardware.conditions());
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
        let what = match (self.needs_attributes(), &self.typed.node) {
            (true, _) => "the attributes of devices",
            (false, Some(_)) => "the nodes of devices",
            (false, None) => return Ok(()),
        };
        let kind = Kind::ResourceSlice;
        let Some(gap) = reading.without(kind) else {
            return Ok(());
        };
        let reason = reading.gaps.iter().find(|gap| gap.kind() == Some(kind));
        let gap = reason.unwrap_or(&gap);
        Err(Failure::new(
            ExitStatus::Failed,
            format!("{what} are unknown: {}", gap.why),
        )
        // Claims name devices too, and only those that they hold.
        .hint(
            "specify allocated devices as DRIVER/POOL/DEVICE; without ResourceSlices, other devices are unknown",
        ))
    }

    /// It cannot be said of some devices whether they are meant.
    fn undecided(&self, failed: &[(DeviceId, ExpressionError)]) -> Failure {
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
        let is_by_name = self.typed.expressions.is_empty() || errors.clone().all(is_unpublished);
        if !errors.all(ExpressionError::is_of_the_device) {
            return failure.hint("rewrite the expression");
        }
        let mend = if is_by_name {
            "specify the devices as DRIVER/POOL/DEVICE"
        } else {
            "in the CEL expression, make the attribute optional with has(…) or .?x.orValue(…)"
        };
        failure.hint(if self.typed.has_skip_errors {
            format!("{mend}, or skip these devices: --skip-errors")
        } else {
            mend.to_owned()
        })
    }
}

/// That these unpublished devices were not compared; absent where there are none.
fn not_compared(unpublished: &[DeviceId]) -> Option<String> {
    let names: Vec<String> = unpublished.iter().map(ToString::to_string).collect();
    let (devices, matching) = if names.len() == 1 {
        ("this allocated device", "it matches")
    } else {
        ("these allocated devices", "they match")
    };
    let names = (!names.is_empty()).then(|| few(&names))?;
    Some(format!(
        "no ResourceSlice lists {devices}, so it is unknown whether {matching}: {names}"
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_found_without_a_cluster() {
        let expression = |text: &str| DeviceFilterFlags {
            expressions: vec![text.to_owned()],
            ..DeviceFilterFlags::default()
        };
        let skips = DeviceFilterFlags {
            skips_errors: true,
            ..DeviceFilterFlags::default()
        };
        for (name, typed, said) in [
            (
                "a type",
                expression("device.driver == 1"),
                "--where: compilation failed at column 15: found no matching overload for '_==_' applied to '(string, int)'",
            ),
            ("nothing to skip", skips, "--skip-errors needs --where"),
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
    fn without_slices_nothing_is_chosen_by_node_or_attributes() {
        use crate::report::testing;
        let node = DeviceFilterFlags {
            node: Some("node-7".to_owned()),
            ..DeviceFilterFlags::default()
        };
        let hardware = DeviceFilterFlags {
            identities: vec![Hardware::bare("GPU-1")],
            ..DeviceFilterFlags::default()
        };
        for typed in [node, hardware] {
            let filter = DeviceFilter::parse(&typed).unwrap().expect("a condition");
            for kind in Kind::ALL {
                let mut reading = testing::reading();
                reading.known.remove(&kind);
                reading.gaps = vec![crate::model::Gap::of(kind, "it was denied")];
                let read = filter.refuse_unread(&reading);
                assert_eq!(read.is_err(), kind == Kind::ResourceSlice, "{kind:?}");
                let Err(failure) = read else { continue };
                assert_eq!(failure.status(), ExitStatus::Failed);
                assert!(failure.to_string().contains("it was denied"), "{failure}");
                let chosen = filter.resolve(&reading, &[], &testing::semantics(37));
                assert_eq!(chosen.unwrap_err().to_string(), failure.to_string());
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
        let chosen = |identities: &[(&str, &str)], named: &[DeviceSelector]| {
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
        assert_eq!(chosen(&[("pciBusID", "0")], &[names("gpu-0")]), Some(1));
        assert_eq!(chosen(&known, &[names("gone")]), None);
    }

    #[test]
    fn an_address_that_is_published_is_enough_and_what_is_unpublished_is_noted() {
        let semantics = crate::report::testing::semantics(37);
        let resolved = |address: &str, expressions: &[&str]| {
            let filters = DeviceFilterFlags {
                identities: vec![Hardware::named("pciBusID", address)],
                expressions: expressions.iter().map(|text| (*text).to_owned()).collect(),
                ..DeviceFilterFlags::default()
            };
            let filter = DeviceFilter::parse(&filters).unwrap().unwrap();
            filter.resolve(&half_published(), &[], &semantics)
        };
        let found = resolved("0", &[]).unwrap();
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
        assert!(resolved("0", &[with]).is_err());
        let failure = resolved("1", &[]).unwrap_err();
        assert_eq!(failure.to_string(), "cannot tell whether 1 device matches");
        assert!(failure.hints()[0].contains("DRIVER/POOL/DEVICE"));
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
            let filtered = filtered.unambiguous(use_of).ok();
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
        let ambiguous = |reading: &Reading, identity: (&str, &str), named: &[DeviceSelector]| {
            let filters = DeviceFilterFlags {
                identities: vec![Hardware::named(identity.0, identity.1)],
                ..DeviceFilterFlags::default()
            };
            let filter = DeviceFilter::parse(&filters).unwrap().unwrap();
            let filtered = filter.resolve(reading, named, &semantics).unwrap();
            let refused = filtered.unambiguous(NumberUse::Change).err();
            refused.map(|failure| failure.to_string())
        };
        let uuid = ("uuid", "GPU-1");
        let text = ambiguous(&reading, uuid, &[]).expect("two of them");
        let (first, second) = (
            "gpu.example.com/node-7/gpu-0",
            "gpu.example.com/node-7/gpu-1",
        );
        assert!(text.contains(first) && text.contains(second), "{text}");
        let named = [crate::decide::testing::selector("gpu-1")];
        assert_eq!(ambiguous(&reading, uuid, &named), None);
        // Whatever is in a place may be several.
        assert_eq!(ambiguous(&reading, ("pciBusID", "0"), &[]), None);
        // On one node: the same machines have the same places.
        let mut machines = reading.clone();
        let mut other = machines.snapshot.slices[0].clone();
        other.name = "other".into();
        other.pool.name = "other".into();
        other.nodes = SliceNodes::One("node-8".into());
        machines.snapshot.slices.push(other);
        let text = ambiguous(&machines, ("pciBusID", "0"), &[]).expect("two nodes");
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
