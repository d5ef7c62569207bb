//! What a node answers, and the receipt by which an answer can be settled.

use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_contract::{Contract, NamedPolicy, Terms};
use tollgate_limit::{Decision, Outcome, Plain, PlainDecision, Refusing, Span, Verdict};
use tollgate_table::Print;

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Answer {
    /// May it pass?
    pub verdict: Verdict,
    /// Who refused: the policy that does so longest, where several do.
    pub refused_by: Option<RefusedBy>,
    /// All policies that refused, in order, where several did.
    pub violated: Option<Box<[Violation]>>,
    /// The contract of the policy that the answer tells of: the one that refused, or that has the least left; `None`
    /// where no contract binds the request.
    pub contract: Option<usize>,
    /// Its place in that contract.
    pub policy: usize,
    /// Its limit.
    pub limit: u64,
    /// Whole tokens it has left.
    pub remaining: u64,
    /// Tokens that it is below zero.
    pub debt: u64,
    /// Until it is as if the key had never been seen.
    pub reset_after: Span,
    /// Whether a policy that is not enforced would have refused.
    pub shadowed: bool,
    /// Whether `remaining` is only the part that is lent to this process: the policy may have more left, and
    /// `reset_after` is not known.
    pub is_part: bool,
    /// What was charged.
    pub receipt: Receipt,
    /// Contracts that the key has terms of its own in: places of policies in them are those of the terms.
    pub terms: KeyTerms,
    /// Which of the nodes that follow on each other gave it: places of contracts and policies are those of its
    /// contracts.
    pub version: u64,
}

impl Answer {
    /// The same answer, given by the node of this version.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The short way is worth it only as one function.
    pub(crate) fn by(mut self, version: u64) -> Self {
        self.version = version;
        self
    }

    /// The answer to a request that no contract binds.
    pub const fn unbound() -> Self {
        Self {
            verdict: Verdict::Allow,
            refused_by: None,
            violated: None,
            contract: None,
            policy: 0,
            limit: 0,
            remaining: 0,
            debt: 0,
            reset_after: Span::ZERO,
            shadowed: false,
            is_part: false,
            terms: KeyTerms::None,
            receipt: Receipt::Nothing,
            version: 0,
        }
    }

    /// The answer to a key for which the table has no room.
    pub fn full() -> Self {
        Self {
            verdict: Verdict::Deny {
                retry_after: RETRY_WHEN_FULL,
            },
            refused_by: Some(RefusedBy::FullTable),
            ..Self::unbound()
        }
    }

    /// The answer to a key whose durable counts are on disk and could not be read, or cannot be kept.
    pub fn unread() -> Self {
        Self {
            refused_by: Some(RefusedBy::Unread),
            ..Self::full()
        }
    }

    /// The answer to a request that is refused because no contract binds it.
    pub fn unmatched() -> Self {
        Self {
            verdict: Verdict::Never,
            refused_by: Some(RefusedBy::Unmatched),
            ..Self::unbound()
        }
    }

    /// The answer to a request that is denied before anything is counted, in the name of the one policy of these terms:
    /// for ever where there is no end.
    pub fn barred(contract: usize, terms: &Arc<Terms>, end: Option<Span>) -> Self {
        Self {
            verdict: match end {
                Some(retry_after) => Verdict::Deny { retry_after },
                None => Verdict::Never,
            },
            refused_by: Some(RefusedBy::Ban { contract }),
            contract: Some(contract),
            reset_after: end.unwrap_or(Span::ZERO),
            terms: KeyTerms::of([(contract, Arc::clone(terms))]),
            ..Self::unbound()
        }
    }

    /// The answer to a request that was decided the short way.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Callers then pay for the parts of it that they look at.
    pub(crate) fn taken(place: KeyLocation, plain: &Plain, taken: PlainDecision) -> Self {
        let decision = plain.decision(taken);
        Self::decided(place, &decision, place.booking(plain.receipt(taken)))
    }

    /// The answer of one contract, without what several policies may add.
    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn decided(place: KeyLocation, decision: &Decision, booking: Booking) -> Self {
        let contract = place.contract;
        Self {
            verdict: decision.verdict,
            refused_by: decision
                .refused_by
                .map(|policy| RefusedBy::Policy { contract, policy }),
            violated: None,
            contract: Some(contract),
            policy: decision.policy,
            limit: decision.limit,
            remaining: decision.remaining,
            debt: decision.debt,
            reset_after: decision.reset_after,
            shadowed: false,
            is_part: false,
            terms: KeyTerms::None,
            receipt: Receipt::One(booking),
            version: 0,
        }
    }

