//! What nodes say to each other, and the bytes of it.
//!
//! A frame begins with who sends it, for which boot of the receiver, and two times: when it was sent, and the last time
//! the receiver was heard to send, both on their own clocks. Those are only echoed and compared, never believed.
//! Messages follow, for one or for many keys. Not here: what they cause.

use tollgate_gossip::{Decoder, Encoder, Malformed, ModeKey};
use tollgate_limit::Instant;

use crate::fill::Party;
use crate::limits::Limits;
use crate::setup::Boot;

/// The first byte of every frame: the version of this encoding.
const VERSION: u8 = 0x10;
/// The longest frame that is read.
pub(crate) const FRAME_BYTES_MAX: usize = 1 << 16;
/// A frame is closed once it has that many bytes, so that it fits a datagram.
pub(crate) const FRAME_BYTES_FULL: usize = 1000;
/// No cumulative count is above that, whatever moves.
const TOTAL_MAX: u128 = 1 << 124;

/// What a frame begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SupplyHead {
    /// The sender's boot.
    pub(crate) boot: Boot,
    /// The receiver's boot as the sender knows it; zero where it does not.
    pub(crate) yours: Boot,
    /// The sender's clock.
    pub(crate) sent: Instant,
    /// The receiver's clock, from the last of its frames that came.
    pub(crate) echo: Instant,
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// How do you stand?
    Look { key: ModeKey, ticket: u64 },
    /// So.
    Offer(Offered),
    /// Lend me, or let me keep what I have.
    Ask(LoanRequest),
    /// The answer to that.
    Grant(LoanGrant),
    /// Give back what you need less than I do.
    Recall(Recall),
    /// I stand there; do you?
    Where { change: u64, number: u64 },
    /// I stand there; the flags say how.
    Here(Here),
    /// A later boot of yours was heard.
    Superseded { by: Boot },
    /// To the authority: let me keep my home.
    Renew(Renew),
    /// From the authority: your home, counted from when you asked.
    Home(Renewed),
    /// From the authority: ask for your home now, there is more for you.
    Nudge,
    /// I go.
    Goodbye,
}

/// What a node could lend of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) key: ModeKey,
    pub(crate) ticket: u64,
    pub(crate) party: Party,
    pub(crate) free: u64,
}

/// Wants a part of a loan back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recall {
    pub(crate) key: ModeKey,
    pub(crate) seq: u64,
    /// How the lender stands.
    pub(crate) party: Party,
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Here {
    pub(crate) change: u64,
    pub(crate) number: u64,
    pub(crate) flags: u8,
}

/// Wants to keep a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Renew {
    pub(crate) ticket: u64,
    pub(crate) number: u64,
    /// The last question whose answer counted.
    pub(crate) seen: u64,
    pub(crate) is_clear: bool,
}

/// The answer to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Renewed {
    pub(crate) ticket: u64,
    pub(crate) number: u64,
    pub(crate) home: u64,
    pub(crate) is_settled: bool,
}

/// Asks for a loan, renews one, and reports what was given back; all counts are totals over the life of the loan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoanRequest {
    pub(crate) key: ModeKey,
    /// Grows with every ask of a boot.
    pub(crate) ticket: u64,
    /// The loan, if there is one with this lender.
    pub(crate) loan: Option<Loan>,
    /// How the asker stands.
    pub(crate) party: Party,
    /// How much more it wants; zero only renews.
    pub(crate) want: u64,
    /// Whether it wants it for the depth, for a cost that does not fit otherwise.
    pub(crate) is_deep: bool,
    /// Where it stands.
    pub(crate) number: u64,
}

/// A loan as its borrower names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loan {
    /// The lender's boot that gave it.
    pub(crate) boot: Boot,
    pub(crate) seq: u64,
    /// Rate given back.
    pub(crate) returned: u128,
    /// Tokens given back with it.
    pub(crate) tokens: u128,
}

/// The answer to an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoanGrant {
    pub(crate) key: ModeKey,
    /// The ask's.
    pub(crate) ticket: u64,
    /// The loan as it stands; `None`: nothing is lent or renewed.
    pub(crate) given: Option<Given>,
}

/// A loan as its lender names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) seq: u64,
    /// Whether this ask began it.
    pub(crate) is_first: bool,
    /// Whether it lasts a term from this ask.
    pub(crate) is_renewed: bool,
    /// Rate given.
    pub(crate) total: u128,
    /// Tokens given with it.
    pub(crate) tokens: u128,
    /// Rate that the borrower may keep.
    pub(crate) allow: u64,
}

