//! What nodes and the adaptor of one topic say to each other, and the bytes of it.
//!
//! A frame begins with the sender's boot; messages follow. Whatever a stranger sends, reading it ends in messages or in
//! a refusal, never in a panic. Not here: what messages cause, and of which topic they are, which whoever carries them
//! knows.

use tollgate_gossip::{Decoder, Encoder, Malformed, NodeId, Send};

use crate::limits::{Share, TopicLimits};

/// The first byte of every frame: the version of this encoding.
const VERSION: u8 = 0x10;
/// The longest frame that is read.
pub const FRAME_BYTES_MAX: usize = 1 << 12;

/// One message. All amounts are in grains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Give me tokens.
    Ask {
        /// Grows with every ask of a boot.
        ticket: u64,
        want: u128,
        standing: SplitStanding,
    },
    /// The answer to that; perhaps nothing.
    Give {
        ticket: u64,
        /// The boot that asked.
        yours: u64,
        amount: u128,
        standing: SplitStanding,
    },
    /// What was given has arrived; so much of it comes back.
    Confirm {
        ticket: u64,
        /// The boot that gave.
        yours: u64,
        returned: u128,
        standing: SplitStanding,
    },
    /// To the adaptor: how it is here.
    Report(SplitReport),
    /// From the adaptor: have this share.
    Set {
        /// The boot that it is for.
        yours: u64,
        epoch: u64,
        share: Share,
    },
    /// Let me have a part of the bucket for a term.
    Hire(LeaseRequest),
    /// The answer to that; perhaps nothing.
    Let(LeaseGrant),
    /// From the adaptor: how is it there? Older boots of the adaptor are not to be heard any more.
    Where,
}

/// Asks to hire a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseRequest {
    /// Grows with every such question of a boot.
    pub(crate) ticket: u64,
    /// What is hired of the one that is asked; nothing else that it let is in use.
    pub(crate) have: Share,
    /// The rate that is wanted, with what is hired already.
    pub(crate) want: u128,
    /// What all but the one that is asked are asked for, as far as it is known: thousandths of messages per second.
    pub(crate) demand: u64,
}

/// A share that is let.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseGrant {
    pub(crate) ticket: u64,
    /// The boot that asked.
    pub(crate) yours: u64,
    pub(crate) share: Share,
    /// Tokens for which there is no room any more where they were.
    pub(crate) tokens: u128,
    /// What the one that answers is asked for.
    pub(crate) demand: u64,
}

/// How a sub-bucket stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitStanding {
    /// What it has.
    pub(crate) tokens: u128,
    /// What those who wait need.
    pub(crate) queued: u128,
}

/// How it is at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitReport {
    /// The boot of the adaptor that is heard; zero: none yet.
    pub(crate) yours: u64,
    /// The last share that was set by it.
    pub(crate) epoch: u64,
    /// What the node uses, holds included.
    pub(crate) share: Share,
    /// Messages that arrived since the node's boot.
    pub(crate) arrived: u64,
    pub(crate) queued: u128,
    /// The largest backlog since the last report.
    pub(crate) peak: u128,
}

const ASK: u8 = 0;
const GIVE: u8 = 1;
const CONFIRM: u8 = 2;
const REPORT: u8 = 3;
const SET: u8 = 4;
const WHERE: u8 = 5;
const HIRE: u8 = 6;
const LET: u8 = 7;

/// A frame with one message.
pub(crate) fn frame(to: NodeId, boot: u64, message: &Message) -> Send {
    let mut encoder = Encoder::default();
    encoder.u8(VERSION);
    encoder.count(boot);
    message.encode(&mut encoder);
    Send {
        to,
        frame: encoder.finish(),
    }
}

