//! `tollgate cluster status`: a cluster as one node sees it.
//!
//! Not here: how the figures come about (`tollgate-serve`).

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::Value;
use tollgate_serve::cluster::MissingView;
use tollgate_serve::cluster::view::{ClusterView, MeView, PeerView};

use super::options::StatusOptions;
use crate::check::http::{HttpError, ServerRequest};
use crate::check::options::ServerOptions;
use crate::cli::Format;
use crate::failure::Failure;
use crate::report::table::{TableCell, cell, tame, write_table};
use crate::report::{Ink, Meaning, TerminalStyle, units};

pub(super) fn run(options: &StatusOptions) -> Result<(), Failure> {
    let (view, text) = fetch(options)?;
    let text = match options.format {
        Format::Json => format!("{}\n", text.trim_end()),
        Format::Human => human(&view, TerminalStyle::of_stdout()),
    };
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).map_err(Failure::output)?;
    if view.roll.missing.is_empty() && view.part.running {
        return Ok(());
    }
    Err(Failure::denied())
}

/// How many nodes are members as it sees them, itself and those it suspects included.
pub(super) fn members_count(view: &ClusterView) -> usize {
    usize::from(view.me.is_some()) + view.peers.len()
}

/// How many of them it does not suspect.
fn alive(view: &ClusterView) -> usize {
    let peers = view.peers.iter().filter(|peer| peer.state == ALIVE);
    usize::from(view.me.is_some()) + peers.count()
}

const ALIVE: &str = "alive";

/// What a node says, understood and as it came.
fn fetch(options: &StatusOptions) -> Result<(ClusterView, String), Failure> {
    let server = &options.at.server;
    let (status, text) = asked(&options.at, "GET", "/v1/cluster", None)?;
    let view: Option<ClusterView> = serde_json::from_str(&text).ok();
    match (status, view) {
        (200, Some(view)) if view.on => Ok((view, text)),
        (200, Some(_)) => Err(Failure::usage(format!(
            "error: {server} is in no cluster\nStart it with --cluster ADDR and --cluster-key FILE."
        ))),
        (status, _) => Err(Failure::protocol(format!(
            "error: {server} does not tell of its cluster (status {status} for /v1/cluster{}); is it a Tollgate?",
            detail(&text)
        ))),
    }
}

/// Asks a node something about its cluster: the status and the text of its answer.
pub(super) fn asked(
    at: &ServerOptions,
    method: &str,
    path: &str,
    body: Option<&[u8]>,
) -> Result<(u16, String), Failure> {
    let server = &at.server;
    let request = ServerRequest {
        server,
        method,
        path,
        token: at.token.as_deref(),
        line: None,
        body,
    };
    let reply = request.send().map_err(|error| match error {
        HttpError::Connect(error) => Failure::unavailable(format!(
            "error: nothing answers at {server}: {error}\nStart a cluster with `tollgate cluster dev`, or name a node with --at."
        )),
        HttpError::Io(error) => Failure::unavailable(format!("error: {server} broke off: {error}")),
        HttpError::Reply(what) => Failure::protocol(format!("error: {server} does not speak HTTP: {what}")),
    })?;
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    match reply.status {
        401 | 403 => Err(Failure::no_permission(format!(
            "error: {server} wants a token{}\nSet TOLLGATE_TOKEN to a token that the server knows.",
            detail(&text)
        ))),
        status => Ok((status, text)),
    }
}

/// Why a server does not do what it was asked for, behind a colon.
pub(super) fn detail(text: &str) -> String {
    let problem: Value = serde_json::from_str(text).unwrap_or_default();
    let detail = problem.get("detail").and_then(Value::as_str);
    detail.map_or_else(String::new, |detail| format!(": {detail}"))
}

fn human(view: &ClusterView, look: TerminalStyle) -> String {
    let mut text = headline(view, look);
    text.push('\n');
    members(view, look, &mut text);
    if !view.policies.is_empty() {
        text.push('\n');
        policies(view, look, &mut text);
    }
    text.push('\n');
    text.push_str(&sums(view));
    for trouble in &view.troubles {
        let trouble = look.paint(Ink::Meaning(Meaning::Denied), &tame(trouble, SENTENCE_MAX));
        // Writing to a text never fails.
        let _ = writeln!(text, "\n{trouble}");
    }
    text
}

