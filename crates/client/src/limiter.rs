//! The embedded limiter: a node, and a clock to ask.
//!
//! Not here: waiting for a turn (`wait`), estimates (`reservation`), HTTP (`layer`).

use std::path::Path;
use std::sync::Arc;

use tollgate_contract::{Contracts, Coordination};
use tollgate_limit::{Cost, KeyStatus, Policy, PolicyConfig};
use tollgate_node::{Answer, Key, Node, NodeConfig, Receipt};
use tollgate_table::{Counters, Seed, WhenFull};

use crate::error::LimiterError;
use crate::turns::Turns;
use tollgate_clock::{Clock, SystemClock};

/// How a limiter is set up; the default suits most.
#[derive(Clone, Copy, Debug)]
pub struct LimiterConfig {
    /// The most bytes all keys together may take.
    pub bytes_max: u64,
    /// What happens to a new key when they are taken.
    pub when_full: WhenFull,
    /// Decides alone even where a contract asks for coordination or durability, and ignores the wish.
    pub alone: bool,
}

impl Default for LimiterConfig {
    /// One gibibyte; the key closest to fresh makes room; contracts that need other nodes are refused.
    fn default() -> Self {
        let NodeConfig {
            bytes_max,
            when_full,
            ..
        } = NodeConfig::default();
        Self {
            bytes_max,
            when_full,
            alone: false,
        }
    }
}

/// Decides in process whether requests may pass. Any number of threads may share one.
#[derive(Debug)]
pub struct Limiter<C = SystemClock> {
    node: Node,
    clock: C,
    turns: Arc<Turns>,
}

impl Limiter {
    /// A limiter of these policies for every key; all of them must admit a request.
    ///
    /// ```
    /// use tollgate_client::{Algorithm, Limiter, Period, PolicyConfig};
    ///
    /// let limiter = Limiter::new([
    ///     PolicyConfig::token_bucket(20, Period::SECOND),
    ///     PolicyConfig::new(Algorithm::SlidingCounters, 600, Period::MINUTE),
    /// ])?;
    /// assert!(limiter.check(42, 20).is_allowed());
    /// assert!(!limiter.check(42, 20).is_allowed());
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    pub fn new(policies: impl IntoIterator<Item = PolicyConfig>) -> Result<Self, LimiterError> {
        Self::with(
            contract_of(policies)?,
            LimiterConfig::default(),
            SystemClock::new(),
        )
    }

    /// A limiter by the text of a contract file.
    ///
    /// ```
    /// use tollgate_client::Limiter;
    ///
    /// let limiter = Limiter::from_text(
    ///     "contracts:
    ///   - id: free-users
    ///     match: { plan: free }
    ///     key: [user]
    ///     policies:
    ///       - { name: burst, limit: 2, per: 1s }
    /// ",
    /// )?;
    /// let free = &[("plan", "free"), ("user", "ada")];
    /// let paid = &[("plan", "paid"), ("user", "bob")];
    /// assert!(limiter.check(free, 2).is_allowed());
    /// assert!(!limiter.check(free, 2).is_allowed());
    /// assert!(limiter.check(paid, 1_000).is_allowed(), "no contract binds it");
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    pub fn from_text(text: &str) -> Result<Self, LimiterError> {
        let contracts =
            Contracts::parse(text).map_err(|error| LimiterError::Contract(error.to_string()))?;
        Self::with(contracts, LimiterConfig::default(), SystemClock::new())
    }

    /// A limiter by a contract file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, LimiterError> {
        let path = path.as_ref();
        let text =
            std::fs::read_to_string(path).map_err(|error| LimiterError::File(error.to_string()))?;
        Self::from_text(&text)
    }
}

