//! Devices of hardware IDs, `--node` and `--where` in what was read, the taints that are proposed for them, and refusals of
//! selections that match nothing or are not known whole.

use super::arguments::{Choice, ChoiceBasis, DeviceArguments, Purpose};
use super::not_found::{LIST, no_device, no_hardware, no_node, or_hint, unmatched_device};
use crate::engine::allocator::sharing_counters;
use crate::engine::devices::in_unknown_pools;
use crate::engine::expression::{AttributeCondition, DeviceExpression, ExpressionError};
use crate::engine::{
    self, DeviceCondition, FilteredDevices, ProposedTaint, Semantics, filter_devices,
};
use crate::error::{ExitStatus, Failure};
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Effect, Kind, Reading, ResourceSlice, Snapshot,
    Taint, Warning,
};
use crate::naming::phrase::{counted, few};
use crate::naming::{Hardware, keys};
use jiff::Timestamp;
use std::collections::BTreeSet;

/// So many devices of which it is unknown whether they match are named.
const FEW: usize = 5;

/// Conditions on devices that have been understood.
#[derive(Clone, Debug)]
pub struct DeviceFilter {
    conditions: Vec<DeviceCondition>,
    node: Option<String>,
    skips_errors: Option<bool>,
    with_partitions: bool,
    may_match_nothing: bool,
}

/// Selection with its devices by name.
#[derive(Clone, Debug)]
pub struct ResolvedChoice {
    /// The selection.
    pub choice: Choice,
    /// Notes about the selection.
    pub notes: Vec<String>,
}

impl Choice {
    /// Returns the selection with the devices of `reading` by their names.
    ///
    /// # Errors
    ///
    /// No device, or one of which it is unknown whether it matches; slices that were not read; a hardware ID that several
    /// devices have.
    pub fn resolved(
        &self,
        reading: &Reading,
        semantics: &Semantics,
    ) -> Result<ResolvedChoice, Failure> {
        let (ChoiceBasis::Selectors(named), true) = (&self.by, self.needs_cluster()) else {
            return Ok(ResolvedChoice {
                choice: self.clone(),
                notes: Vec::new(),
            });
        };
        let mut selectors = named.clone();
        let found = devices_with(&self.hardware, reading, semantics)?;
        selectors.extend(found.into_iter().map(DeviceSelector::from));
        let mut notes = Vec::new();
        if let Some(filter) = &self.filter {
            let devices = filter.devices(selectors, reading, semantics, &mut notes)?;
            selectors = devices.into_iter().map(DeviceSelector::from).collect();
        }
        Ok(ResolvedChoice {
            choice: Self::of_selectors(selectors, self.taint.clone()),
            notes,
        })
    }
}

/// Returns the devices that have these hardware IDs: one for each ID, or one with its partitions.
///
/// # Errors
///
/// No published device has an ID, or several have one that are not parts of one another; slices that were not read.
pub fn devices_with(
    hardware: &[Hardware],
    reading: &Reading,
    semantics: &Semantics,
) -> Result<BTreeSet<DeviceId>, Failure> {
    let mut all = BTreeSet::new();
    for number in hardware {
        refuse_unread(reading)?;
        let conditions = number.attributes().into_iter();
        let conditions = conditions.map(|(name, value)| AttributeCondition::is(name, &value));
        let is = DeviceCondition::Attribute(conditions.collect());
        let found = filter_devices(&reading.snapshot, &[is], semantics);
        let FilteredDevices { devices, failed } = found;
        if devices.is_empty() {
            let failure = no_hardware(number);
            return Err(if failed.is_empty() {
                failure
            } else {
                failure.detail(format!(
                    "not published, so not compared: {}",
                    few(failed.iter().map(|(id, _)| id))
                ))
            });
        }
        let has_all = |whole: &DeviceId| {
            let parts = sharing_counters(&reading.snapshot, &BTreeSet::from([whole.clone()]));
            let mut devices = devices.iter();
            devices.all(|device| device == whole || parts.contains(device))
        };
        if !devices.iter().any(has_all) {
            let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
            let text = format!(
                "{number} is ambiguous: it is the hardware ID of {}",
                names.join(" and ")
            );
            return Err(
                Failure::new(ExitStatus::Failed, text).hint("use the name of one of these devices")
            );
        }
        all.extend(devices);
    }
    Ok(all)
}

