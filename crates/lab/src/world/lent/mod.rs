//! Requests of a trace decided by others or from what others lend: leases, an owner, a store, nodes that divide the
//! limit.
//!
//! Not here: nodes that count together, and failures of nodes.

mod sites;
mod whole;

use tollgate_node::Node;

use super::meter::{SampleRecord, seconds};
use super::outcome::FrameTraffic;
use super::{BadWorld, Cluster, Request, RunOutcome, WorldFault};
use crate::nodes::{Member, Net};
use crate::truth;

/// A way to agree in which somebody else decides or lends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LendingMode {
    /// Leases of the key's home.
    Lease,
    /// The key's home decides.
    Owner,
    /// A store decides.
    Store,
    /// Nodes lend each other rate.
    Supply,
    /// Nodes have parts of the bucket and borrow tokens.
    Split,
}

impl LendingMode {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Lease,
        Self::Owner,
        Self::Store,
        Self::Supply,
        Self::Split,
    ];

    /// The name on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lease => "lease",
            Self::Owner => "owner",
            Self::Store => "store",
            Self::Supply => "supply",
            Self::Split => "split",
        }
    }
}

/// How long what was lent is watched after the last request.
const AFTER_NS: u64 = 10_000_000_000;

/// Runs a trace; requests that wait are judged at the time they came.
pub(super) fn run(
    cluster: &Cluster,
    lent: LendingMode,
    trace: &[Request],
    seed: u64,
) -> Result<(Vec<(Request, bool)>, RunOutcome), BadWorld> {
    let is_known = |fault: &WorldFault| {
        matches!(
            fault,
            WorldFault::Delay { .. }
                | WorldFault::Loss(_)
                | WorldFault::Duplication(_)
                | WorldFault::Skew(_)
                | WorldFault::Cut { .. }
        )
    };
    if !cluster.faults.iter().all(is_known) {
        return Err(BadWorld::Lent);
    }
    let ran = match lent {
        LendingMode::Supply | LendingMode::Split => whole::run(cluster, lent.name(), trace, seed),
        LendingMode::Lease => sites::run(cluster, trace, seed),
        // Those run as designs do.
        LendingMode::Owner | LendingMode::Store => None,
    };
    let (mut outcome, admitted) = ran.ok_or(BadWorld::Lent)?;
    outcome.requests = trace.len() as u64;
    outcome.judged = truth::judge(cluster.bucket, trace, &admitted);
    if cluster.watch.curves {
        outcome.curves.follow(cluster.bucket, trace, &admitted);
    }
    Ok((trace.iter().copied().zip(admitted).collect(), outcome))
}

/// How time passes for a trace: its times count from `first`, those of its world from `begun`.
struct Course {
    record: SampleRecord,
    begun: u64,
    first: u64,
}

impl Course {
    fn new(cluster: &Cluster, trace: &[Request], begun: u64) -> Self {
        Self {
            record: SampleRecord::new(trace, cluster.watch.curves),
            begun,
            first: trace.first().map_or(0, |request| request.at.as_nanos()),
        }
    }

    /// Everything until then, by the trace's time.
    fn pass<M: Member>(&mut self, net: &mut Net<M>, until: u64) {
        let end = self.begun + until.saturating_sub(self.first);
        while net.step(end).is_some() {
            let passed = net.sim.now().saturating_sub(self.begun);
            let at = self.first + passed;
            self.record.pass(at, &[], net.sent().bytes);
        }
        net.sim.pass(end);
        self.record.pass(until, &[], net.sent().bytes);
    }

    /// What the network carried, since the last request at a time of the world.
    fn outcome<M: Member>(&mut self, net: &Net<M>, last: u64, seed: u64) -> RunOutcome {
        self.record.close(&[], net.sent().bytes);
        RunOutcome {
            seed,
            hash: net.hash(),
            traffic: FrameTraffic::of(net),
            quiet_s: Some(seconds(net.last_sent().saturating_sub(last))),
            curves: std::mem::take(&mut self.record.curves),
            ..RunOutcome::default()
        }
    }
}

