//! What a client sends, packet by packet: which packets pass, which need a decision, and the answer to a refused
//! message.
//!
//! The machine has no socket and no clock. Call [`Uplink::next`] with all bytes that were not consumed; after a
//! [`UplinkStep::Publish`] call [`Uplink::admit`] or [`Uplink::refuse`] before the next call. Not here: the decision
//! (`judge`).

use tollgate_mqtt::{Ack, Frames, Header, Malformed, PacketKind, Piece, PublishHead, Qos, Version};
use tollgate_mqtt::{reason, write};

use crate::aliases::Aliases;
use crate::ids::Ids;
use crate::settings::OnQuietRefusal;

/// The most bytes of a PUBLISH before its payload, and of any other packet that must be read whole.
pub(crate) const HEAD_MAX: usize = 1 << 17;

/// Follows the packets of one client after its CONNECT.
#[derive(Debug)]
pub(crate) struct Uplink {
    frames: Frames,
    version: Version,
    on_quiet: OnQuietRefusal,
    /// Whether the current packet is dropped.
    is_dropping: bool,
    aliases: Aliases,
    /// Messages of `QoS` 2 that were dropped and acknowledged, and that the client has not released.
    dropped: Ids,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UplinkStep<'b> {
    More,
    /// Forward so many bytes.
    Pass(usize),
    /// Drop so many bytes.
    Skip(usize),
    /// Decide about this message, whose head is at the front.
    Publish(PublishHead<'b>),
    /// Drop so many bytes, a PUBREL, and send this to the client: the broker does not know the message.
    Released(usize, Vec<u8>),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AdmittedMessage {
    /// Unchanged.
    AsItIs,
    /// With this head in place of the first so many bytes.
    Changed(Vec<u8>, usize),
}

/// The answer to a refused message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MqttReply {
    Silence,
    /// A refusal with a reason code.
    Reason(Vec<u8>),
    /// An acknowledgement, although the message was dropped.
    Taken(Vec<u8>),
    /// The connection ends.
    Leave,
}

impl Uplink {
    pub(crate) fn new(version: Version, on_quiet: OnQuietRefusal, packet_max: u32) -> Self {
        Self {
            frames: Frames::new(packet_max),
            version,
            on_quiet,
            is_dropping: false,
            aliases: Aliases::default(),
            dropped: Ids::default(),
        }
    }

