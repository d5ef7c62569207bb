//! Judges descriptors one by one: which rule applies, and its result.

use std::borrow::Cow;

use smallvec::SmallVec;
use tollgate_contract::envoy::EnvoyRule;
use tollgate_limit::{Algorithm, Cost, Period, Policy, PolicyConfig};
use tollgate_node::{Answer, Key};
use tollgate_wire::rls::{
    Code, DescriptorStatus, RateLimit, RateLimitDescriptor, RateLimitOverride, RateLimitRequest,
    Unit,
};

use super::{JudgeOptions, RlsError, status};
use crate::engine::{Act, EngineRequest, Op, OpOutcome, Scope, StartedOp, Steps, Turn};
use crate::meter::Hits;
use crate::value::{shorten, text};

type Texts<'a> = SmallVec<[(Cow<'a, str>, Cow<'a, str>); 4]>;

/// As contracts see them.
type Entries<'a> = SmallVec<[(&'a str, &'a str); 4]>;

pub(super) type Pairs<'a> = &'a [(&'a str, &'a str)];

/// Whether judged hits are also counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Admitted hits are, as always.
    Judged,
    /// None are: Kuadrant's `CheckRateLimit`.
    Not,
    /// All are, regardless of limits: Kuadrant's `Report`.
    Unjudged,
}

/// A whole request being judged.
pub(super) struct RlsRequest<'a> {
    pub(super) turn: &'a Turn<'a>,
    pub(super) asked: &'a RateLimitRequest,
    pub(super) entries: &'a [Pairs<'a>],
    /// The imported rule of each descriptor; empty without imported rules.
    pub(super) rules: SmallVec<[Option<EnvoyRule<'a>>; 2]>,
    pub(super) manner: JudgeOptions,
    count: Counting,
}

/// Builds the request's working form and lends it to `run`.
pub(super) fn lend<T>(
    turn: &Turn<'_>,
    request: &RateLimitRequest,
    count: Counting,
    manner: JudgeOptions,
    run: impl FnOnce(&RlsRequest<'_>) -> T,
) -> T {
    let texts = request.descriptors.iter();
    let texts: SmallVec<[_; 2]> = texts
        .map(|one| self::texts(one, manner.key_bytes_max))
        .collect();
    let entries: SmallVec<[_; 2]> = texts.iter().map(self::entries).collect();
    let entries: SmallVec<[_; 2]> = entries.iter().map(|entries| &**entries).collect();
    run(&RlsRequest {
        turn,
        asked: request,
        entries: &entries,
        rules: rules(turn, request, &entries),
        manner,
        count,
    })
}

/// The imported rule of each descriptor; empty without imported rules.
fn rules<'a>(
    turn: &'a Turn<'_>,
    request: &'a RateLimitRequest,
    entries: &'a [Pairs<'a>],
) -> SmallVec<[Option<EnvoyRule<'a>>; 2]> {
    let domains = turn.node().contracts().envoy();
    domains.map_or_else(SmallVec::new, |domains| {
        let domain = domains.get(&request.domain);
        let own = |(entries, descriptor): (&Pairs<'a>, &RateLimitDescriptor)| {
            // A limit of its own overrides the rule, which then replaces nothing either.
            let rule = domain.filter(|_| descriptor.limit.is_none());
            rule.and_then(|domain| domain.rule_for(entries))
        };
        entries.iter().zip(&request.descriptors).map(own).collect()
    })
}

pub(super) struct Judged {
    pub(super) status: DescriptorStatus,
    pub(super) is_quota: bool,
    /// The engine's answer, if it was asked.
    pub(super) answer: Option<Answer>,
    /// The limit from the request, if that gave the answer instead of the contracts.
    pub(super) own: Option<Policy>,
}

impl Judged {
    pub(super) fn is_over(&self) -> bool {
        self.status.code == i32::from(Code::OverLimit)
    }

    /// A descriptor that passes without further figures.
    fn passes(limit_remaining: u32) -> Self {
        Self::of(DescriptorStatus {
            code: Code::Ok.into(),
            limit_remaining,
            ..DescriptorStatus::default()
        })
    }

    fn of(status: DescriptorStatus) -> Self {
        Self {
            status,
            is_quota: false,
            answer: None,
            own: None,
        }
    }
}

