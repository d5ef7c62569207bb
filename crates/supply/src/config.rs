//! What may be tuned, checked once so that nothing later has to.
//!
//! Not here: the limit and who has which part of it, which may change while a machine runs.

use std::fmt;

use tollgate_limit::Span;

/// What may be tuned; the default is what the documentation calls the default. Every node must be told the same `term`,
/// `drift_ppm` and `lease`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupplyConfig {
    /// Time between two rounds, in which a node compares itself with some others.
    pub round: Span,
    /// How long a loan lasts that nobody renews.
    pub term: Span,
    /// Peers asked in a round: at least that many.
    pub probes_min: u32,
    /// And at most that many, while requests are refused.
    pub probes_max: u32,
    /// Least time between two asks of a key that refuses.
    pub ask_gap_min: Span,
    /// The same while nobody is richer.
    pub ask_gap_max: Span,
    /// Nothing moves below that part of the smaller party's supply, in thousandths.
    pub hysteresis_milli: u32,
    /// What a node without demand weighs, in thousandths of an equal share.
    pub epsilon_milli: u32,
    /// A loan is renewed after that part of its term, in thousandths.
    pub renew_milli: u32,
    /// By how much a clock may run wrong, in millionths.
    pub drift_ppm: u32,
    /// How long a home is valid after the authority was asked; `None`: homes are valid until they are changed.
    pub lease: Option<Span>,
    /// Whether what to keep is stored by somebody who answers with `handle_kept`. Otherwise a restarted node begins
    /// with nothing.
    pub keeps: bool,
    /// Keys that may be known.
    pub keys_max: usize,
}

impl Default for SupplyConfig {
    fn default() -> Self {
        Self {
            round: Span::from_nanos(100_000_000),
            term: Span::from_nanos(1_000_000_000),
            probes_min: 3,
            probes_max: 32,
            ask_gap_min: Span::from_nanos(10_000_000),
            ask_gap_max: Span::from_nanos(320_000_000),
            hysteresis_milli: 20,
            epsilon_milli: 10,
            renew_milli: 300,
            drift_ppm: 1_000,
            lease: None,
            keeps: false,
            keys_max: 1 << 20,
        }
    }
}

/// Why a configuration was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadConfig {
    /// A round takes no time, or more than an hour.
    Round,
    /// The term is shorter than four rounds, or longer than a day.
    Term,
    /// No peers are asked, fewer at most than at least, or more than [`PROBES_MAX`].
    Probes,
    /// The gap between asks is zero, longer than a day, or shorter at most than at least.
    AskGap,
    /// The hysteresis is above one half.
    Hysteresis,
    /// A node without demand weighs nothing, or as much as an equal share.
    Epsilon,
    /// A loan is renewed at once, or so late that one lost answer ends it.
    Renew,
    /// Clocks may run wrong by more than a tenth.
    Drift,
    /// The lease is shorter than the term, or longer than a year.
    Lease,
    /// No key may be known.
    Keys,
}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Round => "a round must take more than no time and at most an hour",
            Self::Term => "the term must be at least four rounds and at most a day",
            Self::Probes => "at least one peer must be asked, at most 64, and no fewer at most than at least",
            Self::AskGap => "the gap between asks must be above zero, at most a day, and no shorter at most than at least",
            Self::Hysteresis => "the hysteresis must be at most 500 thousandths",
            Self::Epsilon => "the least weight must be between 1 and 999 thousandths",
            Self::Renew => "loans must be renewed after 1 to 450 thousandths of their term",
            Self::Drift => "the drift must be at most 100,000 millionths",
            Self::Lease => "the lease must be at least the term and at most a year",
            Self::Keys => "at least one key must be allowed",
        })
    }
}

impl std::error::Error for BadConfig {}

/// The most peers that may be asked in a round.
pub const PROBES_MAX: u32 = 64;

