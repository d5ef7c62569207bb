//! A checked contract: which requests it binds, by what it counts them, and its policies.

use tollgate_limit::{OnLimit, Policy, PolicySet};

use crate::dialect::Dialect;
use crate::entries::{CounterIdentity, has_key};
use crate::modes::{Coordination, ModeFields, Recovery, can_be_kept, can_be_lent};
use crate::source::PolicySource;

/// The policies that bind one kind of key; all must admit, all or nothing.
#[derive(Clone, Debug)]
pub struct Contract {
    /// Names the contract; no two of a file share it.
    pub id: String,
    /// Entries that must be present with these values, sorted; the value `*` is any value.
    pub matches: Vec<(String, String)>,
    /// Entries whose values identify the counter, in order.
    pub key: Vec<String>,
    /// How clients are told of their quota; `None` leaves it to whoever answers.
    pub headers: Option<Dialect>,
    /// The plan it follows.
    pub plan: Option<String>,
    /// The policies, in the order they are asked.
    pub policies: Vec<NamedPolicy>,
    pub(crate) set: PolicySet,
    /// What it was read from; `None` where it was not read.
    pub(crate) source: Option<PolicySource>,
}

/// A policy as a contract has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPolicy {
    /// Names the policy; no two of a contract share it.
    pub name: String,
    /// How many in what time, counted how.
    pub policy: Policy,
    /// How nodes agree about it.
    pub coordination: Coordination,
    /// How that works, where it says so.
    pub fields: ModeFields,
    /// What it answers when whoever it must ask does not.
    pub on_failure: OnFailure,
    /// Whether its counts survive a restart.
    pub durable: bool,
}

impl NamedPolicy {
    /// A policy that says nothing but its numbers.
    pub fn plain(name: String, policy: Policy) -> Self {
        Self {
            name,
            policy,
            coordination: Coordination::default(),
            fields: ModeFields::default(),
            on_failure: OnFailure::default(),
            durable: false,
        }
    }

    /// Whether it lets requests wait.
    pub fn delays(&self) -> bool {
        matches!(self.policy.config().on_limit, OnLimit::Delay { .. })
    }
}

/// What a policy answers when whoever it must ask does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OnFailure {
    /// The request passes.
    Allow,
    /// The request is refused.
    Deny,
    /// This node decides by what it knows.
    #[default]
    Local,
}

impl OnFailure {
    /// Every choice, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Deny, Self::Local];
    /// Their names, in the same order.
    pub const NAMES: [&'static str; 3] = ["allow", "deny", "local"];

    /// The name used in contract files.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Whether what is lent of these policies is kept in a ledger: of all of them, where one says so.
pub(crate) fn says_ledger(policies: &[NamedPolicy]) -> bool {
    policies
        .iter()
        .any(|named| named.recovery() == Recovery::Ledger)
}

/// Whether a ledger can keep all of these policies.
pub(crate) fn can_all_be_kept(policies: &[NamedPolicy]) -> bool {
    policies
        .iter()
        .all(|named| can_be_kept(named.policy.config(), &named.fields))
        && are_lent(policies)
}

/// Whether all of these policies can be lent together: of several none may make requests wait, for each would keep its
/// promise at another time.
pub fn are_lent(policies: &[NamedPolicy]) -> bool {
    let is_lent =
        |named: &NamedPolicy| named.coordination == Coordination::Lease && can_be_lent(named);
    let is_joint = policies.len() > 1 && policies.iter().any(NamedPolicy::delays);
    policies.iter().all(is_lent) && !is_joint
}

impl Contract {
    /// Whether clients may hold leases of its keys; what is under `lease` otherwise is asked for every decision.
    pub fn is_lent(&self) -> bool {
        are_lent(&self.policies)
    }

    /// Whether what is lent of its keys is kept in a ledger: of all its policies, where one says so.
    pub fn is_in_ledger(&self) -> bool {
        says_ledger(&self.policies) && can_all_be_kept(&self.policies)
    }

    /// All policies as the set that decides.
    pub const fn policy_set(&self) -> &PolicySet {
        &self.set
    }

    /// Whether the contract binds a request with these entries.
    ///
    /// Of a contract that was imported this is necessary but not sufficient: which rule of a domain counts depends on
    /// the others, so ask [`crate::Contracts::bind`].
    pub fn applies(&self, entries: &[(&str, &str)]) -> bool {
        let present = |(key, value): &(String, String)| {
            entries
                .iter()
                .any(|(name, is)| name == key && (value == ANY || is == value))
        };
        self.matches.iter().all(present) && self.key.iter().all(|key| has_key(entries, key))
    }

    /// The values that identify the counter, in the order of `key`.
    pub fn identity<'a>(&'a self, entries: &'a [(&'a str, &'a str)]) -> CounterIdentity<'a> {
        CounterIdentity::by_key(&self.key, entries)
    }
}

impl PartialEq for Contract {
    fn eq(&self, other: &Self) -> bool {
        // The set is made of the policies, and they of the source.
        let Self {
            id,
            matches,
            key,
            headers,
            plan,
            policies,
            set: _,
            source: _,
        } = self;
        (id, matches, key) == (&other.id, &other.matches, &other.key)
            && (headers, plan, policies) == (&other.headers, &other.plan, &other.policies)
    }
}

impl Eq for Contract {}

/// The value in `match` that stands for any.
pub(crate) const ANY: &str = "*";
