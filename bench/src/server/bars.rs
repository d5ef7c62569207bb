//! Compares the server's figures with the promised bars, and reports each result.

use super::ServerReport;
use super::peers::{AXUM, LIMITADOR, LUA, NGINX, NOTHING, OURS, SET, THROTTLECRAB, TONIC};
use crate::bars::{BenchBar, at_least, at_most};

pub(crate) fn judge(report: &ServerReport) -> Vec<BenchBar> {
    let over = |table: &str, other: &str| {
        let ours = report.median(table, OURS)?;
        Some(ours / report.median(table, other)?)
    };
    let of = |table: &str, server: &str| report.median(table, server);
    vec![
        at_least(
            "RESP, depth 16, over throttlecrab",
            2.0,
            over("resp-16", THROTTLECRAB),
        ),
        at_least(
            "RESP, depth 64, over throttlecrab",
            2.0,
            over("resp-64", THROTTLECRAB),
        ),
        at_least(
            "RESP, depth 16, over a Lua bucket",
            4.0,
            over("resp-16", LUA),
        ),
        at_least(
            "RESP, depth 64, over a Lua bucket",
            4.0,
            over("resp-64", LUA),
        ),
        at_least(
            "goal: RESP, depth 16, over redis SET",
            1.0,
            over("resp-16", SET),
        ),
        at_least(
            "goal: RESP, depth 64, over redis SET",
            1.0,
            over("resp-64", SET),
        ),
        at_most(
            "RESP, depth 1, server CPU per decision, us",
            6.5,
            of("resp-cpu", OURS),
        ),
        at_most(
            "the same over a do-nothing responder",
            1.23,
            over("resp-cpu", NOTHING),
        ),
        at_least(
            "HTTP check over throttlecrab",
            1.4,
            over("http", THROTTLECRAB),
        ),
        at_least("HTTP check over nginx limit_req", 1.0, over("http", NGINX)),
        at_least(
            "goal: HTTP check over a bare axum GET",
            1.0,
            over("http", AXUM),
        ),
        at_least("RLS over a bare tonic hello", 0.95, over("rls", TONIC)),
        at_least("RLS over limitador", 1.6, over("rls", LIMITADOR)),
        at_least("batched decisions over unary RLS", 5.0, batch(report)),
        at_most("bytes per key, 5 M strings", 48.0, of("memory", OURS)),
        at_most("open loop, RESP, p99.9 in ms", 5.0, of("open-resp", OURS)),
        at_most("open loop, HTTP, p99.9 in ms", 5.0, of("open-http", OURS)),
        at_most("open loop, RLS, p99.9 in ms", 5.0, of("open-rls", OURS)),
    ]
}

/// The better of the two batched calls over unary calls, in decisions.
fn batch(report: &ServerReport) -> Option<f64> {
    let unary = report.median("batch", super::parts::UNARY)?;
    let calls = super::parts::BATCHED
        .iter()
        .filter_map(|name| report.median("batch", name));
    calls.max_by(f64::total_cmp).map(|best| best / unary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::BarVerdict;

    #[test]
    fn a_run_without_figures_judges_nothing() {
        let bars = judge(&ServerReport::default());
        assert!(
            bars.iter()
                .all(|bar| bar.verdict == BarVerdict::NotMeasured)
        );
    }
}