    /// The answer of the one contract that binds a request.
    #[inline(never)]
    pub(crate) fn of(place: KeyLocation, outcome: &Outcome) -> Self {
        let contract = place.contract;
        let each = outcome.refusing.iter();
        Self {
            violated: Violation::several(each.map(|said| Violation {
                contract,
                said: *said,
            })),
            shadowed: outcome.shadowed != 0,
            ..Self::decided(place, &outcome.decision, place.booking(outcome.receipt))
        }
    }

    /// The same answer by terms of the key's own in the one contract that binds it.
    pub(crate) fn under(mut self, terms: Option<Arc<Terms>>) -> Self {
        let (Some(contract), Some(terms)) = (self.contract, terms) else {
            return self;
        };
        for booking in self.receipt.bookings_mut() {
            booking.terms = terms.version;
        }
        self.terms = KeyTerms::of([(contract, terms)]);
        self
    }

    /// The same answer, where the key has terms of its own in these contracts.
    pub fn under_all(self, terms: SmallVec<[OwnTerms; 1]>) -> Self {
        Self {
            terms: KeyTerms::of(terms),
            ..self
        }
    }

    /// The policies of a contract at a place, as they are for the key of this answer.
    pub fn policies_of<'a>(&'a self, place: usize, contract: &'a Contract) -> &'a [NamedPolicy] {
        let own = self
            .terms
            .each()
            .iter()
            .find(|(contract, _)| *contract == place);
        own.map_or(&contract.policies, |(_, terms)| &terms.policies)
    }

    /// All policies that refused, in order.
    pub fn violations(&self) -> SmallVec<[Violation; 1]> {
        if let Some(violated) = &self.violated {
            return SmallVec::from_slice(violated);
        }
        let mut one = SmallVec::new();
        if let Some(RefusedBy::Policy { contract, policy }) = self.refused_by {
            let said = Refusing {
                policy,
                remaining: self.remaining,
                debt: self.debt,
                retry_after: self.verdict.retry_after(),
            };
            one.push(Violation { contract, said });
        }
        one
    }

    /// Whether no contract binds the request.
    pub const fn is_unmatched(&self) -> bool {
        matches!(self.refused_by, None | Some(RefusedBy::Unmatched)) && self.contract.is_none()
    }

    /// Whether no wait will help, whatever it costs: it is banned without an end, or no contract binds it.
    pub fn is_forbidden(&self) -> bool {
        let by = self.refused_by;
        self.verdict == Verdict::Never
            && matches!(by, Some(RefusedBy::Ban { .. } | RefusedBy::Unmatched))
    }

    /// Whether the request passes, at once or after a wait.
    pub const fn is_allowed(&self) -> bool {
        self.verdict.is_allowed()
    }
}

/// The place of a contract, and the terms of a key's own in it.
pub type OwnTerms = (usize, Arc<Terms>);

/// Terms of a key's own, in some of the contracts that bind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyTerms {
    /// In none.
    #[default]
    None,
    /// In some.
    Own(OwnTermsList),
}

/// Terms of a key's own, in one contract or more.
///
/// They are dropped apart from the answer: that then needs no place in memory for it, and an answer to a key without
/// such terms stays in registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTermsList(Option<Box<[OwnTerms]>>);

impl Drop for OwnTermsList {
    #[inline]
    fn drop(&mut self) {
        if let Some(each) = self.0.take() {
            discard(each);
        }
    }
}

#[cold]
#[inline(never)]
fn discard(each: Box<[OwnTerms]>) {
    drop(each);
}

impl KeyTerms {
    pub(crate) fn of(each: impl IntoIterator<Item = OwnTerms>) -> Self {
        let each: Box<[_]> = each.into_iter().collect();
        if each.is_empty() {
            return Self::None;
        }
        Self::Own(OwnTermsList(Some(each)))
    }

