//! Receipts as callers keep them: sealed, since a receipt says where a key lies in the table.
//!
//! The text is base64url without padding, of these bytes:
//!
//! ```text
//! version 2 | 6 bytes of this process | 6 bytes of number | sealed body | 16 bytes of tag
//! ```
//!
//! The cipher is AES-256-GCM, and the bytes of process and number are its nonce. No nonce comes twice under one key:
//! numbers only go up, and another process that has the same key, after a restart, has drawn other bytes of its own
//! (two of a thousand starts share them with probability 2^-29). Receipts of another process are told apart by them,
//! and refused: whether they were settled is known to nobody any more.
//!
//! Not here: which receipts were settled before (`tollgate_node`).

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use tollgate_kit::{Reader, base64, put_varint};
use tollgate_limit::Instant;
use tollgate_node::{Booking, Receipt};
use tollgate_table::Print;

/// Seals receipts and opens them again.
pub struct Seal {
    /// `None` where the system gave no randomness: then there are no receipts.
    inner: Option<Inner>,
    /// Numbers given so far.
    sealed: AtomicU64,
}

struct Inner {
    key: LessSafeKey,
    process: [u8; PROCESS_LEN],
}

/// A receipt that was sealed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// Receipts with one number are one receipt.
    pub number: u64,
    /// The number of the caller that it was handed to.
    pub caller: u64,
}

/// Why a receipt cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// It is none of ours, or it was changed.
    Broken,
    /// Its contract is no more, or it is too old.
    Gone,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "the receipt is none of this node's, or it was changed",
            Self::Gone => "the receipt is too old, or its contract is no more",
        })
    }
}

impl std::error::Error for SealError {}

impl Seal {
    /// Seals with this key.
    pub fn new(key: &[u8; 32]) -> Self {
        let mut process = [0; PROCESS_LEN];
        let drawn = getrandom::fill(&mut process).ok();
        let key = UnboundKey::new(&AES_256_GCM, key).ok();
        let inner = drawn.and(key).map(|key| Inner {
            key: LessSafeKey::new(key),
            process,
        });
        Self {
            inner,
            sealed: AtomicU64::new(0),
        }
    }

    /// The receipt as text, for a caller with this number; `None` where nothing was charged, or to more contracts than
    /// a receipt may have.
    pub fn seal(&self, receipt: &Receipt, caller: u64) -> Option<String> {
        let inner = self.inner.as_ref()?;
        let charged = receipt.bookings().iter();
        let charged = charged.filter(|booking| booking.receipt.charged != 0);
        let count = charged.clone().count();
        if count == 0 || count > BOOKINGS_MAX {
            return None;
        }
        let number = self.sealed.fetch_add(1, Relaxed);
        let mut bytes = Vec::with_capacity(HEAD_LEN + TAG_LEN + 20 + 40 * count);
        bytes.push(VERSION);
        bytes.extend(inner.process);
        bytes.extend(number.to_be_bytes().get(8 - NUMBER_LEN..)?);
        let nonce = nonce(bytes.get(1..HEAD_LEN)?).filter(|_| number >> (8 * NUMBER_LEN) == 0)?;
        put_varint(&mut bytes, receipt.number().unwrap_or(0));
        put_varint(&mut bytes, caller);
        charged.for_each(|booking| put_booking(&mut bytes, booking));
        let (head, body) = bytes.split_at_mut(HEAD_LEN);
        let version = Aad::from(head.get(..1)?);
        let tag = inner.key.seal_in_place_separate_tag(nonce, version, body);
        bytes.extend(tag.ok()?.as_ref());
        Some(base64::encode(&bytes))
    }

    /// The receipt that a text stands for.
    pub fn open(&self, text: &str) -> Result<OpenedReceipt, SealError> {
        self.read(text).unwrap_or(Err(SealError::Broken))
    }

    /// `None` is for whatever is broken.
    fn read(&self, text: &str) -> Option<Result<OpenedReceipt, SealError>> {
        let inner = self.inner.as_ref()?;
        let mut bytes = base64::decode(text, BYTES_MAX)?;
        let (head, body) = bytes.split_at_mut_checked(HEAD_LEN)?;
        let (version, unique) = head.split_first()?;
        let (process, number) = unique.split_at_checked(PROCESS_LEN)?;
        let aad = Aad::from([*version]);
        let body = inner.key.open_in_place(nonce(unique)?, aad, body).ok()?;
        if *version != VERSION {
            return None;
        }
        if process != inner.process {
            return Some(Err(SealError::Gone));
        }
        let own = number
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let mut body = Reader(body);
        let number = match body.number()? {
            0 => own,
            once => once,
        };
        let caller = body.number()?;
        let mut bookings = Vec::new();
        while !body.0.is_empty() {
            bookings.push(booking(&mut body)?);
        }
        let receipt = match *bookings {
            [booking] => Receipt::One(booking),
            _ => Receipt::Several(bookings.into()),
        };
        Some(Ok(OpenedReceipt {
            receipt,
            number,
            caller,
        }))
    }
}

fn nonce(bytes: &[u8]) -> Option<Nonce> {
    Nonce::try_assume_unique_for_key(bytes).ok()
}

fn put_booking(bytes: &mut Vec<u8>, booking: &Booking) {
    let Booking {
        contract,
        cells,
        print,
        terms,
        receipt,
    } = booking;
    // Few keys have terms of their own.
    put_varint(bytes, (*contract as u64) << 1 | u64::from(*terms != 0));
    if *terms != 0 {
        put_varint(bytes, *terms);
    }
    put_varint(bytes, *cells);
    bytes.extend(print.0.to_le_bytes());
    bytes.extend(receipt.at.as_nanos().to_le_bytes());
    put_varint(bytes, receipt.cost);
    put_varint(bytes, receipt.charged);
}

