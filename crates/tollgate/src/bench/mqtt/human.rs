//! A report of `bench mqtt` for people.

use tollgate_load::{Latency, MessageCounts, MqttPace, MqttPlan, MqttReport};

use crate::bench::plot;
use crate::report::table::{cell, write_table};
use crate::report::text::put;
use crate::report::{Ink, Meaning, TerminalStyle, units};

pub(super) fn text(plan: &MqttPlan, report: &MqttReport, look: TerminalStyle) -> String {
    let mut out = headline(plan, report, look);
    if plan.publishers > 0 {
        out.push_str(&fates(&report.counts, look));
        out.push('\n');
        latencies(plan, report, look, &mut out);
    }
    if report.targets.len() > 1 {
        out.push('\n');
        targets(report, look, &mut out);
    }
    if report.latency.count > 0 {
        out.push('\n');
        plot::latency(&report.latency, look, &mut out);
    }
    for hint in hints(plan, report) {
        put(
            &mut out,
            format_args!("\n{}\n", look.paint(Ink::Dim, &hint)),
        );
    }
    for error in &report.errors {
        let count = format!("{} × {}", units::exact(error.count), error.kind.name());
        let count = look.paint(Ink::Meaning(Meaning::Denied), &count);
        put(
            &mut out,
            format_args!("\nerrors: {count}: {}\n", error.example),
        );
    }
    out
}

fn headline(plan: &MqttPlan, report: &MqttReport, look: TerminalStyle) -> String {
    let rate = match plan.publishers {
        0 => format!(
            "{} clients connected to the end",
            units::exact(report.connected)
        ),
        _ => format!("{} messages/s", units::number(report.messages_per_second())),
    };
    let rate = look.paint(Ink::Bold, &rate);
    let pace = match plan.pace {
        MqttPace::Closed => format!("closed loop, {} under way each", plan.in_flight),
        MqttPace::Open { rate, .. } => format!("open loop at {}/s each", units::number(rate)),
    };
    let idle = match plan.idle {
        0 => String::new(),
        idle => format!(" and {} idle", units::exact(idle)),
    };
    let targets: Vec<String> = plan
        .targets
        .iter()
        .take(3)
        .map(ToString::to_string)
        .collect();
    let how = format!(
        "{} · {} publishers{idle} · {pace} · {} bytes · {} s",
        targets.join(", "),
        units::exact(plan.publishers),
        plan.messages.size,
        report.seconds
    );
    format!("{rate}\n{}\n", look.paint(Ink::Dim, &how))
}

fn fates(counts: &MessageCounts, look: TerminalStyle) -> String {
    let good = |name: &str, count: u64| format!("{} {name}", units::exact(count));
    let bad = |name: &str, count: u64| {
        let text = good(name, count);
        match count {
            0 => look.paint(Ink::Dim, &text),
            _ => look.paint(Ink::Meaning(Meaning::Denied), &text),
        }
    };
    let parts = [
        good("due", counts.due),
        good("sent", counts.sent),
        good("acknowledged", counts.acknowledged),
        bad("refused (0x97)", counts.refused + counts.failed),
        good("arrived", counts.arrived),
        bad("lost", counts.lost),
        bad("duplicated", counts.duplicated),
        bad("out of order", counts.out_of_order),
    ];
    format!("{}\n", parts.join("   "))
}

fn latencies(plan: &MqttPlan, report: &MqttReport, look: TerminalStyle, out: &mut String) {
    let rows = [
        ("latency, from when it was due to arrival", &report.latency),
        ("service, from when it was sent to arrival", &report.service),
        ("acknowledged, from when it was sent", &report.acknowledged),
        ("lateness of the generator", &report.lateness),
    ];
    let is_closed = plan.pace == MqttPace::Closed;
    let rows = rows
        .into_iter()
        .enumerate()
        .filter(|(at, (_, latency))| latency.count > 0 && !(is_closed && matches!(at, 0 | 3)))
        .map(|(_, (name, latency))| row(name, latency));
    write_table(&header(""), rows, look, out);
}

fn targets(report: &MqttReport, look: TerminalStyle, out: &mut String) {
    let rows = report.targets.iter().map(|target| {
        let MessageCounts { arrived, lost, .. } = target.counts;
        let name = format!(
            "{}: {} publishers, {} arrived, {} lost",
            target.address,
            units::exact(target.publishers),
            units::exact(arrived),
            units::exact(lost)
        );
        row(&name, &target.latency)
    });
    write_table(&header("latency by target"), rows, look, out);
}

fn header(name: &str) -> [&str; 7] {
    [name, ">p50", ">p90", ">p95", ">p99", ">p99.9", ">max"]
}

fn row(name: &str, latency: &Latency) -> Vec<crate::report::table::TableCell> {
    let times = [
        latency.p50,
        latency.p90,
        latency.p95,
        latency.p99,
        latency.p999,
        latency.max,
    ];
    let times = times.map(|ns| cell(units::wait(ns.into())));
    [cell(name)].into_iter().chain(times).collect()
}

/// What the reader should know before believing the figures.
fn hints(plan: &MqttPlan, report: &MqttReport) -> Vec<String> {
    let mut hints = Vec::new();
    let is_open = plan.pace != MqttPace::Closed;
    if is_open && report.lateness.p99 > report.latency.p99 / 4 && report.lateness.p99 > LATE_NS {
        hints.push(
            "The generator itself was late: less load, more --threads or another machine for it would say more of the broker."
                .to_owned(),
        );
    }
    if report.counts.duplicated > report.counts.arrived / 2 && report.counts.duplicated > 0 {
        hints.push(
            "Many messages arrived more than once: with several targets before one broker, name that broker with --subscribe."
                .to_owned(),
        );
    }
    if report.held > 0 && is_open {
        hints.push(format!(
            "{} messages waited for their turn, because {} were under way or the connection was down; --in-flight allows more.",
            units::exact(report.held),
            plan.in_flight
        ));
    }
    hints
}

const LATE_NS: u64 = 1_000_000;
