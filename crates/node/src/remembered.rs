//! What an operation id stands for, in few bytes.
//!
//! An answer is mostly small numbers, so it is kept as varints: some forty bytes, where it takes three hundred as it
//! is. Only an answer by terms of a key's own is kept whole, as it shares them. Not here: for how long ids are
//! remembered, and how many (`ids`).

use tollgate_gossip::{Decoder, Encoder, Malformed, ModeKey};
use tollgate_limit::{Charge, Instant, Span, Verdict};
use tollgate_table::Print;

use crate::answer::{Answer, Booking, KeyTerms, OnceReceipt, Receipt, RefusedBy};

/// What an id stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdRecord {
    /// A reservation: the answer it got, and what it was settled at.
    Reservation {
        answer: Answer,
        settled: Option<u64>,
    },
    /// A check or a write that was done, with the answer where it had one.
    Done(Option<Answer>),
}

impl IdRecord {
    /// Whether something was decided or done.
    pub(crate) const fn is_decided(&self) -> bool {
        let (Self::Reservation { answer, .. } | Self::Done(Some(answer))) = self else {
            return true;
        };
        !matches!(
            answer.refused_by,
            Some(RefusedBy::FullTable | RefusedBy::Unread)
        )
    }
}

/// The same as it is kept.
#[derive(Debug)]
pub(crate) enum StoredIdRecord {
    /// A write that was done.
    Done,
    Short(Box<[u8]>),
    Whole(Box<IdRecord>),
}

impl StoredIdRecord {
    pub(crate) fn new(entry: IdRecord) -> Self {
        match short(&entry) {
            _ if entry == IdRecord::Done(None) => Self::Done,
            Some(bytes) => Self::Short(bytes),
            None => Self::Whole(Box::new(entry)),
        }
    }

    /// What it stands for. A receipt whose copies are one has this number.
    pub(crate) fn entry(&self, number: u64) -> IdRecord {
        match self {
            Self::Done => IdRecord::Done(None),
            // Nobody but `short` writes them.
            Self::Short(bytes) => read(bytes, number).unwrap_or(IdRecord::Done(None)),
            Self::Whole(entry) => (**entry).clone(),
        }
    }

    /// Bytes on the heap, with what the allocator adds.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Done => 0,
            Self::Short(bytes) => allocated(bytes.len()),
            Self::Whole(_) => allocated(size_of::<IdRecord>()) + BOOKINGS_BYTES,
        }
    }
}

/// An entry as bytes; `None` where it does not fit.
fn short(entry: &IdRecord) -> Option<Box<[u8]>> {
    let mut out = Encoder::default();
    let answer = match entry {
        IdRecord::Done(answer) => {
            out.count(0);
            answer.as_ref()?
        }
        IdRecord::Reservation { answer, settled } => {
            // Zero is none.
            out.varint(1 + settled.map_or(0, |settled| 1 + u128::from(settled)));
            answer
        }
    };
    put(&mut out, answer)?;
    Some(Box::from(&*out.finish()))
}

fn read(bytes: &[u8], number: u64) -> Result<IdRecord, Malformed> {
    let mut from = Decoder::from_first(bytes);
    let kind = from.varint()?;
    let answer = take(&mut from, number)?;
    let settled = |kind: u128| u64::try_from(kind).map_err(|_| Malformed::Value);
    Ok(match kind {
        0 => IdRecord::Done(Some(answer)),
        1 => IdRecord::Reservation {
            answer,
            settled: None,
        },
        kind => IdRecord::Reservation {
            answer,
            settled: Some(settled(kind - 2)?),
        },
    })
}

