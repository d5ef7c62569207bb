//! `tollgate gateway status`: how the parts of a topic stand at its gateways.
//!
//! Not here: how the figures are computed (`tollgate-serve`).

use std::fmt::Write as _;

use serde_json::json;
use tollgate_serve::annex::{DelaysView, GatewayView};
use tollgate_serve::modes::view::{ModePolicyView, ModeView};

use crate::cluster::options::SupplyOptions;
use crate::cluster::told::{self, NodeReport};
use crate::failure::Failure;
use crate::report::table::{TableCell, cell, tame, write_table};
use crate::report::{Ink, TerminalStyle, units};

/// A gateway by its node's name, and how it stands.
type Gateway = (String, GatewayView);

pub(super) fn run(options: &SupplyOptions) -> Result<(), Failure> {
    let mut told: Vec<NodeReport> = told::ask(options, "split")?;
    let mut gateways = Vec::new();
    for (told, server) in told.iter_mut().zip(&options.at) {
        let Ok((view, value)) = &mut told.said else {
            continue;
        };
        // A server that is no gateway may have parts too.
        let found = told::fetch::<GatewayView>(server, GATEWAY, options.token.as_deref());
        if let Ok((gateway, _)) = found
            && gateway.on
        {
            value["gateway"] = json!(gateway);
            gateways.push((view.name().to_owned(), gateway));
        }
    }
    told::print(options, &told, |told, look| human(told, &gateways, look))
}

fn human(told: &[NodeReport], gateways: &[Gateway], look: TerminalStyle) -> String {
    let mut text = String::new();
    let views = told::views(told);
    let Some(first) = views.first() else {
        return text;
    };
    for policy in &first.policies {
        one_policy(policy, &views, look, &mut text);
    }
    if !gateways.is_empty() {
        delays(gateways, look, &mut text);
    }
    if first.policies.is_empty()
        && first
            .divided
            .iter()
            .all(|divided| divided.by_owner.is_empty())
    {
        text.push_str("no policy of this contract is under `coordination: split`\n");
    }
    told::end(told, &mut text);
    text
}

/// How long messages of all topics were held back at each gateway, and the latency of its broker.
fn delays(gateways: &[Gateway], look: TerminalStyle, text: &mut String) {
    let row = |(name, gateway): &Gateway| {
        let mut cells = vec![
            cell(tame(name, NAME_MAX)).ink(Ink::Bold),
            cell(gateway.clients.to_string()),
        ];
        cells.extend(percentiles(&gateway.access));
        cells.extend(percentiles(&gateway.service));
        cells
    };
    let line = "access: held back by limits; service: until the broker answers, QoS 1 and 2; ms since the start";
    let _ = writeln!(text, "{}\n", look.paint(Ink::Bold, line));
    write_table(&DELAYS, gateways.iter().map(row), look, text);
    text.push('\n');
}

const DELAYS: [&str; 10] = [
    "gateway",
    ">clients",
    ">access p50",
    ">p95",
    ">p99",
    ">p99.9",
    ">service p50",
    ">p95",
    ">p99",
    ">p99.9",
];

/// In milliseconds, as cells.
pub(super) fn percentiles(of: &DelaysView) -> [TableCell; 4] {
    let shown = |millis: f64| {
        if of.count == 0 {
            return cell("-");
        }
        cell(format!("{millis:.2}"))
    };
    [of.p50_ms, of.p95_ms, of.p99_ms, of.p999_ms].map(shown)
}

fn one_policy(of: &ModePolicyView, views: &[&ModeView], look: TerminalStyle, text: &mut String) {
    let line = format!(
        "{} / {}: {:.1}/s, burst {:.0}, {}",
        tame(&of.contract, NAME_MAX),
        tame(&of.policy, NAME_MAX),
        of.number("rate"),
        of.number("burst"),
        if views.iter().all(|view| view.lends == Some(true)) {
            "lending"
        } else {
            "not lending"
        }
    );
    let _ = writeln!(text, "{}\n", look.paint(Ink::Bold, &line));
    let rows = views.iter().filter_map(|view| {
        let same = |policy: &&ModePolicyView| policy.policy == of.policy;
        Some(row(view, view.policies.iter().find(same)?))
    });
    write_table(&COLUMNS, rows, look, text);
    text.push('\n');
}

const COLUMNS: [&str; 12] = [
    "gateway",
    ">rate",
    ">burst",
    ">tokens",
    ">owed",
    ">held",
    ">admitted",
    ">delayed",
    ">borrowed",
    ">given",
    ">asks",
    ">frames/msg",
];

fn row(view: &ModeView, policy: &ModePolicyView) -> Vec<TableCell> {
    let count = |name: &str| policy.number(&format!("counts.{name}"));
    let part = |some: f64| some / count("admitted").max(1.0);
    vec![
        cell(tame(view.name(), NAME_MAX)).ink(Ink::Bold),
        cell(format!("{:.1}", policy.number("own_rate"))),
        cell(format!("{:.1}", policy.number("own_burst"))),
        cell(format!("{:.1}", policy.number("tokens"))),
        cell(format!("{:.1}", policy.number("owed"))),
        cell(format!("{:.1}", policy.number("held"))),
        cell(units::number(count("admitted"))),
        cell(format!("{:.2} %", 100.0 * part(count("delayed")))),
        cell(units::number(count("borrowed").round())),
        cell(units::number(count("given").round())),
        cell(units::number(count("asks"))),
        cell(format!("{:.3}", part(count("frames")))),
    ]
}

/// Where a gateway says how it stands.
pub(super) const GATEWAY: &str = "/v1/gateway";
const NAME_MAX: usize = 64;

pub(super) const EXAMPLES: &str = "\
Examples:
  tollgate gateway status planned --server http://10.0.0.7:9884 --server http://10.0.0.8:9884
  tollgate gateway status each-topic --key topic=sensors/7 --server http://10.0.0.7:9884
  tollgate gateway status planned --format json

A gateway answers where --metrics or --http say. Rates are messages per second, tokens and bursts messages; what it owes was promised to
messages that wait, what it holds is on its way to others. Delays are of all messages of a gateway since its start, in milliseconds; those
of the broker are from PUBLISH to PUBACK or PUBREC, so that QoS 0 has none. With --format json: {\"nodes\": [what each says at
/v1/cluster/split, and under \"gateway\" at /v1/gateway]} on one line.";
