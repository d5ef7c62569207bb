//! Packets of the membership protocol, as bytes.
//!
//! ```text
//! packet = message 1 | incarnation 2 | sender, whole | receiver, short | by message: number 1 | other, short
//!          then: count 2 (big-endian, by foca) | members
//! member = state 1 | incarnation 2 | peer, whole
//! ```
//!
//! Not here: their meaning (`foca`).

use std::fmt;

use bytes::{Buf, BufMut};
use foca::{Codec, Header, Member, Message, State};
use tollgate_kit::Reader;

use crate::peer::ClusterPeer;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeCodec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadProbe {
    /// The buffer is full.
    NoRoom,
    Malformed,
}

impl fmt::Display for BadProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRoom => "the packet has no room",
            Self::Malformed => "the packet cannot be read",
        })
    }
}

impl std::error::Error for BadProbe {}

/// `None` if the packet does not parse.
pub(crate) fn sender(packet: &[u8]) -> Option<ClusterPeer> {
    header(&mut Reader(packet)).map(|header| header.src)
}

/// Notifies a node that it is suspected, so that it can refute. An incarnation of zero adds nothing about the
/// sender.
pub(crate) fn suspicion(me: &ClusterPeer, of: &Member<ClusterPeer>) -> Option<Vec<u8>> {
    let header = Header {
        src: me.clone(),
        src_incarnation: 0,
        dst: of.id().clone(),
        message: Message::Gossip,
    };
    let mut bytes = Vec::with_capacity(256);
    ProbeCodec.encode_header(&header, &mut bytes).ok()?;
    bytes.put_u16(1);
    ProbeCodec.encode_member(of, &mut bytes).ok()?;
    Some(bytes)
}

impl Codec<ClusterPeer> for ProbeCodec {
    type Error = BadProbe;

    fn encode_header(
        &mut self,
        header: &Header<ClusterPeer>,
        buf: impl BufMut,
    ) -> Result<(), BadProbe> {
        let mut bytes = Vec::with_capacity(256);
        let (code, number, other) = parts(&header.message);
        bytes.push(code);
        bytes.extend(header.src_incarnation.to_le_bytes());
        header.src.put(&mut bytes);
        header.dst.put_short(&mut bytes);
        bytes.extend(number);
        if let Some(other) = other {
            other.put_short(&mut bytes);
        }
        put_whole(&bytes, buf)
    }

    fn decode_header(&mut self, buf: impl Buf) -> Result<Header<ClusterPeer>, BadProbe> {
        decode(buf, header)
    }

    fn encode_member(
        &mut self,
        member: &Member<ClusterPeer>,
        buf: impl BufMut,
    ) -> Result<(), BadProbe> {
        let mut bytes = Vec::with_capacity(128);
        bytes.push(match member.state() {
            State::Alive => 1,
            State::Suspect => 2,
            State::Down => 3,
        });
        bytes.extend(member.incarnation().to_le_bytes());
        member.id().put(&mut bytes);
        put_whole(&bytes, buf)
    }

    fn decode_member(&mut self, buf: impl Buf) -> Result<Member<ClusterPeer>, BadProbe> {
        decode(buf, member)
    }
}

/// All or nothing: writes nothing if it does not fit.
fn put_whole(bytes: &[u8], mut buf: impl BufMut) -> Result<(), BadProbe> {
    if buf.remaining_mut() < bytes.len() {
        return Err(BadProbe::NoRoom);
    }
    buf.put_slice(bytes);
    Ok(())
}