/// Refuses selections for which slices have to be read that were not.
fn refuse_unread(reading: &Reading) -> Result<(), Failure> {
    let kind = Kind::ResourceSlice;
    let Some(gap) = reading.without(kind) else {
        return Ok(());
    };
    let text = format!("the devices are unknown: {}", gap.why);
    // Claims name devices too, and only those that they hold.
    Err(Failure::new(ExitStatus::Failed, text)
        .hint("specify allocated devices as DRIVER/POOL/DEVICE"))
}

impl DeviceFilter {
    /// Understands the flags, and finds everything that can be wrong with them without a cluster; `None` where none was
    /// used.
    ///
    /// # Errors
    ///
    /// An expression that an API server would refuse, or that this plugin cannot evaluate; `--skip-errors` without an
    /// expression.
    pub fn parse(typed: &DeviceArguments) -> Result<Option<Self>, Failure> {
        if typed.skips_errors == Some(true) && typed.expressions.is_empty() {
            return Err(Failure::usage("--skip-errors needs --where"));
        }
        let mut conditions = Vec::new();
        conditions.extend(typed.node.clone().map(DeviceCondition::Node));
        for text in &typed.expressions {
            let expression = DeviceExpression::compile(text);
            conditions.push(DeviceCondition::Expression(
                expression.map_err(|error| wrong_expression(text, &error))?,
            ));
        }
        let is_used = !conditions.is_empty() || typed.with_partitions;
        Ok(is_used.then(|| Self {
            conditions,
            node: typed.node.clone(),
            skips_errors: typed.skips_errors,
            with_partitions: typed.with_partitions,
            may_match_nothing: false,
        }))
    }

    /// The filter where it is used for this.
    #[must_use]
    pub fn used_for(self, purpose: Purpose) -> Self {
        Self {
            may_match_nothing: purpose == Purpose::List,
            ..self
        }
    }

