//! `GET /tail`: decisions since a tail began, for pages that poll.
//!
//! A tail stays for a time after its last poll, so that no decision is missed between polls. Not here: streams
//! of decisions, which belong to the server (`/v1/tail`).

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tollgate_serve::cluster;
use tollgate_serve::tail::{DecisionFilter, Tail, TailLine, WATCHERS_MAX, Watching};

use crate::admin::Office;
use crate::answer::Reply;
use crate::call::Call;
use crate::fault::Fault;
use crate::time::now_ns;

#[derive(Default)]
pub(crate) struct Looks(Mutex<Vec<Look>>);

struct Look {
    watching: Watching,
    /// Newest last.
    lines: VecDeque<TailLine>,
    since_ms: u64,
    asked: Instant,
}

/// `GET /tail`: decisions of this node, newest first.
pub(crate) fn tail(call: &Call) -> Result<Reply, Fault> {
    let parameters = PARAMETERS.iter();
    let parameters =
        parameters.flat_map(|name| call.query.all(name).map(move |value| (name, value)));
    let engine = &call.shared.engine;
    let filter = DecisionFilter::read(parameters, engine.node().contracts());
    let filter = filter.map_err(|error| Fault::malformed(error.to_string()))?;
    let node = cluster::view(&call.shared).me.map(|me| me.name);
    let told = call.office.looks.at(engine.tail(), filter, Look::told);
    let mut told = told.ok_or_else(|| {
        Fault::unavailable(format!(
            "{WATCHERS_MAX} watch decisions already, which is the most"
        ))
    })?;
    told["node"] = node.into();
    Ok(Reply::json(&told))
}

/// Ends tails that are not polled any more, and updates the others.
pub(crate) async fn keep(office: Weak<Office>) {
    loop {
        tokio::time::sleep(TEND_EVERY).await;
        let Some(office) = office.upgrade() else {
            return;
        };
        office.looks.tend();
    }
}

impl Looks {
    /// The tail of a filter, started if needed; `None` if there are too many.
    fn at<T>(
        &self,
        tail: &Arc<Tail>,
        filter: DecisionFilter,
        show: impl FnOnce(&Look) -> T,
    ) -> Option<T> {
        let mut looks = self.0.lock();
        let known = looks
            .iter()
            .position(|look| *look.watching.filter() == filter);
        let place = if let Some(place) = known {
            place
        } else {
            // The tail that was polled least recently is replaced.
            looks.sort_by_key(|look| look.asked);
            if looks.len() >= LOOKS_MAX {
                looks.remove(0);
            }
            looks.push(Look::new(tail.watch(filter)?));
            looks.len() - 1
        };
        let look = looks.get_mut(place)?;
        look.asked = Instant::now();
        look.take();
        Some(show(look))
    }

    fn tend(&self) {
        let mut looks = self.0.lock();
        looks.retain(|look| look.asked.elapsed() < STAYS);
        looks.iter_mut().for_each(Look::take);
    }
}

impl Look {
    fn new(watching: Watching) -> Self {
        Self {
            watching,
            lines: VecDeque::new(),
            since_ms: now_ns() / 1_000_000,
            asked: Instant::now(),
        }
    }

    fn take(&mut self) {
        while let Some(line) = self.watching.try_next() {
            self.lines.push_back(line);
            if self.lines.len() > LINES_MAX {
                self.lines.pop_front();
            }
        }
    }

    fn told(&self) -> Value {
        let lines: Vec<&TailLine> = self.lines.iter().rev().collect();
        json!({
            "items": lines,
            "since_ms": self.since_ms,
            "dropped": self.watching.dropped(),
            "next": null,
        })
    }
}

pub(crate) const PARAMETERS: &[&str] = &["contract", "key", "verdict"];
/// Tails at the same time.
const LOOKS_MAX: usize = 4;
/// Lines kept for each.
const LINES_MAX: usize = 100;
/// How long a tail stays without polls.
const STAYS: Duration = Duration::from_secs(15);
const TEND_EVERY: Duration = Duration::from_millis(500);