    /// `bytes` starts at the first byte that was not consumed.
    pub(crate) fn next<'b>(&mut self, bytes: &'b [u8]) -> Result<UplinkStep<'b>, Malformed> {
        match self.frames.next(bytes)? {
            Piece::More => Ok(UplinkStep::More),
            Piece::Part(count) if self.is_dropping => Ok(UplinkStep::Skip(count)),
            Piece::Part(count) => Ok(UplinkStep::Pass(count)),
            Piece::Start(header) => self.start(header, bytes),
        }
    }

    fn start<'b>(&mut self, header: Header, bytes: &'b [u8]) -> Result<UplinkStep<'b>, Malformed> {
        match header.kind {
            PacketKind::Publish => match PublishHead::read(header, bytes, self.version)? {
                Some(head) => Ok(UplinkStep::Publish(head)),
                None => more(bytes),
            },
            PacketKind::Pubrel if !self.dropped.is_empty() => self.release(header, bytes),
            PacketKind::Connect
            | PacketKind::Connack
            | PacketKind::Suback
            | PacketKind::Unsuback
            | PacketKind::Pingresp => Err(Malformed::OutOfTurn),
            PacketKind::Puback
            | PacketKind::Pubrec
            | PacketKind::Pubrel
            | PacketKind::Pubcomp
            | PacketKind::Subscribe
            | PacketKind::Unsubscribe
            | PacketKind::Pingreq
            | PacketKind::Disconnect
            | PacketKind::Auth => self.pass(header, bytes),
        }
    }

    fn pass<'b>(&mut self, header: Header, bytes: &'b [u8]) -> Result<UplinkStep<'b>, Malformed> {
        self.is_dropping = false;
        self.frames.enter(header.packet());
        self.next(bytes)
    }

    fn release<'b>(
        &mut self,
        header: Header,
        bytes: &'b [u8],
    ) -> Result<UplinkStep<'b>, Malformed> {
        let Some(body) = header.body(bytes) else {
            return more(bytes);
        };
        let id = Ack::read(body, self.version)?.id;
        if !self.dropped.remove(id) {
            return self.pass(header, bytes);
        }
        let done = write::ack(PacketKind::Pubcomp, id, reason::SUCCESS, self.version);
        let packet = usize::from(header.length) + body.len();
        Ok(UplinkStep::Released(packet, done))
    }

    /// The topic of a message, by its name or by its alias.
    pub(crate) fn topic<'t>(&'t self, head: &PublishHead<'t>) -> Result<&'t str, Malformed> {
        match head.alias {
            Some(alias) if head.topic.is_empty() => self.aliases.topic(alias),
            _ => Ok(head.topic),
        }
    }

    /// Whether the message was dropped before and is sent again; then refuse it again.
    pub(crate) fn was_dropped(&self, head: &PublishHead<'_>) -> bool {
        head.qos() == Qos::ExactlyOnce && self.dropped.contains(head.id)
    }

    pub(crate) fn admit(&mut self, head: &PublishHead<'_>) -> Result<AdmittedMessage, Malformed> {
        self.is_dropping = false;
        let unknown = match head.alias {
            Some(alias) if head.topic.is_empty() => self.aliases.tell(alias),
            Some(alias) => {
                self.aliases.set(alias, head.topic, true)?;
                None
            }
            None => None,
        };
        let Some(topic) = unknown else {
            self.frames.enter(head.header.packet());
            return Ok(AdmittedMessage::AsItIs);
        };
        let changed = head.with_topic(topic).ok_or(Malformed::TooLarge)?;
        self.frames.enter(head.payload());
        Ok(AdmittedMessage::Changed(changed, head.length))
    }

    pub(crate) fn refuse(&mut self, head: &PublishHead<'_>) -> Result<MqttReply, Malformed> {
        self.drop(head)?;
        Ok(self.reply(head))
    }

    /// Whether no packet is incomplete.
    pub(crate) const fn is_between(&self) -> bool {
        self.frames.is_between()
    }

    /// Refuses the message at the front without an answer.
    pub(crate) fn drop(&mut self, head: &PublishHead<'_>) -> Result<(), Malformed> {
        self.is_dropping = true;
        self.frames.enter(head.header.packet());
        if let (Some(alias), false) = (head.alias, head.topic.is_empty()) {
            self.aliases.set(alias, head.topic, false)?;
        }
        Ok(())
    }

    fn reply(&mut self, head: &PublishHead<'_>) -> MqttReply {
        let version = self.version;
        let ack = |kind, reason| write::ack(kind, head.id, reason, version);
        let is_quiet = version == Version::V311 || head.qos() == Qos::AtMostOnce;
        if is_quiet && self.on_quiet == OnQuietRefusal::Disconnect {
            return MqttReply::Leave;
        }
        match (head.qos(), version) {
            (Qos::AtMostOnce, _) => MqttReply::Silence,
            (Qos::AtLeastOnce, Version::V5) => {
                MqttReply::Reason(ack(PacketKind::Puback, reason::QUOTA_EXCEEDED))
            }
            (Qos::AtLeastOnce, Version::V311) => {
                MqttReply::Taken(ack(PacketKind::Puback, reason::SUCCESS))
            }
            // The broker may have this message from an earlier connection and wait for its release: an answer in
            // its place would make it confuse another message with this one.
            (Qos::ExactlyOnce, _) if head.is_dup() && !self.was_dropped(head) => MqttReply::Leave,
            (Qos::ExactlyOnce, Version::V5) => {
                MqttReply::Reason(ack(PacketKind::Pubrec, reason::QUOTA_EXCEEDED))
            }
            (Qos::ExactlyOnce, Version::V311) => {
                self.dropped.insert(head.id);
                MqttReply::Taken(ack(PacketKind::Pubrec, reason::SUCCESS))
            }
        }
    }
}

/// A part that must be read whole continues after these bytes.
fn more<'b>(bytes: &[u8]) -> Result<UplinkStep<'b>, Malformed> {
    if bytes.len() < HEAD_MAX {
        Ok(UplinkStep::More)
    } else {
        Err(Malformed::TooLarge)
    }
}

#[cfg(test)]
mod tests;