    /// The node to which the devices are local.
    pub fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    /// True if it selects devices without names; `--with-partitions` alone only adds to named ones.
    pub fn chooses(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// True if attributes or counters of devices have to be read for it.
    pub fn needs_attributes(&self) -> bool {
        let mut conditions = self.conditions.iter();
        self.with_partitions || conditions.any(DeviceCondition::is_about_attributes)
    }

    /// The devices of `reading` that meet all conditions and that one of `named` selects; any where there are none.
    fn devices(
        &self,
        named: Vec<DeviceSelector>,
        reading: &Reading,
        semantics: &Semantics,
        notes: &mut Vec<String>,
    ) -> Result<BTreeSet<DeviceId>, Failure> {
        refuse_unread(reading)?;
        let snapshot = &reading.snapshot;
        let mut conditions = Vec::new();
        if !named.is_empty() {
            conditions.push(DeviceCondition::Named(named));
        }
        conditions.extend(self.conditions.iter().cloned());
        let FilteredDevices { devices, failed } = filter_devices(snapshot, &conditions, semantics);
        if !failed.is_empty() {
            // An expression that fails for its own sake says nothing of any device, so that all would be skipped.
            let is_of_devices = failed.iter().all(|(_, error)| error.is_of_the_device());
            if self.skips_errors != Some(true) || !is_of_devices {
                return Err(self.undecided(&failed));
            }
            notes.push(format!(
                "skipped because it is unknown whether they match: {}",
                counted(failed.len(), "device")
            ));
        }
        if devices.is_empty() {
            refuse_no_match(&conditions, self.may_match_nothing, reading, semantics)?;
        }
        let mut devices: BTreeSet<DeviceId> = devices.into_iter().collect();
        if self.with_partitions {
            let parts = sharing_counters(snapshot, &devices);
            if !parts.is_empty() {
                notes.push(format!(
                    "includes devices that share counters with the selected ones: {}",
                    parts.len()
                ));
            }
            devices.extend(parts);
        }
        Ok(devices)
    }

    fn undecided(&self, failed: &[(DeviceId, ExpressionError)]) -> Failure {
        let devices = counted(failed.len(), "device");
        let text = format!("cannot tell whether they match: {devices}");
        let failed_first = failed.iter().take(FEW);
        let failure = failed_first.fold(
            Failure::new(ExitStatus::Failed, text),
            |failure, (id, error)| failure.detail(format!("{id}: {error}")),
        );
        let is_of_devices = failed.iter().all(|(_, error)| error.is_of_the_device());
        failure.hint(match self.skips_errors {
            _ if !is_of_devices => "rewrite the expression",
            Some(_) => "to skip these devices: --skip-errors",
            None => "make the attribute optional with has(…) or .?x.orValue(…)",
        })
    }
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

/// The taint that is assumed when none is named: no toleration names its key.
pub fn assumed_taint() -> Taint {
    Taint {
        key: keys::in_group!("preview").to_owned(),
        effect: Effect::NoExecute,
        ..Taint::default()
    }
}

impl Choice {
    /// The taints that this means in `snapshot` at `now`. `manifests` are what stands in the files, and
    /// `rule` finds the rule of a name.
    ///
    /// # Errors
    ///
    /// When `rule` does not find one.
    pub fn proposed<'a>(
        &self,
        manifests: &[DeviceTaintRule],
        rule: impl Fn(&str) -> Result<&'a DeviceTaintRule, Failure>,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Result<Vec<ProposedTaint>, Failure> {
        match &self.by {
            // No taint would mean that no pod is evicted, which was not checked.
            ChoiceBasis::Selectors(_) if self.needs_cluster() => Err(Failure::new(
                ExitStatus::Failed,
                "internal error, please report it: the devices that the command line selects were not determined",
            )),
            ChoiceBasis::Selectors(selectors) => {
                let taint = self.taint.clone().unwrap_or_else(assumed_taint);
                let selectors = selectors.iter().cloned();
                Ok(ProposedTaint::hypothetical_for(selectors, &taint, now))
            }
            ChoiceBasis::Rules(names) => names
                .iter()
                .map(|name| Ok(ProposedTaint::of_rule(rule(name)?, now)))
                .collect(),
            ChoiceBasis::Manifests(_) => Ok(manifests
                .iter()
                .map(|rule| ProposedTaint::of_manifest(rule, snapshot, now))
                .collect()),
        }
    }

    /// Warning about an assumed taint, or about one whose effect does nothing by itself: that of the
    /// command line, of the rules that it names, or of `manifests`.
    pub fn warning(&self, manifests: &[DeviceTaintRule], snapshot: &Snapshot) -> Option<Warning> {
        let has_no_effect = |rule: &DeviceTaintRule| rule.taint.effect == Effect::None;
        let found = match (&self.by, &self.taint) {
            (ChoiceBasis::Selectors(_), None) => return Some(unnamed()),
            (ChoiceBasis::Selectors(_), Some(taint)) => taint.effect == Effect::None,
            (ChoiceBasis::Rules(names), _) => {
                let mut rules = snapshot.rules.iter();
                rules.any(|rule| {
                    names.iter().any(|name| *name == *rule.name.as_str()) && has_no_effect(rule)
                })
            }
            (ChoiceBasis::Manifests(_), _) => manifests.iter().any(has_no_effect),
        };
        found.then(looked_at_as_no_execute)
    }
}

/// Refuses `conditions` of which no device meets all: the first that none meets alone, else all together. Together they
/// `may_match_nothing` in a list.
fn refuse_no_match(
    conditions: &[DeviceCondition],
    may_match_nothing: bool,
    reading: &Reading,
    semantics: &Semantics,
) -> Result<(), Failure> {
    let is_unmet = |condition: &&DeviceCondition| {
        let alone = std::slice::from_ref(*condition);
        let alone = filter_devices(&reading.snapshot, alone, semantics);
        alone.devices.is_empty() && alone.failed.is_empty()
    };
    match conditions.iter().find(is_unmet) {
        Some(DeviceCondition::Node(name)) => Err(no_node(name)),
        Some(DeviceCondition::Named(selectors)) if !selectors.is_empty() => {
            Err(no_device(&selectors[0], reading, semantics))
        }
        Some(
            DeviceCondition::Named(_)
            | DeviceCondition::Attribute(_)
            | DeviceCondition::Expression(_),
        )
        | None => {
            let failure = Failure::new(ExitStatus::Failed, "no device matches all filters");
            match may_match_nothing {
                true => Ok(()),
                false => Err(failure.hint(LIST)),
            }
        }
    }
}

/// Refuses taints that select nothing in what was read, where devices to come may be meant.
///
/// # Errors
///
/// The first selector that matches no device.
pub fn refuse_missing(
    proposed: &[ProposedTaint],
    reading: &Reading,
    semantics: &Semantics,
) -> Result<(), Failure> {
    let Some(failure) = unmatched(proposed, reading, semantics) else {
        return Ok(());
    };
    // The pods on the devices have to be known before there is a rule for them.
    Err(if reading.without(Kind::ResourceSlice).is_some() {
        failure
    } else {
        or_hint(
            failure,
            "to accept devices that do not exist yet: --allow-missing",
        )
    })
}

/// Refuses taints that select nothing in what was read, where devices to come are of no use.
///
/// # Errors
///
/// The first selector that matches no device.
pub fn refuse_unmatched(
    proposed: &[ProposedTaint],
    reading: &Reading,
    semantics: &Semantics,
) -> Result<(), Failure> {
    match unmatched(proposed, reading, semantics) {
        Some(failure) => Err(or_hint(failure, LIST)),
        None => Ok(()),
    }
}

/// The failure of the first selector without a rule that selects nothing in what was read.
fn unmatched(
    proposed: &[ProposedTaint],
    reading: &Reading,
    semantics: &Semantics,
) -> Option<Failure> {
    let counts = engine::selection(&reading.snapshot, proposed, semantics).counts;
    let mut empty = proposed.iter().zip(counts).filter_map(|(proposed, count)| {
        let is_empty = count == 0 && proposed.rule.is_none();
        proposed.selector.as_ref().filter(|_| is_empty)
    });
    Some(unmatched_device(empty.next()?, reading, semantics))
}

/// Refusal of units, nodes for example, whose devices are not all known, because a driver does not publish some that are
/// allocated.
pub fn unknown_devices<'a>(
    noun: &str,
    units: impl Iterator<Item = (&'a str, Vec<&'a DeviceId>)>,
    slices: &[ResourceSlice],
) -> Option<Failure> {
    let units: Vec<(&str, Vec<&DeviceId>)> = units.collect();
    let unknown = in_unknown_pools(units.iter().flat_map(|(_, ids)| ids).copied(), slices);
    let mut failure: Option<Failure> = None;
    for (unit, ids) in &units {
        let missing: Vec<&DeviceId> = ids
            .iter()
            .filter(|id| unknown.contains(*id))
            .copied()
            .collect();
        let Some(first) = missing.first() else {
            continue;
        };
        let driver = &first.driver;
        let refused =
            failure.unwrap_or_else(|| {
                Failure::refused(format!(
                "the devices of {noun} {unit} are not all known, because driver {driver} does not \
                publish all of them; nothing was changed"
            ))
            .hint(format!("start driver {driver}, and run the same command again"))
            });
        failure = Some(refused.detail(format!("{noun} {unit}: not published: {}", few(&missing))));
    }
    failure
}

