//! Plans by themselves: named sets of policies, each laid over the plan it follows.
//!
//! Not here: a whole file (`check`), nor who is on a plan (`tollgate-catalogue`).

use core::iter::successors;
use std::collections::BTreeMap;

use tollgate_limit::POLICIES_MAX;

use crate::error::{ContractErrors, ErrorKind};
use crate::kept::KeptPolicies;
use crate::merge::{Given, overlaid};
use crate::nearest::hint;
use crate::policy::{self, Inherited};
use crate::problems::{Problem, Problems};
use crate::raw::RawPlan;
use crate::snippet::{Place, quote};
use crate::{PLAN_DEPTH_MAX, check, yaml};

/// Named sets of policies that contracts follow, and that follow each other.
#[derive(Clone, Debug, Default)]
pub struct Plans(BTreeMap<Box<str>, Plan>);

#[derive(Clone, Debug)]
struct Plan {
    follows: Option<Box<str>>,
    own: KeptPolicies,
}

impl Plans {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is a plan of that name.
    pub fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|id| &**id)
    }

    /// The plan that a plan follows.
    pub fn follows(&self, id: &str) -> Option<&str> {
        self.0.get(id)?.follows.as_deref()
    }

    /// The plan itself and every plan that follows it, over however many others; sorted.
    pub fn family(&self, id: &str) -> Vec<&str> {
        let is_in = |name: &&str| {
            let mut chain = successors(Some(*name), |name| self.follows(name)).take(LOOK_MAX);
            chain.any(|is| is == id)
        };
        self.names().filter(is_in).collect()
    }

    /// The names of a plan's policies, those of the plans it follows included, in their order.
    pub fn policy_names(&self, id: &str) -> Vec<String> {
        let all = self.resolved(id, Place::default()).unwrap_or_default();
        all.iter()
            .filter_map(Given::name)
            .map(str::to_owned)
            .collect()
    }

    /// Reads one plan, checks it among the others, and puts it there.
    pub fn put(&mut self, text: &str) -> Result<RawPlan, ContractErrors> {
        let raw: RawPlan = yaml::read(text)?;
        let mut problems = Problems::default();
        let own = check::check_plan(&raw, &mut problems);
        let id = &*raw.id.value;
        let before = self.0.insert(id.into(), Plan::of(&raw, &own));
        self.check_follows(&raw, false, &mut problems);
        // What is wrong with the policies below is shown at the name of the plan that has them.
        let place = raw.follows.as_ref().map_or(raw.id.place, |text| text.place);
        let given = |at: &str| {
            if at == id {
                Some(own.clone())
            } else {
                Some(self.0.get(at)?.own.given(place))
            }
        };
        if let Some(all) = self.resolved_by(id, given) {
            check_resolved(&all, raw.id.place, &mut problems);
        }
        if problems.is_empty() {
            return Ok(raw);
        }
        match before {
            Some(before) => self.0.insert(id.into(), before),
            None => self.0.remove(id),
        };
        Err(problems.into_errors(text))
    }

    /// Takes a plan away. Whoever follows it is for the caller to ask first.
    pub fn remove(&mut self, id: &str) {
        self.0.remove(id);
    }

    /// What is wrong with a plan since one that it follows has changed.
    pub fn recheck(&self, id: &str) -> Problems {
        let mut problems = Problems::default();
        if let Some(all) = self.named(id, Place::default(), &mut problems) {
            check_resolved(&all, Place::default(), &mut problems);
        } else if let Some(what) = self.chain(id).err().and_then(|broken| broken.what()) {
            problems.add(Problem::new(ErrorKind::Conflict, Place::default(), what));
        }
        problems
    }

    pub(crate) fn insert(&mut self, raw: &RawPlan, own: &[Given]) {
        self.0.insert(raw.id.value.clone(), Plan::of(raw, own));
    }

    /// The plan and those below it, as given; `None` where one of them is not there.
    pub(crate) fn resolved(&self, id: &str, place: Place) -> Option<Vec<Given>> {
        self.resolved_by(id, |id| Some(self.0.get(id)?.own.given(place)))
    }

    /// The same, and a complaint where there is no such plan.
    pub(crate) fn named(
        &self,
        id: &str,
        place: Place,
        problems: &mut Problems,
    ) -> Option<Vec<Given>> {
        if !self.has(id) {
            problems.add(self.unknown(id, place));
        }
        self.resolved(id, place)
    }

    /// The same, where the policies of each plan are known otherwise.
    pub(crate) fn resolved_by(
        &self,
        id: &str,
        own: impl Fn(&str) -> Option<Vec<Given>>,
    ) -> Option<Vec<Given>> {
        let chain = self.chain(id).ok()?;
        let mut plans = chain.iter().rev().filter_map(|id| own(id));
        let lowest = plans.next()?;
        Some(plans.fold(lowest, |below, own| overlaid(&below, &own)))
    }

    /// A plan that is not there.
    pub(crate) fn unknown(&self, name: &str, place: Place) -> Problem {
        let known: Vec<&str> = self.names().collect();
        let hint = if known.is_empty() {
            "; there are no plans".into()
        } else {
            hint(name, &known)
        };
        let what = format!("unknown plan {}{hint}", quote(name));
        Problem::new(ErrorKind::UnknownName, place, what)
    }

    /// Says what is wrong with the plans that a plan follows. A circle is told `once`, or at every plan that is in it.
    pub(crate) fn check_follows(&self, raw: &RawPlan, once: bool, problems: &mut Problems) {
        let Some(follows) = &raw.follows else {
            return;
        };
        if !self.has(&follows.value) {
            return problems.add(self.unknown(&follows.value, follows.place));
        }
        let Err(broken) = self.chain(&raw.id.value) else {
            return;
        };
        if let Broken::Circle(chain) = &broken
            && once
            && chain.iter().min() != chain.first()
        {
            return;
        }
        if let Some(what) = broken.what() {
            problems.add(Problem::new(ErrorKind::Conflict, follows.place, what));
        }
    }

    /// The plan and those it follows, itself first.
    fn chain<'a>(&'a self, id: &'a str) -> Result<Vec<&'a str>, Broken<'a>> {
        let mut chain = vec![id];
        let mut at = id;
        loop {
            let Some(plan) = self.0.get(at) else {
                return Err(Broken::Elsewhere);
            };
            let Some(next) = plan.follows.as_deref() else {
                break;
            };
            if next == id {
                chain.push(next);
                return Err(Broken::Circle(chain));
            }
            if chain.contains(&next) {
                return Err(Broken::Elsewhere);
            }
            if chain.len() == LOOK_MAX {
                break;
            }
            chain.push(next);
            at = next;
        }
        if chain.len() > PLAN_DEPTH_MAX {
            return Err(Broken::Deep(chain));
        }
        Ok(chain)
    }
}

