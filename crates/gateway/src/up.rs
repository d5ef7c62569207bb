//! From a client to the broker: bytes unchanged, messages when and if they are admitted.
//!
//! While a message is held back its connection is not read, so that everything the client sends after it waits in
//! order,
//! and the client is slowed by its own socket. Not here: what passes (`uplink`, `judge`).

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::sleep;
use tollgate_limit::Instant;
use tollgate_mqtt::{PublishHead, Qos};

use crate::buffer::{Buffer, BufferError, write};
use crate::connection::{ClientLink, End};
use crate::down::Greeting;
use crate::judge::{JudgedMessage, MessageRuling, MessageSender};
use crate::meter::Count;
use crate::stream::{ByteSource, Sink};
use crate::uplink::{AdmittedMessage, MqttReply, Uplink, UplinkStep};

pub(crate) struct Start {
    pub(crate) sender: MessageSender,
    pub(crate) keep_alive: u16,
    pub(crate) buffer: Buffer,
    /// Bytes of the CONNECT at the front of the buffer.
    pub(crate) connect: usize,
}

/// Runs until the client closes.
pub(crate) async fn carry<'l>(
    link: &'l ClientLink<'l>,
    start: Start,
    from: &'l mut ByteSource,
    to: &'l mut Sink,
) -> End {
    let settings = &link.shared.settings;
    let Start {
        sender,
        keep_alive,
        mut buffer,
        connect,
    } = start;
    let mut carrier = Carrier {
        link,
        uplink: Uplink::new(link.version, settings.on_quiet_refusal, settings.packet_max),
        outlet: Outlet { link, to },
        from,
        sender,
        keep_alive,
        is_in: false,
        came: None,
        arrived: Instant::default(),
        free: Instant::default(),
        gone: None,
        is_over: false,
    };
    let mut passed = connect;
    loop {
        let done = match carrier.work(buffer.bytes(), passed).await {
            Ok(done) => done,
            Err(end) => return end,
        };
        passed = 0;
        buffer.consume(done);
        match buffer.fill(carrier.from).await {
            Ok(1..) => carrier.arrive(),
            Ok(0) if buffer.bytes().is_empty() => return carrier.take_leave().await,
            Ok(0) | Err(_) => return End::Closed,
        }
    }
}

struct Carrier<'l> {
    link: &'l ClientLink<'l>,
    uplink: Uplink,
    outlet: Outlet<'l>,
    from: &'l mut ByteSource,
    sender: MessageSender,
    keep_alive: u16,
    /// Whether the broker is known to have accepted the client.
    is_in: bool,
    /// Arrival of the last read, if known.
    came: Option<Instant>,
    /// `came`, or the time of the read.
    arrived: Instant,
    /// When the last waiting message became due: what came after it was at the front from then on.
    free: Instant,
    /// When it was first seen that the client has closed while bytes were pending.
    gone: Option<Instant>,
    /// Whether pending messages are dropped from now on.
    is_over: bool,
}

/// Bytes at the front of the buffer: those before `from` are processed, those up to `to` may be written.
#[derive(Clone, Copy)]
struct Ready {
    from: usize,
    to: usize,
}