/// Refuses to add rules for the `chosen` devices of a whole node of which not all are published: others would get no rule,
/// and pods once their driver is back.
///
/// # Errors
///
/// The node with its drivers.
pub fn refuse_unknown_on_node(
    filter: Option<&DeviceFilter>,
    chosen: &Choice,
    slices: &[ResourceSlice],
) -> Result<(), Failure> {
    let node = filter.and_then(DeviceFilter::node);
    let (Some(node), ChoiceBasis::Selectors(selectors)) = (node, &chosen.by) else {
        return Ok(());
    };
    let devices = selectors.iter().filter_map(DeviceSelector::device_id);
    let devices: Vec<DeviceId> = devices.collect();
    let unit = (node, devices.iter().collect());
    unknown_devices("node", std::iter::once(unit), slices).map_or(Ok(()), Err)
}

/// Returns the warning that a preview of the `chosen` devices of a whole node does not show all of them.
pub fn unknown_on_node(
    filter: Option<&DeviceFilter>,
    chosen: &Choice,
    slices: &[ResourceSlice],
) -> Option<Warning> {
    let refused = refuse_unknown_on_node(filter, chosen, slices).err()?;
    let text = refused.to_string();
    let text = text.strip_suffix("; nothing was changed").unwrap_or(&text);
    Some(Warning {
        code: "unpublished-devices",
        message: text.to_owned(),
        fix: refused.hints().first().cloned(),
    })
}

