//! What is between the nodes: how long a frame takes, and whether it arrives at all.
//!
//! Not here: the frames themselves.

use tollgate_limit::Span;

use crate::dice::{Dice, Purpose};
use crate::world::fault::Fault;

/// All links of a cluster; they are alike except for cuts.
#[derive(Debug)]
pub(crate) struct Links {
    base: u64,
    jitter: u64,
    loss: u32,
    copies: u32,
    cuts: Vec<Cut>,
    loss_dice: Dice,
    copy_dice: Dice,
    delay_dice: Dice,
}

/// Senders that do not reach receivers from one time to another.
#[derive(Debug)]
struct Cut {
    from: Vec<u16>,
    to: Vec<u16>,
    begins: u64,
    ends: u64,
}

impl Links {
    /// The links that `faults` describe. Delays and odds of several add up; times count from `start`.
    pub(crate) fn new(faults: &[Fault], seed: u64, start: u64) -> Self {
        let mut links = Self {
            base: 0,
            jitter: 0,
            loss: 0,
            copies: 0,
            cuts: Vec::new(),
            loss_dice: Dice::new(seed, Purpose::Loss),
            copy_dice: Dice::new(seed, Purpose::Copies),
            delay_dice: Dice::new(seed, Purpose::Delays),
        };
        for fault in faults {
            links.suffer(fault, start);
        }
        links
    }

    fn suffer(&mut self, fault: &Fault, start: u64) {
        match fault {
            Fault::Delay { base, jitter } => {
                self.base = self.base.saturating_add(nanos(*base));
                self.jitter = self.jitter.saturating_add(nanos(*jitter));
            }
            Fault::Loss(odds) => self.loss = self.loss.saturating_add(*odds),
            Fault::Duplication(odds) => self.copies = self.copies.saturating_add(*odds),
            Fault::Cut {
                from,
                to,
                at,
                lasting,
            } => {
                let begins = start.saturating_add(nanos(*at));
                self.cuts.push(Cut {
                    from: from.clone(),
                    to: to.clone(),
                    begins,
                    ends: begins.saturating_add(nanos(*lasting)),
                });
            }
            Fault::Skew(_)
            | Fault::Jump { .. }
            | Fault::Crash { .. }
            | Fault::Join { .. }
            | Fault::Leave { .. } => {}
        }
    }

    /// The least that a frame takes.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The most that a frame takes.
    pub(crate) fn most(&self) -> u64 {
        self.base.saturating_add(self.jitter)
    }

    /// Whether a frame sent now is lost.
    pub(crate) fn loses(&mut self, from: u16, to: u16, now: u64) -> bool {
        let is_cut = self.cuts.iter().any(|cut| {
            cut.begins <= now && now < cut.ends && cut.from.contains(&from) && cut.to.contains(&to)
        });
        is_cut || self.loss_dice.millionth(self.loss)
    }

    /// Whether the network makes a copy of a frame.
    pub(crate) fn copies(&mut self) -> bool {
        self.copy_dice.millionth(self.copies)
    }

    /// How long the next frame takes.
    pub(crate) fn delay(&mut self) -> u64 {
        if self.jitter == 0 {
            return self.base;
        }
        let extra = self.delay_dice.below(self.jitter.saturating_add(1));
        self.base.saturating_add(extra)
    }
}

/// A span in nanoseconds, as long as a virtual clock can show.
pub(crate) fn nanos(span: Span) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