fn put(out: &mut Encoder, answer: &Answer) -> Option<()> {
    let (verdict, span) = match answer.verdict {
        Verdict::Allow => (0, Span::ZERO),
        Verdict::Delay { wait } => (1, wait),
        Verdict::Deny { retry_after } => (2, retry_after),
        Verdict::Never => (3, Span::ZERO),
    };
    let refused = match answer.refused_by {
        None => 0,
        Some(RefusedBy::FullTable) => 1,
        Some(RefusedBy::Unread) => 2,
        Some(RefusedBy::Policy { .. }) => 3,
        Some(RefusedBy::Ban { .. } | RefusedBy::Unmatched) => return None,
    };
    let receipt = match answer.receipt {
        Receipt::Nothing => 0,
        Receipt::One(_) => 1,
        Receipt::Several(_) => 2,
        Receipt::Once(_) => 3,
    };
    let (KeyTerms::None, None) = (&answer.terms, &answer.violated) else {
        return None;
    };
    let flags = u8::from(answer.shadowed) << 6 | u8::from(answer.contract.is_some()) << 7;
    out.u8(verdict | refused << 2 | receipt << 4 | flags);
    if let Some(RefusedBy::Policy { contract, policy }) = answer.refused_by {
        put_place(out, contract, policy)?;
    }
    put_place(out, answer.contract.unwrap_or(0), answer.policy)?;
    for number in [answer.limit, answer.remaining, answer.debt, answer.version] {
        out.count(number);
    }
    for span in [span, answer.reset_after] {
        let nanos = Some(span.as_nanos()).filter(|nanos| *nanos < SPAN_MAX)?;
        out.varint(nanos);
    }
    let bookings = answer.receipt.bookings();
    out.count(bookings.len() as u64);
    for booking in bookings {
        let Charge { at, cost, charged } = booking.receipt;
        let is_other = Some(booking.contract) != answer.contract;
        let has = u128::from(is_other) | u128::from(booking.terms != 0) << 1;
        out.varint(u128::from(booking.cells) << 2 | has);
        if is_other {
            out.count(booking.contract as u64);
        }
        if booking.terms != 0 {
            out.count(booking.terms);
        }
        out.key(ModeKey(
            u128::from(booking.print.0) << 64 | u128::from(at.as_nanos()),
        ));
        out.count(cost);
        out.count(charged);
    }
    Some(())
}

fn take(from: &mut Decoder<'_>, number: u64) -> Result<Answer, Malformed> {
    let head = from.u8()?;
    let refused_by = match head >> 2 & 3 {
        0 => None,
        1 => Some(RefusedBy::FullTable),
        2 => Some(RefusedBy::Unread),
        _ => {
            let (contract, policy) = take_place(from)?;
            Some(RefusedBy::Policy { contract, policy })
        }
    };
    let (contract, policy) = take_place(from)?;
    let contract = Some(contract).filter(|_| head & 1 << 7 != 0);
    let [limit, remaining] = [from.count()?, from.count()?];
    let [debt, version] = [from.count()?, from.count()?];
    let [span, reset_after] = [from.varint()?, from.varint()?].map(Span::from_nanos);
    let count = from.count()?;
    let bookings: Result<Vec<_>, _> = (0..count).map(|_| booking(from, contract)).collect();
    let bookings = bookings?;
    Ok(Answer {
        verdict: match head & 3 {
            0 => Verdict::Allow,
            1 => Verdict::Delay { wait: span },
            2 => Verdict::Deny { retry_after: span },
            _ => Verdict::Never,
        },
        refused_by,
        violated: None,
        contract,
        policy,
        limit,
        remaining,
        debt,
        reset_after,
        shadowed: head & 1 << 6 != 0,
        is_part: false,
        receipt: match (head >> 4 & 3, &*bookings) {
            (1, [booking]) => Receipt::One(*booking),
            (2, _) => Receipt::Several(bookings.into()),
            (3, _) => Receipt::Once(Box::new(OnceReceipt {
                number,
                bookings: bookings.into(),
            })),
            _ => Receipt::Nothing,
        },
        terms: KeyTerms::None,
        version,
    })
}

fn booking(from: &mut Decoder<'_>, contract: Option<usize>) -> Result<Booking, Malformed> {
    let head = from.varint()?;
    let contract = match head & 1 {
        0 => contract.ok_or(Malformed::Value)?,
        _ => place(from.count()?)?,
    };
    let terms = if head & 2 == 0 { 0 } else { from.count()? };
    let cells = u64::try_from(head >> 2).map_err(|_| Malformed::Value)?;
    let ModeKey(both) = from.key()?;
    let low = |both: u128| u64::try_from(both & u128::from(u64::MAX)).unwrap_or(0);
    Ok(Booking {
        contract,
        cells,
        print: Print(low(both >> 64)),
        terms,
        receipt: Charge {
            at: Instant::from_nanos(low(both)),
            cost: from.count()?,
            charged: from.count()?,
        },
    })
}

