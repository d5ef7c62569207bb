//! Two whole nodes in virtual time, whose frames take a millisecond.
//!
//! Not here: owners, stores, files and assignments, which a server has.

use std::sync::Arc;

use tollgate_contract::{Contracts, Coordination, Feature};
use tollgate_lab::nodes::NodeWorld;
use tollgate_limit::{Cost, KeyStatus, OperationId, Span};
use tollgate_node::{Answer, Debit, Lend, Receipt, Within};
use tollgate_sim::Conditions;

use super::pair::{Foreseen, Pair, PairAct, PairAnswer, PairKey, Stand};

pub(crate) struct Whole {
    world: NodeWorld,
    contracts: String,
    /// Of the check before.
    receipt: Receipt,
}

impl Whole {
    pub(crate) fn start(contracts: &str) -> Self {
        let mut world = NodeWorld::empty(Conditions::between(MS, MS), 1, 1 << 26);
        world.contracts = Contracts::parse(contracts).unwrap_or_else(|errors| panic!("{errors}"));
        world.divide(2);
        world.prepare = Some(Box::new(|_, membership| {
            membership.lend = Some(Lend {
                generation: 1,
                has_successors: true,
                steady: None,
                day: None,
                journal: None,
                quota: None,
                holder: None,
                is_first: Arc::default(),
            });
        }));
        world.start(2, 3_000 * MS);
        Self {
            world,
            contracts: contracts.to_owned(),
            receipt: Receipt::Nothing,
        }
    }
}

const MS: u64 = 1_000_000;

fn id(text: &str) -> OperationId {
    OperationId::new(text.as_bytes()).unwrap()
}

fn cost(tokens: u64) -> Cost {
    Cost::new(tokens).unwrap()
}

fn said(answer: &Answer) -> PairAnswer {
    let wait = answer.verdict.wait().as_nanos() / u128::from(MS);
    PairAnswer {
        is_done: answer.is_allowed(),
        wait_ms: u64::try_from(wait).unwrap(),
    }
}

const fn done(is_done: bool) -> PairAnswer {
    PairAnswer {
        is_done,
        wait_ms: 0,
    }
}

impl Pair for Whole {
    fn what(&self) -> &'static str {
        "simulated"
    }

    fn can(&self, feature: Feature) -> bool {
        !matches!(
            feature,
            Feature::Plan | Feature::Overrides | Feature::Durable
        )
    }

    fn shares(&self, _: Coordination) -> bool {
        false
    }

    fn act(&mut self, node: usize, key: &PairKey<'_>, act: PairAct<'_>) -> PairAnswer {
        let now = self.world.local(node);
        let whole = self.world.nodes[node].newest().whole();
        let debit = |tokens| Debit {
            key: key.into(),
            cost: cost(tokens),
        };
        let checked = |answer: Answer, receipt: &mut Receipt| {
            *receipt = answer.receipt.clone();
            said(&answer)
        };
        let came = match act {
            PairAct::Check(tokens) => checked(
                whole.check(key.into(), cost(tokens), now),
                &mut self.receipt,
            ),
            PairAct::CheckOnce(name, tokens) => {
                said(&whole.check_once(&id(name), debit(tokens), now).unwrap())
            }
            PairAct::Reserve(name, tokens) => {
                let minute = Span::from_nanos(60_000_000_000);
                said(
                    &whole
                        .reserve(&id(name), debit(tokens), minute, now)
                        .unwrap(),
                )
            }
            PairAct::Commit(name, tokens) => done(
                self.world.nodes[node]
                    .newest()
                    .commit(&id(name), cost(tokens), now)
                    .is_ok(),
            ),
            PairAct::Cancel(name) => done(
                self.world.nodes[node]
                    .newest()
                    .cancel(&id(name), now)
                    .is_ok(),
            ),
            PairAct::Settle(tokens) => {
                self.world.nodes[node]
                    .newest()
                    .settle(&self.receipt, cost(tokens), now);
                done(true)
            }
            PairAct::Charge(tokens) => done(whole.charge(key.into(), cost(tokens), now)),
            PairAct::ChargeOnce(name, tokens) => {
                done(whole.charge_once(&id(name), debit(tokens), now).is_ok())
            }
            PairAct::Refund(tokens) => {
                whole.refund(key.into(), cost(tokens), now);
                done(true)
            }
            PairAct::RefundOnce(name, tokens) => {
                done(whole.refund_once(&id(name), debit(tokens), now).is_ok())
            }
            PairAct::Reset => {
                whole.reset(key.into());
                done(true)
            }
        };
        self.world.follow_up(node);
        self.world.settle();
        came
    }

    fn stands(&mut self, node: usize, key: &PairKey<'_>) -> Vec<Stand> {
        let now = self.world.local(node);
        let mut read = Within::status(&self.world.nodes[node].newest().whole(), key.into(), now);
        let each = read.policies().map(|(_, policy, _, status)| {
            let KeyStatus {
                limit,
                remaining,
                debt,
                ..
            } = status;
            Stand {
                policy: policy.name.clone(),
                limit,
                remaining,
                debt,
            }
        });
        each.collect()
    }

    fn foresees(&mut self, node: usize, key: &PairKey<'_>, tokens: u64) -> Vec<Foreseen> {
        let now = self.world.local(node);
        let mut read =
            self.world.nodes[node]
                .newest()
                .whole()
                .foresee(key.into(), cost(tokens), now);
        let each = read.policies().map(|(_, _, _, forecast)| Foreseen {
            is_enforced: forecast.is_enforced,
            is_allowed: forecast.verdict.is_allowed(),
        });
        each.collect()
    }

    fn pass(&mut self) {
        self.world.run(20 * MS);
    }

    fn change(&mut self, id: &str, contract: &str) {
        let is_other = |line: &&str| !line.contains(&format!("{{ id: {id}, "));
        let mut lines: Vec<&str> = self.contracts.lines().filter(is_other).collect();
        let changed = format!("- {contract}");
        lines.push(&changed);
        self.contracts = lines.join("\n");
        self.world
            .reload(Contracts::parse(&self.contracts).unwrap());
    }

    fn assign(&mut self, _: &str) {
        unreachable!("assignments need a server");
    }

    fn restart(&mut self, _: usize) {
        unreachable!("files need a server");
    }
}
