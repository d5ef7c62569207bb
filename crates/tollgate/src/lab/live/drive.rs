//! The client: sends every request at its time to its node, and records the answer.
//!
//! One thread per node, as in the simulation, where a node answers one request at a time. Not here: which node that is.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_fault::Script;

use super::lanes::LiveLane;
use crate::cluster::asker::Asker;
use crate::cluster::fleet::Fleet;
use crate::failure::Failure;

#[derive(Debug, Default)]
pub(super) struct Driven {
    /// By the place in the trace.
    pub(super) admitted: Vec<bool>,
    /// Requests that no node answered; they count as rejected.
    pub(super) unanswered: u64,
    /// The largest delay of a request after its time.
    pub(super) late: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    after: Duration,
    lane: usize,
    index: usize,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    due: Due,
    admitted: Option<bool>,
    late: Duration,
}

/// Time to open connections before the first request.
const HEAD_START: Duration = Duration::from_millis(500);
/// Timeout after which the next node is asked.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs lanes at the same time, with a script beside them.
pub(super) fn drive(
    lanes: &[LiveLane],
    fleet: &mut Fleet,
    script: &Script,
) -> Result<Vec<Driven>, Failure> {
    let plans = plans(lanes, fleet.nodes().len());
    let places = Mutex::new(resp(fleet));
    let begun = Instant::now() + HEAD_START;
    let (answers, faults) = thread::scope(|scope| {
        let places = &places;
        let clients: Vec<_> = (0_u16..)
            .zip(&plans)
            .map(|(node, plan)| scope.spawn(move || client(node, plan, lanes, begun, places)))
            .collect();
        let faults = suffer(fleet, script, begun, places);
        let answers: Vec<Answer> = clients
            .into_iter()
            .flat_map(|client| client.join().unwrap_or_default())
            .collect();
        (answers, faults)
    });
    faults?;
    let mut driven: Vec<Driven> = lanes
        .iter()
        .map(|lane| Driven {
            admitted: vec![false; lane.trace.len()],
            ..Driven::default()
        })
        .collect();
    for answer in answers {
        let Some(lane) = driven.get_mut(answer.due.lane) else {
            continue;
        };
        lane.unanswered += u64::from(answer.admitted.is_none());
        lane.late = lane.late.max(answer.late);
        if let Some(slot) = lane.admitted.get_mut(answer.due.index) {
            *slot = answer.admitted.unwrap_or(false);
        }
    }
    Ok(driven)
}

/// The requests of each node, in order of time.
fn plans(lanes: &[LiveLane], nodes: usize) -> Vec<Vec<Due>> {
    let mut plans = vec![Vec::new(); nodes];
    for (number, lane) in lanes.iter().enumerate() {
        let start = lane.trace.first().map_or(0, |first| first.at.as_nanos());
        for (index, (request, place)) in lane.trace.iter().zip(&lane.places).enumerate() {
            if let Some(plan) = plans.get_mut(usize::from(*place)) {
                plan.push(Due {
                    after: Duration::from_nanos(request.at.as_nanos() - start),
                    lane: number,
                    index,
                });
            }
        }
    }
    for plan in &mut plans {
        plan.sort_by_key(|due| due.after);
    }
    plans
}

type Places = Mutex<BTreeMap<u16, SocketAddr>>;

fn client(
    node: u16,
    plan: &[Due],
    lanes: &[LiveLane],
    begun: Instant,
    places: &Places,
) -> Vec<Answer> {
    let mut askers: BTreeMap<u16, Asker> = BTreeMap::new();
    let mut answers = Vec::with_capacity(plan.len());
    for due in plan {
        let at = begun + due.after;
        thread::sleep(at.saturating_duration_since(Instant::now()));
        let delayed = at.elapsed();
        let Some(lane) = lanes.get(due.lane) else {
            continue;
        };
        let Some(request) = lane.trace.get(due.index) else {
            continue;
        };
        let user = format!("{:032x}", request.key.0);
        let entries = [("lane", lane.id.as_str()), ("user", user.as_str())];
        let ring = ring(node, places);
        let admitted = ring
            .into_iter()
            .find_map(|(node, at)| ask(&mut askers, node, at, &entries, request.cost));
        answers.push(Answer {
            due: *due,
            admitted,
            late: delayed,
        });
    }
    answers
}

/// The nodes to ask, the intended one first.
fn ring(node: u16, places: &Places) -> Vec<(u16, SocketAddr)> {
    let places = places.lock().unwrap_or_else(PoisonError::into_inner);
    let after = places.range(node..);
    after
        .chain(places.range(..node))
        .map(|(node, at)| (*node, *at))
        .collect()
}

/// Asks a node; `None` if it does not answer, and the next request reconnects.
fn ask(
    askers: &mut BTreeMap<u16, Asker>,
    node: u16,
    at: SocketAddr,
    entries: &[(&str, &str)],
    cost: u64,
) -> Option<bool> {
    let mut asker = match askers.remove(&node) {
        Some(asker) => asker,
        None => Asker::connect(at, PATIENCE).ok()?,
    };
    let answer = asker.ask(entries, cost).ok()?;
    askers.insert(node, asker);
    Some(answer)
}

/// Runs the script; nodes that are down get no requests meanwhile.
fn suffer(
    fleet: &mut Fleet,
    script: &Script,
    begun: Instant,
    places: &Places,
) -> Result<(), Failure> {
    let mut failed = Ok(());
    script.play(begun, |step| {
        let process = fleet.mesh().and_then(|mesh| mesh.apply(&step.change));
        if let Some(process) = process {
            if let Err(failure) = fleet.suffer(process) {
                failed = Err(failure);
            }
            *places.lock().unwrap_or_else(PoisonError::into_inner) = resp(fleet);
        }
    });
    failed
}

/// The RESP addresses of the running nodes.
fn resp(fleet: &Fleet) -> BTreeMap<u16, SocketAddr> {
    let running = (0_u16..).zip(fleet.nodes());
    running
        .filter(|(_, node)| node.pid().is_some())
        .map(|(number, node)| (number, node.resp))
        .collect()
}
