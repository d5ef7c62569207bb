//! One key at one node: its bucket as it is at the centre, or as it is believed to be elsewhere.
//!
//! Not here: which node is the centre, when it is told, and keys.

use tollgate_gossip::{ModeKey, NodeId, Writer};
use tollgate_limit::Instant;
use tollgate_mode::Weigh;

use super::bucket::FullAt;
use super::config::{Overdraft, SyncConfig};
use super::wire::{CentreLevel, SyncReport, TokenSum};
use crate::amount::{Limits, mites, tokens};

/// One key, in 48 bytes while no other node spoke of it and nothing was given back.
#[derive(Clone, Debug)]
pub(super) struct SyncEntry {
    full_at: Instant,
    /// So much later.
    part: u32,
    pub(super) centre: NodeId,
    /// Which lists of keys to tell it is on.
    pub(super) marks: Marks,
    /// Later than that of the entry of this key before: about when this one was made.
    session: u64,
    spent: u64,
    /// Of that, what no centre has confirmed.
    untold: u64,
    more: Option<Box<More>>,
}

/// Lists that a key is on.
pub(super) type Marks = u8;
/// The centre has not confirmed everything: it is told at the next interval,
pub(super) const DUE: Marks = 1;
/// or that little can wait.
pub(super) const WAITS: Marks = 2;
/// The key is on the list of those that are told,
pub(super) const IS_LISTED: Marks = 4;
/// and on the list of those that wait.
pub(super) const IS_QUEUED: Marks = 8;

/// What is kept of a key that was given back, or that other nodes told this centre of.
#[derive(Clone, Debug)]
struct More {
    back: u64,
    untold_back: u64,
    /// Where this node is the centre, since when.
    since: Instant,
    /// Where this node is the centre, when it last heard of the key.
    touched: Instant,
    by_writer: Vec<Heard>,
    /// All that was spent as this centre knows.
    spent: u64,
}

/// What a centre knows of one boot of a node.
#[derive(Clone, Copy, Debug)]
struct Heard {
    writer: Writer,
    session: u64,
    sum: TokenSum,
    at: Instant,
}

/// Spending that a centre had no tokens for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Over {
    /// Mites below zero.
    pub(super) debt: i128,
    /// Mites of this spending among them.
    pub(super) more: i128,
}

impl Weigh for SyncEntry {
    fn heap_bytes(&self) -> u64 {
        let more = self.more.as_ref();
        let more =
            more.map(|more| size_of::<More>() + more.by_writer.capacity() * size_of::<Heard>());
        more.map_or(0, |bytes| bytes as u64)
    }
}

impl SyncEntry {
    /// A key that was never seen.
    pub(super) const fn new(centre: NodeId, session: u64, now: Instant) -> Self {
        Self {
            full_at: now,
            part: 0,
            centre,
            marks: 0,
            session,
            spent: 0,
            untold: 0,
            more: None,
        }
    }

    pub(super) fn level(&self, limits: &Limits, now: Instant) -> i128 {
        self.filled().level(limits, now)
    }

    const fn filled(&self) -> FullAt {
        FullAt {
            at: self.full_at,
            part: self.part,
        }
    }

    pub(super) fn set_level(&mut self, limits: &Limits, level: i128, now: Instant) {
        let FullAt { at, part } = FullAt::of(limits, level, now);
        (self.full_at, self.part) = (at, part);
    }

    /// Takes tokens here.
    pub(super) fn spend(&mut self, limits: &Limits, cost: u64, is_centre: bool, now: Instant) {
        let level = self.level(limits, now).saturating_sub(mites(cost));
        self.set_level(limits, level, now);
        self.spent = self.spent.saturating_add(cost);
        if !is_centre {
            self.untold = self.untold.saturating_add(cost);
        } else if let Some(more) = &mut self.more {
            more.spent = more.spent.saturating_add(cost);
        }
    }

