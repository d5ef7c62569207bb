//! What is shown of a rate that is divided: each figure once, by its name in JSON and its metric.
//!
//! Not here: how they are written.

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Figure, ModeKey, counter, gauge};

use crate::figures::{Inspection, SupplyFigures};
use crate::machine::Machine;

/// How a key stands, or all that are known; and what was counted since the start.
pub(crate) fn of(machine: &Machine, of: Option<ModeKey>, now: Instant) -> Vec<Figure> {
    let (stands, count) = stands(machine, of, now);
    let all = machine.figures();
    let mut figures = rates(machine, &stands);
    figures.extend(amounts(machine, &stands, now));
    figures.push(Figure::new("of_keys", count).sum());
    figures.extend(requests(&all));
    figures.extend(loans(&all));
    figures.extend(frames(&all));
    figures.extend(ignored(&all));
    figures
}

/// How a key stands, or the known ones together, or one that was never seen; and how many those are.
fn stands(machine: &Machine, of: Option<ModeKey>, now: Instant) -> (Inspection, u64) {
    let keys: Vec<ModeKey> = match of {
        Some(key) => vec![key],
        None => machine.some_keys(KEYS_SUMMED_MAX),
    };
    let first = keys.first().copied().unwrap_or(ModeKey(0));
    let mut sum = machine.inspect(first, now);
    for key in keys.iter().skip(1) {
        let one = machine.inspect(*key, now);
        sum.usable = sum.usable.saturating_add(one.usable);
        sum.home = sum.home.saturating_add(one.home);
        sum.lent = sum.lent.saturating_add(one.lent);
        sum.borrowed = sum.borrowed.saturating_add(one.borrowed);
        sum.asked = sum.asked.saturating_add(one.asked);
        sum.demand = sum.demand.saturating_add(one.demand);
        sum.tokens = sum.tokens.saturating_add(one.tokens);
        sum.depth = sum.depth.saturating_add(one.depth);
        sum.loans = sum.loans.saturating_add(one.loans);
    }
    (sum, keys.len() as u64)
}

fn rates(machine: &Machine, stands: &Inspection) -> Vec<Figure> {
    let limits = machine.limits();
    vec![
        gauge(
            "rate",
            rate(limits.rate()),
            "The rate that is divided, requests per second.",
        ),
        Figure::new("burst", limits.burst()),
        gauge(
            "usable",
            rate(stands.usable),
            "What this node may use, requests per second; over all nodes at most the rate. Of known keys together, as all that follow.",
        ).sum_of_keys(),
        gauge("home", rate(stands.home), "What this node has by right.").sum_of_keys(),
        gauge("lent", rate(stands.lent), "What of it is lent.").sum_of_keys(),
        gauge(
            "borrowed",
            rate(stands.borrowed),
            "What it has from others.",
        ).sum_of_keys(),
        gauge(
            "asked",
            rate(stands.asked),
            "What it has asked for and is not answered.",
        ).sum_of_keys(),
        gauge(
            "demand",
            rate(stands.demand),
            "What is asked of it, requests per second, smoothed.",
        ).sum_of_keys(),
    ]
}

fn amounts(machine: &Machine, stands: &Inspection, now: Instant) -> Vec<Figure> {
    let until = stands.quarantine_until;
    let quarantine_ms = until.map_or(0, |until| until.nanos_since(now) / 1_000_000);
    vec![
        gauge(
            "fill_ratio",
            ratio(stands.fill_milli),
            "What it may use over what is asked of it, at most 1000.",
        )
        .least(),
        gauge(
            "tokens",
            tokens(stands.tokens),
            "Tokens there are; below zero they are promised.",
        )
        .sum_of_keys(),
        gauge("depth", depth(stands.depth), "Tokens there can be.").sum_of_keys(),
        gauge(
            "loans",
            stands.loans,
            "Loans given and taken that have not ended.",
        )
        .sum_of_keys(),
        gauge("keys", machine.keys_count() as u64, "Keys that are known.").sum(),
        gauge(
            "settled",
            stands.is_settled,
            "1 when every node stands on the same limits and shares.",
        )
        .least(),
        Figure::new("quarantine_ms", quarantine_ms).most(),
        gauge(
            "quarantine_seconds",
            rate(quarantine_ms * 1_000_000),
            "How long nothing of the home is used after a restart.",
        )
        .most(),
        // Larger than every reader of JSON can hold.
        gauge(
            "boot",
            stands.boot.0.to_string(),
            "The number of this start.",
        ),
    ]
}

