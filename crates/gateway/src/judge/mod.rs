//! Decides about a message by the server's engine, which may have to ask another node.
//!
//! Not here: sockets, packets, waiting; which contracts bind a message (`lens`).

mod lens;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{self, Duration};

use arc_swap::{ArcSwap, Guard};
use tokio::runtime::Handle;
use tollgate_limit::{Cost, Instant, Span, Verdict};
use tollgate_mqtt::PublishHead;
use tollgate_node::{Key, Node, Receipt};
use tollgate_serve::engine::{Act, EngineRequest, Op, OpOutcome, StartedOp, Turn, WaitingOps};
use tollgate_serve::meter::Door;
use tollgate_serve::shared::Shared as Server;

use crate::meter::{Count, GatewayMeter};
use lens::Lens;

pub(crate) use lens::idle;
pub use lens::{Idle, JudgeError, check};

/// The publisher, as the broker accepted it.
#[derive(Clone, Debug)]
pub(crate) struct MessageSender {
    pub(crate) client: String,
    pub(crate) user: Option<String>,
    pub(crate) ip: String,
}

impl MessageSender {
    pub(crate) fn new(client: &str, user: Option<&str>, ip: IpAddr) -> Self {
        Self {
            client: client.to_owned(),
            user: user.map(str::to_owned),
            // An IPv4 client has the same address on a dual-stack socket.
            ip: ip.to_canonical().to_string(),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct JudgedMessage<'a> {
    pub(crate) sender: &'a MessageSender,
    pub(crate) topic: &'a str,
    pub(crate) head: &'a PublishHead<'a>,
    /// Arrival time, if known; the decision is made as of then.
    pub(crate) came: Option<Instant>,
}

pub(crate) enum MessageRuling {
    Pass,
    /// It passes at that time.
    Wait(Instant, HeldCharge),
    Refuse,
}

/// The charge of a waiting message; refunded on drop, unless kept.
pub(crate) struct HeldCharge {
    server: Arc<Server>,
    receipt: Receipt,
}

impl HeldCharge {
    pub(crate) fn keep(mut self) {
        self.receipt = Receipt::Nothing;
    }
}

impl Drop for HeldCharge {
    fn drop(&mut self) {
        let receipt = std::mem::replace(&mut self.receipt, Receipt::Nothing);
        if matches!(receipt, Receipt::Nothing) {
            return;
        }
        let started = self.server.engine.turn().start(&Op::GiveBack(&receipt));
        // Without a runtime no other node can be asked, so the charge stays.
        if let (StartedOp::Later(mut ticket), Ok(runtime)) = (started, Handle::try_current()) {
            let server = Arc::clone(&self.server);
            runtime.spawn(async move {
                let mut waiting = WaitingOps::of(&server.engine.turn());
                waiting.wait(&server.engine, vec![&mut ticket]).await;
            });
        }
    }
}

pub(crate) struct MessageJudge {
    server: Arc<Server>,
    /// Of the contracts in force.
    lens: ArcSwap<Lens>,
}

/// A decision of the engine.
enum Decided {
    Pass,
    Wait(Instant, Receipt),
    Refuse,
}

impl MessageJudge {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            lens: ArcSwap::default(),
        }
    }

    /// A message that would wait longer than `most` is refused.
    pub(crate) async fn rule(
        &self,
        message: JudgedMessage<'_>,
        wait_max: Duration,
        meter: &GatewayMeter,
    ) -> MessageRuling {
        let began = time::Instant::now();
        let engine = &self.server.engine;
        // Remote and shared decisions use another clock.
        let knows_earlier = !engine.is_apart() && self.lens(&engine.node(), meter).knows_earlier();
        let now = engine.now();
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(AGE_NANOS_MAX));
        let came = message.came.filter(|_| knows_earlier);
        let came = came.map(|came| came.clamp(earliest, now));
        let message = JudgedMessage { came, ..message };
        let turn = match came {
            None => engine.turn(),
            Some(came) => {
                meter.as_of(now.nanos_since(came));
                engine.turn_as_of(came)
            }
        };
        let turn = turn.by(Door::Mqtt);
        let decided = self.decide(turn, message, wait_max, meter).await;
        engine.meter().served(Door::Mqtt, 1, began.elapsed());
        match decided {
            Decided::Pass => MessageRuling::Pass,
            Decided::Refuse => MessageRuling::Refuse,
            // The wait is already over.
            Decided::Wait(due, _) if due <= engine.now() => MessageRuling::Pass,
            Decided::Wait(due, receipt) => {
                let server = Arc::clone(&self.server);
                MessageRuling::Wait(due, HeldCharge { server, receipt })
            }
        }
    }

    async fn decide(
        &self,
        turn: Turn<'_>,
        message: JudgedMessage<'_>,
        wait_max: Duration,
        meter: &GatewayMeter,
    ) -> Decided {
        let lens = self.lens(turn.snapshot(), meter);
        let entries = lens.entries(&message);
        if is_long(
            &message,
            &entries,
            self.server.settings.limits.key_bytes_max,
        ) {
            meter.one(Count::TooLong);
            return Decided::Refuse;
        }
        let act = Act::CheckWithin(Span::from_nanos(wait_max.as_nanos()));
        let ask = EngineRequest::new(Key::Entries(&entries), Cost::ONE);
        let (turn, outcome) = turn.decide(&Op::Key(act, ask)).await;
        let Ok(answer) = outcome.and_then(OpOutcome::answer) else {
            meter.denied(None);
            return Decided::Refuse;
        };
        match answer.verdict {
            Verdict::Allow => Decided::Pass,
            Verdict::Delay { wait } => {
                let from = match message.came {
                    Some(came) => decided_at(came, &answer.receipt),
                    None => self.server.engine.now(),
                };
                Decided::Wait(from.saturating_add(wait), answer.receipt)
            }
            Verdict::Deny { .. } | Verdict::Never => {
                let by = turn.named(&answer);
                meter.denied(by.map(|(contract, policy)| (&*contract.id, &*policy.name)));
                Decided::Refuse
            }
        }
    }

    /// Rebuilt when other contracts are in force.
    fn lens(&self, node: &Arc<Node>, meter: &GatewayMeter) -> Guard<Arc<Lens>> {
        let lens = self.lens.load();
        if lens.is_of(node) {
            return lens;
        }
        drop(lens);
        let lens = Arc::new(Lens::of(node));
        // Another thread may hold an older node.
        if Arc::ptr_eq(node, &self.server.engine.node()) {
            self.lens.store(Arc::clone(&lens));
            meter.load(node.contracts());
        }
        Guard::from_inner(lens)
    }
}

/// The greatest plausible age of a message, a second: a clock that was set has moved by more.
const AGE_NANOS_MAX: u64 = 1_000_000_000;

/// The time from which the wait of a message that arrived at `came` counts: a key charged since then is decided as of
/// that
/// charge.
fn decided_at(came: Instant, receipt: &Receipt) -> Instant {
    let charged = receipt.bookings().iter().map(|booking| booking.receipt.at);
    charged.fold(came, Instant::max)
}

/// Whether the entries that a client chose have more bytes than a key may have.
fn is_long(message: &JudgedMessage<'_>, entries: &[(&str, &str)], most: usize) -> bool {
    let chosen = entries.iter().filter(|(name, value)| {
        // The filters that match come from contracts.
        *name != "topic" || std::ptr::eq(*value, message.topic)
    });
    chosen.map(|(_, value)| value.len()).sum::<usize>() > most
}

#[cfg(test)]
mod tests;