impl Plan {
    fn of(raw: &RawPlan, own: &[Given]) -> Self {
        Self {
            follows: raw.follows.as_ref().map(|text| text.value.clone()),
            own: KeptPolicies::of(own),
        }
    }
}

/// Why a plan has no policies.
enum Broken<'a> {
    /// It follows itself, over the others.
    Circle(Vec<&'a str>),
    /// It follows too many.
    Deep(Vec<&'a str>),
    /// One of those that it follows is wrong; that is told there.
    Elsewhere,
}

impl Broken<'_> {
    /// What is wrong, where that is told here.
    fn what(&self) -> Option<String> {
        match self {
            Self::Circle(chain) => Some(format!(
                "plans cannot follow each other in a circle: {}",
                arrows(chain)
            )),
            Self::Deep(chain) => Some(format!(
                "a plan follows at most {} others, one after the other: {}",
                PLAN_DEPTH_MAX - 1,
                arrows(chain)
            )),
            Self::Elsewhere => None,
        }
    }
}

/// Checks a plan's policies with those below them.
pub(crate) fn check_resolved(all: &[Given], place: Place, problems: &mut Problems) {
    check_count(all.len(), place, problems);
    for policy in all {
        policy::check(policy, Inherited::of_plan(), problems);
    }
}

pub(crate) fn check_count(count: usize, place: Place, problems: &mut Problems) {
    if count > POLICIES_MAX {
        let what = format!("{count} policies, the plan's included, are more than {POLICIES_MAX}");
        problems.add(Problem::new(ErrorKind::TooLarge, place, what));
    }
}

fn arrows(chain: &[&str]) -> String {
    let shown: Vec<String> = chain.iter().take(SHOWN_MAX).map(|id| quote(id)).collect();
    let more = if chain.len() > SHOWN_MAX {
        " -> …"
    } else {
        ""
    };
    shown.join(" -> ") + more
}

/// Plans that are walked along before it is given up to look for a circle.
const LOOK_MAX: usize = 64;
/// Plans that a message names.
const SHOWN_MAX: usize = 10;
