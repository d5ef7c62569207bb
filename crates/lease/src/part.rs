//! A grantor's part in one policy, at the boundary.
//!
//! Grantors send hints to nodes that lease keys; what clients say reaches the [`Lender`] by [`Mode::extension`]. Not
//! here: what is lent.

use core::any::Any;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_limit::Instant;
use tollgate_mode::{
    Build, ClockKind, Figure, Malformed, Mode, ModeEvent, ModeKey, ModeKind, NodeId, Send,
    Settlement, by_machine, counter, gauge,
};

use crate::config::{limits, rules};
use crate::lender::{Lender, LenderSetup, LenderStand};
use crate::pool::Rules;
use crate::quota::QuotaRules;

/// Lending among the ways to agree.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Larger than that of any node that granted before.
    pub generation: u64,
    /// Whether others take over where this node is silent.
    pub has_successors: bool,
    /// How data planes are assigned quotas, where they are.
    pub quota: Option<QuotaRules>,
    /// How it lends, where not as policies say: other ways are here to be compared with.
    pub rules: Option<Rules>,
    /// Whether a node begins that never ran before: what is built then has lent nothing.
    pub is_first: Arc<AtomicBool>,
}

impl ModeKind for Lease {
    fn coordination(&self) -> Coordination {
        Coordination::Lease
    }

    fn clock(&self) -> ClockKind {
        ClockKind::Steady
    }

    fn counts(&self, contract: &Contract, policy: &NamedPolicy) -> bool {
        policy.coordination == Coordination::Lease && contract.is_lent()
    }

    fn check(&self, contract: &Contract, policy: &NamedPolicy) -> Result<(), String> {
        if !contract.is_lent() {
            return Ok(());
        }
        let limits = limits(&policy.policy);
        limits.map(drop).map_err(|error| error.to_string())
    }

    fn build(&self, build: &Build<'_>) -> Result<Box<dyn Mode>, String> {
        let limits = limits(&build.policy.policy);
        let (limits, window) = limits.map_err(|error| error.to_string())?;
        let mut machine = Lender::new(LenderSetup {
            limits,
            window,
            rules: self.rules.unwrap_or_else(|| rules(build.policy)),
            generation: self.generation,
            since: build.start,
            has_successors: self.has_successors,
            quota: self.quota,
        });
        if self.is_first.load(Relaxed) {
            machine.begin_first();
        }
        Ok(Box::new(Part {
            machine,
            rules: self.rules,
        }))
    }
}

/// One node's part in one policy.
#[derive(Debug)]
struct Part {
    machine: Lender,
    /// How it lends, whatever the policy says.
    rules: Option<Rules>,
}

impl Mode for Part {
    by_machine!();

    fn design(&self) -> &'static str {
        Coordination::Lease.name()
    }

    fn wants_day(&self) -> bool {
        self.machine.has_window()
    }

    fn extension(&mut self) -> Option<&mut dyn Any> {
        Some(&mut self.machine)
    }

    fn change(&mut self, policy: &NamedPolicy, now: Instant) {
        let Ok((limits, window)) = limits(&policy.policy) else {
            return;
        };
        if let Some(window) = &window {
            self.machine.recount(window, now);
        }
        let rules = self.rules.unwrap_or_else(|| rules(policy));
        self.machine.change(limits, rules, now);
    }

    fn miss(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.machine.miss(key, cost, now);
    }

    fn settle(&mut self, key: ModeKey, due: &Settlement<'_>, now: Instant) {
        match due.difference() {
            _ if self.machine.has_window() => {
                self.machine.settle(key, due.receipt, due.actual, now);
            }
            Ok(more) => self.machine.charge(key, more, due.debt_max, now),
            Err(less) => self.machine.refund(key, less, now),
        }
    }

    /// A hint is for those who hold leases: the node hears it before.
    fn handle_frame(&mut self, _: NodeId, _: &[u8], _: Instant) -> Result<(), Malformed> {
        Err(Malformed::Value)
    }

    fn handle_event(&mut self, event: &ModeEvent<'_>, now: Instant) {
        match event {
            ModeEvent::Day { day, asked } => self.machine.tell_time(now, *day, *asked),
            ModeEvent::ClockSet { from, to, .. } => self.machine.move_time(*from, *to),
            ModeEvent::Members(_)
            | ModeEvent::Roster { .. }
            | ModeEvent::Delay(_)
            | ModeEvent::Join
            | ModeEvent::Leave
            | ModeEvent::Kept(_)
            | ModeEvent::GiveUp
            | ModeEvent::Renumber(_) => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.machine.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.machine.poll_timeout()
    }

    fn poll_send(&mut self) -> Option<Send> {
        self.machine.poll_send()
    }

    fn status(&mut self, of: Option<ModeKey>, now: Instant) -> Vec<Figure> {
        let stand = match of {
            Some(key) => self.machine.stand_of(key, now),
            None => self.machine.stand(),
        };
        let mut figures = standing(&self.machine, &stand);
        figures.extend(counts(&stand));
        figures
    }
}

