//! What a gateway counts, and the text of its metrics, which are part of the server's page.
//!
//! Labels are the gateway's own words and names of contracts and policies; no input of clients is among them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tollgate_contract::Contracts;
use tollgate_serve::annex::{Delays, GatewayView};
use tollgate_serve::engine::Engine;
use tollgate_serve::meter::{Door, Event, Exposition};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Connected,
    /// A client was refused: the limit of clients is reached.
    Full,
    /// A client was refused: the limit of its address is reached.
    Crowded,
    /// The TLS handshake of a client failed.
    Unsealed,
    /// A client sent no CONNECT in time.
    Slow,
    /// A client sent something other than a valid CONNECT.
    BadHello,
    /// A client uses an unsupported version.
    OtherVersion,
    /// The broker could not be reached.
    NoBroker,
    /// The broker failed to authenticate.
    Distrusted,
    /// The broker did not answer a CONNECT in time.
    NoGreeting,
    /// A client was redirected when it connected.
    Referred,
    /// A connected client was redirected because the list changed.
    Moved,
    /// A client that belongs to another gateway was accepted: it cannot be redirected, or came back.
    Misplaced,
    /// A message passed at once.
    Passed,
    /// A message passed after a wait.
    Delayed,
    /// A message was refused, with a reason code.
    DeniedWithReason,
    /// A message was refused and acknowledged as if it had been accepted.
    DeniedAsTaken,
    /// A message was refused without an answer.
    DeniedInSilence,
    /// A message was refused, and the connection ended.
    DeniedAndLeft,
    /// A message of a closed client that would have passed too late.
    LeftBehind,
    /// A message was refused because the table is full, or no node could decide; also counted above.
    Unnamed,
    /// A message was refused because its entries are too long; also counted above.
    TooLong,
    /// A topic replaced an alias that the broker did not know.
    AliasRestored,
    /// A client sent an invalid packet, or one that is too large.
    BadClient,
    /// The broker sent an invalid packet.
    BadBroker,
    /// A peer accepted no byte for too long.
    Stalled,
    /// Bytes from clients to the broker.
    BytesUp,
    /// Bytes from the broker to clients.
    BytesDown,
}

impl Count {
    pub(crate) fn label(self) -> &'static str {
        ROWS.get(self as usize).map_or("", |(.., value)| value)
    }

    /// The server's event for it.
    pub(crate) const fn event(self) -> Option<Event> {
        match self {
            Self::Full | Self::Crowded => Some(Event::Shed(Door::Mqtt)),
            Self::Unsealed => Some(Event::HandshakeFailed(Door::Mqtt)),
            Self::Slow => Some(Event::TimedOut(Door::Mqtt)),
            Self::BadHello | Self::OtherVersion => Some(Event::Malformed(Door::Mqtt)),
            _ => None,
        }
    }
}

/// Each count's metric, and the name and value of its label.
const ROWS: &[(Count, &str, &str, &str)] = &[
    (Count::Connected, "connections_total", "", ""),
    (Count::Full, "turned_away_total", "reason", "full"),
    (Count::Crowded, "turned_away_total", "reason", "crowded"),
    (Count::Unsealed, "turned_away_total", "reason", "unsealed"),
    (Count::Slow, "turned_away_total", "reason", "slow"),
    (Count::BadHello, "turned_away_total", "reason", "malformed"),
    (
        Count::OtherVersion,
        "turned_away_total",
        "reason",
        "version",
    ),
    (Count::NoBroker, "turned_away_total", "reason", "no_broker"),
    (
        Count::Distrusted,
        "turned_away_total",
        "reason",
        "distrusted",
    ),
    (
        Count::NoGreeting,
        "turned_away_total",
        "reason",
        "no_greeting",
    ),
    (Count::Referred, "placed_total", "how", "referred"),
    (Count::Moved, "placed_total", "how", "moved"),
    (Count::Misplaced, "placed_total", "how", "misplaced"),
    (Count::Passed, "publishes_total", "outcome", "passed"),
    (Count::Delayed, "publishes_total", "outcome", "delayed"),
    (
        Count::DeniedWithReason,
        "publishes_total",
        "outcome",
        "denied_with_reason",
    ),
    (
        Count::DeniedAsTaken,
        "publishes_total",
        "outcome",
        "denied_as_taken",
    ),
    (
        Count::DeniedInSilence,
        "publishes_total",
        "outcome",
        "denied_in_silence",
    ),
    (
        Count::DeniedAndLeft,
        "publishes_total",
        "outcome",
        "denied_and_left",
    ),
    (
        Count::LeftBehind,
        "publishes_total",
        "outcome",
        "left_behind",
    ),
    (Count::Unnamed, "denied_unnamed_total", "", ""),
    (Count::TooLong, "denied_too_long_total", "", ""),
    (Count::AliasRestored, "aliases_restored_total", "", ""),
    (Count::BadClient, "cut_total", "reason", "bad_client"),
    (Count::BadBroker, "cut_total", "reason", "bad_broker"),
    (Count::Stalled, "cut_total", "reason", "stalled"),
    (Count::BytesUp, "bytes_total", "direction", "up"),
    (Count::BytesDown, "bytes_total", "direction", "down"),
];

