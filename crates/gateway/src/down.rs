//! From the broker to a client: bytes unchanged, and packets of the gateway between them.
//!
//! Nothing is read from the broker while the client does not accept what was read before.

use tokio::time::{Instant, timeout_at};
use tollgate_mqtt::{Connack, Frames, Header, Malformed, PacketKind, Piece};

use crate::buffer::{Buffer, BufferError, write};
use crate::connection::{ClientLink, End};
use crate::meter::Count;
use crate::stream::{ByteSource, Sink};
use crate::uplink::HEAD_MAX;

#[derive(Clone, Debug, Default)]
pub(crate) struct Greeting {
    /// The identifier that the broker chose.
    pub(crate) client: Option<String>,
    /// Replaces the client's keep-alive.
    pub(crate) keep_alive: Option<u16>,
}

/// Runs until the broker closes, or the gateway's final packet is sent.
pub(crate) async fn carry(link: &ClientLink<'_>, mut from: ByteSource, to: &mut Sink) -> End {
    let mut carrier = Carrier {
        link,
        to,
        frames: Frames::new(u32::MAX),
        is_in: false,
    };
    let mut buffer = Buffer::default();
    let greeting_by = Instant::now() + link.shared.settings.patience.greeting;
    loop {
        let is_in = carrier.is_in;
        let fill = async {
            if is_in {
                return Ok(buffer.fill(&mut from).await);
            }
            timeout_at(greeting_by, buffer.fill(&mut from)).await
        };
        let mut is_closed = false;
        tokio::select! {
            // The gateway's packets are sent even if the broker has closed meanwhile.
            biased;
            () = link.outbox.filled() => {}
            count = fill => match count {
                Ok(Ok(1..)) => {}
                Ok(Ok(0) | Err(_)) => is_closed = true,
                Err(_) => return End::NoGreeting,
            },
        }
        match carrier.work(buffer.bytes()).await {
            Ok(_) if is_closed => return End::Closed,
            Ok(done) => buffer.consume(done),
            Err(end) => return end,
        }
    }
}

struct Carrier<'l> {
    link: &'l ClientLink<'l>,
    to: &'l mut Sink,
    frames: Frames,
    /// Whether the client has its CONNACK.
    is_in: bool,
}

impl Carrier<'_> {
    /// Returns the number of bytes processed.
    async fn work(&mut self, bytes: &[u8]) -> Result<usize, End> {
        let (mut from, mut to) = (0, 0);
        loop {
            if self.frames.is_between() {
                let words = self.link.outbox.take();
                if words.are_last || !words.bytes.is_empty() {
                    self.write(&bytes[from..to]).await?;
                    from = to;
                    self.write(&words.bytes).await?;
                }
                if words.are_last {
                    return Err(End::Said);
                }
            }
            match self.frames.next(&bytes[to..]).map_err(End::Malformed)? {
                Piece::Part(count) => to += count,
                Piece::Start(header) if self.is_in || self.greet(header, &bytes[to..])? => {
                    self.note(header, &bytes[to..]);
                    self.frames.enter(header.packet());
                }
                Piece::Start(_) | Piece::More => {
                    self.write(&bytes[from..to]).await?;
                    return Ok(to);
                }
            }
        }
    }

    /// Parses packets until the CONNACK; returns whether this one is complete.
    fn greet(&mut self, header: Header, bytes: &[u8]) -> Result<bool, End> {
        match header.kind {
            PacketKind::Auth => return Ok(true),
            PacketKind::Connack => {}
            _ => return Err(End::Malformed(Malformed::OutOfTurn)),
        }
        let Some(body) = header.body(bytes) else {
            return if bytes.len() < HEAD_MAX {
                Ok(false)
            } else {
                Err(End::Malformed(Malformed::TooLarge))
            };
        };
        let connack = Connack::read(body, self.link.version).map_err(End::Malformed)?;
        self.link.shared.log.answered();
        if connack.code == 0 {
            self.is_in = true;
            self.link.greeting.send_replace(Some(Greeting {
                client: connack.assigned_client().map(str::to_owned),
                keep_alive: connack.keep_alive(),
            }));
        }
        Ok(true)
    }

    /// Counts how long the broker took for a message that it answers. An answer that arrives in pieces is not counted.
    fn note(&self, header: Header, bytes: &[u8]) {
        if !matches!(header.kind, PacketKind::Puback | PacketKind::Pubrec) {
            return;
        }
        let Some(id) = bytes[usize::from(header.length)..].first_chunk() else {
            return;
        };
        let shared = self.link.shared;
        let now = || shared.server.engine.now();
        if let Some(nanos) = self.link.probe.answer(u16::from_be_bytes(*id), now) {
            shared.meter.served(nanos);
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), BufferError> {
        let shared = self.link.shared;
        write(self.to, bytes, shared.settings.patience.stall).await?;
        shared.meter.add(Count::BytesDown, bytes.len() as u64);
        Ok(())
    }
}
