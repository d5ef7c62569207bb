//! `tollgate gateway status`: how the parts of a topic stand at its gateways.
//!
//! Not here: how the figures come about (`tollgate-serve`).

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Value, json};
use tollgate_load::Address;
use tollgate_serve::supply::split::{SplitPolicyView, SplitView};

use crate::cluster::options::{ClusterFormat, SupplyOptions};
use crate::cluster::supply::{fetch, no_roster, path};
use crate::failure::Failure;
use crate::report::table::{Align, Cell, Table, cell, tame};
use crate::report::{Ink, Look, units};

/// What one gateway said.
type Told = (String, Result<(SplitView, Value), Failure>);

/// Shows how the parts stand.
pub(super) fn run(options: &SupplyOptions) -> Result<(), Failure> {
    let path = path("split", options)?;
    let ask = |server: &Address| -> Told {
        let told = fetch::<SplitView>(server, &path, options);
        let told = told.and_then(|(view, value)| {
            if view.on {
                Ok((view, value))
            } else {
                Err(no_roster(server))
            }
        });
        (server.to_string(), told)
    };
    let told: Vec<Told> = options.at.iter().map(ask).collect();
    if told.iter().all(|(_, told)| told.is_err()) {
        let first = told.into_iter().find_map(|(_, told)| told.err());
        return first.map_or(Ok(()), Err);
    }
    let text = match options.format {
        ClusterFormat::Json => format!("{}\n", machine(&told)),
        ClusterFormat::Human => human(&told, Look::of_stdout()),
    };
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).map_err(Failure::output)
}

fn machine(told: &[Told]) -> Value {
    let nodes = told.iter().map(|(server, told)| match told {
        Ok((_, value)) => value.clone(),
        Err(failure) => json!({ "server": server, "error": failure.to_string() }),
    });
    json!({ "nodes": nodes.collect::<Vec<_>>() })
}

fn human(told: &[Told], look: Look) -> String {
    let mut text = String::new();
    let views: Vec<&SplitView> = told
        .iter()
        .filter_map(|(_, told)| told.as_ref().ok().map(|(view, _)| view))
        .collect();
    let Some(first) = views.first() else {
        return text;
    };
    for policy in &first.policies {
        one_policy(policy, &views, look, &mut text);
    }
    for small in &first.by_owner {
        let _ = writeln!(text, "{}", tame(&small.to_string(), SENTENCE_MAX));
    }
    if first.policies.is_empty() && first.by_owner.is_empty() {
        text.push_str("no policy of this contract is under `coordination: split`\n");
    }
    for (server, told) in told {
        if let Err(failure) = told {
            let _ = writeln!(text, "{server}: {failure}");
        }
    }
    let missing = first.roster.len().saturating_sub(views.len());
    if missing > 0 {
        let _ = writeln!(
            text,
            "{missing} more of the roster were not asked; name them with --server"
        );
    }
    text
}

fn one_policy(of: &SplitPolicyView, views: &[&SplitView], look: Look, text: &mut String) {
    let line = format!(
        "{} / {}: {:.1}/s, burst {:.0}, {}",
        tame(&of.contract, NAME_MAX),
        tame(&of.policy, NAME_MAX),
        of.rate,
        of.burst,
        if views.iter().all(|view| view.lends) {
            "lending"
        } else {
            "not lending"
        }
    );
    let _ = writeln!(text, "{}\n", look.paint(Ink::Bold, &line));
    let mut header = vec![("gateway", Align::Left)];
    header.extend(COLUMNS.map(|title| (title, Align::Right)));
    let rows = views.iter().filter_map(|view| {
        let same = |policy: &&SplitPolicyView| policy.policy == of.policy;
        Some(row(view, view.policies.iter().find(same)?))
    });
    let table = Table {
        header: &header,
        rows: rows.collect(),
    };
    table.write(look, text);
    text.push('\n');
}

const COLUMNS: [&str; 11] = [
    "rate",
    "burst",
    "tokens",
    "owed",
    "held",
    "admitted",
    "delayed",
    "borrowed",
    "given",
    "asks",
    "frames/msg",
];

#[allow(clippy::cast_precision_loss)] // Shown, not decided by.
fn row(view: &SplitView, policy: &SplitPolicyView) -> Vec<Cell> {
    let counts = &policy.counts;
    let part = |some: u64| some as f64 / counts.admitted.max(1) as f64;
    vec![
        cell(tame(&view.name, NAME_MAX)).ink(Ink::Bold),
        cell(format!("{:.1}", policy.own_rate)),
        cell(format!("{:.1}", policy.own_burst)),
        cell(format!("{:.1}", policy.tokens)),
        cell(format!("{:.1}", policy.owed)),
        cell(format!("{:.1}", policy.held)),
        cell(units::number(counts.admitted as f64)),
        cell(format!("{:.2} %", 100.0 * part(counts.delayed))),
        cell(units::number(counts.borrowed.round())),
        cell(units::number(counts.given.round())),
        cell(units::number(counts.asks as f64)),
        cell(format!("{:.3}", part(counts.frames))),
    ]
}

const NAME_MAX: usize = 64;
const SENTENCE_MAX: usize = 400;

pub(super) const EXAMPLES: &str = "\
Examples:
  tollgate gateway status planned --server http://10.0.0.7:9884 --server http://10.0.0.8:9884
  tollgate gateway status each-topic --key topic=sensors/7 --server http://10.0.0.7:9884
  tollgate gateway status planned --format json

A gateway answers where --metrics or --http say. Rates are messages per second, tokens and bursts messages; what it owes was promised to
messages that wait, what it holds is on its way to others.";
