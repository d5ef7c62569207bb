//! What a contract says itself, kept so that it can be laid over another plan and under the wishes of one key.
//!
//! Not here: who has which plan (`tollgate-catalogue`).

use tollgate_kit::{FNV, fnv};

use crate::check::{check_contract, check_policies, given};
use crate::contract::Contract;
use crate::error::{ContractErrors, ErrorKind};
use crate::kept::KeptPolicies;
use crate::merge::{Given, laid_over, overlaid};
use crate::modes::Coordination;
use crate::plans::Plans;
use crate::policy::Inherited;
use crate::problems::{Problem, Problems};
use crate::raw::{RawContract, RawPolicies};
use crate::snippet::{Place, quote};
use crate::terms::Terms;
use crate::text::{Text, YamlNode};
use crate::yaml;

/// What a contract says about its policies.
#[derive(Clone, Debug)]
pub(crate) struct PolicySource {
    own: KeptPolicies,
    coordination: Coordination,
}

/// What one key has otherwise than its contract says: another plan, other values of some fields, or both.
#[derive(Clone, Debug, Default)]
pub struct Deal {
    plan: Option<Text>,
    overrides: Vec<Given>,
    place: Place,
}

impl Deal {
    /// Another plan, and policies of which each changes the fields it gives in the policy of its name.
    ///
    /// What is wrong with anything but the overrides is shown at the plan's name, or at `place` where there is none.
    pub fn new(
        plan: Option<Text>,
        overrides: &RawPolicies,
        place: Place,
        problems: &mut Problems,
    ) -> Self {
        Self {
            place: plan.as_ref().map_or(place, |text| text.place),
            plan,
            overrides: given(overrides, problems),
        }
    }

    /// The plan, where it is another.
    pub const fn plan(&self) -> Option<&Text> {
        self.plan.as_ref()
    }

    /// Where what is wrong with it is shown.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// The names of the policies it changes, with the places they were typed at.
    pub fn overridden(&self) -> impl Iterator<Item = (&str, Place)> {
        self.overrides
            .iter()
            .filter_map(|given| Some((given.name()?, given.place)))
    }
}

impl PolicySource {
    pub(crate) fn of(own: &[Given], default: Inherited) -> Self {
        Self {
            own: KeptPolicies::of(own),
            coordination: default.coordination,
        }
    }

    const fn inherited(&self) -> Inherited {
        Inherited {
            coordination: self.coordination,
            place: None,
            is_plan: false,
        }
    }

    /// A number that is the same for the same policies, wherever and whenever they came together; never zero.
    fn version(&self, all: &[Given]) -> u64 {
        let hash = fnv(FNV, &[self.coordination as u8]);
        let sorted: Vec<Given> = all.iter().map(Given::sorted).collect();
        fnv(hash, KeptPolicies::of(&sorted).bytes()).max(1)
    }
}

impl Contract {
    /// Reads one contract by itself and checks it; what it follows is among `plans`.
    pub fn read(text: &str, plans: &Plans) -> Result<(Self, RawContract), ContractErrors> {
        let raw: YamlNode<RawContract> = yaml::read(text)?;
        let mut problems = Problems::default();
        let plan =
            |name: &Text, problems: &mut Problems| plans.named(&name.value, name.place, problems);
        let contract = check_contract(&raw, plan, &mut problems);
        match contract {
            Some(contract) if problems.is_empty() => Ok((contract, raw.value)),
            _ => Err(problems.into_errors(text)),
        }
    }

    /// What binds a key that has a deal of its own; `None` when that makes no sense, with what is wrong in `problems`.
    ///
    /// An override of a policy that is not there changes nothing. Contracts that were imported or made in code have no
    /// other terms.
    pub fn terms(&self, plans: &Plans, deal: &Deal, problems: &mut Problems) -> Option<Terms> {
        let Some(source) = &self.source else {
            let what = format!(
                "the contract {} was not read from a contract file; it has no other terms",
                quote(&self.id)
            );
            problems.add(Problem::new(ErrorKind::Conflict, deal.place, what));
            return None;
        };
        let own = source.own.given(deal.place);
        let other = deal.plan.as_ref().map(|text| &*text.value);
        let mut all = match other.or(self.plan.as_deref()) {
            None => own,
            Some(id) => overlaid(&plans.named(id, deal.place, problems)?, &own),
        };
        laid_over(&mut all, &deal.overrides);
        let policies = check_policies(&all, source.inherited(), deal.place, problems)?;
        Terms::new(policies, source.version(&all)).ok()
    }

    /// The contract as its plan makes it, where that has changed; what is wrong with it now, otherwise.
    pub fn renewed(&self, plans: &Plans) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let terms = self.terms(plans, &Deal::default(), &mut problems);
        match terms {
            Some(terms) if problems.is_empty() => Ok(Self {
                policies: terms.policies,
                set: terms.set,
                ..self.clone()
            }),
            _ => Err(problems),
        }
    }
}
