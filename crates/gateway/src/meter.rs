//! What a gateway counts, and the text of its metrics.
//!
//! Labels are the gateway's own words and names of contracts and policies; nothing that a client chose is among them.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tollgate_contract::Contract;

/// Things that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// A client connected.
    Connected,
    /// A client was turned away: there are as many as may be.
    Full,
    /// A client sent no CONNECT in time.
    Slow,
    /// A client sent something else than a CONNECT that can be read.
    BadHello,
    /// A client speaks another version.
    OtherVersion,
    /// The broker could not be reached.
    NoBroker,
    /// The broker did not say in time whether it lets a client in.
    NoGreeting,
    /// A message passed at once.
    Passed,
    /// A message passed after a wait.
    Delayed,
    /// A message was refused, and the client was told why.
    DeniedWithReason,
    /// A message was refused and acknowledged as if it had been taken.
    DeniedAsTaken,
    /// A message was refused and nothing said.
    DeniedInSilence,
    /// A message was refused, and the connection ended.
    DeniedAndLeft,
    /// A message was refused because it would have waited too long, or its key found no room; also counted above.
    Unnamed,
    /// A topic was put in the place of an alias that the broker had not been told.
    AliasRestored,
    /// A client sent what is no packet, or one that is too large.
    BadClient,
    /// The broker sent what is no packet.
    BadBroker,
    /// Somebody took no byte for too long.
    Stalled,
    /// Bytes from clients to the broker.
    BytesUp,
    /// Bytes from the broker to clients.
    BytesDown,
}

/// Each count's metric, its label, and what it is.
const ROWS: &[(Count, &str, &str)] = &[
    (Count::Connected, "connections_total", ""),
    (Count::Full, "turned_away_total", "reason=\"full\""),
    (Count::Slow, "turned_away_total", "reason=\"slow\""),
    (Count::BadHello, "turned_away_total", "reason=\"malformed\""),
    (
        Count::OtherVersion,
        "turned_away_total",
        "reason=\"version\"",
    ),
    (Count::NoBroker, "turned_away_total", "reason=\"no_broker\""),
    (
        Count::NoGreeting,
        "turned_away_total",
        "reason=\"no_greeting\"",
    ),
    (Count::Passed, "publishes_total", "outcome=\"passed\""),
    (Count::Delayed, "publishes_total", "outcome=\"delayed\""),
    (
        Count::DeniedWithReason,
        "publishes_total",
        "outcome=\"denied_with_reason\"",
    ),
    (
        Count::DeniedAsTaken,
        "publishes_total",
        "outcome=\"denied_as_taken\"",
    ),
    (
        Count::DeniedInSilence,
        "publishes_total",
        "outcome=\"denied_in_silence\"",
    ),
    (
        Count::DeniedAndLeft,
        "publishes_total",
        "outcome=\"denied_and_left\"",
    ),
    (Count::Unnamed, "denied_unnamed_total", ""),
    (Count::AliasRestored, "aliases_restored_total", ""),
    (Count::BadClient, "cut_total", "reason=\"bad_client\""),
    (Count::BadBroker, "cut_total", "reason=\"bad_broker\""),
    (Count::Stalled, "cut_total", "reason=\"stalled\""),
    (Count::BytesUp, "bytes_total", "direction=\"up\""),
    (Count::BytesDown, "bytes_total", "direction=\"down\""),
];

/// What each metric is.
const HELP: &[(&str, &str)] = &[
    ("connections_total", "Clients that connected."),
    (
        "turned_away_total",
        "Clients that were turned away before the broker let them in.",
    ),
    (
        "publishes_total",
        "Messages of clients, by what became of them.",
    ),
    (
        "denied_unnamed_total",
        "Refused messages that no policy is to be named for.",
    ),
    (
        "aliases_restored_total",
        "Topics put in the place of an alias that the broker had not been told.",
    ),
    ("cut_total", "Connections that the gateway ended."),
    ("bytes_total", "Bytes passed on."),
];

/// The counts of one gateway.
#[derive(Debug)]
pub(crate) struct Meter {
    counts: [AtomicU64; ROWS.len()],
    open: AtomicU64,
    delay_nanos: AtomicU64,
    /// Refusals of each policy, with its labels, by place.
    denied: Vec<Vec<(String, AtomicU64)>>,
}