/// Returns the warning that the devices of rules are not published, so that it is unknown which partitions they have.
pub fn rules_without_published_devices(
    rules: &[DeviceTaintRule],
    reading: &Reading,
    semantics: &Semantics,
) -> Option<Warning> {
    if reading.without(Kind::ResourceSlice).is_some() {
        return None;
    }
    let published = engine::devices(&reading.snapshot, semantics);
    let published: BTreeSet<&DeviceId> = published
        .iter()
        .filter(|state| state.device.is_some())
        .map(|state| &state.id)
        .collect();
    let selectors = rules.iter().filter_map(|rule| rule.selector.as_ref());
    let named: BTreeSet<DeviceId> = selectors.filter_map(DeviceSelector::device_id).collect();
    let missing = named.iter().filter(|id| !published.contains(id));
    let missing: Vec<&DeviceId> = missing.collect();
    (!missing.is_empty()).then(|| Warning {
        code: "unpublished-devices",
        message: format!(
            "not published, so that their partitions are unknown and may be in use: {}",
            few(&missing)
        ),
        fix: None,
    })
}

/// Refuses a manifest that taints every device.
///
/// # Errors
///
/// When one of `manifests` is such a one.
pub fn refuse_wide(manifests: &[DeviceTaintRule]) -> Result<(), Failure> {
    for manifest in manifests {
        let problem = match &manifest.selector {
            // Schedulers up to 1.37.0 take a missing selector for every device, and eviction controllers for
            // none.
            None => "has no spec.deviceSelector",
            Some(selector) if selector.selects_every_device() => {
                "sets no driver, pool or device in spec.deviceSelector: it would taint every device"
            }
            Some(_) => continue,
        };
        let failure = Failure::usage(format!("rule {} {problem}", manifest.name));
        return Err(failure.hint("set a driver, a pool or a device in spec.deviceSelector"));
    }
    Ok(())
}

/// No taint was named, so that only blanket tolerations can cover it.
fn unnamed() -> Warning {
    Warning {
        code: "unnamed-taint",
        message: "no taint specified: only pods with a wildcard toleration count as tolerating it"
            .to_owned(),
        fix: None,
    }
}

