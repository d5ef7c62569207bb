//! Demand that moves: every five seconds somebody else is asked.
//!
//! Not here: the designs, and random faults.

use super::world::{LeaseSetting, Plot, skewed};
use crate::dice::{LabDice, Purpose};
use crate::supply::stage::{Phase, SECOND};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Who is asked most is drawn anew; 1.2 of the limit in all.
    Step,
    /// A crowd of 0.9 of the limit goes from client to client, beside 0.3 for all.
    Flash,
    /// Half of the clients, then the other half; 1.2 of the limit.
    Idle,
    /// The coldest client is asked for a whole limit more every other time, beside 0.9 for all.
    Surge,
}

impl Scenario {
    pub(crate) const ALL: [Self; 4] = [Self::Step, Self::Flash, Self::Idle, Self::Surge];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Flash => "flash",
            Self::Idle => "idle",
            Self::Surge => "surge",
        }
    }

    pub(crate) fn plot(self, setting: LeaseSetting, seed: u64) -> Plot {
        let mut dice = LabDice::new(seed, Purpose::Worlds);
        let turns = setting.until / 1_000 / (5 * SECOND);
        let phases = (0..turns).map(|turn| Phase {
            at: turn * 5 * SECOND,
            rates: self.rates(&setting, turn, &mut dice),
        });
        Plot {
            phases: phases.collect(),
            changes: Vec::new(),
            setting,
            seed,
        }
    }

    fn rates(self, setting: &LeaseSetting, turn: u64, dice: &mut LabDice) -> Vec<u64> {
        let clients = setting.clients;
        let all = |percent: u64| skewed(setting.demand(percent), clients, 10);
        let turn = usize::try_from(turn).unwrap_or(0);
        match self {
            Self::Step => {
                let mut rates = all(120);
                for at in (1..rates.len()).rev() {
                    let other = usize::try_from(dice.below(at as u64 + 1)).unwrap_or(0);
                    rates.swap(at, other);
                }
                rates
            }
            Self::Flash => {
                let mut rates = all(30);
                let at = (turn * 3 + 1) % rates.len().max(1);
                if let Some(rate) = rates.get_mut(at) {
                    *rate += setting.demand(90);
                }
                rates
            }
            Self::Idle => {
                let is_busy = |client: u16| usize::from(client) % 2 == turn % 2;
                let busy = (0..clients).filter(|client| is_busy(*client)).count() as u64;
                let each = setting.demand(120) / busy.max(1);
                (0..clients)
                    .map(|client| if is_busy(client) { each } else { 0 })
                    .collect()
            }
            Self::Surge => {
                let mut rates = all(90);
                if let Some(last) = rates.last_mut().filter(|_| turn % 2 == 1) {
                    *last += setting.demand(100);
                }
                rates
            }
        }
    }
}
