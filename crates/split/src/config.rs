//! What may be tuned, checked once so that nothing later has to.
//!
//! Not here: the bucket, and who has which part of it.

use std::fmt;

use tollgate_limit::Span;

/// What may be tuned. Every node of a topic must be told the same `term` and `drift_ppm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitConfig {
    /// Whether tokens are borrowed.
    pub borrow: Borrow,
    /// Tokens are asked for below so many thousandths of a message, even if nobody waits.
    pub low_milli: u32,
    /// How long an ask can be answered with tokens, by the clock of the one who asked.
    pub term: Span,
    /// An ask without an answer is given up after so long.
    pub patience: Span,
    /// A peer that is too far away, or silent, is tried again after so long.
    pub probe: Span,
    /// Where nobody has anything to give, nobody is asked until a message has come back to the whole topic, and longer
    /// each time, up to so many times as long.
    pub rests_max: u32,
    /// By how much a clock may run wrong, in millionths.
    pub drift_ppm: u32,
    /// The most messages that one message may cost; every sub-bucket can hold so many.
    pub cost_max: u32,
    /// Messages that may wait.
    pub queue_max: usize,
    /// Time between two reports to the adaptor.
    pub report: Span,
    /// How parts of the bucket are hired from others, for a term; `None`: they are not. One under an adaptor hires
    /// nothing.
    pub hire: Option<AdaptorConfig>,
}

/// Whether tokens are borrowed between sub-buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Borrow {
    /// Never: sub-buckets are on their own.
    Off,
    /// From whoever is near enough for it to help: one way takes less than a full bucket lasts, `b/r`.
    Near,
    /// From everybody.
    Always,
}

impl Default for SplitConfig {
    fn default() -> Self {
        Self {
            borrow: Borrow::Near,
            low_milli: 0,
            term: Span::from_nanos(500_000_000),
            patience: Span::from_nanos(20_000_000),
            probe: Span::from_nanos(1_000_000_000),
            rests_max: 1,
            drift_ppm: 1_000,
            cost_max: 1,
            queue_max: 1 << 20,
            report: Span::from_nanos(50_000_000),
            hire: None,
        }
    }
}

/// Why a configuration was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadConfig {
    /// The low mark is above a million messages.
    Low,
    /// The term is no time, or longer than an hour.
    Term,
    /// The patience is no time, or longer than the term.
    Patience,
    /// The time between probes is shorter than the patience, or longer than a day.
    Probe,
    /// Clocks may run wrong by more than a tenth.
    Drift,
    /// A message may cost nothing.
    Cost,
    /// Nobody may wait.
    Queue,
    /// Reports follow each other at once, or are more than an hour apart.
    Report,
    /// An adaptor's window, period or horizon does not fit the others.
    Window,
    /// A floor leaves nothing to adapt.
    Floor,
}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "the low mark must be at most a million messages",
            Self::Term => "the term must be above zero and at most an hour",
            Self::Patience => "the patience must be above zero and at most the term",
            Self::Probe => "probes must be at least the patience and at most a day apart",
            Self::Drift => "the drift must be at most 100,000 millionths",
            Self::Cost => "a message may cost at least one",
            Self::Queue => "at least one message must be able to wait",
            Self::Report => "reports must be above zero and at most an hour apart",
            Self::Window => {
                "the window must be at least a period and at most an hour, and a horizon above zero"
            }
            Self::Floor => "the floor must be below 1,000 thousandths",
        })
    }
}

impl std::error::Error for BadConfig {}

impl SplitConfig {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<(), BadConfig> {
        let within = |span: Span, max: u128| (1..=max).contains(&span.as_nanos());
        let rules = [
            (self.low_milli <= 1_000_000_000, BadConfig::Low),
            (within(self.term, HOUR_NS), BadConfig::Term),
            (
                within(self.patience, self.term.as_nanos()),
                BadConfig::Patience,
            ),
            (
                self.probe >= self.patience && within(self.probe, 24 * HOUR_NS),
                BadConfig::Probe,
            ),
            (self.drift_ppm <= 100_000, BadConfig::Drift),
            (self.cost_max > 0, BadConfig::Cost),
            (self.queue_max > 0, BadConfig::Queue),
            (within(self.report, HOUR_NS), BadConfig::Report),
        ];
        first_broken(rules)?;
        self.hire.as_ref().map_or(Ok(()), AdaptorConfig::check)
    }

