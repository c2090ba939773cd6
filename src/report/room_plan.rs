//! Making room as reports show it.

use super::change::DryRun;
use super::reference::ObjectReference;
use super::room::{Room, RoomCompetitor, RoomEviction, RoomOutcome, RoomReport};
use crate::assess::closed_line;
use crate::decide::make_room::{
    Competitor, NothingHelps, PlannedEviction, PlannedRoom, RoomPlan, StageEnd,
};
use crate::engine::closed_nodes::ClosedNode;
use crate::model::{Pod, Uid};

/// A set that was chosen, for this pod.
#[must_use]
pub fn planned_report(pod: &Pod, plan: &RoomPlan, dry_run: DryRun) -> RoomReport {
    RoomReport {
        waiting_pod: Some(ObjectReference::from(pod)),
        chosen_room: Some(room(&plan.chosen)),
        other_rooms: plan.runner_up.iter().map(room).collect(),
        proved: plan.is_proved,
        messages: left_out(&plan.unknown, &plan.closed),
        ..RoomReport::new(RoomOutcome::Planned, dry_run)
    }
}

/// What was not looked at, and why.
fn left_out(unknown: &[String], closed: &[ClosedNode]) -> Vec<String> {
    let closed = closed_line(closed);
    unknown.iter().cloned().chain(closed).collect()
}

/// That no set may be chosen for this pod.
#[must_use]
pub fn nothing_report(pod: &Pod, nothing: &NothingHelps, dry_run: DryRun) -> RoomReport {
    let nearest = nothing.nearest.iter();
    RoomReport {
        waiting_pod: Some(ObjectReference::from(pod)),
        other_rooms: nearest.map(room).collect(),
        proved: nothing.is_proved,
        messages: left_out(&nothing.unknown, &nothing.closed),
        ..RoomReport::new(RoomOutcome::NothingHelps, dry_run)
    }
}

/// The report of a plan that was carried out, with how that ended.
#[must_use]
pub fn ended_report(mut report: RoomReport, end: &StageEnd) -> RoomReport {
    match end {
        StageEnd::Scheduled(node, devices) => {
            report.room_outcome = RoomOutcome::Scheduled;
            report.node = Some(node.to_string());
            report.devices = devices.iter().map(ToString::to_string).collect();
        }
        StageEnd::Lost(competitors) => {
            report.room_outcome = RoomOutcome::Lost;
            report.competitors = competitors.iter().map(competitor).collect();
        }
        StageEnd::TimedOut(left) => {
            report.room_outcome = RoomOutcome::TimedOut;
            report.messages.extend(left.iter().cloned());
        }
        StageEnd::Gone => report.room_outcome = RoomOutcome::Deleted,
        StageEnd::Reversed(why) => {
            report.room_outcome = RoomOutcome::Reversed;
            report.messages.push(why.clone());
        }
    }
    report
}

fn room(room: &PlannedRoom) -> Room {
    let evictions = room.pods.iter().map(eviction).collect();
    Room::new(&room.set, evictions)
}

fn eviction(pod: &PlannedEviction) -> RoomEviction {
    RoomEviction {
        pod: ObjectReference::new(&pod.name, &pod.uid),
        priority: pod.priority,
        grace_period_seconds: pod.grace_period_seconds,
        has_budget: pod.has_budget,
    }
}

fn competitor(competitor: &Competitor) -> RoomCompetitor {
    let unknown = Uid::from("");
    let pods = competitor.pods.iter();
    RoomCompetitor {
        device: competitor.device.to_string(),
        claim: ObjectReference::new(&competitor.claim, &unknown),
        pods: pods.map(ObjectReference::from).collect(),
    }
}
