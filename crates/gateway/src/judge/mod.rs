//! What is decided about a message: the engine of the server is asked, which may have to ask somebody else.
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

/// Who sends, as the broker let it in.
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
            // Whoever comes over IPv4 is the same on a socket for both.
            ip: ip.to_canonical().to_string(),
        }
    }
}

/// A message that is asked about.
#[derive(Clone, Copy)]
pub(crate) struct JudgedMessage<'a> {
    pub(crate) sender: &'a MessageSender,
    pub(crate) topic: &'a str,
    pub(crate) head: &'a PublishHead<'a>,
    /// When it came, where that is known; it is decided as of then.
    pub(crate) came: Option<Instant>,
}

/// What is decided about a message.
pub(crate) enum MessageRuling {
    /// It passes.
    Pass,
    /// It passes at a time that is to be waited for.
    Wait(Instant, HeldCharge),
    /// It does not pass.
    Refuse,
}

/// What a message that waits was charged; given back where it never passes.
pub(crate) struct HeldCharge {
    server: Arc<Server>,
    receipt: Receipt,
}

impl HeldCharge {
    /// The message has passed.
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
        // Where everything ends no other node can be asked: it stays charged.
        if let (StartedOp::Later(mut ticket), Ok(runtime)) = (started, Handle::try_current()) {
            let server = Arc::clone(&self.server);
            runtime.spawn(async move {
                let mut waiting = WaitingOps::of(&server.engine.turn());
                waiting.wait(&server.engine, vec![&mut ticket]).await;
            });
        }
    }
}

/// Decides about messages.
pub(crate) struct MessageJudge {
    server: Arc<Server>,
    /// How the contracts in force see messages.
    lens: ArcSwap<Lens>,
}

/// A decision, before anything is made of it.
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

    /// Decides about one message; one that would wait longer than that is refused.
    pub(crate) async fn rule(
        &self,
        message: JudgedMessage<'_>,
        wait_max: Duration,
        meter: &GatewayMeter,
    ) -> MessageRuling {
        let began = time::Instant::now();
        let engine = &self.server.engine;
        // Whoever decides elsewhere, or together with others, has a time of its own.
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
            // The wait was over before anybody got to see it.
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

    /// How the contracts of a node see messages; made anew when others are in force.
    fn lens(&self, node: &Arc<Node>, meter: &GatewayMeter) -> Guard<Arc<Lens>> {
        let lens = self.lens.load();
        if lens.is_of(node) {
            return lens;
        }
        drop(lens);
        let lens = Arc::new(Lens::of(node));
        // A turn may have begun before.
        if Arc::ptr_eq(node, &self.server.engine.node()) {
            self.lens.store(Arc::clone(&lens));
            meter.load(node.contracts());
        }
        Guard::from_inner(lens)
    }
}

/// The greatest age of a message that is believed, a second: a clock that was set has moved by more.
const AGE_NANOS_MAX: u64 = 1_000_000_000;

/// The time that a wait of something that came then counts from: a key that was charged since is decided as of that
/// charge.
fn decided_at(came: Instant, receipt: &Receipt) -> Instant {
    let charged = receipt.bookings().iter().map(|booking| booking.receipt.at);
    charged.fold(came, Instant::max)
}

/// Whether what strangers chose of a message's entries has more bytes than a key may have.
fn is_long(message: &JudgedMessage<'_>, entries: &[(&str, &str)], most: usize) -> bool {
    let chosen = entries.iter().filter(|(name, value)| {
        // The filters that match are ours.
        *name != "topic" || std::ptr::eq(*value, message.topic)
    });
    chosen.map(|(_, value)| value.len()).sum::<usize>() > most
}

#[cfg(test)]
mod tests;