    /// How long room is kept for a gift: until its receiver would not take it any more, whatever the two clocks do.
    pub(crate) fn hold(&self) -> Span {
        let term = self.term.as_nanos();
        // Two clocks that run wrong by a tenth each differ by a fifth and a little more.
        let drift = term * u128::from(self.drift_ppm) * 3;
        Span::from_nanos(term + drift.div_ceil(MILLION) + 1)
    }
}

/// How an adaptor follows demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdaptorConfig {
    /// Arrivals are averaged over so long.
    pub window: Span,
    /// Time between two changes.
    pub period: Span,
    /// A queue counts as demand that comes within so long; `None`: it does not count.
    pub horizon: Option<Span>,
    /// What the depths follow.
    pub depths: Depths,
    /// Every node keeps that part of an equal share of the rate, in thousandths.
    pub floor_milli: u32,
    /// Every node keeps a depth of so many messages: the largest that one message may cost, and at least one.
    pub floor_messages: u32,
}

/// What the depths of sub-buckets follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depths {
    /// Their rates.
    Rate,
    /// The largest backlog of the window: missing tokens and queue.
    Backlog,
}

impl Default for AdaptorConfig {
    /// A short window, and a queue is demand.
    fn default() -> Self {
        Self {
            window: Span::from_nanos(500_000_000),
            period: Span::from_nanos(50_000_000),
            horizon: Some(Span::from_nanos(200_000_000)),
            depths: Depths::Rate,
            floor_milli: 50,
            floor_messages: 1,
        }
    }
}

impl AdaptorConfig {
    /// As printed: a window of ten seconds, a change every second, rates by arrivals, depths by the largest backlog.
    pub fn printed() -> Self {
        Self {
            window: Span::from_nanos(10_000_000_000),
            period: Span::from_nanos(1_000_000_000),
            horizon: None,
            depths: Depths::Backlog,
            ..Self::default()
        }
    }

    /// Refuses what cannot work.
    pub fn check(&self) -> Result<(), BadConfig> {
        let within = |span: Span, max: u128| (1..=max).contains(&span.as_nanos());
        let fits = within(self.window, HOUR_NS)
            && within(self.period, self.window.as_nanos())
            && self.window.as_nanos() / self.period.as_nanos() <= PERIODS_MAX
            && self.horizon.is_none_or(|span| within(span, HOUR_NS));
        first_broken([
            (fits, BadConfig::Window),
            (
                self.floor_milli < 1000 && self.floor_messages > 0,
                BadConfig::Floor,
            ),
        ])
    }
}

fn first_broken<const N: usize>(rules: [(bool, BadConfig); N]) -> Result<(), BadConfig> {
    let broken = rules.into_iter().find(|(holds, _)| !holds);
    broken.map_or(Ok(()), |(_, why)| Err(why))
}

const HOUR_NS: u128 = 3_600_000_000_000;
const MILLION: u128 = 1_000_000;
/// Periods that a window may have.
const PERIODS_MAX: u128 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_can_work() {
        assert_eq!(SplitConfig::default().check(), Ok(()));
        assert_eq!(AdaptorConfig::default().check(), Ok(()));
        assert_eq!(AdaptorConfig::printed().check(), Ok(()));
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let of = |change: fn(&mut SplitConfig)| {
            let mut config = SplitConfig::default();
            change(&mut config);
            config.check()
        };
        assert_eq!(of(|c| c.term = Span::ZERO), Err(BadConfig::Term));
        assert_eq!(
            of(|c| c.patience = Span::from_nanos(1 << 40)),
            Err(BadConfig::Patience)
        );
        assert_eq!(of(|c| c.probe = Span::ZERO), Err(BadConfig::Probe));
        assert_eq!(of(|c| c.drift_ppm = 100_001), Err(BadConfig::Drift));
        assert_eq!(of(|c| c.cost_max = 0), Err(BadConfig::Cost));
        assert_eq!(of(|c| c.queue_max = 0), Err(BadConfig::Queue));
        assert_eq!(of(|c| c.report = Span::ZERO), Err(BadConfig::Report));
        let long = AdaptorConfig {
            period: Span::from_nanos(1 << 40),
            ..AdaptorConfig::default()
        };
        assert_eq!(long.check(), Err(BadConfig::Window));
    }
}