/// Who is asked, and whether all is well.
fn headline(view: &ClusterView, look: TerminalStyle) -> String {
    let all = view.peers.len() + 1;
    let missing = &view.roll.missing;
    let lost = || match missing.as_slice() {
        [one] => one.to_string(),
        many => format!("{} are missing", units::exact(many.len() as u64)),
    };
    let not = |word: &str| {
        view.peers
            .iter()
            .filter(|peer| peer.freshness == word)
            .count()
    };
    let worst = match (all - alive(view), not("silent"), not("stale")) {
        _ if !view.part.running => "this one counts alone: its thread of the cluster is gone",
        _ if !missing.is_empty() => &*lost(),
        (1.., ..) => "some are suspected to be gone",
        (0, 1.., _) => "some are silent",
        (0, 0, 1..) => "what is known of some is old",
        (0, 0, 0) if view.part.joining => "this one is still catching up",
        (0, 0, 0) if all == 1 => "nobody else is there",
        (0, 0, 0) => "all fresh",
    };
    let name = view.me.as_ref().map_or("?", |me| me.name.as_str());
    let count = match missing.len() {
        0 => all.to_string(),
        more => format!("{all} of {}", all + more),
    };
    let nodes = if count == "1" { "node" } else { "nodes" };
    let line = tame(&format!("{count} {nodes}, {worst}"), SENTENCE_MAX);
    let line = look.paint(Ink::Bold, &line);
    format!("{line}  (as seen from {})\n", tame(name, NAME_MAX))
}

fn members(view: &ClusterView, look: TerminalStyle, out: &mut String) {
    let header = [
        "node", "address", "version", "state", ">heard", ">delay", ">out/s", ">in/s", ">sent",
        ">dropped",
    ];
    let mut rows: Vec<Vec<TableCell>> = view.me.iter().map(own).collect();
    rows.extend(view.peers.iter().map(peer));
    rows.extend(view.roll.missing.iter().map(|one| missing(one, view.at_ms)));
    write_table(&header, rows, look, out);
}

fn own(me: &MeView) -> Vec<TableCell> {
    let mut cells = vec![
        cell(tame(&me.name, NAME_MAX)).ink(Ink::Bold),
        cell(tame(&me.address, TEXT_MAX)),
        cell(tame(&me.version, NAME_MAX)),
        cell("this one"),
    ];
    cells.resize_with(10, || cell(""));
    cells
}

fn peer(peer: &PeerView) -> Vec<TableCell> {
    let (word, ink) = match (peer.state.as_str(), peer.freshness.as_str()) {
        (ALIVE, "fresh") => ("fresh", Ink::Meaning(Meaning::Allowed)),
        (ALIVE, "late") => ("late", Ink::Meaning(Meaning::Delayed)),
        (ALIVE, "stale") => ("stale", Ink::Meaning(Meaning::Denied)),
        (ALIVE, _) => ("silent", Ink::Meaning(Meaning::Denied)),
        _ => ("suspect", Ink::Meaning(Meaning::Denied)),
    };
    let traffic = &peer.traffic;
    let none = || "–".to_owned();
    vec![
        cell(tame(&peer.name, NAME_MAX)),
        cell(tame(&peer.address, TEXT_MAX)),
        cell(tame(&peer.version, NAME_MAX)),
        cell(word).ink(ink),
        cell(peer.heard_ms_ago.map_or_else(none, units::span)),
        cell(
            peer.delay_us
                .map_or_else(none, |us| units::wait(u128::from(us) * 1000)),
        ),
        cell(rate(traffic.bytes_out_per_s)),
        cell(rate(traffic.bytes_in_per_s)),
        cell(units::bytes(traffic.bytes_out)),
        cell(units::exact(traffic.dropped)),
    ]
}

/// A node that is expected and not there.
fn missing(one: &MissingView, at_ms: u64) -> Vec<TableCell> {
    let heard = one.since_ms.map(|since| at_ms.saturating_sub(since));
    let mut cells = vec![
        cell(tame(&one.name, NAME_MAX)),
        cell(tame(one.address.as_deref().unwrap_or("–"), TEXT_MAX)),
        cell("–"),
        cell(tame(&one.state, NAME_MAX)).ink(Ink::Meaning(Meaning::Denied)),
        cell(heard.map_or_else(|| "–".to_owned(), units::span)),
    ];
    cells.resize_with(10, || cell("–"));
    cells
}

/// Bytes per second.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a figure to read, never below zero"
)]
fn rate(bytes: f64) -> String {
    units::bytes(bytes.max(0.0).round() as u64)
}

fn policies(view: &ClusterView, look: TerminalStyle, out: &mut String) {
    let header = [
        "policy",
        "design",
        ">keys",
        ">frames",
        ">bytes",
        ">told",
        ">most over",
        "to tell",
    ];
    let rows = view.policies.iter().map(|policy| {
        let name = format!("{} · {}", policy.contract, policy.policy);
        vec![
            cell(tame(&name, TEXT_MAX)),
            cell(tame(&policy.design, NAME_MAX)),
            cell(units::exact(policy.keys)),
            cell(units::exact(policy.frames)),
            cell(units::bytes(policy.bytes)),
            cell(units::exact(policy.publications)),
            cell(units::exact(policy.over_max)),
            cell(if policy.quiet { "nothing" } else { "something" }),
        ]
    });
    write_table(&header, rows, look, out);
}