#[derive(Debug)]
pub(crate) struct GatewayMeter {
    counts: [AtomicU64; ROWS.len()],
    open: AtomicU64,
    /// Connected clients that belong to another gateway.
    strays: AtomicU64,
    delay_nanos: AtomicU64,
    stamps: Ages,
    /// Delay of messages that passed.
    access: Delays,
    /// Time that the broker took for messages.
    service: Delays,
    denied: Mutex<BTreeMap<String, BTreeMap<String, u64>>>,
}

/// Contracts whose refusals are counted by name, and policies of each; the rest share one count.
const NAMED_MAX: usize = 1024;

impl GatewayMeter {
    pub(crate) fn new() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; ROWS.len()],
            open: AtomicU64::new(0),
            strays: AtomicU64::new(0),
            delay_nanos: AtomicU64::new(0),
            stamps: Ages::default(),
            access: Delays::default(),
            service: Delays::default(),
            denied: Mutex::default(),
        }
    }

    /// Contracts came into force: new policies start at zero, others keep their counts.
    pub(crate) fn load(&self, contracts: &Contracts) {
        let mut denied = self.denied.lock();
        for contract in contracts.as_slice() {
            for policy in &contract.policies {
                row(&mut denied, &contract.id, &policy.name);
            }
        }
    }

    pub(crate) fn add(&self, count: Count, number: u64) {
        self.counts[count as usize].fetch_add(number, Relaxed);
    }

    pub(crate) fn one(&self, count: Count) {
        self.add(count, 1);
    }

    /// A message passed without a wait of its own; an earlier one may have held it back for `stood` nanoseconds.
    pub(crate) fn passed(&self, stood: u64) {
        self.one(Count::Passed);
        self.access.add(stood);
    }

    pub(crate) fn served(&self, nanos: u64) {
        self.service.add(nanos);
    }

    /// A message passed after a wait of its own; in total it was held back for `stood` nanoseconds.
    pub(crate) fn delayed(&self, wait: Duration, stood: u64) {
        self.one(Count::Delayed);
        self.access.add(stood);
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        self.delay_nanos.fetch_add(nanos, Relaxed);
    }

    /// A message was decided as of an earlier time.
    pub(crate) fn as_of(&self, nanos: u64) {
        self.stamps.count.fetch_add(1, Relaxed);
        self.stamps.sum.fetch_add(nanos, Relaxed);
        self.stamps.most.fetch_max(nanos, Relaxed);
    }

    /// The contract and policy that refused, if known.
    pub(crate) fn denied(&self, by: Option<(&str, &str)>) {
        let mut denied = self.denied.lock();
        let count = by.and_then(|(contract, policy)| row(&mut denied, contract, policy));
        match count {
            Some(count) => *count += 1,
            None => self.one(Count::Unnamed),
        }
    }

    /// Counts a connection until the guard is dropped.
    pub(crate) fn open<'m>(&'m self, engine: &'m Engine) -> Open<'m> {
        self.one(Count::Connected);
        self.open.fetch_add(1, Relaxed);
        engine.meter().count(Event::Opened(Door::Mqtt));
        Open(self, engine)
    }

    /// For a client that may belong to another gateway, until the guard is dropped.
    pub(crate) const fn stray(&self) -> Stray<'_> {
        Stray {
            meter: self,
            is_one: false,
        }
    }

    /// For `/v1/gateway`.
    pub(crate) fn view(&self) -> GatewayView {
        let outcomes = ROWS
            .iter()
            .filter(|(_, name, ..)| *name == "publishes_total");
        let publishes = outcomes.map(|(count, ..)| {
            let value = self.counts[*count as usize].load(Relaxed);
            (count.label().to_owned(), value)
        });
        GatewayView {
            clients: self.open.load(Relaxed),
            elsewhere: self.strays.load(Relaxed),
            publishes: publishes.collect(),
            access: self.access.view(),
            service: self.service.view(),
            ..GatewayView::default()
        }
    }

    pub(crate) fn write(&self, text: &mut Exposition) {
        let mut last = "";
        for (count, name, label, of) in ROWS {
            if *name != last {
                text.family(&format!("tollgate_gateway_{name}"));
                last = name;
            }
            let labels = [(*label, *of)];
            let labels = labels.get(usize::from(label.is_empty())..);
            let value = self.counts[*count as usize].load(Relaxed);
            text.sample(labels.unwrap_or_default(), value);
        }
        text.one("tollgate_gateway_connections_open", self.open.load(Relaxed));
        let held = seconds(self.delay_nanos.load(Relaxed));
        text.one("tollgate_gateway_delay_seconds_total", held);
        self.stamps.render(text);
        self.access
            .render("tollgate_gateway_access_delay_seconds", text);
        self.service
            .render("tollgate_gateway_service_delay_seconds", text);
        text.family("tollgate_gateway_policy_denied_total");
        for (contract, policies) in &*self.denied.lock() {
            for (policy, count) in policies {
                text.sample(&[("contract", contract), ("policy", policy)], count);
            }
        }
    }
}