const LOOK: u8 = 0;
const OFFER: u8 = 1;
const ASK: u8 = 2;
const GRANT: u8 = 3;
const RECALL: u8 = 4;
const WHERE: u8 = 5;
const HERE: u8 = 6;
const SUPERSEDED: u8 = 7;
const RENEW: u8 = 8;
const HOME: u8 = 9;
const GOODBYE: u8 = 10;
const NUDGE: u8 = 11;

impl SupplyHead {
    pub(crate) fn encode(self, to: &mut Encoder) {
        to.u8(VERSION);
        to.count(self.boot.0);
        to.count(self.yours.0);
        to.count(self.sent.as_nanos());
        to.count(self.echo.as_nanos());
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let version = from.u8()?;
        if version != VERSION {
            return Err(Malformed::Version(version >> 4));
        }
        Ok(Self {
            boot: Boot(from.count()?),
            yours: Boot(from.count()?),
            sent: Instant::from_nanos(from.count()?),
            echo: Instant::from_nanos(from.count()?),
        })
    }
}

/// A whole frame, or why it is none. Nothing is half read.
pub(crate) fn decode(frame: &[u8]) -> Result<(SupplyHead, Vec<Message>), Malformed> {
    if frame.len() > FRAME_BYTES_MAX {
        return Err(Malformed::TooLong);
    }
    let mut from = Decoder::from_first(frame);
    let head = SupplyHead::decode(&mut from)?;
    if head.boot == Boot(0) {
        return Err(Malformed::Value);
    }
    let mut messages = Vec::new();
    while !from.is_empty() {
        messages.push(Message::decode(&mut from)?);
    }
    Ok((head, messages))
}

impl Message {
    pub(crate) fn encode(&self, to: &mut Encoder) {
        match self {
            Self::Look { key, ticket } => {
                to.u8(LOOK);
                to.key(*key);
                to.count(*ticket);
            }
            Self::Offer(offered) => {
                to.u8(OFFER);
                to.key(offered.key);
                to.count(offered.ticket);
                encode_party(offered.party, to);
                to.count(offered.free);
            }
            Self::Ask(ask) => ask.encode(to),
            Self::Grant(grant) => grant.encode(to),
            Self::Recall(recall) => {
                to.u8(RECALL);
                to.key(recall.key);
                to.count(recall.seq);
                encode_party(recall.party, to);
            }
            Self::Where { .. }
            | Self::Here(_)
            | Self::Superseded { .. }
            | Self::Renew(_)
            | Self::Home(_)
            | Self::Nudge
            | Self::Goodbye => self.encode_plain(to),
        }
    }