fn requests(all: &SupplyFigures) -> Vec<Figure> {
    let requests = all.requests;
    let result = sum(
        "requests_total",
        "result",
        "Requests asked of a divided rate, by what they met: each once, here or by another policy of the request.",
    );
    vec![
        counter(
            "counts.offered",
            requests.offered,
            "Requests asked of a divided rate: those of tollgate_supply_requests_total together.",
        ),
        result("counts.admitted", requests.admitted, "admitted"),
        result("counts.refused", requests.refused, "refused"),
        counter(
            "counts.refused_while_rich",
            requests.refused_while_rich,
            "Requests refused while another node was seen to have more; in refused as well.",
        ),
    ]
}

fn loans(all: &SupplyFigures) -> Vec<Figure> {
    let loans = all.loans;
    let side = sum(
        "expired_total",
        "side",
        "Loans, given or taken, that ended by their term.",
    );
    vec![
        counter(
            "counts.looks",
            loans.looks,
            "Looks at how other nodes stand.",
        ),
        counter("counts.asks", loans.asks, "Asks sent."),
        counter("counts.taken", loans.taken, "Loans taken, or added to.")
            .called("loans_taken_total"),
        counter("counts.given", loans.given, "Loans given, or added to.")
            .called("loans_given_total"),
        counter("counts.renewals", loans.renewals, "Loans renewed."),
        counter("counts.recalls", loans.recalls, "Recalls sent."),
        side("counts.expired", loans.expired, "taken"),
        side("counts.lapsed", loans.lapsed, "given"),
        counter("counts.answers", loans.answers, "Answers to asks."),
        counter(
            "counts.answer_seconds",
            seconds(loans.answer_time),
            "How long asks waited for their answers, together; over tollgate_supply_answers_total.",
        ),
        counter(
            "counts.ended",
            loans.ended,
            "Loans taken that ended in any way.",
        )
        .called("loans_ended_total"),
        counter(
            "counts.loan_seconds",
            seconds(loans.ended_age),
            "How old loans were when they ended, together; over tollgate_supply_loans_ended_total.",
        ),
    ]
}

fn frames(all: &SupplyFigures) -> Vec<Figure> {
    vec![
        counter("counts.frames", all.frames_sent, "Frames sent."),
        counter("counts.bytes", all.bytes_sent, "Bytes of the frames sent."),
        gauge(
            "counts.peers_fill_min",
            ratio(all.peers_fill_min_milli),
            "The least fill ratio of the peers that were looked at last.",
        )
        .least()
        .called("peers_fill_min_ratio"),
        gauge(
            "counts.peers_fill_max",
            ratio(all.peers_fill_max_milli),
            "And the greatest.",
        )
        .most()
        .called("peers_fill_max_ratio"),
    ]
}

fn ignored(all: &SupplyFigures) -> Vec<Figure> {
    let ignored = all.ignored;
    let reason = sum(
        "ignored_total",
        "reason",
        "Messages about a divided rate that were not heeded, by reason.",
    );
    vec![
        reason("counts.late", ignored.late, "late"),
        reason("counts.duplicates", ignored.duplicates, "duplicate"),
        reason("counts.lies", ignored.lies, "lie"),
        reason("counts.old_boots", ignored.old_boots, "old_boot"),
        reason("counts.drift", ignored.drift, "drift"),
        reason("counts.elsewhere", ignored.elsewhere, "elsewhere"),
        reason(
            "counts.duplicate_identities",
            ignored.duplicate_identities,
            "duplicate_identity",
        ),
        reason("counts.full", ignored.full, "full"),
        reason("counts.strangers", ignored.strangers, "stranger"),
        reason("counts.malformed", ignored.malformed, "malformed"),
    ]
}

/// Figures that are samples of one family, told apart by a label.
fn sum(
    family: &'static str,
    label: &'static str,
    help: &'static str,
) -> impl Fn(&'static str, u64, &'static str) -> Figure {
    move |name, value, of| counter(name, value, help).called(family).label(label, of)
}

#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
mod shown {
    use super::{RATIO_MAX_MILLI, Span};

    pub(super) fn rate(nanos: u64) -> f64 {
        nanos as f64 / 1e9
    }

    pub(super) fn ratio(milli: u64) -> f64 {
        milli.min(RATIO_MAX_MILLI) as f64 / 1e3
    }

    pub(super) fn tokens(amount: i128) -> f64 {
        amount as f64 / 1e18
    }

    pub(super) fn depth(amount: u128) -> f64 {
        amount as f64 / 1e18
    }

    pub(super) fn seconds(span: Span) -> f64 {
        span.as_nanos() as f64 / 1e9
    }
}
use shown::{depth, rate, ratio, seconds, tokens};

/// Keys that are looked at for a sum.
const KEYS_SUMMED_MAX: usize = 1 << 10;
/// A node that is asked nothing is filled without end.
const RATIO_MAX_MILLI: u64 = 1_000_000;