impl<C: Clock> Limiter<C> {
    /// A limiter by contracts, with everything chosen.
    ///
    /// ```
    /// use tollgate_client::{Contracts, Limiter, LimiterConfig, SystemClock, WhenFull};
    ///
    /// let contracts = Contracts::parse(
    ///     "contracts:
    ///   - id: all
    ///     key: [user]
    ///     policies: [{ name: rate, limit: 5, per: 1s, coordination: gossip }]
    /// ",
    /// )?;
    /// let config = LimiterConfig {
    ///     bytes_max: 64 << 20,
    ///     when_full: WhenFull::Refuse,
    ///     alone: true, // counts in this process only, whatever the contract asks for
    /// };
    /// let limiter = Limiter::with(contracts, config, SystemClock::new())?;
    /// assert!(limiter.check("ada", 5).is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with(
        contracts: Contracts,
        config: LimiterConfig,
        clock: C,
    ) -> Result<Self, LimiterError> {
        if !config.alone {
            refuse_company(&contracts)?;
        }
        let LimiterConfig {
            bytes_max,
            when_full,
            ..
        } = config;
        let config = NodeConfig {
            bytes_max,
            when_full,
            ..NodeConfig::default()
        };
        let node = Node::new(contracts, config, Seed::from_bytes(random()?));
        let turns = Arc::new(Turns::new(u64::from_le_bytes(random()?)));
        Ok(Self { node, clock, turns })
    }

    /// A limiter of these policies for every key, on the given clock.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_client::{FakeClock, Limiter, Period, PolicyConfig};
    ///
    /// let policy = PolicyConfig::token_bucket(1, Period::SECOND);
    /// let limiter = Limiter::with_clock([policy], FakeClock::default())?;
    /// assert!(limiter.check("ada", 1).is_allowed());
    /// assert!(!limiter.check("ada", 1).is_allowed());
    /// limiter.clock().advance(Duration::from_secs(1));
    /// assert!(limiter.check("ada", 1).is_allowed());
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    pub fn with_clock(
        policies: impl IntoIterator<Item = PolicyConfig>,
        clock: C,
    ) -> Result<Self, LimiterError> {
        Self::with(contract_of(policies)?, LimiterConfig::default(), clock)
    }

    /// May this key spend `cost` now? A cost of zero only asks.
    ///
    /// ```
    /// use tollgate_client::{FakeClock, Limiter, Period, PolicyConfig, Span, Verdict};
    ///
    /// let policy = PolicyConfig::token_bucket(2, Period::SECOND);
    /// let limiter = Limiter::with_clock([policy], FakeClock::default())?;
    /// assert_eq!(limiter.check("ada", 2).verdict, Verdict::Allow);
    /// let half_a_second = Span::from_nanos(500_000_000);
    /// assert_eq!(limiter.check("ada", 1).verdict, Verdict::Deny { retry_after: half_a_second });
    /// assert_eq!(limiter.check("ada", 3).verdict, Verdict::Never);
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    #[inline(always)]
    #[allow(clippy::inline_always)] // Callers then pay only for the parts of an answer they look at.
    pub fn check<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Answer {
        let clock = &self.clock;
        let cost = cost_of(cost);
        self.node
            .check_when(key.into(), cost, || clock.at_once(), || clock.now())
    }

    /// Decides many requests at one time, in order, and hands each answer over: several times faster than one by one
    /// where there are many keys.
    ///
    /// ```
    /// use tollgate_client::{Cost, Key, Limiter, Period, PolicyConfig};
    ///
    /// let limiter = Limiter::new([PolicyConfig::token_bucket(2, Period::HOUR)])?;
    /// let requests: Vec<_> = [7, 8, 7, 7].map(|user| (Key::Word(user), Cost::ONE)).into();
    /// let mut passed = Vec::new();
    /// limiter.check_many(&requests, |answer| passed.push(answer.is_allowed()));
    /// assert_eq!(passed, [true, true, true, false]);
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    pub fn check_many(&self, requests: &[(Key<'_>, Cost)], answer: impl FnMut(Answer)) {
        self.node.check_many(requests, self.clock.now(), answer);
    }

    /// Charges the difference between what a request really cost and what it was charged.
    ///
    /// ```
    /// use tollgate_client::{Limiter, Period, PolicyConfig};
    ///
    /// let limiter = Limiter::new([PolicyConfig::token_bucket(100, Period::HOUR)])?;
    /// let answer = limiter.check("ada", 60);
    /// assert_eq!(answer.remaining, 40);
    /// limiter.settle(&answer.receipt, 10); // it was less than feared
    /// assert_eq!(limiter.check("ada", 0).remaining, 90);
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    pub fn settle(&self, receipt: &Receipt, actual: u64) {
        self.node.settle(receipt, cost_of(actual), self.clock.now());
    }

    /// Charges without asking; the key may go into debt.
    ///
    /// ```
    /// use tollgate_client::{FakeClock, Limiter, Period, PolicyConfig};
    ///
    /// let policy = PolicyConfig::token_bucket(10, Period::SECOND);
    /// let limiter = Limiter::with_clock([policy], FakeClock::default())?;
    /// limiter.charge("ada", 25); // it has happened, whether it was allowed or not
    /// let retry_after = limiter.check("ada", 1).verdict.retry_after();
    /// assert_eq!(retry_after.map(|span| span.as_nanos()), Some(1_600_000_000));
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    pub fn charge<'k>(&self, key: impl Into<Key<'k>>, cost: u64) {
        self.node
            .charge(key.into(), cost_of(cost), self.clock.now());
    }

    /// Gives tokens back.
    ///
    /// ```
    /// use tollgate_client::{Limiter, Period, PolicyConfig};
    ///
    /// let limiter = Limiter::new([PolicyConfig::token_bucket(10, Period::HOUR)])?;
    /// assert_eq!(limiter.check("ada", 10).remaining, 0);
    /// limiter.refund("ada", 4);
    /// assert_eq!(limiter.check("ada", 0).remaining, 4);
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    pub fn refund<'k>(&self, key: impl Into<Key<'k>>, cost: u64) {
        self.node
            .refund(key.into(), cost_of(cost), self.clock.now());
    }

    /// Forgets everything about a key.
    ///
    /// ```
    /// use tollgate_client::{Limiter, Period, PolicyConfig};
    ///
    /// let limiter = Limiter::new([PolicyConfig::token_bucket(1, Period::HOUR)])?;
    /// assert!(limiter.check("ada", 1).is_allowed());
    /// limiter.reset("ada");
    /// assert!(limiter.check("ada", 1).is_allowed());
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    pub fn reset<'k>(&self, key: impl Into<Key<'k>>) {
        self.node.reset(key.into());
    }

    /// How each policy stands for a key, by the contract's place.
    ///
    /// ```
    /// use tollgate_client::{Limiter, Period, PolicyConfig};
    ///
    /// let limiter = Limiter::new([
    ///     PolicyConfig::token_bucket(10, Period::MINUTE),
    ///     PolicyConfig::token_bucket(100, Period::HOUR),
    /// ])?;
    /// let _ = limiter.check("ada", 3);
    /// let (contract, policies) = &limiter.status("ada")[0];
    /// assert_eq!(*contract, 0);
    /// assert_eq!(policies.iter().map(|policy| policy.remaining).collect::<Vec<_>>(), [7, 97]);
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    pub fn status<'k>(&self, key: impl Into<Key<'k>>) -> Vec<(usize, Vec<KeyStatus>)> {
        self.node.status(key.into(), self.clock.now())
    }

    /// The clock.
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    /// The node inside, for what the limiter does not wrap.
    pub const fn node(&self) -> &Node {
        &self.node
    }

    pub(crate) const fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }

    /// What happened at the limits of the table so far.
    pub fn counters(&self) -> Counters {
        self.node.counters()
    }
}