/// The controller previews effect None as NoExecute, and so does this plugin.
fn looked_at_as_no_execute() -> Warning {
    Warning {
        code: "previewed-as-no-execute",
        message:
            "a rule with effect None, or without an effect, evicts no pods; the pods shown are those \
            that the rule would evict with effect NoExecute"
                .to_owned(),
        fix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{drawing, published, semantics, slice, slice_of};
    use crate::model::DeviceSelector;
    use crate::naming::device;
    use crate::report::testing;

    /// gpu-0 and gpu-1 with a UUID each and a common PCI address, a card of another driver with the UUID of gpu-1, and
    /// gpu-2 with a half of it, which have one UUID.
    fn reading() -> Reading {
        let mut reading = testing::reading();
        reading.known.insert(Kind::ResourceSlice);
        let place = ("resource.kubernetes.io/pciBusID", "0000:17:00.0");
        let part = |name: &str, amount: &str| {
            let mut device = drawing(name, amount);
            device.attributes = published(name, &[("uuid", "C")]).attributes;
            device
        };
        reading.snapshot.slices = vec![
            slice(vec![
                published("gpu-0", &[("uuid", "A"), place]),
                published("gpu-1", &[("uuid", "B"), place]),
                part("gpu-2", "80Gi"),
                part("gpu-2-half", "40Gi"),
            ]),
            slice_of(
                "vfio.example.com",
                vec![published("card", &[("uuid", "B")])],
            ),
        ];
        reading
    }

    fn resolved(arguments: &[&str], filters: &DeviceArguments) -> Result<Vec<String>, Failure> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let choice = Choice::parse(&filters.with(&arguments), Purpose::Choose)?;
        let choice = choice.resolved(&reading(), &semantics(37))?.choice;
        let ChoiceBasis::Selectors(selectors) = choice.by else {
            panic!("devices");
        };
        let names = selectors.iter().map(crate::naming::device::format);
        Ok(names
            .map(|name| name.rsplit('/').next().unwrap_or_default().to_owned())
            .collect())
    }

    #[test]
    fn hardware_ids_and_names_are_selected_and_flags_narrow_them() {
        let none = DeviceArguments::default;
        let of_node = |node: &str| DeviceArguments {
            node: Some(node.to_owned()),
            ..none()
        };
        let with_partitions = DeviceArguments {
            with_partitions: true,
            ..none()
        };
        let gpu = "gpu.example.com/node-7/gpu-1";
        for (name, arguments, filters, expected) in [
            ("an ID", &["uuid=A"][..], none(), &["gpu-0"][..]),
            ("ID and name", &["uuid=A", gpu], none(), &["gpu-1", "gpu-0"]),
            ("with parts", &["uuid=C"], none(), &["gpu-2", "gpu-2-half"]),
            (
                "names of a node",
                &["uuid=A", gpu],
                of_node("node-7"),
                &["gpu-0", "gpu-1"],
            ),
            (
                "a part",
                &["gpu.example.com/node-7/gpu-2-half"],
                with_partitions,
                &["gpu-2", "gpu-2-half"],
            ),
        ] {
            assert_eq!(resolved(arguments, &filters).unwrap(), expected, "{name}");
        }
        for (arguments, filters, said) in [
            (&["uuid=D"][..], none(), "no device with uuid=D"),
            (&["uuid=B"], none(), "uuid=B is ambiguous"),
            (&["0000:17:00.0"], none(), "0000:17:00.0 is ambiguous"),
            (&[], of_node("node-9"), "no device is local to node node-9"),
        ] {
            let failure = resolved(arguments, &filters).unwrap_err();
            assert!(failure.to_string().starts_with(said), "{failure}");
        }
    }

    #[test]
    fn without_slices_nothing_is_selected_by_node_or_hardware() {
        let mut reading = reading();
        reading.known.remove(&Kind::ResourceSlice);
        let node = DeviceArguments {
            node: Some("node-7".to_owned()),
            ..DeviceArguments::default()
        };
        for (arguments, filters) in [
            (Vec::<String>::new(), node),
            (vec!["uuid=A".to_owned()], DeviceArguments::default()),
        ] {
            let choice =
                Choice::parse(&filters.with(&arguments), Purpose::Choose).expect("a choice");
            let failure = choice.resolved(&reading, &semantics(37)).unwrap_err();
            assert!(failure.to_string().starts_with("the devices are unknown"));
        }
    }

    fn manifest(selector: Option<DeviceSelector>, effect: &str) -> DeviceTaintRule {
        DeviceTaintRule {
            selector,
            ..crate::decide::testing::rule(effect)
        }
    }

    #[test]
    fn taint_that_is_assumed_and_effect_none_have_a_warning() {
        let selectors = vec![device::parse("gpu.example.com").unwrap()];
        let of_taint = |text: Option<&str>| {
            let taint = text.map(|text| device::parse_taint(text).unwrap());
            Choice::of_selectors(selectors.clone(), taint)
        };
        let rule = |effect: &str| manifest(None, effect);
        let by = |by: ChoiceBasis| Choice {
            by,
            ..of_taint(None)
        };
        let code = |choice: &Choice, effect: &str| {
            let snapshot = Snapshot {
                rules: vec![rule(effect)],
                ..Snapshot::default()
            };
            let warning = choice.warning(&[rule(effect)], &snapshot);
            warning.map(|warning| warning.code)
        };
        let none = Some("previewed-as-no-execute");
        assert_eq!(code(&of_taint(None), "NoExecute"), Some("unnamed-taint"));
        assert_eq!(code(&of_taint(Some("a.b/k:None")), "NoExecute"), none);
        assert_eq!(code(&of_taint(Some("a.b/k:NoExecute")), "None"), None);
        for choice in [
            by(ChoiceBasis::Rules(vec!["drain".to_owned()])),
            by(ChoiceBasis::Manifests(vec!["-".into()])),
        ] {
            assert_eq!(code(&choice, "None"), none);
            assert_eq!(code(&choice, "NoExecute"), None);
        }
        let other = by(ChoiceBasis::Rules(vec!["other".to_owned()]));
        assert_eq!(code(&other, "None"), None);
    }

    #[test]
    fn a_manifest_for_every_device_is_refused() {
        let unknown = DeviceSelector {
            unknown_fields: vec!["deviceClassName".to_owned()],
            ..DeviceSelector::default()
        };
        let named = device::parse("gpu.example.com").unwrap();
        for (name, selector, refused) in [
            ("none", None, true),
            ("empty", Some(DeviceSelector::default()), true),
            ("an unknown field alone", Some(unknown), true),
            ("a driver", Some(named), false),
        ] {
            let outcome = refuse_wide(&[manifest(selector, "NoExecute")]);
            assert_eq!(outcome.is_err(), refused, "{name}");
        }
    }
}