/// Ages of messages that were decided as of their arrival.
#[derive(Debug, Default)]
struct Ages {
    count: AtomicU64,
    sum: AtomicU64,
    most: AtomicU64,
}

impl Ages {
    fn render(&self, text: &mut Exposition) {
        text.family("tollgate_gateway_stamp_age_seconds");
        text.part("_sum", &[], seconds(self.sum.load(Relaxed)));
        text.part("_count", &[], self.count.load(Relaxed));
        let most = seconds(self.most.load(Relaxed));
        text.one("tollgate_gateway_stamp_age_seconds_max", most);
    }
}

fn seconds(nanos: u64) -> String {
    format!("{}.{:09}", nanos / NANOS, nanos % NANOS)
}

/// `None` if there is no room for another name.
fn row<'r>(
    rows: &'r mut BTreeMap<String, BTreeMap<String, u64>>,
    contract: &str,
    policy: &str,
) -> Option<&'r mut u64> {
    let policies = entry(rows, contract)?;
    entry(policies, policy)
}

fn entry<'r, V: Default>(rows: &'r mut BTreeMap<String, V>, name: &str) -> Option<&'r mut V> {
    if !rows.contains_key(name) && rows.len() < NAMED_MAX {
        rows.insert(name.to_owned(), V::default());
    }
    rows.get_mut(name)
}

const NANOS: u64 = 1_000_000_000;

/// Counts a connection until dropped.
pub(crate) struct Open<'m>(&'m GatewayMeter, &'m Engine);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
        self.1.meter().count(Event::Closed(Door::Mqtt));
    }
}

/// Counts a misplaced client while it is connected.
pub(crate) struct Stray<'m> {
    meter: &'m GatewayMeter,
    is_one: bool,
}

impl Stray<'_> {
    pub(crate) fn set(&mut self, is_one: bool) {
        match (self.is_one, is_one) {
            (false, true) => self.meter.strays.fetch_add(1, Relaxed),
            (true, false) => self.meter.strays.fetch_sub(1, Relaxed),
            (true, true) | (false, false) => 0,
        };
        self.is_one = is_one;
    }
}

impl Drop for Stray<'_> {
    fn drop(&mut self) {
        self.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_its_row_and_every_row_its_help() {
        for (place, (count, name, ..)) in ROWS.iter().enumerate() {
            assert_eq!(*count as usize, place);
            let mut text = Exposition::new();
            text.family(&format!("tollgate_gateway_{name}"));
            assert!(text.finish().contains(&format!("{name} counter")), "{name}");
        }
    }
}
