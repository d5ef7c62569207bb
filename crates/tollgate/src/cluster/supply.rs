//! `tollgate cluster supply`: how a contract's rate is divided, as its nodes say.
//!
//! Not here: how the figures come about (`tollgate-serve`).

use std::fmt::Write as _;

use tollgate_serve::modes::view::{ModePolicyView, ModeView};

use super::options::SupplyOptions;
use super::told::{self, NodeReport};
use crate::failure::Failure;
use crate::report::table::{TableCell, cell, tame, write_table};
use crate::report::{Ink, Meaning, TerminalStyle, units};

pub(super) fn run(options: &SupplyOptions) -> Result<(), Failure> {
    let told = told::ask(options, "supply")?;
    told::print(options, &told, human)
}

fn human(told: &[NodeReport], look: TerminalStyle) -> String {
    let views = told::views(told);
    let mut text = String::new();
    let Some(first) = views.first() else {
        return text;
    };
    for policy in &first.policies {
        one_policy(policy, &views, look, &mut text);
    }
    for name in first.divided.iter().flat_map(|divided| &divided.doubled) {
        let said = format!("more than one live node is called {}", tame(name, NAME_MAX));
        let _ = writeln!(text, "{}", look.paint(Ink::Meaning(Meaning::Denied), &said));
    }
    told::end(told, &mut text);
    text
}

fn one_policy(of: &ModePolicyView, views: &[&ModeView], look: TerminalStyle, text: &mut String) {
    let rows: Vec<(&ModeView, &ModePolicyView)> = views
        .iter()
        .filter_map(|view| {
            let same = |policy: &&ModePolicyView| policy.policy == of.policy;
            Some((*view, view.policies.iter().find(same)?))
        })
        .collect();
    let usable: f64 = rows.iter().map(|(_, policy)| policy.number("usable")).sum();
    let line = format!(
        "{} / {}: {} of {}/s may be used, burst {}",
        tame(&of.contract, NAME_MAX),
        tame(&of.policy, NAME_MAX),
        rate(usable),
        rate(of.number("rate")),
        of.count("burst")
    );
    let _ = writeln!(text, "{}\n", look.paint(Ink::Bold, &line));
    let header = [
        "node",
        ">home/s",
        ">lent/s",
        ">borrowed/s",
        ">usable/s",
        ">demand/s",
        ">fill",
        ">loans",
        "",
    ];
    let shown = rows.iter().map(|(view, policy)| row(view, policy));
    write_table(&header, shown, look, text);
    text.push('\n');
    counts(&rows, look, text);
}

/// What was counted since each node started.
fn counts(rows: &[(&ModeView, &ModePolicyView)], look: TerminalStyle, text: &mut String) {
    let titles = COUNTS.map(|(_, title)| title);
    let header = [&["node"], &titles[..]].concat();
    let row = |(view, policy): &(&ModeView, &ModePolicyView)| {
        let mut cells = vec![cell(tame(view.name(), NAME_MAX)).ink(Ink::Bold)];
        let counts = COUNTS.map(|(name, _)| cell(units::exact(policy.count(name))));
        cells.extend(counts);
        cells
    };
    write_table(&header, rows.iter().map(row), look, text);
    text.push('\n');
    for (view, policy) in rows
        .iter()
        .filter(|(_, policy)| policy.number("counts.drift") > 0.0)
    {
        let name = tame(view.name(), NAME_MAX);
        let asks = units::number(policy.number("counts.drift"));
        let _ = writeln!(
            text,
            "{name} did not lend for {asks} asks of nodes whose clock runs wrong"
        );
    }
}

/// Counts that are shown, and how they are called there.
const COUNTS: [(&str, &str); 11] = [
    ("counts.offered", ">offered"),
    ("counts.admitted", ">admitted"),
    ("counts.refused", ">refused"),
    ("counts.refused_while_rich", ">while rich"),
    ("counts.asks", ">asks"),
    ("counts.taken", ">taken"),
    ("counts.given", ">given"),
    ("counts.renewals", ">renewed"),
    ("counts.recalls", ">recalled"),
    ("counts.expired", ">expired"),
    ("counts.lapsed", ">lapsed"),
];

fn row(view: &ModeView, policy: &ModePolicyView) -> Vec<TableCell> {
    let state = match (policy.count("quarantine_ms"), policy.is("settled")) {
        (millis @ 1.., _) => format!("its home in {millis} ms"),
        (0, false) => "waits for all to agree".to_owned(),
        (0, true) => String::new(),
    };
    vec![
        cell(tame(view.name(), NAME_MAX)).ink(Ink::Bold),
        cell(rate(policy.number("home"))),
        cell(rate(policy.number("lent"))),
        cell(rate(policy.number("borrowed"))),
        cell(rate(policy.number("usable"))),
        cell(rate(policy.number("demand"))),
        cell(fill(policy.number("fill_ratio"))),
        cell(policy.count("loans").to_string()),
        cell(state),
    ]
}

/// What may be used, in parts of what is asked for.
fn fill(ratio: f64) -> String {
    let percent = whole(ratio * 100.0);
    if percent > FILL_MAX {
        return format!("> {FILL_MAX} %");
    }
    format!("{percent} %")
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count, never below zero"
)]
fn whole(count: f64) -> u64 {
    count.max(0.0).round() as u64
}

/// Requests per second.
fn rate(value: f64) -> String {
    format!("{value:.1}")
}

const NAME_MAX: usize = 40;
/// The most percent that is worth telling from more.
const FILL_MAX: u64 = 999;

#[cfg(test)]
mod tests {
    use tollgate_serve::modes::view::DividedView;

    use super::*;

    #[test]
    fn the_table_says_who_has_what() {
        let mut policy = ModePolicyView {
            contract: "api".into(),
            policy: "all".into(),
            ..ModePolicyView::default()
        };
        for (name, value) in [("rate", 100.0), ("usable", 60.0), ("fill_ratio", 0.692)] {
            policy.set(name, value.into());
        }
        policy.set("quarantine_ms", 5.into());
        let view = ModeView {
            divided: Some(DividedView {
                on: true,
                name: "n1".into(),
                ..DividedView::default()
            }),
            policies: vec![policy],
            ..ModeView::default()
        };
        let told = vec![NodeReport::new("http://a", view)];
        let text = human(&told, TerminalStyle::PLAIN);
        assert!(text.contains("60.0 of 100.0/s"), "{text}");
        assert!(text.contains("its home in 5 ms"), "{text}");
        assert!(text.contains("usable/s") && text.contains("69 %"), "{text}");
    }
}
