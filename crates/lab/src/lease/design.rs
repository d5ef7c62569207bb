//! What is put to the test, by name: settings of the types that a server would run.
//!
//! Not here: how they work.

use tollgate_gossip::NodeId;
use tollgate_lease::{Lend, Limits, ModeKey, Overdraft, Rules, Setup, SyncConfig, node_client};

use super::others;
use super::world::{LeaseOutcome, LeaseSetting, MILLI, Plot, simulate};
use crate::contender::Contender;
use crate::naive::NaiveShape;
use crate::world::LendingMode;

/// A way to share one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Design {
    /// A rate that is surely used and tokens for the rest.
    Lease,
    /// The same, held by whole nodes.
    Nodes,
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
    /// Nodes that count together.
    Gossip,
    /// Nodes that lend each other rate.
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
    /// Every so many milliseconds.
    pub(crate) const fn synced(millis: u64, keeps: bool) -> Self {
        Self::Sync {
            interval_ns: millis * MILLI,
            keeps,
        }
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Lease => "lease".to_owned(),
            Self::Nodes => "lease, nodes".to_owned(),
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

    pub(crate) fn run(self, plot: &Plot) -> LeaseOutcome {
        match self {
            Self::Gossip => others::run(Contender::Links, plot),
            Self::Supply => others::run(Contender::Lent(LendingMode::Supply), plot),
            Self::Split => others::run(Contender::Lent(LendingMode::Split), plot),
            _ => simulate(self, plot),
        }
    }

    /// Whether tokens lie idle at clients, for the others to miss.
    pub(crate) fn has_idle(self) -> bool {
        use Design::{Ask, Cut, Fixed, Lease, Nodes, Rate, Token};
        matches!(self, Lease | Nodes | Token | Rate | Fixed(_) | Ask | Cut)
    }

    /// Whether clients are whole nodes that hold leases.
    pub(super) fn is_of_nodes(self) -> bool {
        self == Self::Nodes
    }

    /// As whom a client asks that is at an address.
    pub(super) fn name_of(self, address: u16) -> u64 {
        if self.is_of_nodes() {
            return node_client(NodeId(address), 0);
        }
        address.into()
    }

    /// Whether it is here to be seen to admit too much.
    pub(crate) fn may_break(self) -> bool {
        matches!(self, Self::Sync { .. } | Self::Local | Self::Gossip)
    }

    /// The contract of a run, as nodes have it.
    pub(super) fn contract(self, setting: &LeaseSetting) -> String {
        let (limit, burst) = (setting.per_second, setting.burst);
        let parts = u64::from(setting.clients.max(1));
        let part = (burst / parts).max(1);
        let how = match self {
            Self::Owner | Self::Store => {
                format!("limit: {limit}, per: 1s, burst: {burst}, coordination: owner")
            }
            Self::Local => format!("limit: {limit}, per: 1s, burst: {burst}, coordination: local"),
            Self::Cut => {
                format!("limit: {limit}, per: {parts}s, burst: {part}, coordination: local")
            }
            _ => format!("{}, {}", counted(setting), self.lent(setting)),
        };
        format!("contracts: [{{ id: lab, key: [user], policies: [{{ name: limit, {how} }}] }}]")
    }

    fn lent(self, setting: &LeaseSetting) -> String {
        let (term, drift) = (setting.term_ns, setting.drift_ppm);
        let (timeout, uses) = (timeout_ns(setting), self.uses_min());
        let share = ["request", "client"][usize::from(setting.is_shared_by_client)];
        let waits = match setting.max_wait_ns {
            0 => String::new(),
            most => format!(", on_limit: delay, max_wait: {most}ns"),
        };
        format!(
            "coordination: lease, share: {share}, term: {term}ns, drift_ppm: {drift}, timeout: {timeout}ns, min_uses: {uses}{waits}"
        )
    }

    /// Uses in a term below which no lease is wished.
    const fn uses_min(self) -> u64 {
        match self {
            Self::Ask => 1 << 20,
            Self::Fixed(_) => 1,
            _ => 8,
        }
    }

    /// How the grantor lends, where no contract can say it.
    pub(super) fn rules(self, setting: &LeaseSetting) -> Option<Rules> {
        let usual = Rules {
            term_ns: setting.term_ns,
            ..Rules::default()
        };
        match self {
            Self::Token => Some(Rules {
                lend: Lend::Tokens,
                ..usual
            }),
            Self::Rate => Some(Rules {
                lend: Lend::Rate,
                pool_rate: WHOLE / 64,
                lent_depth: WHOLE,
                ..usual
            }),
            Self::Fixed(count) => Some(Rules {
                lend: Lend::Fixed(count),
                ..usual
            }),
            _ => None,
        }
    }

    /// The places that are nodes.
    pub(super) fn nodes(self, plot: &Plot) -> Vec<u16> {
        match self {
            Self::Local | Self::Cut => (1..=plot.setting.clients).collect(),
            Self::Sync { .. } => Vec::new(),
            _ => vec![self.home(plot)],
        }
    }

    /// Where requests are decided or keys lent: of the places of clients, the first is 1.
    pub(super) fn home(self, plot: &Plot) -> u16 {
        if self != Self::Owner {
            return 0;
        }
        let clients = u64::from(plot.setting.clients.max(1));
        u16::try_from(plot.seed % clients + 1).unwrap_or(1)
    }

    /// How clients synchronise, where each has a bucket of its own.
    pub(super) fn sync(self, limits: Limits) -> Option<SyncConfig> {
        match self {
            Self::Sync { interval_ns, keeps } => Some(SyncConfig {
                limits,
                interval_ns,
                keep: if keeps {
                    Overdraft::Debt
                } else {
                    Overdraft::Nothing
                },
            }),
            _ => None,
        }
    }

    /// Whether every request is asked, one by one.
    pub(super) fn is_asked(self) -> bool {
        matches!(self, Self::Owner | Self::Store)
    }
}

/// What is lent: a bucket or a window.
fn counted(setting: &LeaseSetting) -> String {
    let (limit, burst) = (setting.per_second, setting.burst);
    let Some(of) = setting.window_of else {
        return format!("limit: {limit}, per: 1s, burst: {burst}");
    };
    let by = match of.shape {
        NaiveShape::Fixed(offset) => format!("fixed-window, offset: {offset}ns"),
        NaiveShape::Log => "sliding-log".to_owned(),
        NaiveShape::Counters(slices) => format!("sliding-counters, slices: {slices}"),
        NaiveShape::Weighted => "sliding-weighted".to_owned(),
    };
    format!("limit: {burst}, per: {}ns, algorithm: {by}", of.period_ns)
}

/// After which time without an answer nobody is there.
fn timeout_ns(setting: &LeaseSetting) -> u64 {
    (200 * MILLI).max(10 * setting.weather.delay_max)
}

/// How a client begins; the rest it is told.
pub(super) fn setup(setting: &LeaseSetting, client: u16, boot: u64) -> Setup {
    Setup {
        trip_ns: setting.weather.delay_min + setting.weather.delay_max,
        timeout_ns: timeout_ns(setting),
        ..Setup::new(client.into(), boot, ModeKey(1))
    }
}
