//! What is counted of divided rates: each figure once, by its name in JSON and by its metric.
//!
//! Not here: how a node stands, which is no count (`view`).

#![allow(clippy::cast_precision_loss)] // Seconds and ratios as they are shown.

use serde_json::Number;
use tollgate_limit::Span;
use tollgate_node::SupplyFigures;

/// A figure.
pub(crate) struct Figure {
    /// Its name in JSON.
    pub(crate) name: &'static str,
    /// Where it is among the metrics.
    pub(crate) metric: Metric,
    pub(crate) of: fn(&SupplyFigures) -> Number,
}

/// Where a figure is among the metrics.
#[derive(Clone, Copy)]
pub(crate) enum Metric {
    /// A counter of its own, and its help.
    Counter(&'static str, &'static str),
    /// A gauge of its own, and its help.
    Gauge(&'static str, &'static str),
    /// One of `tollgate_supply_requests_total`, by its result.
    Result(&'static str),
    /// One of `tollgate_supply_ignored_total`, by its reason.
    Reason(&'static str),
    /// One of `tollgate_supply_expired_total`, by whose it was.
    Side(&'static str),
}

use Metric::{Counter, Gauge, Reason, Result, Side};

/// All of them, in the order of their metrics.
pub(crate) const FIGURES: [Figure; 30] = [
    figure(
        "offered",
        Counter(
            "tollgate_supply_offered_total",
            "Requests asked of a divided rate: those of tollgate_supply_requests_total together.",
        ),
        |f| f.requests.offered.into(),
    ),
    figure("admitted", Result("admitted"), |f| {
        f.requests.admitted.into()
    }),
    figure("refused", Result("refused"), |f| f.requests.refused.into()),
    figure(
        "refused_while_rich",
        Counter(
            "tollgate_supply_refused_while_rich_total",
            "Requests refused while another node was seen to have more; in refused as well.",
        ),
        |f| f.requests.refused_while_rich.into(),
    ),
    figure(
        "looks",
        Counter(
            "tollgate_supply_looks_total",
            "Looks at how other nodes stand.",
        ),
        |f| f.loans.looks.into(),
    ),
    figure(
        "asks",
        Counter("tollgate_supply_asks_total", "Asks sent."),
        |f| f.loans.asks.into(),
    ),
    figure(
        "taken",
        Counter(
            "tollgate_supply_loans_taken_total",
            "Loans taken, or added to.",
        ),
        |f| f.loans.taken.into(),
    ),
    figure(
        "given",
        Counter(
            "tollgate_supply_loans_given_total",
            "Loans given, or added to.",
        ),
        |f| f.loans.given.into(),
    ),
    figure(
        "renewals",
        Counter("tollgate_supply_renewals_total", "Loans renewed."),
        |f| f.loans.renewals.into(),
    ),
    figure(
        "recalls",
        Counter("tollgate_supply_recalls_total", "Recalls sent."),
        |f| f.loans.recalls.into(),
    ),
    figure("expired", Side("taken"), |f| f.loans.expired.into()),
    figure("lapsed", Side("given"), |f| f.loans.lapsed.into()),
    figure(
        "answers",
        Counter("tollgate_supply_answers_total", "Answers to asks."),
        |f| f.loans.answers.into(),
    ),
    figure(
        "answer_seconds",
        Counter(
            "tollgate_supply_answer_seconds_total",
            "How long asks waited for their answers, together; over tollgate_supply_answers_total.",
        ),
        |f| seconds(f.loans.answer_time),
    ),
    figure(
        "ended",
        Counter(
            "tollgate_supply_loans_ended_total",
            "Loans taken that ended in any way.",
        ),
        |f| f.loans.ended.into(),
    ),
    figure(
        "loan_seconds",
        Counter(
            "tollgate_supply_loan_seconds_total",
            "How old loans were when they ended, together; over tollgate_supply_loans_ended_total.",
        ),
        |f| seconds(f.loans.ended_age),
    ),
    figure(
        "frames",
        Counter("tollgate_supply_frames_total", "Frames sent."),
        |f| f.frames_sent.into(),
    ),
    figure(
        "bytes",
        Counter("tollgate_supply_bytes_total", "Bytes of the frames sent."),
        |f| f.bytes_sent.into(),
    ),
    figure(
        "peers_fill_min",
        Gauge(
            "tollgate_supply_peers_fill_min_ratio",
            "The least fill ratio of the peers that were looked at last.",
        ),
        |f| ratio(f.peers_fill_min_milli),
    ),
    figure(
        "peers_fill_max",
        Gauge("tollgate_supply_peers_fill_max_ratio", "And the greatest."),
        |f| ratio(f.peers_fill_max_milli),
    ),
    figure("late", Reason("late"), |f| f.ignored.late.into()),
    figure("duplicates", Reason("duplicate"), |f| {
        f.ignored.duplicates.into()
    }),
    figure("lies", Reason("lie"), |f| f.ignored.lies.into()),
    figure("old_boots", Reason("old_boot"), |f| {
        f.ignored.old_boots.into()
    }),
    figure("drift", Reason("drift"), |f| f.ignored.drift.into()),
    figure("elsewhere", Reason("elsewhere"), |f| {
        f.ignored.elsewhere.into()
    }),
    figure("duplicate_identities", Reason("duplicate_identity"), |f| {
        f.ignored.duplicate_identities.into()
    }),
    figure("full", Reason("full"), |f| f.ignored.full.into()),
    figure("strangers", Reason("stranger"), |f| {
        f.ignored.strangers.into()
    }),
    figure("malformed", Reason("malformed"), |f| {
        f.ignored.malformed.into()
    }),
];

const fn figure(name: &'static str, metric: Metric, of: fn(&SupplyFigures) -> Number) -> Figure {
    Figure { name, metric, of }
}

fn seconds(span: Span) -> Number {
    part(span.as_nanos() as f64 / 1e9)
}

fn ratio(milli: u64) -> Number {
    part(super::show::ratio(milli))
}

fn part(value: f64) -> Number {
    Number::from_f64(value).unwrap_or_else(|| 0.into())
}