/// A contract and the place of a policy in it, as one number.
fn put_place(out: &mut Encoder, contract: usize, policy: usize) -> Option<()> {
    let policy = u128::try_from(policy)
        .ok()
        .filter(|policy| *policy < POLICIES)?;
    out.varint(u128::try_from(contract).ok()? * POLICIES + policy);
    Some(())
}

fn take_place(from: &mut Decoder<'_>) -> Result<(usize, usize), Malformed> {
    let both = from.varint()?;
    let number = |number: u128| usize::try_from(number).map_err(|_| Malformed::Value);
    Ok((number(both / POLICIES)?, number(both % POLICIES)?))
}

fn place(number: u64) -> Result<usize, Malformed> {
    usize::try_from(number).map_err(|_| Malformed::Value)
}

/// What an allocation takes: most allocators add a word or round up to sixteen bytes.
const fn allocated(bytes: usize) -> usize {
    (bytes + 8).next_multiple_of(16)
}

/// A contract has no more policies.
const POLICIES: u128 = tollgate_limit::POLICIES_MAX as u128;
/// About what bookings take that are kept as they are.
const BOOKINGS_BYTES: usize = 4 * size_of::<Booking>();
/// The longest span that bytes can say.
const SPAN_MAX: u128 = 1 << 125;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bookings() -> impl Strategy<Value = Vec<Booking>> {
        let numbers = prop::array::uniform7(prop_oneof![0..300_u64, any::<u64>()]);
        let booking =
            numbers.prop_map(
                |[contract, cells, print, terms, at, cost, charged]| Booking {
                    contract: usize::try_from(contract).unwrap_or(0),
                    cells,
                    print: Print(print),
                    terms,
                    receipt: Charge {
                        at: Instant::from_nanos(at),
                        cost,
                        charged,
                    },
                },
            );
        prop::collection::vec(booking, 0..4)
    }

    fn answers() -> impl Strategy<Value = Answer> {
        let span = || prop_oneof![0..3_u128, any::<u128>()].prop_map(Span::from_nanos);
        let verdict = prop_oneof![
            Just(Verdict::Allow),
            span().prop_map(|wait| Verdict::Delay { wait }),
            span().prop_map(|retry_after| Verdict::Deny { retry_after }),
            Just(Verdict::Never),
        ];
        let policy = |(contract, policy)| RefusedBy::Policy { contract, policy };
        let refused_by = prop_oneof![
            Just(None),
            Just(Some(RefusedBy::FullTable)),
            Just(Some(RefusedBy::Unread)),
            any::<(usize, usize)>().prop_map(move |at| Some(policy(at))),
        ];
        let receipt = (0..4, bookings()).prop_map(|(kind, bookings)| match (kind, &*bookings) {
            (0, [booking, ..]) => Receipt::One(*booking),
            (1, _) => Receipt::Several(bookings.into()),
            (2, _) => Receipt::Once(Box::new(OnceReceipt {
                number: 7,
                bookings: bookings.into(),
            })),
            _ => Receipt::Nothing,
        });
        let numbers = any::<(Option<usize>, usize, [u64; 4], bool)>();
        (verdict, refused_by, receipt, numbers, span()).prop_map(
            |(verdict, refused_by, receipt, numbers, reset_after)| {
                let (contract, policy, [limit, remaining, debt, version], shadowed) = numbers;
                Answer {
                    verdict,
                    refused_by,
                    violated: None,
                    contract,
                    policy,
                    limit,
                    remaining,
                    debt,
                    reset_after,
                    shadowed,
                    is_part: false,
                    receipt,
                    terms: KeyTerms::None,
                    version,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn an_entry_is_what_it_was(answer in answers(), kind in 0..3, settled in any::<Option<u64>>()) {
            let entry = match kind {
                0 => IdRecord::Done(None),
                1 => IdRecord::Done(Some(answer)),
                _ => IdRecord::Reservation { answer, settled },
            };
            prop_assert_eq!(StoredIdRecord::new(entry.clone()).entry(7), entry);
        }
    }
}