impl Meter {
    pub(crate) fn new(contracts: &[Contract]) -> Self {
        let labels = |contract: &Contract| {
            let label = |name: &str| {
                let (contract, policy) = (escape(&contract.id), escape(name));
                format!("contract=\"{contract}\",policy=\"{policy}\"")
            };
            let policies = contract.policies.iter();
            policies
                .map(|policy| (label(&policy.name), AtomicU64::new(0)))
                .collect()
        };
        Self {
            counts: [const { AtomicU64::new(0) }; ROWS.len()],
            open: AtomicU64::new(0),
            delay_nanos: AtomicU64::new(0),
            denied: contracts.iter().map(labels).collect(),
        }
    }

    pub(crate) fn add(&self, count: Count, number: u64) {
        self.counts[count as usize].fetch_add(number, Relaxed);
    }

    pub(crate) fn one(&self, count: Count) {
        self.add(count, 1);
    }

    pub(crate) fn delayed(&self, wait: Duration) {
        self.one(Count::Delayed);
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        self.delay_nanos.fetch_add(nanos, Relaxed);
    }

    /// A policy refused, or none is to be named.
    pub(crate) fn denied(&self, by: Option<(usize, usize)>) {
        let place = by.and_then(|(contract, policy)| self.denied.get(contract)?.get(policy));
        match place {
            Some((_, count)) => drop(count.fetch_add(1, Relaxed)),
            None => self.one(Count::Unnamed),
        }
    }

    /// A connection is open until what is returned is dropped.
    pub(crate) fn open(&self) -> Open<'_> {
        self.open.fetch_add(1, Relaxed);
        Open(self)
    }

    /// The metrics as Prometheus reads them.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let mut last = "";
        for (count, name, label) in ROWS {
            if *name != last {
                head(&mut out, name, "counter");
                last = name;
            }
            let value = self.counts[*count as usize].load(Relaxed);
            line(&mut out, name, label, value);
        }
        gauge(&mut out, self.open.load(Relaxed));
        let nanos = self.delay_nanos.load(Relaxed);
        let name = "tollgate_gateway_delay_seconds_total";
        let _ = writeln!(
            out,
            "# HELP {name} How long messages were held back, all together.\n# TYPE {name} counter\n{name} {}.{:09}",
            nanos / NANOS,
            nanos % NANOS
        );
        let name = "tollgate_gateway_policy_denied_total";
        let _ = writeln!(
            out,
            "# HELP {name} Messages refused, by the policy that did.\n# TYPE {name} counter"
        );
        for (label, count) in self.denied.iter().flatten() {
            line(&mut out, "policy_denied_total", label, count.load(Relaxed));
        }
        out
    }
}

const NANOS: u64 = 1_000_000_000;

/// A connection, counted while it is open.
pub(crate) struct Open<'m>(&'m Meter);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}

// Writing to a string cannot fail.
fn head(out: &mut String, name: &str, kind: &str) {
    let help = HELP.iter().find(|(of, _)| *of == name);
    let help = help.map_or("", |(_, help)| help);
    let _ = writeln!(
        out,
        "# HELP tollgate_gateway_{name} {help}\n# TYPE tollgate_gateway_{name} {kind}"
    );
}

fn line(out: &mut String, name: &str, label: &str, value: u64) {
    let _ = match label {
        "" => writeln!(out, "tollgate_gateway_{name} {value}"),
        label => writeln!(out, "tollgate_gateway_{name}{{{label}}} {value}"),
    };
}

fn gauge(out: &mut String, value: u64) {
    let name = "tollgate_gateway_connections_open";
    let _ = writeln!(
        out,
        "# HELP {name} Clients that are connected.\n# TYPE {name} gauge\n{name} {value}"
    );
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_its_row_and_every_row_its_help() {
        for (place, (count, name, _)) in ROWS.iter().enumerate() {
            assert_eq!(*count as usize, place);
            assert!(HELP.iter().any(|(of, _)| of == name), "{name}");
        }
    }
}