impl SupplyConfig {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<(), BadConfig> {
        let within = |span: Span, max: u128| (1..=max).contains(&span.as_nanos());
        let term = self.term.as_nanos();
        let rules = [
            (within(self.round, HOUR_NS), BadConfig::Round),
            (
                within(self.term, DAY_NS) && term >= 4 * self.round.as_nanos(),
                BadConfig::Term,
            ),
            (
                1 <= self.probes_min
                    && self.probes_min <= self.probes_max
                    && self.probes_max <= PROBES_MAX,
                BadConfig::Probes,
            ),
            (
                within(self.ask_gap_min, DAY_NS)
                    && within(self.ask_gap_max, DAY_NS)
                    && self.ask_gap_min <= self.ask_gap_max,
                BadConfig::AskGap,
            ),
            (self.hysteresis_milli <= 500, BadConfig::Hysteresis),
            ((1..1000).contains(&self.epsilon_milli), BadConfig::Epsilon),
            ((1..=450).contains(&self.renew_milli), BadConfig::Renew),
            (self.drift_ppm <= 100_000, BadConfig::Drift),
            (
                self.lease
                    .is_none_or(|lease| lease >= self.term && within(lease, YEAR_NS)),
                BadConfig::Lease,
            ),
            (self.keys_max > 0, BadConfig::Keys),
        ];
        rules
            .into_iter()
            .find(|(holds, _)| !holds)
            .map_or(Ok(()), |(_, why)| Err(why))
    }

    /// `span` and `times` the drift more, rounded up.
    pub(crate) fn longer(&self, span: Span, times: u32) -> Span {
        Span::from_nanos(span.as_nanos() + self.part(span, times).div_ceil(MILLION))
    }

    /// `span` less `times` the drift, rounded down.
    pub(crate) fn shorter(&self, span: Span, times: u32) -> Span {
        let less = self.part(span, times).div_ceil(MILLION);
        Span::from_nanos(span.as_nanos().saturating_sub(less))
    }

    /// `times` the drift of `span`, in millionths of a nanosecond.
    fn part(&self, span: Span, times: u32) -> u128 {
        span.as_nanos() * u128::from(self.drift_ppm) * u128::from(times)
    }
}

const HOUR_NS: u128 = 3_600_000_000_000;
const DAY_NS: u128 = 24 * HOUR_NS;
const YEAR_NS: u128 = 366 * DAY_NS;
const MILLION: u128 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_can_work() {
        assert_eq!(SupplyConfig::default().check(), Ok(()));
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let span = Span::from_nanos;
        let of = |change: fn(&mut SupplyConfig)| {
            let mut config = SupplyConfig::default();
            change(&mut config);
            config.check()
        };
        assert_eq!(of(|c| c.round = Span::ZERO), Err(BadConfig::Round));
        assert_eq!(of(|c| c.term = c.round), Err(BadConfig::Term));
        assert_eq!(of(|c| c.probes_min = 0), Err(BadConfig::Probes));
        assert_eq!(of(|c| c.probes_max = 65), Err(BadConfig::Probes));
        assert_eq!(of(|c| c.ask_gap_max = Span::ZERO), Err(BadConfig::AskGap));
        assert_eq!(of(|c| c.hysteresis_milli = 501), Err(BadConfig::Hysteresis));
        assert_eq!(of(|c| c.epsilon_milli = 0), Err(BadConfig::Epsilon));
        assert_eq!(of(|c| c.renew_milli = 451), Err(BadConfig::Renew));
        assert_eq!(of(|c| c.drift_ppm = 100_001), Err(BadConfig::Drift));
        assert_eq!(of(|c| c.keys_max = 0), Err(BadConfig::Keys));
        let config = SupplyConfig {
            lease: Some(span(1)),
            ..SupplyConfig::default()
        };
        assert_eq!(config.check(), Err(BadConfig::Lease));
    }

    #[test]
    fn drift_lengthens_and_shortens() {
        let config = SupplyConfig::default();
        let second = Span::from_nanos(1_000_000_000);
        assert_eq!(config.longer(second, 2).as_nanos(), 1_002_000_000);
        assert_eq!(config.shorter(second, 2).as_nanos(), 998_000_000);
        assert_eq!(config.shorter(Span::from_nanos(1), 2), Span::ZERO);
    }
}
