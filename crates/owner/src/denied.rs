//! Denials of owners, given again until the same request could pass.
//!
//! A denied request takes nothing, so a request that costs as much or more is denied as well, whatever others do
//! meanwhile, unless tokens are given back. So a denial is kept for a bounded time, and forgotten where this node gives
//! tokens back or forgets the key. Denials that cost something are not kept, as the owner must count them. One place
//! for each of a fixed number of keys: a newer denial takes the place of an older one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_limit::{Cost, Instant, Span, Verdict};
use tollgate_node::{Answer, Spot};

use crate::asking::At;
use crate::question::{Question, Verb};

/// Denials that are given again.
pub(crate) struct Denied {
    slots: Box<[Mutex<Option<Denial>>]>,
    /// The print of each, or zero: nearly all questions are of keys that were not denied, and need not look further.
    marks: Box<[AtomicU64]>,
    /// Denials of before count no more.
    era: AtomicU64,
}

struct Denial {
    tag: u64,
    print: u64,
    /// What was known of the key's terms, and the version of those that denied.
    terms: (u64, Instant, u64),
    cost: u64,
    era: u64,
    at: Instant,
    until: Instant,
    answer: Answer,
}

impl Denied {
    pub(crate) fn new() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| Mutex::new(None)).collect(),
            marks: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            era: AtomicU64::new(0),
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.era.fetch_add(1, Relaxed);
    }

    fn slot(&self, spot: &Spot) -> Option<(&Mutex<Option<Denial>>, &AtomicU64)> {
        let place = usize::try_from(spot.print.0 % SLOTS as u64).ok()?;
        self.slots.get(place).zip(self.marks.get(place))
    }

    /// The slot of a spot that it may be in.
    fn marked(&self, spot: &Spot) -> Option<&Mutex<Option<Denial>>> {
        let (held, mark) = self.slot(spot)?;
        (mark.load(Relaxed) == mark_of(spot)).then_some(held)
    }

    /// The denial of a question, where it is known, by terms that the key is known to have had all the while.
    pub(crate) fn get(&self, at: &At<'_>, question: &Question) -> Option<Answer> {
        let At { map, now, .. } = *at;
        let ([spot], Verb::Check) = (&*question.spots, &question.verb) else {
            return None;
        };
        let marked = self.marked(spot)?;
        let terms = at.node.terms_mark(spot, now);
        let held = marked.lock();
        let denial = held.as_ref().filter(|denial| {
            (denial.tag, denial.print) == (map.tag(spot.contract), spot.print.0)
                && (denial.era, denial.terms) == (self.era.load(Relaxed), terms)
                && denial.cost <= question.cost.tokens()
                && denial.until > now
                // One of a time to come is of before the clock was set back.
                && denial.at <= now.saturating_add(KEPT_MAX)
        })?;
        let answer = denial.answer.clone();
        let gone = u128::from(now.nanos_since(denial.at));
        let less = |span: Span| Span::from_nanos(span.as_nanos().saturating_sub(gone));
        let verdict = match answer.verdict {
            Verdict::Deny { retry_after } => Verdict::Deny {
                retry_after: less(retry_after),
            },
            other => other,
        };
        let mut violated = answer.violated;
        for violation in violated.iter_mut().flatten() {
            let said = &mut violation.said;
            said.retry_after = said.retry_after.map(less);
        }
        Some(Answer {
            verdict,
            violated,
            reset_after: less(answer.reset_after),
            ..answer
        })
    }

    /// Takes note of what an owner said. Whatever it said by other terms than a denial ends that one: it may know
    /// sooner than this node.
    pub(crate) fn note(&self, at: &At<'_>, question: &Question, answer: &Answer) {
        let At { map, now, .. } = *at;
        let [spot] = &*question.spots else {
            return;
        };
        let bookings = answer.receipt.bookings();
        let version = bookings.first().map_or(0, |booking| booking.terms);
        self.end_other_terms(spot, version);
        let Verdict::Deny { retry_after } = answer.verdict else {
            return;
        };
        let is_free = bookings.iter().all(|booking| booking.receipt.charged == 0);
        if !is_free || question.cost == Cost::PEEK || answer.refused_by.is_none() {
            return;
        }
        let kept = retry_after.min(KEPT_MAX);
        let (revision, until, _) = at.node.terms_mark(spot, now);
        let denial = Denial {
            tag: map.tag(spot.contract),
            print: spot.print.0,
            terms: (revision, until, version),
            cost: question.cost.tokens(),
            era: self.era.load(Relaxed),
            at: now,
            until: now.saturating_add(kept),
            answer: answer.clone(),
        };
        if let Some((held, mark)) = self.slot(spot) {
            let mut held = held.lock();
            *held = Some(denial);
            mark.store(mark_of(spot), Relaxed);
        }
    }

    fn end_other_terms(&self, spot: &Spot, version: u64) {
        if let Some(held) = self.marked(spot) {
            let is_other =
                |denial: &mut Denial| denial.print == spot.print.0 && denial.terms.2 != version;
            held.lock().take_if(is_other);
        }
    }

    /// Forgets what is known of some spots.
    pub(crate) fn forget(&self, spots: &[Spot]) {
        for (held, mark) in spots.iter().filter_map(|spot| self.slot(spot)) {
            let mut held = held.lock();
            *held = None;
            mark.store(0, Relaxed);
        }
    }
}

/// What is marked for a key: not zero.
fn mark_of(spot: &Spot) -> u64 {
    spot.print.0.max(1)
}

/// Keys whose denials are kept.
const SLOTS: usize = 1 << 13;
/// How long a denial is kept at most: tokens may be given back at other nodes.
const KEPT_MAX: Span = Span::from_nanos(10_000_000_000);