/// How keys stand. Rates are tokens per second, amounts are tokens.
fn standing(machine: &Lender, stand: &LenderStand) -> Vec<Figure> {
    let term_ns = machine.rules().term_ns;
    vec![
        Figure::new("term_ms", term_ns / 1_000_000),
        gauge("keys", stand.keys, "Keys that are kept."),
        gauge(
            "learning",
            stand.learning,
            "Keys of which a predecessor's leases may be out.",
        )
        .called("learning_keys"),
        gauge("lessees", stand.lessees, "Leases that are out."),
        gauge("pool", stand.level, "Tokens in the pools of grantors."),
        gauge(
            "reserved_depth",
            stand.depth,
            "Depth that is reserved for clients: at most so many tokens are idle with them.",
        ),
        gauge(
            "reserved_rate",
            per_second(stand.rate),
            "Rate that is reserved for clients, tokens per second.",
        ),
        gauge(
            "idle_after_crash",
            idle(stand, term_ns),
            "Tokens that are lost at most where every client dies: what is reserved, and its refill in a term.",
        ),
        gauge(
            "demand",
            per_second(stand.want),
            "What clients with a lease say they use, tokens per second.",
        ),
        gauge(
            "asked",
            per_second(stand.asked),
            "What those without a lease use, tokens per second.",
        ),
        gauge(
            "over_admission_bound",
            machine.over_max(),
            "Tokens that are admitted too much at most, each time that a node begins to grant.",
        ),
    ]
}

fn counts(stand: &LenderStand) -> Vec<Figure> {
    let figures = &stand.figures;
    vec![
        counter("counts.questions", stand.questions, "Messages of clients."),
        counter(
            "counts.served",
            figures.served,
            "Requests that grantors decided.",
        ),
        counter(
            "counts.promised",
            figures.promised,
            "Requests that grantors let pass after a wait.",
        ),
        counter(
            "counts.ended",
            figures.ended,
            "Leases whose term ended with nothing said.",
        ),
        counter(
            "counts.stale",
            figures.stale,
            "Messages that came too late.",
        ),
        counter(
            "counts.repeated",
            figures.repeated,
            "Messages that came again.",
        ),
        counter(
            "counts.clamped",
            figures.clamped,
            "Returns that were cut to what was lent.",
        ),
        counter(
            "counts.nudges",
            figures.nudges,
            "Clients that were asked to speak.",
        ),
        counter(
            "counts.pauses",
            stand.pauses,
            "Times that this node began again after a pause.",
        ),
    ]
}

#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
fn per_second(thousandths: u64) -> f64 {
    thousandths as f64 / 1e3
}

/// Tokens that are lost where every client dies.
#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
fn idle(stand: &LenderStand, term_ns: u64) -> f64 {
    per_second(stand.rate).mul_add(term_ns as f64 / 1e9, stand.depth as f64)
}