    /// Gives tokens back here.
    pub(super) fn give_back(&mut self, limits: &Limits, cost: u64, is_centre: bool, now: Instant) {
        let level = self.level(limits, now).saturating_add(mites(cost));
        self.set_level(limits, level, now);
        let more = self.more();
        more.back = more.back.saturating_add(cost);
        if !is_centre {
            more.untold_back = more.untold_back.saturating_add(cost);
        }
    }

    /// What does not fit into a small entry. Until there was any, the centre was where it is since the entry was made,
    /// and knows of this node alone.
    fn more(&mut self) -> &mut More {
        let made = Instant::from_nanos(self.session);
        let spent = self.spent.saturating_sub(self.untold);
        self.more.get_or_insert_with(|| {
            Box::new(More {
                back: 0,
                untold_back: 0,
                since: made,
                touched: made,
                by_writer: Vec::new(),
                spent,
            })
        })
    }

    /// Another node is the centre from here on, perhaps this one, which then goes on from what it believes.
    pub(super) fn set_centre(&mut self, centre: NodeId, is_centre: bool, now: Instant) {
        self.centre = centre;
        let untold = self.untold;
        if !is_centre && self.more.is_none() {
            return;
        }
        let more = self.more();
        more.since = now;
        more.touched = now;
        more.by_writer.clear();
        more.spent = 0;
        if is_centre {
            // A centre has heard what it says itself.
            more.spent = untold;
            more.untold_back = 0;
            self.untold = 0;
        }
    }

    /// Goes to another time, as the clock was set.
    pub(super) fn move_time(&mut self, is_centre: bool, from: Instant, to: Instant) {
        let FullAt { at, part } = self.filled().moved(from, to);
        (self.full_at, self.part) = (at, part);
        if is_centre || self.more.is_some() {
            let more = self.more();
            let heard = more.by_writer.iter_mut().map(|heard| &mut heard.at);
            for at in heard.chain([&mut more.since, &mut more.touched]) {
                *at = moved(*at, from, to);
            }
        }
    }

    /// Where this node is the centre, when it last heard of the key.
    pub(super) fn touched(&self) -> Instant {
        let made = Instant::from_nanos(self.session);
        self.more.as_ref().map_or(made, |more| more.touched)
    }

    /// What was done here.
    const fn said(&self) -> TokenSum {
        TokenSum {
            spent: self.spent,
            back: match &self.more {
                None => 0,
                Some(more) => more.back,
            },
        }
    }

    /// What was done here and no centre has confirmed.
    pub(super) const fn untold(&self) -> TokenSum {
        TokenSum {
            spent: self.untold,
            back: match &self.more {
                None => 0,
                Some(more) => more.untold_back,
            },
        }
    }

    /// Tokens spent here.
    pub(super) const fn spent(&self) -> u64 {
        self.spent
    }

    /// All that was spent as this centre knows.
    pub(super) fn spent_by_all(&self) -> u64 {
        self.more.as_ref().map_or(self.spent, |more| more.spent)
    }

    /// What to tell the centre.
    pub(super) fn report(&self, limits: &Limits, key: ModeKey, now: Instant) -> SyncReport {
        let (said, untold) = (self.said(), self.untold());
        let level = self.level(limits, now).saturating_add(mites(untold.spent));
        SyncReport {
            key,
            session: self.session,
            said,
            heard: said.beyond(untold),
            level: level.saturating_sub(mites(untold.back)),
        }
    }

    /// At the centre: takes what a node says, and what to answer; nothing where it said more since.
    pub(super) fn handle_report(
        &mut self,
        config: &SyncConfig,
        writer: Writer,
        of: &SyncReport,
        now: Instant,
    ) -> Option<(CentreLevel, Over)> {
        let mut level = self.level(&config.limits, now);
        let more = self.more();
        let before = more.by_writer.iter().find(|before| before.writer == writer);
        if before.is_some_and(|before| before.session > of.session) {
            return None;
        }
        let before = before.filter(|before| before.session == of.session);
        let known = before.map(|before| before.sum.max(of.heard));
        let known = known.unwrap_or_else(|| {
            level = more.meet(config, level, of, now);
            of.heard
        });
        let sum = known.max(of.said);
        let news = sum.beyond(known);
        more.remember(Heard {
            writer,
            session: of.session,
            sum,
            at: now,
        });
        more.spent = more.spent.saturating_add(news.spent);
        let (level, over) = applied(config, level, news);
        self.set_level(&config.limits, level, now);
        let answer = CentreLevel {
            key: of.key,
            session: of.session,
            heard: sum,
            level,
        };
        Some((answer, over))
    }

