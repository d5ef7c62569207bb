//! Requests that wait for several leases at a time, and what they were told.
//!
//! Each lease decides for itself. A request of which one refused gives back what others took from leases; what a
//! grantor had served for it is lost, which happens only where answers of several policies come apart. Not here:
//! leases.

use super::{
    BTreeMap, Decided, DecidedBy, Instant, JoinAnswer, LeaseReceipt, Lessee, LesseeAnswer, Outlook,
    Span, VecDeque,
};
use crate::lessee::OnFailure;

/// What a request took, of each policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinReceipt {
    /// Of the only one.
    One(LeaseReceipt),
    /// Of each, in their order.
    Each(Vec<LeaseReceipt>),
}

impl JoinReceipt {
    pub(super) fn each(&self) -> &[LeaseReceipt] {
        match self {
            Self::One(receipt) => std::slice::from_ref(receipt),
            Self::Each(receipts) => receipts,
        }
    }
}

/// The answer to a request that waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The request.
    pub number: u64,
    /// Its cost.
    pub cost: u64,
    /// Where it was decided; `None` where it must be asked for elsewhere.
    pub by: Option<DecidedBy>,
    /// Whether it passes.
    pub is_allowed: bool,
    /// For what was refused: how long to wait.
    pub retry_after: Span,
    /// For what passes: after which time, and not before.
    pub wait: Span,
    /// What it took from leases, where it did.
    pub receipt: Option<JoinReceipt>,
}

impl Joined {
    /// That a request does not pass.
    const fn refused(number: u64, cost: u64, by: Option<DecidedBy>) -> Self {
        Self {
            number,
            cost,
            by,
            is_allowed: false,
            retry_after: Span::ZERO,
            wait: Span::ZERO,
            receipt: None,
        }
    }
}

/// Requests that wait.
#[derive(Debug, Default)]
pub(super) struct JoinQueue {
    next: u64,
    /// Waiting for terms: number and cost.
    unknown: VecDeque<(u64, u64)>,
    waiting: BTreeMap<u64, Waiting>,
    /// The request that a lease knows by a number of its own.
    names: BTreeMap<(usize, u64), u64>,
    joined: VecDeque<Joined>,
}

#[derive(Debug)]
struct Waiting {
    cost: u64,
    decided: Vec<Option<Decided>>,
}

impl JoinQueue {
    pub(super) fn len(&self) -> usize {
        self.unknown.len() + self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0 && self.joined.is_empty()
    }

    pub(super) fn poll(&mut self) -> Option<Joined> {
        self.joined.pop_front()
    }

    const fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A request that waits for terms.
    pub(super) fn unknown(&mut self, cost: u64) -> u64 {
        let number = self.number();
        self.unknown.push_back((number, cost));
        number
    }

    /// A request that waits for the one lease there is.
    fn one(&mut self, cost: u64, of_lessee: u64) -> u64 {
        let number = self.number();
        self.wait(number, cost, vec![(0, of_lessee)], 1);
        number
    }

    /// What the one lease there is says of a request.
    #[inline]
    pub(super) fn said(&mut self, answer: LesseeAnswer, cost: u64) -> JoinAnswer {
        match answer {
            LesseeAnswer::Allow(receipt) => JoinAnswer::Allow(JoinReceipt::One(receipt)),
            LesseeAnswer::Delay { receipt, wait } => JoinAnswer::Delay {
                receipt: JoinReceipt::One(receipt),
                wait,
            },
            LesseeAnswer::Deny { retry_after } => JoinAnswer::Deny { retry_after },
            LesseeAnswer::Failed { is_allowed } => JoinAnswer::Failed { is_allowed },
            LesseeAnswer::Wait(number) => JoinAnswer::Wait(self.one(cost, number)),
        }
    }

    fn wait(&mut self, number: u64, cost: u64, names: Vec<(usize, u64)>, count: usize) {
        for name in names {
            self.names.insert(name, number);
        }
        let decided = vec![None; count];
        self.waiting.insert(number, Waiting { cost, decided });
    }

    /// Decides a request by several leases, or puts it in the line of all of them.
    pub(super) fn several(
        &mut self,
        each: &mut [(u64, Lessee)],
        cost: u64,
        now: Instant,
    ) -> JoinAnswer {
        let outlooks: Vec<Outlook> = each
            .iter_mut()
            .map(|(_, lessee)| lessee.outlook(cost, now))
            .collect();
        let longest = outlooks.iter().filter_map(|outlook| match outlook {
            Outlook::Denied { retry_after } => Some(*retry_after),
            Outlook::Ready | Outlook::Dry | Outlook::Away => None,
        });
        if let Some(retry_after) = longest.max() {
            for (_, lessee) in each {
                lessee.want(cost, now);
            }
            return JoinAnswer::Deny { retry_after };
        }
        if outlooks.contains(&Outlook::Away) {
            let mut is_allowed = true;
            for ((_, lessee), outlook) in each.iter_mut().zip(&outlooks) {
                if *outlook == Outlook::Away
                    && let LesseeAnswer::Failed { is_allowed: one } = lessee.check(cost, now)
                {
                    is_allowed &= one;
                }
            }
            return JoinAnswer::Failed { is_allowed };
        }
        if outlooks.iter().all(|outlook| *outlook == Outlook::Ready) {
            let receipts = each.iter_mut().filter_map(|(_, lessee)| {
                let LesseeAnswer::Allow(receipt) = lessee.check(cost, now) else {
                    return None;
                };
                Some(receipt)
            });
            return JoinAnswer::Allow(JoinReceipt::Each(receipts.collect()));
        }
        let number = self.number();
        self.stand(number, cost, each, now);
        JoinAnswer::Wait(number)
    }