/// The sender's boot, and what it says.
pub(crate) fn read(frame: &[u8]) -> Result<(u64, Vec<Message>), Malformed> {
    if frame.len() > FRAME_BYTES_MAX {
        return Err(Malformed::TooLong);
    }
    let mut from = Decoder::from_first(frame);
    let version = from.u8()?;
    if version != VERSION {
        return Err(Malformed::Version(version >> 4));
    }
    let boot = from.count()?;
    if boot == 0 {
        return Err(Malformed::Value);
    }
    let mut messages = Vec::new();
    while !from.is_empty() {
        messages.push(Message::decode(&mut from)?);
    }
    if messages.is_empty() {
        return Err(Malformed::Truncated);
    }
    Ok((boot, messages))
}

impl Message {
    /// Whether it is for that boot, or for any.
    pub(crate) const fn is_for(&self, boot: u64) -> bool {
        match self {
            Self::Give { yours, .. }
            | Self::Confirm { yours, .. }
            | Self::Set { yours, .. }
            | Self::Let(LeaseGrant { yours, .. }) => *yours == boot,
            Self::Ask { .. } | Self::Report(_) | Self::Hire(_) | Self::Where => true,
        }
    }

    fn encode(&self, to: &mut Encoder) {
        match *self {
            Self::Ask {
                ticket,
                want,
                standing,
            } => {
                to.u8(ASK);
                to.count(ticket);
                to.varint(want);
                standing.encode(to);
            }
            Self::Give {
                ticket,
                yours,
                amount,
                standing,
            } => encode_gift(GIVE, (ticket, yours, amount), standing, to),
            Self::Confirm {
                ticket,
                yours,
                returned,
                standing,
            } => encode_gift(CONFIRM, (ticket, yours, returned), standing, to),
            Self::Report(report) => {
                to.u8(REPORT);
                report.encode(to);
            }
            Self::Set {
                yours,
                epoch,
                share,
            } => {
                to.u8(SET);
                to.count(yours);
                to.count(epoch);
                encode_share(share, to);
            }
            Self::Where => to.u8(WHERE),
            Self::Hire(LeaseRequest {
                ticket,
                have,
                want,
                demand,
            }) => {
                to.u8(HIRE);
                to.count(ticket);
                encode_share(have, to);
                to.varint(want);
                to.count(demand);
            }
            Self::Let(LeaseGrant {
                ticket,
                yours,
                share,
                tokens,
                demand,
            }) => {
                to.u8(LET);
                to.count(ticket);
                to.count(yours);
                encode_share(share, to);
                to.varint(tokens);
                to.count(demand);
            }
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        match from.u8()? {
            ASK => Ok(Self::Ask {
                ticket: from.count()?,
                want: grains(from)?,
                standing: SplitStanding::decode(from)?,
            }),
            GIVE => Ok(Self::Give {
                ticket: from.count()?,
                yours: from.count()?,
                amount: grains(from)?,
                standing: SplitStanding::decode(from)?,
            }),
            CONFIRM => Ok(Self::Confirm {
                ticket: from.count()?,
                yours: from.count()?,
                returned: grains(from)?,
                standing: SplitStanding::decode(from)?,
            }),
            REPORT => SplitReport::decode(from).map(Self::Report),
            SET => Ok(Self::Set {
                yours: from.count()?,
                epoch: from.count()?,
                share: decode_share(from)?,
            }),
            WHERE => Ok(Self::Where),
            HIRE => Ok(Self::Hire(LeaseRequest {
                ticket: from.count()?,
                have: decode_share(from)?,
                want: grains(from)?,
                demand: from.count()?,
            })),
            LET => Ok(Self::Let(LeaseGrant {
                ticket: from.count()?,
                yours: from.count()?,
                share: decode_share(from)?,
                tokens: grains(from)?,
                demand: from.count()?,
            })),
            kind => Err(Malformed::Kind(kind)),
        }
    }
}

impl SplitStanding {
    fn encode(self, to: &mut Encoder) {
        to.varint(self.tokens);
        to.varint(self.queued);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            tokens: grains(from)?,
            queued: grains(from)?,
        })
    }
}