    /// Messages that are about no key.
    fn encode_plain(&self, to: &mut Encoder) {
        let (kind, counts, flag) = match *self {
            Self::Where { change, number } => (WHERE, vec![change, number], None),
            Self::Here(is) => (HERE, vec![is.change, is.number], Some(is.flags)),
            Self::Superseded { by } => (SUPERSEDED, vec![by.0], None),
            Self::Renew(is) => {
                let counts = vec![is.ticket, is.number, is.seen];
                (RENEW, counts, Some(u8::from(is.is_clear)))
            }
            Self::Home(is) => {
                let counts = vec![is.ticket, is.number, is.home];
                (HOME, counts, Some(u8::from(is.is_settled)))
            }
            Self::Nudge => (NUDGE, vec![], None),
            Self::Goodbye
            | Self::Look { .. }
            | Self::Offer(_)
            | Self::Ask(_)
            | Self::Grant(_)
            | Self::Recall(_) => (GOODBYE, vec![], None),
        };
        to.u8(kind);
        for count in counts {
            to.count(count);
        }
        if let Some(flag) = flag {
            to.u8(flag);
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(match from.u8()? {
            LOOK => Self::Look {
                key: from.key()?,
                ticket: from.count()?,
            },
            OFFER => Self::Offer(Offered {
                key: from.key()?,
                ticket: from.count()?,
                party: decode_party(from)?,
                free: at_most(from, Limits::RATE_MAX)?,
            }),
            ASK => Self::Ask(LoanRequest::decode(from)?),
            GRANT => Self::Grant(LoanGrant::decode(from)?),
            RECALL => Self::Recall(Recall {
                key: from.key()?,
                seq: from.count()?,
                party: decode_party(from)?,
            }),
            WHERE => Self::Where {
                change: from.count()?,
                number: from.count()?,
            },
            HERE => Self::Here(Here {
                change: from.count()?,
                number: from.count()?,
                flags: bits(from, HERE_FLAGS)?,
            }),
            SUPERSEDED => Self::Superseded {
                by: Boot(from.count()?),
            },
            RENEW => Self::Renew(Renew {
                ticket: from.count()?,
                number: from.count()?,
                seen: from.count()?,
                is_clear: flag(from)?,
            }),
            HOME => Self::Home(Renewed {
                ticket: from.count()?,
                number: from.count()?,
                home: at_most(from, Limits::RATE_MAX)?,
                is_settled: flag(from)?,
            }),
            GOODBYE => Self::Goodbye,
            NUDGE => Self::Nudge,
            kind => return Err(Malformed::Kind(kind)),
        })
    }
}

/// In [`Message::Here`]: nothing is lent beyond the home there, and nobody waits by what was before.
pub(crate) const IS_CLEAR: u8 = 1;
/// Every node that may have stood elsewhere has agreed.
pub(crate) const IS_SETTLED: u8 = 2;
/// This node does not know who stood where before.
pub(crate) const IS_BLIND: u8 = 4;
const HERE_FLAGS: u8 = IS_CLEAR | IS_SETTLED | IS_BLIND;

/// Bits of the byte that says what an ask has.
const HAS_LOAN: u8 = 1;
const IS_DEEP: u8 = 2;
/// And what a grant has.
const HAS_GIVEN: u8 = 1;
const IS_FIRST: u8 = 2;
const IS_RENEWED: u8 = 4;

impl LoanRequest {
    fn encode(&self, to: &mut Encoder) {
        to.u8(ASK);
        to.key(self.key);
        let loan = if self.loan.is_some() { HAS_LOAN } else { 0 };
        to.u8(loan | if self.is_deep { IS_DEEP } else { 0 });
        to.count(self.ticket);
        encode_party(self.party, to);
        to.count(self.want);
        to.count(self.number);
        if let Some(loan) = self.loan {
            to.count(loan.boot.0);
            to.count(loan.seq);
            to.varint(loan.returned);
            to.varint(loan.tokens);
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let key = from.key()?;
        let has = bits(from, HAS_LOAN | IS_DEEP)?;
        Ok(Self {
            key,
            ticket: from.count()?,
            party: decode_party(from)?,
            want: at_most(from, Limits::RATE_MAX)?,
            is_deep: has & IS_DEEP != 0,
            number: from.count()?,
            loan: if has & HAS_LOAN == 0 {
                None
            } else {
                Some(Loan {
                    boot: Boot(from.count()?),
                    seq: from.count()?,
                    returned: total(from)?,
                    tokens: total(from)?,
                })
            },
        })
    }
}

impl LoanGrant {
    fn encode(&self, to: &mut Encoder) {
        to.u8(GRANT);
        to.key(self.key);
        let has = |is: fn(&Given) -> bool| self.given.is_some_and(|given| is(&given));
        let flag = |is: bool, bit: u8| if is { bit } else { 0 };
        to.u8(flag(self.given.is_some(), HAS_GIVEN)
            | flag(has(|given| given.is_first), IS_FIRST)
            | flag(has(|given| given.is_renewed), IS_RENEWED));
        to.count(self.ticket);
        if let Some(given) = self.given {
            to.count(given.seq);
            to.varint(given.total);
            to.varint(given.tokens);
            to.count(given.allow);
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let key = from.key()?;
        let has = bits(from, HAS_GIVEN | IS_FIRST | IS_RENEWED)?;
        Ok(Self {
            key,
            ticket: from.count()?,
            given: if has & HAS_GIVEN == 0 {
                None
            } else {
                Some(Given {
                    seq: from.count()?,
                    is_first: has & IS_FIRST != 0,
                    is_renewed: has & IS_RENEWED != 0,
                    total: total(from)?,
                    tokens: total(from)?,
                    allow: at_most(from, Limits::RATE_MAX)?,
                })
            },
        })
    }
}

/// A number of at most `max`.
fn at_most(from: &mut Decoder<'_>, max: u64) -> Result<u64, Malformed> {
    match from.count()? {
        value if value <= max => Ok(value),
        _ => Err(Malformed::Value),
    }
}

fn flag(from: &mut Decoder<'_>) -> Result<bool, Malformed> {
    Ok(bits(from, 1)? == 1)
}

/// A byte of which only those bits may be set.
fn bits(from: &mut Decoder<'_>, known: u8) -> Result<u8, Malformed> {
    match from.u8()? {
        has if has & !known == 0 => Ok(has),
        _ => Err(Malformed::Value),
    }
}

fn total(from: &mut Decoder<'_>) -> Result<u128, Malformed> {
    match from.varint()? {
        total if total <= TOTAL_MAX => Ok(total),
        _ => Err(Malformed::Value),
    }
}

fn encode_party(party: Party, to: &mut Encoder) {
    to.count(party.supply);
    to.count(party.weight);
}

fn decode_party(from: &mut Decoder<'_>) -> Result<Party, Malformed> {
    let supply = at_most(from, Limits::RATE_MAX)?;
    let weight = at_most(from, Party::WEIGHT_MAX)?;
    if weight == 0 {
        return Err(Malformed::Value);
    }
    Ok(Party { supply, weight })
}
