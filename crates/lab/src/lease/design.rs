//! What is put to the test, by name: settings of the types that a server would run.
//!
//! Not here: how they work.

use tollgate_lease::{Keep, Key, Lend, Limits, Rules, Setup, SyncConfig};

use super::world::{Outcome, Plot, Setting, simulate};
use super::{others, parts};

/// A way to share one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Design {
    /// A rate that is surely used and tokens for the rest.
    Lease,
    /// Tokens alone, by demand.
    Token,
    /// A rate alone.
    Rate,
    /// So many tokens each time.
    Fixed(u64),
    /// No lease: every request that finds no word of a refusal is asked.
    Ask,
    /// The whole bucket everywhere, told now and then.
    Sync {
        /// How often, in nanoseconds.
        interval_ns: u64,
        /// Whether debts are kept.
        keeps: bool,
    },
    /// The whole bucket everywhere, and nothing is told.
    Local,
    /// An even part of the bucket everywhere, for good.
    Cut,
    /// The bucket cut, with tokens that are borrowed and parts that are hired.
    Split,
    /// One of the clients decides for all.
    Owner,
    /// Somebody else decides for all.
    Store,
    /// Nodes that count together, in a world of their own.
    Gossip,
    /// Nodes that lend each other rate, in a world of their own.
    Supply,
}

/// The rivals of a lease that never admit too much.
pub(crate) const LENDERS: [Design; 5] = [
    Design::Lease,
    Design::Token,
    Design::Rate,
    Design::Fixed(10),
    Design::Ask,
];

const WHOLE: u64 = 1 << 16;

impl Design {
    /// The name in tables.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Lease => "lease".to_owned(),
            Self::Token => "token".to_owned(),
            Self::Rate => "rate".to_owned(),
            Self::Fixed(count) => format!("fixed {count}"),
            Self::Ask => "ask".to_owned(),
            Self::Local => "local".to_owned(),
            Self::Cut => "split, nothing moves".to_owned(),
            Self::Split => "split".to_owned(),
            Self::Owner => "owner".to_owned(),
            Self::Store => "store".to_owned(),
            Self::Gossip => "gossip".to_owned(),
            Self::Supply => "supply".to_owned(),
            Self::Sync { interval_ns, keeps } => {
                let kept = if keeps { "debt kept" } else { "forgets" };
                format!("sync {} ms, {kept}", interval_ns / 1_000_000)
            }
        }
    }

    /// Runs it.
    pub(crate) fn run(self, plot: &Plot) -> Outcome {
        match self {
            Self::Gossip => others::gossip(plot),
            Self::Supply => others::supply(plot),
            Self::Split => parts::split(plot),
            _ => simulate(self, plot),
        }
    }

    /// Whether tokens lie idle at clients, for the others to miss.
    pub(crate) fn has_idle(self) -> bool {
        use Design::{Ask, Cut, Fixed, Lease, Rate, Split, Token};
        matches!(self, Lease | Token | Rate | Fixed(_) | Ask | Cut | Split)
    }

    /// Whether it is here to be seen to admit too much.
    pub(crate) fn may_break(self) -> bool {
        matches!(self, Self::Sync { .. } | Self::Local | Self::Gossip)
    }

    /// How the grantor lends.
    pub(super) fn rules(self, setting: &Setting) -> Rules {
        let usual = Rules {
            term_ns: setting.term_ns,
            ..Rules::default()
        };
        match self {
            Self::Token => Rules {
                lend: Lend::Tokens,
                ..usual
            },
            Self::Rate => Rules {
                lend: Lend::Rate,
                pool_rate: WHOLE / 64,
                lent_depth: WHOLE,
                ..usual
            },
            Self::Fixed(count) => Rules {
                lend: Lend::Fixed(count),
                ..usual
            },
            _ => usual,
        }
    }

    /// How a client behaves.
    pub(super) fn setup(self, setting: &Setting, client: u64, boot: u64) -> Setup {
        let usual = Setup::new(client, boot, Key(1));
        Setup {
            drift_ppm: setting.drift_ppm,
            term_ns: setting.term_ns,
            trip_ns: setting.weather.delay_min + setting.weather.delay_max,
            timeout_ns: usual.timeout_ns.max(10 * setting.weather.delay_max),
            uses_min: match self {
                Self::Ask => u64::MAX,
                Self::Fixed(_) => 0,
                _ => usual.uses_min,
            },
            ..usual
        }
    }

    /// How clients synchronise, where each has a bucket of its own.
    pub(super) fn sync(self, setting: &Setting, limits: Limits) -> Option<SyncConfig> {
        let never = |limits| SyncConfig {
            limits,
            interval_ns: u64::MAX,
            keep: Keep::Debt,
        };
        match self {
            Self::Sync { interval_ns, keeps } => Some(SyncConfig {
                limits,
                interval_ns,
                keep: if keeps { Keep::Debt } else { Keep::Nothing },
            }),
            Self::Local => Some(never(limits)),
            Self::Cut => {
                let parts = u64::from(setting.clients.max(1));
                let burst = (setting.burst / parts).max(1);
                let part = Limits::new(setting.per_second, 1_000_000_000 * parts, burst);
                part.ok().map(never)
            }
            _ => None,
        }
    }

    /// Whether every request is asked, one by one.
    pub(super) fn is_asked(self) -> bool {
        matches!(self, Self::Owner | Self::Store)
    }
}