impl SplitReport {
    fn encode(&self, to: &mut Encoder) {
        to.count(self.yours);
        to.count(self.epoch);
        encode_share(self.share, to);
        to.count(self.arrived);
        to.varint(self.queued);
        to.varint(self.peak);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            yours: from.count()?,
            epoch: from.count()?,
            share: decode_share(from)?,
            arrived: from.count()?,
            queued: grains(from)?,
            peak: grains(from)?,
        })
    }
}

fn encode_gift(kind: u8, gift: (u64, u64, u128), standing: SplitStanding, to: &mut Encoder) {
    let (ticket, yours, amount) = gift;
    to.u8(kind);
    to.count(ticket);
    to.count(yours);
    to.varint(amount);
    standing.encode(to);
}

fn encode_share(share: Share, to: &mut Encoder) {
    to.varint(share.rate);
    to.varint(share.depth);
}

fn decode_share(from: &mut Decoder<'_>) -> Result<Share, Malformed> {
    Ok(Share {
        rate: grains(from)?,
        depth: grains(from)?,
    })
}

/// No amount is above that of the deepest bucket.
fn grains(from: &mut Decoder<'_>) -> Result<u128, Malformed> {
    match from.varint()? {
        grains if grains <= TopicLimits::GRAINS_MAX => Ok(grains),
        _ => Err(Malformed::Value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHARE: Share = Share {
        rate: 1 << 70,
        depth: 1 << 120,
    };
    const STANDING: SplitStanding = SplitStanding {
        tokens: 5,
        queued: 1 << 100,
    };

    fn all() -> [Message; 8] {
        let (ticket, yours) = (7, u64::MAX);
        [
            Message::Ask {
                ticket,
                want: 1,
                standing: STANDING,
            },
            Message::Give {
                ticket,
                yours,
                amount: 2,
                standing: STANDING,
            },
            Message::Confirm {
                ticket,
                yours,
                returned: 3,
                standing: STANDING,
            },
            Message::Report(SplitReport {
                yours,
                epoch: 1,
                share: SHARE,
                arrived: 9,
                queued: 8,
                peak: 7,
            }),
            Message::Set {
                yours,
                epoch: 2,
                share: SHARE,
            },
            Message::Where,
            Message::Hire(LeaseRequest {
                ticket,
                have: SHARE,
                want: 4,
                demand: 5,
            }),
            Message::Let(LeaseGrant {
                ticket,
                yours,
                share: SHARE,
                tokens: 9,
                demand: 6,
            }),
        ]
    }

    #[test]
    fn messages_come_back_and_cut_ones_do_not() {
        for message in all() {
            let frame = frame(NodeId(1), 3, &message).frame;
            assert_eq!(read(&frame), Ok((3, vec![message])));
            for length in 0..frame.len() {
                assert!(read(&frame[..length]).is_err());
            }
        }
    }

    #[test]
    fn what_no_node_would_send_is_refused() {
        assert_eq!(read(&[0x20, 1, WHERE]), Err(Malformed::Version(2)));
        assert_eq!(read(&[VERSION, 0, WHERE]), Err(Malformed::Value));
        assert_eq!(read(&[VERSION, 1, 99]), Err(Malformed::Kind(99)));
        assert_eq!(
            read(&[VERSION; FRAME_BYTES_MAX + 1]),
            Err(Malformed::TooLong)
        );
        let many = Message::Set {
            yours: 1,
            epoch: 1,
            share: Share {
                rate: TopicLimits::GRAINS_MAX + 1,
                depth: 0,
            },
        };
        let frame = frame(NodeId(1), 1, &many).frame;
        assert_eq!(read(&frame), Err(Malformed::Value));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
            let frame: Vec<u8> = [VERSION, 1].into_iter().chain(bytes).collect();
            let _ = read(&frame);
        }
    }
}