pub(super) fn start(request: &RlsRequest<'_>) -> Result<Vec<StartedOp>, RlsError> {
    let mut steps = Vec::new();
    for (at, (descriptor, &entries)) in request.descriptors() {
        let is_other = |rule: EnvoyRule<'_>| rule.is_unlimited() || request.is_replaced(rule);
        if descriptor.limit.is_none() && !request.rule(at).is_some_and(is_other) {
            let ops = request.ops(descriptor, entries)?;
            steps.extend(ops.map(|op| request.turn.start(&op)));
        }
    }
    Ok(steps)
}

impl<'a> RlsRequest<'a> {
    /// Judges each descriptor, in order, by the started steps or else by deciding now.
    pub(super) fn judge(
        &self,
        mut started: Option<Steps>,
    ) -> Result<SmallVec<[Judged; 2]>, RlsError> {
        let judged = self.descriptors().map(|(at, (descriptor, &entries))| {
            let judged = match (descriptor.limit, self.rule(at)) {
                (Some(limit), _) => self.by_own_limit(descriptor, entries, limit)?,
                (None, Some(rule)) if rule.is_unlimited() => {
                    return Ok(Judged::passes(UNLIMITED));
                }
                (None, Some(rule)) if self.is_replaced(rule) => Judged::passes(0),
                (None, rule) => {
                    let ops = self.ops(descriptor, entries)?;
                    let answer = match &mut started {
                        Some(steps) => self.answer(descriptor, steps)?,
                        None => self.answer(descriptor, ops.map(|op| self.turn.start(&op)))?,
                    };
                    self.by_contracts(descriptor, rule, answer)?
                }
            };
            let is_quota = judged.is_quota || self.manner.quota;
            Ok(Judged { is_quota, ..judged })
        });
        judged.collect()
    }

    fn descriptors(&self) -> impl Iterator<Item = (usize, (&RateLimitDescriptor, &Pairs<'a>))> {
        self.asked.descriptors.iter().zip(self.entries).enumerate()
    }

    fn rule(&self, at: usize) -> Option<EnvoyRule<'a>> {
        self.rules.get(at).copied().flatten()
    }

    /// Whether the rule of another descriptor replaces this one.
    fn is_replaced(&self, rule: EnvoyRule<'_>) -> bool {
        let Some(name) = rule.name() else {
            return false;
        };
        let mut rules = self.rules.iter().flatten();
        rules.any(|other| other.replaces().iter().any(|replaced| replaced == name))
    }

    /// The contracts' answer for a descriptor.
    fn by_contracts(
        &self,
        descriptor: &RateLimitDescriptor,
        rule: Option<EnvoyRule<'_>>,
        answer: Answer,
    ) -> Result<Judged, RlsError> {
        let cost = self.cost(descriptor)?;
        let passes = self.passes(descriptor, cost, &answer);
        if self.count == Counting::Judged
            && !descriptor.is_negative_hits
            && let Some(contract) = rule.and_then(|rule| rule.contract())
        {
            let hits = Hits::of(cost.tokens(), &answer, self.manner.near_limit);
            self.turn.meter().ruled(contract, &hits);
        }
        Ok(Judged {
            status: status::of(self.turn, &answer, rule, passes),
            is_quota: rule.is_some_and(|rule| rule.is_quota()),
            answer: Some(answer),
            own: None,
        })
    }

    /// The charge or refund to make before asking contracts.
    fn write(&self, descriptor: &RateLimitDescriptor) -> Option<Act> {
        match self.count {
            Counting::Not => None,
            _ if descriptor.is_negative_hits => Some(Act::Refund),
            Counting::Unjudged => Some(Act::Charge),
            Counting::Judged => None,
        }
    }