#[cfg(test)]
mod unpublished_tests {
    use super::*;
    use crate::report::testing;

    #[test]
    fn a_node_is_not_tainted_while_some_of_its_devices_are_unknown() {
        let node = DeviceArguments {
            node: Some("node-7".to_owned()),
            ..DeviceArguments::default()
        };
        let node = DeviceFilter::parse(&node).unwrap();
        let chosen = |names: &[&str]| {
            let devices = names.iter().map(|name| testing::device(name).into());
            Choice::of_selectors(devices.collect(), Some(testing::TAINT.clone()))
        };
        let device = crate::engine::testing::published("gpu-0", &[]);
        let mut slices = [crate::engine::testing::slice(vec![device])];
        slices[0].pool.slice_count = 2;
        let refusal = |names: &[&str]| {
            let chosen = chosen(names);
            refuse_unknown_on_node(node.as_ref(), &chosen, &slices).err()
        };
        let failure = refusal(&["gpu-0", "gpu-1"]).expect("a refusal");
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert_eq!(
            failure.to_string(),
            "the devices of node node-7 are not all known, because driver gpu.example.com does not \
             publish all of them; nothing was changed"
        );
        assert!(refusal(&["gpu-0"]).is_none(), "it is published");
        let both = chosen(&["gpu-0", "gpu-1"]);
        let mut whole = slices.clone();
        whole[0].pool.slice_count = 1;
        let renamed = refuse_unknown_on_node(node.as_ref(), &both, &whole);
        assert!(renamed.is_ok(), "the pool has no other devices");
        let warning = unknown_on_node(node.as_ref(), &both, &slices).expect("a warning");
        assert!(!warning.message.contains("changed"), "{}", warning.message);
        assert!(warning.fix.expect("a way out").starts_with("start driver"));
    }

    #[test]
    fn partitions_of_a_device_that_is_not_published_are_unknown() {
        let rule = |device: &str| {
            let mut rule = crate::decide::testing::named(device, "NoSchedule");
            rule.selector = Some(testing::device(device).into());
            rule
        };
        let mut reading = testing::reading();
        reading.known.insert(Kind::ResourceSlice);
        let device = crate::engine::testing::published("gpu-0", &[]);
        reading.snapshot.slices = vec![crate::engine::testing::slice(vec![device])];
        let warning = |rules: &[DeviceTaintRule]| {
            rules_without_published_devices(rules, &reading, &testing::semantics(37))
        };
        assert_eq!(warning(&[rule("gpu-0")]), None);
        let message = warning(&[rule("gpu-0"), rule("gpu-1")]).expect("a warning");
        assert!(message.message.ends_with("gpu.example.com/node-7/gpu-1"));
    }
}