/// Header fields and the problem document of a refusal, where no layer adds them.
///
/// ```
/// use tollgate_client::{Dialect, FakeClock, Limiter, Period, PolicyConfig, LimitReport};
///
/// let policy = PolicyConfig::token_bucket(600, Period::MINUTE);
/// let limiter = Limiter::with_clock([policy], FakeClock::default())?;
/// let answer = limiter.check("user-42", 1);
/// let headers = LimitReport::new(&limiter, &answer).headers(Dialect::Ietf);
/// assert!(headers["ratelimit-policy"].to_str()?.ends_with(";q=600;w=60"));
/// assert!(headers["ratelimit"].to_str()?.ends_with(";r=599;t=1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "tower")]
impl<C: Clock> tollgate_http::Decider for Limiter<C> {
    fn node(&self) -> &Node {
        &self.node
    }

    fn now(&self) -> tollgate_limit::Instant {
        self.clock.now()
    }
}

/// The contract that binds every key by these policies.
fn contract_of(
    policies: impl IntoIterator<Item = PolicyConfig>,
) -> Result<Contracts, LimiterError> {
    let policies: Result<Vec<_>, _> = policies.into_iter().map(Policy::new).collect();
    Ok(Contracts::for_every_key(policies?)?)
}

/// Refuses contracts that one process cannot keep.
fn refuse_company(contracts: &Contracts) -> Result<(), LimiterError> {
    for contract in contracts.as_slice() {
        for policy in &contract.policies {
            let wish = match policy.coordination {
                _ if policy.durable => "durability",
                Coordination::Local => continue,
                other => other.name(),
            };
            let (contract, policy) = (contract.id.clone(), policy.name.clone());
            return Err(LimiterError::NeedsCompany {
                contract,
                policy,
                wish,
            });
        }
    }
    Ok(())
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], LimiterError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| LimiterError::NoRandomness(error.to_string()))?;
    Ok(bytes)
}

/// A cost that cannot be is one that can never pass.
pub(crate) fn cost_of(tokens: u64) -> Cost {
    Cost::new(tokens).unwrap_or(Cost::MAX)
}