    /// The charge or refund, if any, and the question to the contracts.
    ///
    /// A cost in a descriptor is often that of a response, and Envoy does not say: it is taken even if less is left.
    #[inline]
    fn ops<'e>(
        &'e self,
        descriptor: &RateLimitDescriptor,
        entries: Pairs<'e>,
    ) -> Result<impl Iterator<Item = Op<'e>>, RlsError> {
        let ask = self.ask(descriptor, entries)?;
        let peeks = self.count != Counting::Judged || descriptor.is_negative_hits;
        let (act, cost) = match descriptor.hits_addend {
            _ if peeks => (Act::Check, Cost::PEEK),
            Some(_) => (Act::CheckAndTake, ask.cost),
            None => (Act::Check, ask.cost),
        };
        let write = self.write(descriptor).map(|act| Op::Key(act, ask));
        let check = Op::Key(act, EngineRequest { cost, ..ask });
        Ok(write.into_iter().chain([check]))
    }

    /// The contracts' answer, after the charge or refund.
    #[inline]
    fn answer(
        &self,
        descriptor: &RateLimitDescriptor,
        mut steps: impl Iterator<Item = StartedOp>,
    ) -> Result<Answer, RlsError> {
        let mut next = || steps.next().unwrap_or_default().outcome();
        if self.write(descriptor).is_some() && !next().map_err(RlsError::Engine)?.is_done() {
            return Err(RlsError::Full);
        }
        let answer = next().and_then(OpOutcome::answer);
        answer.map_err(RlsError::Engine)
    }

    /// Refunds and unconditional charges are never refused.
    fn passes(&self, descriptor: &RateLimitDescriptor, cost: Cost, answer: &Answer) -> bool {
        match self.count {
            _ if descriptor.is_negative_hits => true,
            Counting::Unjudged => true,
            Counting::Judged => answer.is_allowed(),
            // A peek asks for one token; more must be left for more.
            Counting::Not => {
                let is_enough = cost.tokens() <= answer.remaining.max(1);
                answer.is_allowed() && (is_enough || answer.contract.is_none() || answer.shadowed)
            }
        }
    }

    /// Judges by a limit from the request, in fixed windows as for an imported rule.
    fn by_own_limit(
        &self,
        descriptor: &RateLimitDescriptor,
        entries: Pairs<'_>,
        limit: RateLimitOverride,
    ) -> Result<Judged, RlsError> {
        let unit = Unit::try_from(limit.unit).map_err(|_| RlsError::UnknownUnit)?;
        let seconds = status::seconds(unit).ok_or(RlsError::UnknownUnit)?;
        let period = Period::from_nanos(seconds * 1_000_000_000);
        let most = u64::from(limit.requests_per_unit);
        let mut config = PolicyConfig::new(Algorithm::FixedWindow, most, period);
        config.count_refused = true;
        let mut ask = self.ask(descriptor, entries)?;
        let current_limit = RateLimit {
            requests_per_unit: limit.requests_per_unit,
            unit: limit.unit,
            name: String::new(),
        };
        let mut status = DescriptorStatus {
            code: Code::Ok.into(),
            current_limit: Some(current_limit),
            duration_until_reset: Some(status::until_window_ends(&config.period, self.turn.now())),
            ..DescriptorStatus::default()
        };
        // Refunds are not possible here, so they are ignored.
        if descriptor.is_negative_hits || self.count == Counting::Not {
            ask.cost = Cost::PEEK;
        }
        let turn = self.turn;
        let answer = turn.check_described(status::space(unit), &ask, &config);
        let answer = answer.map_err(RlsError::Engine)?;
        if self.passes(descriptor, ask.cost, &answer) {
            status.limit_remaining = status::count(answer.remaining);
        } else {
            status.code = Code::OverLimit.into();
        }
        Ok(Judged {
            own: Policy::new(config).ok(),
            answer: Some(answer),
            ..Judged::of(status)
        })
    }

    fn ask<'e>(
        &'e self,
        descriptor: &RateLimitDescriptor,
        entries: Pairs<'e>,
    ) -> Result<EngineRequest<'e>, RlsError> {
        Ok(EngineRequest {
            scope: Scope::Domain(&self.asked.domain),
            ..EngineRequest::new(Key::Entries(entries), self.cost(descriptor)?)
        })
    }

    fn cost(&self, descriptor: &RateLimitDescriptor) -> Result<Cost, RlsError> {
        let whole = u64::from(self.asked.hits_addend.max(1));
        let cost = Cost::new(descriptor.hits_addend.unwrap_or(whole));
        cost.map_err(|_| RlsError::CostTooLarge)
    }
}

fn texts(descriptor: &RateLimitDescriptor, key_bytes_max: usize) -> Texts<'_> {
    let entries = descriptor.entries.iter();
    let mut texts: Texts<'_> = entries
        .map(|entry| (text(&entry.key), text(&entry.value)))
        .collect();
    shorten(&mut texts, key_bytes_max);
    texts
}

/// As contracts see them.
fn entries<'a>(texts: &'a Texts<'_>) -> Entries<'a> {
    texts
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect()
}

/// What is left of a rule without a limit.
const UNLIMITED: u32 = u32::MAX;