impl Carrier<'_> {
    fn arrive(&mut self) {
        let age = self.from.age();
        let arrived = self.link.shared.ago(age.unwrap_or_default());
        self.came = age.map(|_| arrived);
        self.arrived = arrived;
    }

    /// The client has closed. For a redirected client the broker gets a DISCONNECT,
    /// or it would publish the will.
    async fn take_leave(&mut self) -> End {
        if self.link.is_moved.load(Relaxed) && self.uplink.is_between() {
            // A closed broker needs no DISCONNECT.
            let _ = self.outlet.write(&TAKE_LEAVE).await;
        }
        End::Closed
    }

    /// Whether a message that is due then is dropped: its client closed too long before.
    fn is_left_behind(&mut self, due: Instant) -> bool {
        if self.gone.is_none() && self.from.has_ended() {
            self.gone = Some(self.link.shared.server.engine.now());
        }
        let most = self.link.shared.settings.patience.leftovers;
        let Some(gone) = self.gone else {
            return false;
        };
        self.is_over = u128::from(due.nanos_since(gone)) > most.as_nanos();
        self.is_over
    }

    /// Drops a message of a closed client, which sends it again if its `QoS` promises delivery.
    async fn leave_behind(
        &mut self,
        head: &PublishHead<'_>,
        bytes: &[u8],
        ready: &mut Ready,
    ) -> Result<(), End> {
        self.outlet.flush(bytes, ready).await?;
        self.uplink.drop(head).map_err(End::Malformed)?;
        self.link.shared.meter.one(Count::LeftBehind);
        Ok(())
    }

    /// Processes bytes, of which the first `passed` always pass; returns how many.
    async fn work(&mut self, bytes: &[u8], passed: usize) -> Result<usize, End> {
        let mut ready = Ready {
            from: 0,
            to: passed,
        };
        loop {
            match self.uplink.next(&bytes[ready.to..]).map_err(End::Malformed) {
                Ok(UplinkStep::Pass(count)) => ready.to += count,
                Ok(UplinkStep::Publish(head)) => ready = self.publish(head, bytes, ready).await?,
                Ok(UplinkStep::More) => {
                    self.outlet.flush(bytes, &mut ready).await?;
                    return Ok(ready.from);
                }
                Ok(UplinkStep::Skip(count)) => {
                    self.outlet.flush(bytes, &mut ready).await?;
                    ready.skip(count);
                }
                Ok(UplinkStep::Released(count, words)) => {
                    self.outlet.flush(bytes, &mut ready).await?;
                    ready.skip(count);
                    self.link.outbox.say(&words).await;
                }
                Err(end) => {
                    // Earlier bytes are still valid.
                    self.outlet.flush(bytes, &mut ready).await?;
                    return Err(end);
                }
            }
        }
    }

    async fn publish(
        &mut self,
        head: PublishHead<'_>,
        bytes: &[u8],
        mut ready: Ready,
    ) -> Result<Ready, End> {
        if !self.is_in {
            self.outlet.flush(bytes, &mut ready).await?;
            self.enter().await;
        }
        if self.is_over {
            self.leave_behind(&head, bytes, &mut ready).await?;
            return Ok(ready);
        }
        if self.uplink.was_dropped(&head) {
            self.refuse(&head, bytes, &mut ready).await?;
            return Ok(ready);
        }
        let link = self.link;
        let (judge, meter) = (&link.shared.judge, &*link.shared.meter);
        let message = JudgedMessage {
            sender: &self.sender,
            topic: self.uplink.topic(&head).map_err(End::Malformed)?,
            head: &head,
            came: self.came.map(|came| came.max(self.free)),
        };
        match judge.rule(message, self.wait_max(), meter).await {
            MessageRuling::Pass => {
                meter.passed(self.stood());
                self.admit(&head, bytes, &mut ready).await?;
            }
            // Dropping the charge refunds it.
            MessageRuling::Wait(due, _) if self.is_left_behind(due) => {
                self.leave_behind(&head, bytes, &mut ready).await?;
            }
            MessageRuling::Wait(due, charge) => {
                self.outlet.flush(bytes, &mut ready).await?;
                let now = link.shared.server.engine.now();
                let wait = Duration::from_nanos(due.nanos_since(now));
                sleep(wait).await;
                charge.keep();
                self.free = due;
                meter.delayed(wait, self.stood());
                self.admit(&head, bytes, &mut ready).await?;
            }
            MessageRuling::Refuse => self.refuse(&head, bytes, &mut ready).await?,
        }
        Ok(ready)
    }

    /// How long the message at the front was held back, in nanoseconds: since its arrival if it, or one before it, had
    /// to wait.
    fn stood(&self) -> u64 {
        if self.arrived >= self.free {
            return 0;
        }
        let now = self.link.shared.server.engine.now();
        now.nanos_since(self.arrived)
    }

    /// Waits for the broker's CONNACK: only then the publisher is known.
    async fn enter(&mut self) {
        let mut greeting = self.link.greeting.subscribe();
        let greeting = greeting.wait_for(Option::is_some).await;
        let Ok(greeting) = greeting.map(|greeting| greeting.clone()) else {
            // The other direction keeps the sender for as long as this one lives.
            return std::future::pending().await;
        };
        self.is_in = true;
        let Greeting { client, keep_alive } = greeting.unwrap_or_default();
        if let Some(client) = client {
            self.sender.client = client;
        }
        if let Some(keep_alive) = keep_alive {
            self.keep_alive = keep_alive;
        }
    }

    /// The longest that a message may wait: a client that is silent for half as long again as its keep-alive is cut off
    /// by the broker, and may have been silent for all of it before.
    fn wait_max(&self) -> Duration {
        let delay_max = self.link.shared.settings.delay_max;
        match self.keep_alive {
            0 => delay_max,
            seconds => delay_max.min(Duration::from_secs(seconds.into()) / 2),
        }
    }

    async fn admit(
        &mut self,
        head: &PublishHead<'_>,
        bytes: &[u8],
        ready: &mut Ready,
    ) -> Result<(), End> {
        let start = ready.to;
        match self.uplink.admit(head).map_err(End::Malformed)? {
            AdmittedMessage::AsItIs => {}
            AdmittedMessage::Changed(words, length) => {
                self.outlet.flush(bytes, ready).await?;
                self.link.shared.meter.one(Count::AliasRestored);
                self.outlet.write(&words).await?;
                ready.skip(length);
            }
        }
        // An incomplete message would count the client's sending time as the broker's.
        if head.qos() != Qos::AtMostOnce && bytes.len() - start >= head.header.packet() as usize {
            self.link.probe.follow(head.id);
        }
        Ok(())
    }

    async fn refuse(
        &mut self,
        head: &PublishHead<'_>,
        bytes: &[u8],
        ready: &mut Ready,
    ) -> Result<(), End> {
        self.outlet.flush(bytes, ready).await?;
        let reply = self.uplink.refuse(head).map_err(End::Malformed)?;
        let meter = &self.link.shared.meter;
        match reply {
            MqttReply::Silence => meter.one(Count::DeniedInSilence),
            MqttReply::Reason(words) => {
                meter.one(Count::DeniedWithReason);
                self.link.outbox.say(&words).await;
            }
            MqttReply::Taken(words) => {
                meter.one(Count::DeniedAsTaken);
                self.link.outbox.say(&words).await;
            }
            MqttReply::Leave => {
                meter.one(Count::DeniedAndLeft);
                return Err(End::Quota);
            }
        }
        Ok(())
    }
}

/// A DISCONNECT, of any version.
const TAKE_LEAVE: [u8; 2] = [0xE0, 0];

impl Ready {
    /// Drops bytes that follow the written ones.
    const fn skip(&mut self, count: usize) {
        self.to += count;
        self.from = self.to;
    }
}

struct Outlet<'l> {
    link: &'l ClientLink<'l>,
    to: &'l mut Sink,
}

impl Outlet<'_> {
    async fn flush(&mut self, bytes: &[u8], ready: &mut Ready) -> Result<(), BufferError> {
        self.write(&bytes[ready.from..ready.to]).await?;
        ready.from = ready.to;
        Ok(())
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), BufferError> {
        let shared = self.link.shared;
        if !bytes.is_empty() {
            self.link.probe.hand_over(|| shared.server.engine.now());
        }
        write(self.to, bytes, shared.settings.patience.stall).await?;
        shared.meter.add(Count::BytesUp, bytes.len() as u64);
        Ok(())
    }
}
