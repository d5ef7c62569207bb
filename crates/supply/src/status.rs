//! What is shown of a rate that is divided: each figure once, by its name in JSON and its metric.
//!
//! Not here: how they are written.

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Figure, Key};

use crate::figures::{Figures, Inspection};
use crate::machine::Machine;

/// How a key stands, or all that are known; and what was counted since the start.
pub(crate) fn of(machine: &Machine, of: Option<Key>, now: Instant) -> Vec<Figure> {
    let (stands, count) = stands(machine, of, now);
    let all = machine.figures();
    let mut figures = rates(machine, &stands);
    figures.extend(amounts(machine, &stands, now));
    figures.push(Figure::new("of_keys", count));
    figures.extend(requests(&all));
    figures.extend(loans(&all));
    figures.extend(frames(&all));
    figures.extend(ignored(&all));
    figures
}

/// How a key stands, or the known ones together, or one that was never seen; and how many those are.
fn stands(machine: &Machine, of: Option<Key>, now: Instant) -> (Inspection, u64) {
    let keys: Vec<Key> = match of {
        Some(key) => vec![key],
        None => machine.keys().take(KEYS_SUMMED_MAX).collect(),
    };
    let first = keys.first().copied().unwrap_or(Key(0));
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
    let of_rate = |name, value, metric, help| Figure::new(name, rate(value)).gauge(metric, help);
    vec![
        of_rate(
            "rate",
            limits.rate(),
            "tollgate_supply_rate",
            "The rate that is divided, requests per second.",
        ),
        Figure::new("burst", limits.burst()),
        of_rate(
            "usable",
            stands.usable,
            "tollgate_supply_usable",
            "What this node may use, requests per second; over all nodes at most the rate. Of known keys together, as all that follow.",
        ),
        of_rate(
            "home",
            stands.home,
            "tollgate_supply_home",
            "What this node has by right.",
        ),
        of_rate(
            "lent",
            stands.lent,
            "tollgate_supply_lent",
            "What of it is lent.",
        ),
        of_rate(
            "borrowed",
            stands.borrowed,
            "tollgate_supply_borrowed",
            "What it has from others.",
        ),
        of_rate(
            "asked",
            stands.asked,
            "tollgate_supply_asked",
            "What it has asked for and is not answered.",
        ),
        of_rate(
            "demand",
            stands.demand,
            "tollgate_supply_demand",
            "What is asked of it, requests per second, smoothed.",
        ),
    ]
}

fn amounts(machine: &Machine, stands: &Inspection, now: Instant) -> Vec<Figure> {
    let until = stands.quarantine_until;
    let quarantine_ms = until.map_or(0, |until| until.nanos_since(now) / 1_000_000);
    vec![
        Figure::new("fill_ratio", ratio(stands.fill_milli)).gauge(
            "tollgate_supply_fill_ratio",
            "What it may use over what is asked of it, at most 1000.",
        ),
        Figure::new("tokens", tokens(stands.tokens)).gauge(
            "tollgate_supply_tokens",
            "Tokens there are; below zero they are promised.",
        ),
        Figure::new("depth", depth(stands.depth))
            .gauge("tollgate_supply_depth", "Tokens there can be."),
        Figure::new("loans", stands.loans).gauge(
            "tollgate_supply_loans",
            "Loans given and taken that have not ended.",
        ),
        Figure::new("keys", machine.keys_count() as u64)
            .gauge("tollgate_supply_keys", "Keys that are known."),
        Figure::new("settled", stands.is_settled).gauge(
            "tollgate_supply_settled",
            "1 when every node stands on the same limits and shares.",
        ),
        Figure::new("quarantine_ms", quarantine_ms),
        Figure::new("quarantine_seconds", rate(quarantine_ms * 1_000_000)).gauge(
            "tollgate_supply_quarantine_seconds",
            "How long nothing of the home is used after a restart.",
        ),
        // Larger than every reader of JSON can hold.
        Figure::new("boot", stands.boot.0.to_string())
            .gauge("tollgate_supply_boot", "The number of this start."),
    ]
}