fn sums(view: &ClusterView) -> String {
    let traffic = &view.traffic;
    let mut text = format!(
        "sent {} in {} datagrams, {} over {} streams; now {}/s out, {}/s in\n",
        units::bytes(traffic.bytes_out),
        units::exact(traffic.datagrams_out),
        units::bytes(traffic.stream_bytes_out),
        units::exact(view.streams.opened),
        rate(traffic.bytes_out_per_s),
        rate(traffic.bytes_in_per_s),
    );
    if view.gossip_dropped + view.gossip_unknown > 0 {
        // Writing to a text never fails.
        let _ = writeln!(
            text,
            "gossip: {} frames dropped because too many waited, {} for policies that are not here",
            units::exact(view.gossip_dropped),
            units::exact(view.gossip_unknown)
        );
    }
    if view.unknown_frames > 0 {
        // Writing to a text never fails.
        let _ = writeln!(
            text,
            "{} frames of a later version skipped",
            units::exact(view.unknown_frames)
        );
    }
    let refused = view.refused.iter().filter(|(_, count)| **count > 0);
    let refused: Vec<String> = refused
        .map(|(why, count)| format!("{} {why}", units::exact(*count)))
        .collect();
    if !refused.is_empty() {
        // Writing to a text never fails.
        let _ = writeln!(text, "not taken: {}", refused.join(", "));
    }
    text
}

const NAME_MAX: usize = 40;
const TEXT_MAX: usize = 80;
const SENTENCE_MAX: usize = 400;

#[cfg(test)]
mod tests {
    use tollgate_serve::cluster::RollView;
    use tollgate_serve::cluster::view::{PartView, PolicyView};

    use super::*;

    fn sample() -> ClusterView {
        let peer = |name: &str| PeerView {
            name: name.to_owned(),
            address: "10.0.0.2:7380".to_owned(),
            state: ALIVE.to_owned(),
            freshness: "fresh".to_owned(),
            heard_ms_ago: Some(120),
            delay_us: Some(250),
            ..PeerView::default()
        };
        ClusterView {
            on: true,
            part: PartView {
                running: true,
                joining: false,
            },
            me: Some(MeView {
                name: "n0".to_owned(),
                ..MeView::default()
            }),
            peers: vec![peer("n1"), peer("n2")],
            policies: vec![PolicyView {
                contract: "users".to_owned(),
                policy: "burst".to_owned(),
                design: "home".to_owned(),
                bytes: 2048,
                ..PolicyView::default()
            }],
            ..ClusterView::default()
        }
    }

    #[test]
    fn a_healthy_cluster_is_told_as_such() {
        let view = sample();
        assert_eq!(alive(&view), 3);
        let text = human(&view, TerminalStyle::PLAIN);
        assert!(
            text.starts_with("3 nodes, all fresh  (as seen from n0)\n"),
            "{text}"
        );
        assert!(
            text.contains("users · burst") && text.contains("2 KiB"),
            "{text}"
        );
    }

    #[test]
    fn a_node_that_died_stays_named() {
        let mut view = sample();
        view.at_ms = 1_790_000_065_000;
        view.roll = RollView {
            expected: 4,
            present: 3,
            missing: vec![MissingView {
                name: "n3".to_owned(),
                state: "dead".to_owned(),
                address: Some("10.0.0.4:7380".to_owned()),
                since_ms: Some(1_790_000_000_000),
                ..MissingView::default()
            }],
        };
        let text = human(&view, TerminalStyle::PLAIN);
        let first =
            "3 of 4 nodes, n3 is dead since Mon, 21 Sep 2026 14:13:20 GMT  (as seen from n0)\n";
        assert!(text.starts_with(first), "{text}");
        let row = text
            .lines()
            .find(|line| line.trim_start().starts_with("n3"));
        let row: Vec<&str> = row.unwrap().split_whitespace().take(5).collect();
        assert_eq!(row[..4], ["n3", "10.0.0.4:7380", "–", "dead"], "{text}");
    }

    #[test]
    fn the_worst_comes_first() {
        let mut view = sample();
        view.peers[1].freshness = "stale".to_owned();
        assert!(
            human(&view, TerminalStyle::PLAIN).starts_with("3 nodes, what is known of some is old")
        );
        view.peers[0].state = "suspect".to_owned();
        assert_eq!(alive(&view), 2);
        view.refused.insert("seal".to_owned(), 4);
        view.troubles.push("the clock of n2 is off".to_owned());
        let text = human(&view, TerminalStyle::PLAIN);
        assert!(
            text.starts_with("3 nodes, some are suspected to be gone"),
            "{text}"
        );
        assert!(
            text.contains("not taken: 4 seal") && text.contains("the clock of n2"),
            "{text}"
        );
    }
}