/// Bytes of state of a node's policies: what is decided from, and more.
fn state(node: &Node) -> (u64, u64) {
    let status = node.gossip_status();
    let each = status.iter().map(|policy| policy.state_bytes);
    each.fold((0, 0), |sum, bytes| (sum.0 + bytes.0, sum.1 + bytes.1))
}

#[cfg(test)]
mod tests {
    use tollgate_gossip::{Bucket, ModeKey};
    use tollgate_limit::{Instant, Span};

    use super::*;
    use crate::contender::Contender;
    use crate::world::simulate;

    /// Three keys, one of them far above its limit of 100 per second.
    fn trace() -> Vec<Request> {
        (0..20_000)
            .map(|number: u64| Request {
                at: Instant::from_nanos(1_000_000_000 + number * 1_000_000),
                key: ModeKey(u128::from(if number % 4 < 2 { 1 } else { number % 4 })),
                cost: 1,
                node: Some(u16::try_from(number / 3 % 5).unwrap()),
            })
            .collect()
    }

    fn cluster() -> Cluster {
        let mut cluster = Cluster::new(Bucket::new(100, 100, 1_000_000_000).unwrap());
        cluster.nodes = 5;
        let base = Span::from_nanos(2_000_000);
        let jitter = Span::from_nanos(500_000);
        cluster.faults = vec![WorldFault::Delay { base, jitter }];
        cluster.watch.curves = true;
        cluster
    }

    fn run(lent: LendingMode) -> RunOutcome {
        simulated(Contender::Lent(lent))
    }

    fn simulated(contender: Contender) -> RunOutcome {
        simulate(&cluster(), contender, &trace(), 7).unwrap()
    }

    #[test]
    fn who_asks_or_leases_admits_what_one_bucket_does_and_who_synchronises_more() {
        let (lease, owner) = (run(LendingMode::Lease), run(LendingMode::Owner));
        let admitted = |run: &RunOutcome| run.requests - run.judged.rejected;
        let central = lease.requests - lease.judged.central_rejected;
        let store = run(LendingMode::Store);
        // A denial that a node gives again stands until it has been heard of plus its wait.
        for asked in [&owner, &store] {
            assert_eq!(asked.judged.over, 0);
            assert!(admitted(asked) <= central && admitted(asked) * 100 > central * 98);
        }
        assert!(admitted(&lease) <= central + 5 && admitted(&lease) * 100 > central * 95);
        assert!(simulated(Contender::Sync).judged.over > 20);
        assert!(lease.traffic.messages * 4 < owner.traffic.messages);
        assert!(owner.traffic.messages < store.traffic.messages);
        assert_eq!(store.traffic.messages, 2 * 20_000);
        assert!(owner.state_bytes > 0.0 && !owner.curves.rejected.is_empty());
        assert!(!lease.curves.rejected.is_empty() && lease.state_bytes > 0.0);
    }

    #[test]
    fn whole_nodes_that_divide_the_limit_admit_no_more_and_hardly_less() {
        for lent in [LendingMode::Supply, LendingMode::Split] {
            let ran = run(lent);
            let central = ran.requests - ran.judged.central_rejected;
            let admitted = ran.requests - ran.judged.rejected;
            assert_eq!(ran.judged.over, 0, "{}", lent.name());
            assert!(
                admitted * 100 > central * 90,
                "{}: {admitted} of {central}",
                lent.name()
            );
            assert!(ran.traffic.messages > 100 && ran.traffic.busiest_bytes > 0);
            assert!(!ran.curves.rejected.is_empty() && ran.state_bytes > 0.0);
            assert_eq!(run(lent).hash, ran.hash);
        }
    }

    #[test]
    fn one_seed_has_one_history_and_nodes_do_not_crash_here() {
        assert_eq!(run(LendingMode::Lease).hash, run(LendingMode::Lease).hash);
        let mut cluster = cluster();
        cluster.faults.push(WorldFault::Leave {
            node: 1,
            at: Span::ZERO,
        });
        let refused = simulate(&cluster, Contender::Lent(LendingMode::Lease), &trace(), 7);
        assert_eq!(refused.err(), Some(BadWorld::Lent));
    }
}