    /// All of them, in no order.
    pub fn each(&self) -> &[OwnTerms] {
        match self {
            Self::None => &[],
            Self::Own(OwnTermsList(each)) => each.as_deref().unwrap_or_default(),
        }
    }
}

/// A contract, and a key's print in it.
#[derive(Clone, Copy)]
pub(crate) struct KeyLocation {
    pub(crate) contract: usize,
    pub(crate) cells: u64,
    pub(crate) print: Print,
}

impl KeyLocation {
    /// What was charged there by the contract's own terms.
    pub(crate) const fn booking(self, receipt: tollgate_limit::Charge) -> Booking {
        Booking {
            contract: self.contract,
            cells: self.cells,
            print: self.print,
            terms: 0,
            receipt,
        }
    }
}

/// Who refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedBy {
    /// A policy: the place of its contract, and its place in it.
    Policy {
        /// Place of the contract.
        contract: usize,
        /// Place of the policy in the contract.
        policy: usize,
    },
    /// No policy: the table is full and told to refuse keys it does not know.
    FullTable,
    /// No policy: the durable counts of the key are on disk and could not be read, or there is no room to keep them.
    Unread,
    /// A ban: whatever is left. Terms of the answer have a policy that is called so, in this contract.
    Ban {
        /// Place of the contract.
        contract: usize,
    },
    /// Nobody: no contract binds the key, and such keys are told to be refused.
    Unmatched,
}

/// A policy that refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Place of the contract.
    pub contract: usize,
    /// The policy by its place in the contract, and how it stands.
    pub said: Refusing,
}

impl Violation {
    /// All of them; `None` where they are not several.
    pub fn several(each: impl IntoIterator<Item = Self>) -> Option<Box<[Self]>> {
        let each: SmallVec<[_; 1]> = each.into_iter().collect();
        (each.len() > 1).then(|| each.into_vec().into())
    }
}

/// What was charged, and to which cells. Settling it is valid once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Receipt {
    /// No cell.
    #[default]
    Nothing,
    /// One cell.
    One(Booking),
    /// One cell in each of several contracts.
    Several(Box<[Booking]>),
    /// What an operation with an id charged, which may be answered again: all copies are one receipt. Behind one
    /// address, as several bookings are, so that an answer that has neither is dropped by one comparison.
    Once(Box<OnceReceipt>),
}

/// What an operation with an id charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnceReceipt {
    /// Receipts with one number are one receipt.
    pub number: u64,
    /// The bookings, in the order of the contracts.
    pub bookings: Box<[Booking]>,
}

impl Receipt {
    /// The bookings, in the order of the contracts.
    pub fn bookings(&self) -> &[Booking] {
        match self {
            Self::Nothing => &[],
            Self::One(booking) => core::slice::from_ref(booking),
            Self::Several(bookings) => bookings,
            Self::Once(once) => &once.bookings,
        }
    }

    /// The bookings, to be changed.
    pub fn bookings_mut(&mut self) -> &mut [Booking] {
        match self {
            Self::Nothing => &mut [],
            Self::One(booking) => core::slice::from_mut(booking),
            Self::Several(bookings) => bookings,
            Self::Once(once) => &mut once.bookings,
        }
    }

    /// The same receipt under a number: receipts with one number are one receipt.
    #[must_use]
    pub fn once(self, number: u64) -> Self {
        let bookings: Box<[_]> = self.bookings().into();
        match *bookings {
            [] => Self::Nothing,
            _ => Self::Once(Box::new(OnceReceipt { number, bookings })),
        }
    }

    /// The number by which copies of the receipt are told to be one.
    pub const fn number(&self) -> Option<u64> {
        match self {
            Self::Once(once) => Some(once.number),
            Self::Nothing | Self::One(_) | Self::Several(_) => None,
        }
    }
}

/// What was charged to one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booking {
    /// Place of the contract, when it was charged.
    pub contract: usize,
    /// Number of the contract's cells. It stays the same while contracts come and go, until the process ends.
    pub cells: u64,
    /// The print of the key in it.
    pub print: Print,
    /// Version of the terms that were charged, where the key has its own; else zero.
    pub terms: u64,
    /// What its policies took.
    pub receipt: tollgate_limit::Charge,
}

/// What a key hears that finds no room: nobody knows when there will be some.
const RETRY_WHEN_FULL: Span = Span::from_nanos(1_000_000_000);
