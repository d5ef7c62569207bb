//! What befalls the nodes, phase by phase, and how much is asked of whom.
//!
//! Not here: how it is done to processes (`stage`) and to simulated nodes (`simulated`).

pub(super) const NODES: u16 = 5;
/// Requests per second that all of them together may admit.
pub(super) const RATE: u64 = 10_000;
/// And at once.
pub(super) const BURST: u64 = 1_000;
/// Who is on one side of the cut; the others are on the other.
pub(super) const ISLAND: [u16; 2] = [0, 1];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProveEvent {
    Nothing,
    Kill(u16),
    Start(u16),
    /// Killed, and started without its disk.
    Replace(u16),
    /// Stopped as an operator would, started, and waited for.
    Restart(u16),
    Cut,
    Heal,
    Pause(u16),
    Resume(u16),
}

/// A name, for how many seconds it goes on after the event, and the event.
pub(super) type ProvePhase = (&'static str, u64, ProveEvent);

/// All of it within half a minute.
pub(super) const QUICK: &[ProvePhase] = &[
    ("calm", 2, ProveEvent::Nothing),
    ("kill -9 n3", 3, ProveEvent::Kill(3)),
    ("n3 again", 2, ProveEvent::Start(3)),
    ("cut n0 n1 | n2 n3 n4", 3, ProveEvent::Cut),
    ("healed", 2, ProveEvent::Heal),
    ("n1 stands still", 2, ProveEvent::Pause(1)),
    ("n1 goes on", 2, ProveEvent::Resume(1)),
    ("n2 loses its disk", 2, ProveEvent::Replace(2)),
    ("restart n0", 0, ProveEvent::Restart(0)),
    ("restart n1", 0, ProveEvent::Restart(1)),
    ("calm again", 2, ProveEvent::Nothing),
];

/// All of it, long enough to see what each phase costs.
pub(super) const LONG: &[ProvePhase] = &[
    ("calm", 10, ProveEvent::Nothing),
    ("kill -9 n3", 10, ProveEvent::Kill(3)),
    ("n3 again", 10, ProveEvent::Start(3)),
    ("cut n0 n1 | n2 n3 n4", 10, ProveEvent::Cut),
    ("healed", 10, ProveEvent::Heal),
    ("n1 stands still", 5, ProveEvent::Pause(1)),
    ("n1 goes on", 5, ProveEvent::Resume(1)),
    ("n2 loses its disk", 10, ProveEvent::Replace(2)),
    ("restart n0", 1, ProveEvent::Restart(0)),
    ("restart n1", 1, ProveEvent::Restart(1)),
    ("restart n2", 1, ProveEvent::Restart(2)),
    ("restart n3", 1, ProveEvent::Restart(3)),
    ("restart n4", 1, ProveEvent::Restart(4)),
    ("calm again", 10, ProveEvent::Nothing),
];

/// A cluster's contract: one limit for everything.
pub(super) fn contracts(is_delayed: bool) -> String {
    let on_limit = if is_delayed {
        ", on_limit: delay, max_wait: 200ms"
    } else {
        ""
    };
    format!(
        "contracts: [{{ id: api, policies: [{{ name: all, limit: {RATE}, per: 1s, burst: {BURST}, \
         coordination: supply{on_limit} }}] }}]"
    )
}

/// What part of what is asked goes to a node: most of it to one, which is another every second.
pub(super) fn part(node: u16, second: u64) -> f64 {
    if u64::from(node) == second % u64::from(NODES) {
        0.6
    } else {
        0.1
    }
}

/// Tokens of what the limit allows in that time, in percent.
#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
pub(super) fn share(tokens: u64, nanos: u64) -> f64 {
    let allowed = RATE as f64 * nanos as f64 / 1e9;
    100.0 * tokens as f64 / allowed.max(1.0)
}

/// One request; all are alike.
pub(super) const REQUEST: [(&str, &str); 1] = [("route", "/")];