fn count(name: &'static str, value: u64, family: &'static str, help: &'static str) -> Figure {
    Figure::new(name, value).counter(family, help)
}

fn requests(all: &Figures) -> Vec<Figure> {
    let requests = all.requests;
    let result = |name, value, label| {
        let help = "Requests asked of a divided rate, by what they met: each once, here or by another policy of the request.";
        count(name, value, "tollgate_supply_requests_total", help).label("result", label)
    };
    vec![
        count(
            "counts.offered",
            requests.offered,
            "tollgate_supply_offered_total",
            "Requests asked of a divided rate: those of tollgate_supply_requests_total together.",
        ),
        result("counts.admitted", requests.admitted, "admitted"),
        result("counts.refused", requests.refused, "refused"),
        count(
            "counts.refused_while_rich",
            requests.refused_while_rich,
            "tollgate_supply_refused_while_rich_total",
            "Requests refused while another node was seen to have more; in refused as well.",
        ),
    ]
}

fn loans(all: &Figures) -> Vec<Figure> {
    let loans = all.loans;
    let side = |name, value, label| {
        let help = "Loans, given or taken, that ended by their term.";
        count(name, value, "tollgate_supply_expired_total", help).label("side", label)
    };
    vec![
        count(
            "counts.looks",
            loans.looks,
            "tollgate_supply_looks_total",
            "Looks at how other nodes stand.",
        ),
        count(
            "counts.asks",
            loans.asks,
            "tollgate_supply_asks_total",
            "Asks sent.",
        ),
        count(
            "counts.taken",
            loans.taken,
            "tollgate_supply_loans_taken_total",
            "Loans taken, or added to.",
        ),
        count(
            "counts.given",
            loans.given,
            "tollgate_supply_loans_given_total",
            "Loans given, or added to.",
        ),
        count(
            "counts.renewals",
            loans.renewals,
            "tollgate_supply_renewals_total",
            "Loans renewed.",
        ),
        count(
            "counts.recalls",
            loans.recalls,
            "tollgate_supply_recalls_total",
            "Recalls sent.",
        ),
        side("counts.expired", loans.expired, "taken"),
        side("counts.lapsed", loans.lapsed, "given"),
        count(
            "counts.answers",
            loans.answers,
            "tollgate_supply_answers_total",
            "Answers to asks.",
        ),
        Figure::new("counts.answer_seconds", seconds(loans.answer_time)).counter(
            "tollgate_supply_answer_seconds_total",
            "How long asks waited for their answers, together; over tollgate_supply_answers_total.",
        ),
        count(
            "counts.ended",
            loans.ended,
            "tollgate_supply_loans_ended_total",
            "Loans taken that ended in any way.",
        ),
        Figure::new("counts.loan_seconds", seconds(loans.ended_age)).counter(
            "tollgate_supply_loan_seconds_total",
            "How old loans were when they ended, together; over tollgate_supply_loans_ended_total.",
        ),
    ]
}

fn frames(all: &Figures) -> Vec<Figure> {
    vec![
        count(
            "counts.frames",
            all.frames_sent,
            "tollgate_supply_frames_total",
            "Frames sent.",
        ),
        count(
            "counts.bytes",
            all.bytes_sent,
            "tollgate_supply_bytes_total",
            "Bytes of the frames sent.",
        ),
        Figure::new("counts.peers_fill_min", ratio(all.peers_fill_min_milli)).gauge(
            "tollgate_supply_peers_fill_min_ratio",
            "The least fill ratio of the peers that were looked at last.",
        ),
        Figure::new("counts.peers_fill_max", ratio(all.peers_fill_max_milli))
            .gauge("tollgate_supply_peers_fill_max_ratio", "And the greatest."),
    ]
}

fn ignored(all: &Figures) -> Vec<Figure> {
    let ignored = all.ignored;
    let reason = |name, value, label| {
        let help = "Messages about a divided rate that were not heeded, by reason.";
        count(name, value, "tollgate_supply_ignored_total", help).label("reason", label)
    };
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
/// A node that nobody asks anything of is filled without end.
const RATIO_MAX_MILLI: u64 = 1_000_000;