fn booking(reader: &mut Reader<'_>) -> Option<Booking> {
    let head = reader.number()?;
    let terms = if head & 1 == 0 { 0 } else { reader.number()? };
    Some(Booking {
        contract: usize::try_from(head >> 1).ok()?,
        terms,
        cells: reader.number()?,
        print: Print(reader.u64()?),
        receipt: tollgate_limit::Charge {
            at: Instant::from_nanos(reader.u64()?),
            cost: reader.number()?,
            charged: reader.number()?,
        },
    })
}

const VERSION: u8 = 2;
/// Bytes that a process draws.
const PROCESS_LEN: usize = 6;
/// Bytes of the number of a receipt.
const NUMBER_LEN: usize = NONCE_LEN - PROCESS_LEN;
const HEAD_LEN: usize = 1 + NONCE_LEN;
const TAG_LEN: usize = 16;
/// The most contracts that a receipt may be of.
const BOOKINGS_MAX: usize = 64;
/// More than the longest receipt has.
const BYTES_MAX: usize = 5 << 10;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn receipts() -> impl Strategy<Value = Receipt> {
        let one = (0..100_usize, any::<[u64; 4]>(), any::<u64>(), 1..u64::MAX);
        let booking =
            one.prop_map(
                |(contract, [cells, print, at, terms], cost, charged)| Booking {
                    contract,
                    terms: if cells % 2 == 0 { 0 } else { terms },
                    cells,
                    print: Print(print),
                    receipt: tollgate_limit::Charge {
                        at: Instant::from_nanos(at),
                        cost,
                        charged,
                    },
                },
            );
        prop::collection::vec(booking, 1..=BOOKINGS_MAX).prop_map(|bookings| match *bookings {
            [booking] => Receipt::One(booking),
            _ => Receipt::Several(bookings.into()),
        })
    }

    proptest! {
        #[test]
        fn opens_what_it_sealed(receipt in receipts(), caller in any::<u64>()) {
            let seal = Seal::new(&[7; 32]);
            for number in 0..3 {
                let text = seal.seal(&receipt, caller).expect("charged");
                let opened = OpenedReceipt { receipt: receipt.clone(), number, caller };
                prop_assert_eq!(seal.open(&text), Ok(opened));
            }
        }

        #[test]
        fn a_copy_of_an_answer_keeps_its_number(receipt in receipts(), number in 1..u64::MAX) {
            let seal = Seal::new(&[7; 32]);
            let once = receipt.clone().once(number);
            for _ in 0..2 {
                let opened = seal.open(&seal.seal(&once, 0).expect("charged")).expect("ours");
                prop_assert_eq!(opened.number, number);
                prop_assert_eq!(opened.receipt.bookings(), receipt.bookings());
            }
        }

        #[test]
        fn whatever_is_changed_is_broken(receipt in receipts(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let seal = Seal::new(&[7; 32]);
            let text = seal.seal(&receipt, 0).expect("charged");
            let mut bytes = text.clone().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = to;
            if let Ok(changed) = String::from_utf8(bytes)
                && changed != text
            {
                prop_assert_eq!(seal.open(&changed), Err(SealError::Broken));
            }
            prop_assert_eq!(seal.open(&text[1..]), Err(SealError::Broken));
            prop_assert_eq!(seal.open(&text[..text.len() - 1]), Err(SealError::Broken));
        }

        #[test]
        fn garbage_is_broken(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let seal = Seal::new(&[7; 32]);
            prop_assert_eq!(seal.open(&text), Err(SealError::Broken));
            prop_assert_eq!(seal.open(&base64::encode(&bytes)), Err(SealError::Broken));
        }
    }

    fn one() -> Receipt {
        Receipt::One(Booking {
            contract: 3,
            terms: 0,
            cells: 4,
            print: Print(u64::MAX / 3),
            receipt: tollgate_limit::Charge {
                at: Instant::from_nanos(1_700_000_000_000_000_000),
                cost: 1,
                charged: 1,
            },
        })
    }

    #[test]
    fn another_process_with_the_same_key_refuses_and_another_key_does_not_know() {
        let text = Seal::new(&[7; 32]).seal(&one(), 0).expect("charged");
        assert_eq!(Seal::new(&[7; 32]).open(&text), Err(SealError::Gone));
        assert_eq!(Seal::new(&[8; 32]).open(&text), Err(SealError::Broken));
        assert!(text.len() <= 68, "{}", text.len());
    }

    #[test]
    fn what_was_not_charged_needs_no_receipt() {
        let seal = Seal::new(&[7; 32]);
        assert_eq!(seal.seal(&Receipt::Nothing, 0), None);
        let Receipt::One(mut booking) = one() else {
            return;
        };
        booking.receipt.charged = 0;
        assert_eq!(seal.seal(&Receipt::One(booking), 0), None);
        booking.receipt.charged = 1;
        let many = Receipt::Several(vec![booking; BOOKINGS_MAX + 1].into());
        assert_eq!(seal.seal(&many, 0), None);
    }

    #[test]
    fn the_longest_receipt_fits() {
        let seal = Seal::new(&[7; 32]);
        let most = u64::MAX;
        let booking = Booking {
            contract: usize::MAX >> 1,
            terms: most,
            cells: most,
            print: Print(most),
            receipt: tollgate_limit::Charge {
                at: Instant::from_nanos(most),
                cost: most,
                charged: most,
            },
        };
        let receipt = Receipt::Several(vec![booking; BOOKINGS_MAX].into());
        let text = seal
            .seal(&receipt.clone().once(most), most)
            .expect("charged");
        assert_eq!(seal.open(&text).map(|opened| opened.receipt), Ok(receipt));
    }
}
