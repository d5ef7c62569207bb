//! What every node of a world enforces, as its contract says, and what it is told at its start.
//!
//! Not here: what a node does with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_contract::Contracts;
use tollgate_gossip::{Bucket, Knobs, Writer};
use tollgate_limit::Instant;
use tollgate_mode::ModeKind;
use tollgate_node::{Membership, Node, NodeConfig};
use tollgate_table::Seed;

use super::links::{links, nanos};
use super::{BadWorld, Cluster, LendingMode};
use crate::contender::Contender;
use crate::modes;
use crate::nodes::Whole;

#[derive(Debug)]
pub(crate) struct WorldLimit {
    contracts: Contracts,
    /// The mode of a design that contracts cannot name.
    mode: Option<Arc<dyn ModeKind>>,
    knobs: Knobs,
    bytes_max: u64,
    /// How others are asked, where they decide.
    pub(crate) asks: Option<AskPlan>,
}

/// How others are asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskPlan {
    /// Where the store is, where one decides.
    pub(crate) store: Option<u16>,
    /// For how long an answer is waited for.
    pub(crate) deadline: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Boot {
    pub(crate) place: usize,
    pub(crate) writer: Writer,
    pub(crate) was: Option<Writer>,
    pub(crate) seed: u64,
    pub(crate) clock: Instant,
}

impl WorldLimit {
    /// A design in a cluster, for that many requests.
    pub(crate) fn bucket(
        cluster: &Cluster,
        design: Contender,
        requests: usize,
    ) -> Result<Self, BadWorld> {
        let how = match design {
            Contender::Sync => {
                let interval = nanos(cluster.knobs.interval).clamp(INTERVAL_NS.0, INTERVAL_NS.1);
                format!("coordination: sync, interval: {interval}ns")
            }
            Contender::Lent(lent) => format!("coordination: {}", lent.name()),
            _ => "coordination: gossip".to_owned(),
        };
        let asks = match design {
            Contender::Lent(LendingMode::Owner) => Some(None),
            Contender::Lent(LendingMode::Store) => Some(Some(cluster.nodes)),
            _ => None,
        };
        let how = format!("{how}, {}", numbers(cluster.bucket));
        Ok(Self {
            mode: modes::mode(design, cluster),
            asks: asks.map(|store| AskPlan {
                store,
                deadline: deadline(cluster),
            }),
            ..Self::policy(cluster, &how, requests)?
        })
    }

    /// A policy in a cluster, as contract files have it.
    pub(crate) fn policy(cluster: &Cluster, how: &str, requests: usize) -> Result<Self, BadWorld> {
        let text = format!(
            "contracts: [{{ id: lab, key: [user], policies: [{{ name: limit, {how} }}] }}]"
        );
        Ok(Self {
            contracts: Contracts::parse(&text).map_err(|_| BadWorld::Contract)?,
            mode: None,
            asks: None,
            knobs: cluster.knobs.clone(),
            bytes_max: BYTES_MIN + requests as u64 * REQUEST_BYTES,
        })
    }

    /// A node that has just started and knows of no other.
    pub(crate) fn boot(&self, boot: &Boot, began: u64) -> Whole {
        let me = Whole::number(boot.place);
        let membership = Membership {
            was: boot.was,
            seed: boot.seed,
            knobs: self.knobs.clone(),
            modes: self.mode.iter().map(Arc::clone).collect(),
            ..Membership::alone(me, boot.writer, boot.clock)
        };
        let config = NodeConfig {
            bytes_max: self.bytes_max,
            ..NodeConfig::default()
        };
        let contracts = self.contracts.clone();
        let node = Node::with_company(contracts, config, Seed::new(SEED), membership);
        Whole {
            node: Arc::new(node),
            id: (me, boot.writer),
            name: String::new(),
            began,
            disk: BTreeMap::new(),
            is_up: true,
        }
    }
}

/// A bucket as contract files have it: tokens regained in a time, and how many it holds.
pub(super) fn numbers(bucket: Bucket) -> String {
    let (limit, per, burst) = (bucket.refilled(1), bucket.grains(1), bucket.burst());
    format!("limit: {limit}, per: {per}ns, burst: {burst}")
}

/// As the daemon waits, or long enough for three attempts.
fn deadline(cluster: &Cluster) -> u64 {
    let weather = links(&cluster.faults, 0, 0).weather;
    DEADLINE_NS.max(weather.delay_max.saturating_mul(8))
}

const DEADLINE_NS: u64 = 20_000_000;
/// How often nodes may tell what they spent.
const INTERVAL_NS: (u64, u64) = (50_000_000, 60_000_000_000);
/// By which nodes tell keys apart.
const SEED: [u64; 2] = [7, 9];
/// Memory of a node: enough for its tables, and for what each request may leave behind. Nothing makes room here.
const BYTES_MIN: u64 = 1 << 24;
const REQUEST_BYTES: u64 = 4 << 10;
