//! What happens in a minute: the eight scenarios that designs are compared in.
//!
//! Not here: the designs, and random schedules of faults.

use super::stage::{ClusterChange, Phase, Plot, SECOND, SupplySetting, part, zipf};

/// A minute in the life of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Nine tenths of the limit, some nodes asked far more than others.
    Steady90,
    /// The same with a fifth more than the limit.
    Steady120,
    /// The same with twice that, and four times; not among those of the table.
    Steady240,
    /// See above.
    Steady480,
    /// Who is asked most changes every ten seconds.
    Step,
    /// One node is asked for 0.6 of the limit for ten seconds, three times.
    Flash,
    /// Half of the nodes are idle; the halves swap every ten seconds.
    Idle,
    /// The busiest node is down for twenty seconds, and its clients go elsewhere.
    Crash,
    /// A third of the nodes with about half of the demand is cut off for twenty seconds.
    Netsplit,
    /// A fifth more nodes join with 0.3 of the demand, later a fifth leave.
    JoinLeave,
}

impl Scenario {
    /// In the order of tables.
    pub(crate) const ALL: [Self; 8] = [
        Self::Steady90,
        Self::Steady120,
        Self::Step,
        Self::Flash,
        Self::Idle,
        Self::Crash,
        Self::Netsplit,
        Self::JoinLeave,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Steady90 => "steady90",
            Self::Steady120 => "steady120",
            Self::Steady240 => "steady240",
            Self::Steady480 => "steady480",
            Self::Step => "step",
            Self::Flash => "flash",
            Self::Idle => "idle",
            Self::Crash => "crash",
            Self::Netsplit => "netsplit",
            Self::JoinLeave => "joinleave",
        }
    }

    pub(crate) fn plot(self, setting: &SupplySetting, seed: u64) -> Plot {
        let mut setting = setting.clone();
        let mut changes = Vec::new();
        match self {
            Self::Steady90
            | Self::Steady120
            | Self::Steady240
            | Self::Steady480
            | Self::Step
            | Self::Flash
            | Self::Idle => {}
            Self::Crash => {
                changes.push((20 * SECOND, ClusterChange::Crash(0)));
                changes.push((40 * SECOND, ClusterChange::Restart(0)));
            }
            Self::Netsplit => {
                let sides = (0..setting.nodes).map(|node| u8::from(node % 3 == 0));
                changes.push((20 * SECOND, ClusterChange::Split(sides.collect())));
                changes.push((40 * SECOND, ClusterChange::Heal));
            }
            Self::JoinLeave => {
                let (first, last) = joiners(&mut setting);
                changes.extend((first..last).map(|node| (20 * SECOND, ClusterChange::Join(node))));
                let leavers = first - (last - first)..first;
                changes.extend(leavers.map(|node| (40 * SECOND, ClusterChange::Leave(node))));
            }
        }
        let phases = self.phases(&setting);
        Plot {
            setting,
            phases,
            changes,
            seed,
        }
    }

    fn phases(self, setting: &SupplySetting) -> Vec<Phase> {
        let tenths = |count| part(setting.rate, count, 10);
        let steady = |rates| vec![Phase { at: 0, rates }];
        match self {
            Self::Steady90 | Self::Crash | Self::Netsplit => steady(zipf(tenths(9), setting.nodes)),
            Self::Steady120 => steady(zipf(tenths(12), setting.nodes)),
            Self::Steady240 => steady(zipf(tenths(24), setting.nodes)),
            Self::Steady480 => steady(zipf(tenths(48), setting.nodes)),
            Self::Step => every_ten_seconds(|turn| {
                let mut rates = zipf(tenths(9), setting.nodes);
                let by = turn * (rates.len() / 3).max(1) % rates.len().max(1);
                rates.rotate_right(by);
                rates
            }),
            Self::Flash => flashes(setting),
            Self::Idle => every_ten_seconds(|turn| {
                let busy = |node: u16| usize::from(node) % 2 == turn % 2;
                let count = (0..setting.nodes).filter(|&node| busy(node)).count() as u64;
                let each = part(setting.rate, 95, 100 * count.max(1));
                (0..setting.nodes)
                    .map(|node| if busy(node) { each } else { 0 })
                    .collect()
            }),
            Self::JoinLeave => joining(setting),
        }
    }
}

fn every_ten_seconds(rates: impl Fn(usize) -> Vec<u64>) -> Vec<Phase> {
    (0..6)
        .map(|turn: usize| Phase {
            at: turn as u64 * 10 * SECOND,
            rates: rates(turn),
        })
        .collect()
}

/// Everybody is asked 0.35 of a share; from 5, 25 and 45 s on, one node each time is asked 0.6 of the limit for 10 s.
fn flashes(setting: &SupplySetting) -> Vec<Phase> {
    let count = usize::from(setting.nodes);
    let calm = vec![part(setting.rate, 35, 100 * count.max(1) as u64); count];
    let mut phases = vec![Phase {
        at: 0,
        rates: calm.clone(),
    }];
    for turn in 0..3 {
        let mut rates = calm.clone();
        if let Some(hot) = rates.get_mut(turn * count / 3) {
            *hot = part(setting.rate, 6, 10);
        }
        let at = (5 + 20 * turn as u64) * SECOND;
        phases.push(Phase { at, rates });
        phases.push(Phase {
            at: at + 10 * SECOND,
            rates: calm.clone(),
        });
    }
    phases
}

/// Makes room for a fifth more nodes; returns their addresses.
fn joiners(setting: &mut SupplySetting) -> (u16, u16) {
    let first = setting.nodes;
    setting.nodes = first + (first / 5).max(1);
    (first, setting.nodes)
}

fn joining(setting: &SupplySetting) -> Vec<Phase> {
    let (old, more) = (setting.founders, setting.nodes - setting.founders);
    let whole = part(setting.rate, 9, 10);
    let mut before = zipf(whole, old);
    before.resize(usize::from(setting.nodes), 0);
    let mut after = zipf(part(whole, 7, 10), old);
    after.resize(
        usize::from(setting.nodes),
        part(whole, 3, 10 * u64::from(more.max(1))),
    );
    // Those who leave are asked on, and others stand in for them.
    vec![
        Phase {
            at: 0,
            rates: before,
        },
        Phase {
            at: 20 * SECOND,
            rates: after,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_asks_what_it_says() {
        for scenario in Scenario::ALL {
            for nodes in [3, 10, 30] {
                let plot = scenario.plot(&SupplySetting::rack(nodes), 1);
                for phase in &plot.phases {
                    assert_eq!(phase.rates.len(), usize::from(plot.setting.nodes));
                    let asked: u64 = phase.rates.iter().sum();
                    let percent = asked / (plot.setting.rate / 100);
                    let most = if scenario == Scenario::Steady120 {
                        120
                    } else {
                        95
                    };
                    assert!((34..=most).contains(&percent), "{scenario:?} {percent}");
                }
                assert!(plot.phases.is_sorted_by_key(|phase| phase.at));
                assert!(plot.changes.is_sorted_by_key(|change| change.0));
            }
        }
    }
}
