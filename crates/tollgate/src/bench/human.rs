//! A report of `bench` for people.

use std::fmt::Write;

use tollgate_load::{Latency, LoadPlan, LoadReport, Pace};

use super::plot;
use crate::report::table::{cell, write_table};
use crate::report::{Ink, Meaning, TerminalStyle, units};

pub(super) fn text(plan: &LoadPlan, report: &LoadReport, look: TerminalStyle) -> String {
    let mut out = String::new();
    out.push_str(&headline(plan, report, look));
    out.push_str(&verdicts(report, look));
    out.push('\n');
    latencies(plan, report, look, &mut out);
    if report.latency.count > 0 {
        out.push('\n');
        plot::latency(&report.latency, look, &mut out);
    }
    errors(report, look, &mut out);
    out
}

fn headline(plan: &LoadPlan, report: &LoadReport, look: TerminalStyle) -> String {
    let rate = units::number(report.decisions_per_second());
    let calls = if report.decisions == report.replies {
        String::new()
    } else {
        format!(" in {} calls/s", units::number(report.replies_per_second()))
    };
    let pace = match plan.pace {
        Pace::Closed => "closed loop".to_owned(),
        Pace::Open { rate, .. } => format!("open loop at {}/s", units::number(rate)),
    };
    let rate = look.paint(Ink::Bold, &format!("{rate} decisions/s"));
    let how = format!(
        "{} · {pace} · {} connections × {} · {} keys · {} s",
        servers(plan),
        plan.connections,
        plan.depth,
        units::count(plan.keys.count),
        plan.duration.as_secs_f64()
    );
    format!("{rate}{calls}\n{}\n", look.paint(Ink::Dim, &how))
}

fn servers(plan: &LoadPlan) -> String {
    match plan.others.len() {
        0 => plan.server.to_string(),
        others => format!("{} and {others} more", plan.server),
    }
}

fn verdicts(report: &LoadReport, look: TerminalStyle) -> String {
    let part = |meaning: Meaning, name: &str, count: u64| {
        let share = units::share(count, report.decisions);
        look.paint(
            Ink::Meaning(meaning),
            &format!("{} {name} {share}", meaning.glyph()),
        )
    };
    format!(
        "{}   {}\n",
        part(Meaning::Allowed, "allowed", report.allowed),
        part(Meaning::Denied, "denied", report.denied)
    )
}

fn latencies(plan: &LoadPlan, report: &LoadReport, look: TerminalStyle, out: &mut String) {
    let row = |name: &str, latency: &Latency| {
        let times = [
            latency.p50,
            latency.p90,
            latency.p99,
            latency.p999,
            latency.p9999,
            latency.max,
        ];
        let times = times.map(|ns| cell(units::wait(ns.into())));
        [cell(name)].into_iter().chain(times).collect()
    };
    let rows = match plan.pace {
        Pace::Closed => vec![row("latency", &report.latency)],
        Pace::Open { .. } => vec![
            row("latency, from when it was due", &report.latency),
            row("service, from when it was sent", &report.service),
        ],
    };
    write_table(&COLUMNS, rows, look, out);
}

fn errors(report: &LoadReport, look: TerminalStyle, out: &mut String) {
    for error in &report.errors {
        let count = format!("{} × {}", units::exact(error.count), error.kind.name());
        let count = look.paint(Ink::Meaning(Meaning::Denied), &count);
        // A string takes whatever is written.
        let _ = writeln!(out, "\nerrors: {count}: {}", error.example);
    }
}

const COLUMNS: [&str; 7] = ["", ">p50", ">p90", ">p99", ">p99.9", ">p99.99", ">max"];
