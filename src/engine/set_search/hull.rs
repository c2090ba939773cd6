//! Combination of regions by convex hulls: a bound for every size, and a set where it is met.
//!
//! If parts of a way could be taken, the cheapest set would take from every region along the lower convex hull of its
//! frontier, the cheapest per unit first. No real set costs less than that, and the one that is found by taking whole
//! steps is as good wherever the last step fits.

use super::chain::Chains;
use super::combination::{Parts, PlainClass};
use super::cost::Burden;
use super::frontier::Way;

/// A step along a hull: so many units for so much.
#[derive(Clone, Copy, Debug)]
struct HullStep {
    /// Which curve; those behind the frontiers are of plain classes, of which any part can be taken.
    curve: usize,
    units: usize,
    burden: Burden,
    /// The number of units on its curve after it.
    after: usize,
}

/// The steps along all curves, the cheapest per unit first; those of one curve are in its order, which is convex.
fn steps(curves: &[Vec<(usize, Burden)>], plain: &[PlainClass]) -> Vec<HullStep> {
    let mut steps: Vec<HullStep> = Vec::new();
    for (curve, points) in curves.iter().enumerate() {
        let corners = hull(points);
        for pair in corners.windows(2) {
            if let [(before, from), (after, to)] = pair {
                steps.push(HullStep {
                    curve,
                    units: after.saturating_sub(*before),
                    burden: to.minus(*from),
                    after: *after,
                });
            }
        }
    }
    for (place, class) in plain.iter().enumerate() {
        steps.push(HullStep {
            curve: curves.len().saturating_add(place),
            units: class.size,
            burden: class.burden.times(class.size),
            after: class.size,
        });
    }
    steps.retain(|step| step.units > 0);
    steps.sort_by(|left, right| {
        // As fractions: cost per unit, multiplied by both numbers of units.
        let left_cost = left.burden.times(right.units);
        left_cost.cmp(&right.burden.times(left.units))
    });
    steps
}

/// The corners of the lower convex hull of points with ascending numbers of units.
fn hull(points: &[(usize, Burden)]) -> Vec<(usize, Burden)> {
    let mut corners: Vec<(usize, Burden)> = Vec::new();
    for point in points {
        while let [.., before, last] = corners.as_slice()
            && is_above(*before, *last, *point)
        {
            corners.pop();
        }
        corners.push(*point);
    }
    corners
}

/// Whether the one in the middle is not below the line between the others.
fn is_above(left: (usize, Burden), middle: (usize, Burden), right: (usize, Burden)) -> bool {
    let first = middle.1.minus(left.1);
    let second = right.1.minus(middle.1);
    let (to_middle, to_right) = (
        middle.0.saturating_sub(left.0),
        right.0.saturating_sub(middle.0),
    );
    first.times(to_right) >= second.times(to_middle)
}

/// What every set of so many units costs at least; nothing where there is no such set. `curves` are what each region
/// costs at least by the number of units, and no more is asked of a set than that number.
pub(super) fn bound(
    curves: &[Vec<(usize, Burden)>],
    plain: &[PlainClass],
    count: usize,
) -> Option<Burden> {
    let (mut taken, mut total) = (0_usize, Burden::NONE);
    for points in curves {
        let (least, burden) = points.first()?;
        taken = taken.saturating_add(*least);
        total = total.plus(*burden);
    }
    let mut left = count.checked_sub(taken)?;
    for step in steps(curves, plain) {
        if step.units > left {
            // The part of the step that is needed, as a fraction of it.
            let whole = total.times(step.units).plus(step.burden.times(left));
            return Some(whole.divided_up(step.units));
        }
        left = left.saturating_sub(step.units);
        total = total.plus(step.burden);
    }
    (left == 0).then_some(total)
}

/// What is taken of a frontier while a set is put together.
struct Taken<'w> {
    way: &'w Way,
    ways: &'w [Way],
}

/// A set that is put together from whole steps, where the last of them fits or another way makes up for it.
pub(super) fn rounded(parts: &Parts<'_>, chains: &mut Chains) -> Option<Way> {
    let frontiers = parts.frontiers.iter();
    let curves: Vec<Vec<(usize, Burden)>> = frontiers
        .clone()
        .map(|frontier| {
            cheapest_of_each(&frontier.ways)
                .map(|way| (way.taken, way.burden))
                .collect()
        })
        .collect();
    let mut of_frontiers: Vec<Taken<'_>> = frontiers
        .map(|frontier| {
            Some(Taken {
                way: cheapest_of_each(&frontier.ways).next()?,
                ways: &frontier.ways,
            })
        })
        .collect::<Option<_>>()?;
    let mut of_plain = vec![0_usize; parts.plain.len()];
    let base = of_frontiers.iter().map(|taken| taken.way.taken);
    let mut left = parts
        .count
        .checked_sub(base.fold(0, usize::saturating_add))?;
    for step in steps(&curves, parts.plain) {
        if left == 0 {
            break;
        }
        if let Some(place) = step.curve.checked_sub(curves.len()) {
            let class = parts.plain.get(place)?;
            let taken = class.size.min(left);
            *of_plain.get_mut(place)? = taken;
            left = left.saturating_sub(taken);
            continue;
        }
        let taken = of_frontiers.get_mut(step.curve)?;
        let next = cheapest_of_each(taken.ways).find(|way| way.taken == step.after);
        let next = next.filter(|way| {
            // A step behind one that did not fit would take more than it says.
            way.taken.saturating_sub(taken.way.taken) == step.units && step.units <= left
        });
        if let Some(way) = next {
            left = left.saturating_sub(step.units);
            taken.way = way;
        }
    }
    fill(&mut of_frontiers, left)?;
    let (mut burden, mut chain) = (Burden::NONE, None);
    for taken in &of_frontiers {
        burden = burden.plus(taken.way.burden);
        chain = chains.join(chain, taken.way.chain);
    }
    for (class, taken) in parts.plain.iter().zip(of_plain) {
        burden = burden.plus(class.burden.times(taken));
        chain = chains.take(chain, class.class, taken);
    }
    Some(Way {
        taken: parts.count,
        burden,
        chain,
    })
}

/// Takes the units that are missing from one frontier, where that costs least; nothing where no frontier has so many.
fn fill(of_frontiers: &mut [Taken<'_>], left: usize) -> Option<()> {
    if left == 0 {
        return Some(());
    }
    let ways = of_frontiers.iter().enumerate().flat_map(|(place, taken)| {
        let wanted = taken.way.taken.saturating_add(left);
        let ways = taken.ways.iter().filter(move |way| way.taken == wanted);
        ways.map(move |way| (way.burden.minus(taken.way.burden), place, way))
    });
    let (_, place, way) = ways.min_by_key(|(more, place, _)| (*more, *place))?;
    of_frontiers.get_mut(place)?.way = way;
    Some(())
}

/// The cheapest way of each number of units.
fn cheapest_of_each(ways: &[Way]) -> impl Iterator<Item = &Way> {
    let groups = ways.chunk_by(|left, right| left.taken == right.taken);
    groups.filter_map(|group| group.iter().min_by_key(|way| way.burden))
}