    /// Elsewhere: takes the centre's level, less what it does not include. Whether it includes everything; nothing
    /// where it is none of this entry or older than what is known.
    pub(super) fn handle_level(
        &mut self,
        limits: &Limits,
        of: &CentreLevel,
        now: Instant,
    ) -> Option<bool> {
        let said = self.said();
        let fits = of.heard.is_within(said) && said.beyond(self.untold()).is_within(of.heard);
        if of.session != self.session || !fits {
            return None;
        }
        let untold = said.beyond(of.heard);
        self.untold = untold.spent;
        if let Some(more) = &mut self.more {
            more.untold_back = untold.back;
        }
        let level = of.level.saturating_sub(mites(untold.spent));
        self.set_level(limits, level.saturating_add(mites(untold.back)), now);
        Some(untold == TokenSum::default())
    }

    /// Whole tokens owed, rounded up.
    pub(super) fn debt(&self, limits: &Limits, now: Instant) -> u64 {
        owed(self.level(limits, now).min(0).saturating_neg())
    }
}

impl More {
    /// A centre that has just begun knows less than those who spoke with the one before.
    fn meet(&self, config: &SyncConfig, level: i128, of: &SyncReport, now: Instant) -> i128 {
        if now.nanos_since(self.since) <= config.interval_ns.saturating_mul(MEETS_INTERVALS) {
            level.min(of.level)
        } else {
            level
        }
    }

    fn remember(&mut self, heard: Heard) {
        self.touched = heard.at;
        let mut known = self.by_writer.iter_mut();
        if let Some(known) = known.find(|known| known.writer == heard.writer) {
            *known = heard;
            return;
        }
        if self.by_writer.len() >= WRITERS_MAX {
            let all = self.by_writer.iter().enumerate();
            if let Some((place, _)) = all.min_by_key(|(_, heard)| heard.at) {
                self.by_writer.swap_remove(place);
            }
        }
        self.by_writer.reserve_exact(1);
        self.by_writer.push(heard);
    }
}

/// The level of a centre that hears of so much.
fn applied(config: &SyncConfig, had: i128, news: TokenSum) -> (i128, Over) {
    let level = had.saturating_sub(mites(news.spent));
    let over = Over {
        debt: level.min(0).saturating_neg(),
        more: mites(news.spent).saturating_sub(had.max(0)).max(0),
    };
    let level = match config.keep {
        Overdraft::Debt => level,
        Overdraft::Nothing => level.max(had.min(0)),
    };
    let level = level.saturating_add(mites(news.back));
    (level.min(config.limits.depth()), over)
}

/// What was so long before one time, as long before another.
pub(super) const fn moved(at: Instant, from: Instant, to: Instant) -> Instant {
    Instant::from_nanos(to.as_nanos().saturating_sub(from.nanos_since(at)))
}

/// Whole tokens of a debt, rounded up.
pub(super) fn owed(debt: i128) -> u64 {
    tokens(debt.saturating_add(crate::amount::TOKEN - 1))
}

/// For so many intervals a centre that has just begun believes the lowest level of those it hears for the first time.
const MEETS_INTERVALS: u64 = 3;
/// Boots of nodes that a centre remembers for each key; the one it has not heard for longest is forgotten first.
const WRITERS_MAX: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_takes_48_bytes() {
        assert_eq!(size_of::<SyncEntry>(), 48);
    }
}