fn decode<T>(
    mut buf: impl Buf,
    read: impl Fn(&mut Reader<'_>) -> Option<T>,
) -> Result<T, BadProbe> {
    let mut reader = Reader(buf.chunk());
    let before = reader.0.len();
    let value = read(&mut reader).ok_or(BadProbe::Malformed)?;
    let used = before - reader.0.len();
    buf.advance(used);
    Ok(value)
}

fn header(reader: &mut Reader<'_>) -> Option<Header<ClusterPeer>> {
    let code = reader.u8()?;
    let src_incarnation = reader.u16()?;
    let src = ClusterPeer::read(reader)?;
    let dst = ClusterPeer::read_short(reader)?;
    Some(Header {
        src,
        src_incarnation,
        dst,
        message: message(code, reader)?,
    })
}

fn member(reader: &mut Reader<'_>) -> Option<Member<ClusterPeer>> {
    let state = match reader.u8()? {
        1 => State::Alive,
        2 => State::Suspect,
        3 => State::Down,
        _ => return None,
    };
    let incarnation = reader.u16()?;
    Some(Member::new(ClusterPeer::read(reader)?, incarnation, state))
}

/// A message's number, the number of its probe, and the third node it names.
fn parts(message: &Message<ClusterPeer>) -> (u8, Option<u8>, Option<&ClusterPeer>) {
    match message {
        Message::Ping(number) => (1, Some(*number), None),
        Message::Ack(number) => (2, Some(*number), None),
        Message::PingReq {
            target,
            probe_number,
        } => (3, Some(*probe_number), Some(target)),
        Message::IndirectPing {
            origin,
            probe_number,
        } => (4, Some(*probe_number), Some(origin)),
        Message::IndirectAck {
            target,
            probe_number,
        } => (5, Some(*probe_number), Some(target)),
        Message::ForwardedAck {
            origin,
            probe_number,
        } => (6, Some(*probe_number), Some(origin)),
        Message::Announce => (7, None, None),
        Message::Feed => (8, None, None),
        Message::Gossip => (9, None, None),
        Message::Broadcast => (10, None, None),
        Message::TurnUndead => (11, None, None),
    }
}

fn message(code: u8, reader: &mut Reader<'_>) -> Option<Message<ClusterPeer>> {
    Some(match code {
        1 => Message::Ping(reader.u8()?),
        2 => Message::Ack(reader.u8()?),
        3 => {
            let probe_number = reader.u8()?;
            let target = ClusterPeer::read_short(reader)?;
            Message::PingReq {
                target,
                probe_number,
            }
        }
        4 => {
            let probe_number = reader.u8()?;
            let origin = ClusterPeer::read_short(reader)?;
            Message::IndirectPing {
                origin,
                probe_number,
            }
        }
        5 => {
            let probe_number = reader.u8()?;
            let target = ClusterPeer::read_short(reader)?;
            Message::IndirectAck {
                target,
                probe_number,
            }
        }
        6 => {
            let probe_number = reader.u8()?;
            let origin = ClusterPeer::read_short(reader)?;
            Message::ForwardedAck {
                origin,
                probe_number,
            }
        }
        7 => Message::Announce,
        8 => Message::Feed,
        9 => Message::Gossip,
        // Custom broadcasts are never sent, so they are refused.
        11 => Message::TurnUndead,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::peer::tests::peer;

    fn messages() -> Vec<Message<ClusterPeer>> {
        let (target, origin) = (peer(5, 5), peer(6, 6));
        let probe_number = 9;
        vec![
            Message::Ping(1),
            Message::Ack(2),
            Message::PingReq {
                target: target.clone(),
                probe_number,
            },
            Message::IndirectPing {
                origin: origin.clone(),
                probe_number,
            },
            Message::IndirectAck {
                target,
                probe_number,
            },
            Message::ForwardedAck {
                origin,
                probe_number,
            },
            Message::Announce,
            Message::Feed,
            Message::Gossip,
            Message::TurnUndead,
        ]
    }

    fn packet(message: Message<ClusterPeer>) -> Vec<u8> {
        let header = Header {
            src: peer(1, 2),
            src_incarnation: 513,
            dst: peer(3, 4),
            message,
        };
        let mut bytes = Vec::new();
        ProbeCodec.encode_header(&header, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn every_message_comes_back_and_takes_its_own_bytes_only() {
        for message in messages() {
            let mut bytes = packet(message.clone());
            let length = bytes.len();
            bytes.extend([1, 2, 3]);
            let mut rest = &bytes[..];
            let header = ProbeCodec.decode_header(&mut rest).unwrap();
            assert_eq!((header.message, header.src_incarnation), (message, 513));
            assert_eq!(rest, [1, 2, 3]);
            assert_eq!(sender(&bytes[..length]), Some(peer(1, 2)));
            for cut in 0..length {
                assert!(ProbeCodec.decode_header(&bytes[..cut]).is_err());
            }
        }
    }

    #[test]
    fn members_come_back_and_do_not_dirty_what_is_too_small() {
        for state in [State::Alive, State::Suspect, State::Down] {
            let member = Member::new(peer(7, 8), 3, state);
            let mut bytes = Vec::new();
            ProbeCodec.encode_member(&member, &mut bytes).unwrap();
            assert_eq!(ProbeCodec.decode_member(&bytes[..]), Ok(member.clone()));
            let mut small = Vec::new();
            let room = (&mut small).limit(bytes.len() - 1);
            assert_eq!(
                ProbeCodec.encode_member(&member, room),
                Err(BadProbe::NoRoom)
            );
            assert!(small.is_empty());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = ProbeCodec.decode_header(&bytes[..]);
            let _ = ProbeCodec.decode_member(&bytes[..]);
            let _ = sender(&bytes);
        }

        #[test]
        fn changed_packets_are_an_answer(which in 0..10_usize, at in any::<usize>(), byte in any::<u8>()) {
            let mut bytes = packet(messages()[which].clone());
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = ProbeCodec.decode_header(&bytes[..]);
        }
    }
}