    /// Puts a request in the line of every lease.
    fn stand(&mut self, number: u64, cost: u64, each: &mut [(u64, Lessee)], now: Instant) {
        let count = each.len();
        let mut names = Vec::with_capacity(count);
        let mut refused = false;
        for (place, (_, lessee)) in each.iter_mut().enumerate() {
            match lessee.queue(cost, now) {
                LesseeAnswer::Wait(of_lessee) => names.push((place, of_lessee)),
                _ => refused = true,
            }
        }
        self.wait(number, cost, names, count);
        if refused {
            self.refuse(number, DecidedBy::Nobody, Span::ZERO);
        }
    }

    /// Terms are there: those who waited for them stand in the lines of leases.
    pub(super) fn begin(&mut self, each: &mut [(u64, Lessee)], now: Instant) {
        // Leases are others than before: whoever stood in line does so again.
        self.names.clear();
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let mut all: Vec<(u64, u64)> = waiting.map(|(number, one)| (number, one.cost)).collect();
        all.extend(self.unknown.drain(..));
        for (number, cost) in all {
            self.stand(number, cost, each, now);
        }
    }

    /// The key is not lent: those who wait must be asked for.
    pub(super) fn leave_to_others(&mut self) {
        self.names.clear();
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let waiting = waiting.map(|(number, one)| (number, one.cost));
        for (number, cost) in waiting.chain(self.unknown.drain(..)) {
            self.joined.push_back(Joined::refused(number, cost, None));
        }
    }

    /// Nobody told terms in time.
    pub(super) fn fail_unknown(&mut self, on_failure: OnFailure) {
        for (number, cost) in self.unknown.drain(..) {
            self.joined.push_back(Joined {
                is_allowed: matches!(on_failure, OnFailure::Allow),
                ..Joined::refused(number, cost, Some(DecidedBy::Nobody))
            });
        }
    }

    fn refuse(&mut self, number: u64, by: DecidedBy, retry_after: Span) {
        if let Some(one) = self.waiting.remove(&number) {
            self.joined.push_back(Joined {
                retry_after,
                ..Joined::refused(number, one.cost, Some(by))
            });
        }
    }

    /// Takes what leases have decided.
    pub(super) fn hear(&mut self, each: &mut [(u64, Lessee)], now: Instant) {
        for place in 0..each.len() {
            while let Some(decided) = each.get_mut(place).and_then(|(_, of)| of.poll_decided()) {
                let Some(number) = self.names.remove(&(place, decided.number)) else {
                    give_back(each, place, &decided, now);
                    continue;
                };
                let Some(waiting) = self.waiting.get_mut(&number) else {
                    give_back(each, place, &decided, now);
                    continue;
                };
                if let Some(slot) = waiting.decided.get_mut(place) {
                    *slot = Some(decided);
                }
                self.join(number, each, now);
            }
        }
    }

    /// Decides a request that all leases have decided, or that one has refused.
    fn join(&mut self, number: u64, each: &mut [(u64, Lessee)], now: Instant) {
        let Some(waiting) = self.waiting.get(&number) else {
            return;
        };
        let known: Vec<Decided> = waiting.decided.iter().flatten().copied().collect();
        let is_refused = known.iter().any(|decided| !decided.is_allowed);
        if !is_refused && known.len() < waiting.decided.len() {
            return;
        }
        let Some(waiting) = self.waiting.remove(&number) else {
            return;
        };
        if is_refused {
            for (place, decided) in waiting.decided.iter().enumerate() {
                if let Some(decided) = decided.filter(|decided| decided.is_allowed) {
                    give_back(each, place, &decided, now);
                }
            }
        }
        let worst = known
            .iter()
            .max_by_key(|decided| (!decided.is_allowed, decided.retry_after));
        let receipts: Option<Vec<LeaseReceipt>> =
            known.iter().map(|decided| decided.receipt).collect();
        let longest = known.iter().map(|decided| decided.wait).max();
        self.joined.push_back(Joined {
            is_allowed: !is_refused,
            retry_after: worst.map_or(Span::ZERO, |decided| decided.retry_after),
            wait: longest.filter(|_| !is_refused).unwrap_or_default(),
            receipt: receipts.filter(|_| !is_refused).map(JoinReceipt::Each),
            ..Joined::refused(number, waiting.cost, worst.map(|decided| decided.by))
        });
    }
}

/// Gives back what a request took from a lease that does not pass after all.
fn give_back(each: &mut [(u64, Lessee)], place: usize, decided: &Decided, now: Instant) {
    if let (Some((_, lessee)), Some(receipt)) = (each.get_mut(place), decided.receipt) {
        lessee.settle(receipt, 0, now);
    }
}
