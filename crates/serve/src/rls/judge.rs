//! One descriptor after the other: which rule judges it, and what that says.

use std::borrow::Cow;

use smallvec::SmallVec;
use tollgate_contract::envoy::EnvoyRule;
use tollgate_limit::{Algorithm, Cost, Period, Policy, PolicyConfig};
use tollgate_node::{Answer, Key};
use tollgate_wire::rls::{
    Code, DescriptorStatus, RateLimit, RateLimitDescriptor, RateLimitOverride, RateLimitRequest,
    Unit,
};

use super::{RlsError, status};
use crate::engine::{Ask, Scope, Turn};
use crate::meter::Hits;
use crate::settings::RlsSettings;
use crate::value::{shorten, text};

/// The entries of a descriptor as texts.
pub(super) type Texts<'a> = SmallVec<[(Cow<'a, str>, Cow<'a, str>); 4]>;

/// The entries of a descriptor, as contracts see them.
pub(super) type Entries<'a> = SmallVec<[(&'a str, &'a str); 4]>;

/// The same, borrowed.
pub(super) type Pairs<'a> = &'a [(&'a str, &'a str)];

/// Whether what is judged is also counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// What is admitted, as always.
    Judged,
    /// Nothing: Kuadrant's `CheckRateLimit`.
    Not,
    /// Everything, whatever the limits say: Kuadrant's `Report`.
    Unjudged,
}

/// A whole request, while it is judged.
pub(super) struct Request<'a> {
    pub(super) turn: &'a Turn<'a>,
    pub(super) asked: &'a RateLimitRequest,
    pub(super) entries: &'a [Pairs<'a>],
    /// The imported rule of each descriptor; empty where nothing was imported.
    pub(super) rules: SmallVec<[Option<EnvoyRule<'a>>; 2]>,
    count: Count,
    settings: &'a RlsSettings,
}

/// What a descriptor is told.
pub(super) struct Judged {
    pub(super) status: DescriptorStatus,
    /// Whether its rule is in quota mode.
    pub(super) is_quota: bool,
    /// What was answered, where anybody was asked.
    pub(super) answer: Option<Answer>,
    /// The limit that the request brought along, where that gave the answer instead of the contracts.
    pub(super) own: Option<Policy>,
}

impl Judged {
    pub(super) fn is_over(&self) -> bool {
        self.status.code == i32::from(Code::OverLimit)
    }

    /// Says only that the descriptor passes.
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

impl<'a> Request<'a> {
    pub(super) fn new(
        turn: &'a Turn<'a>,
        (request, entries): (&'a RateLimitRequest, &'a [Pairs<'a>]),
        count: Count,
        settings: &'a RlsSettings,
    ) -> Self {
        let domains = turn.node().contracts().envoy();
        let rules = domains.map_or_else(SmallVec::new, |domains| {
            let domain = domains.get(&request.domain);
            let own = |(entries, descriptor): (&Pairs<'a>, &RateLimitDescriptor)| {
                // A limit of its own stands for the rule, which then replaces nothing either.
                let rule = domain.filter(|_| descriptor.limit.is_none());
                rule.and_then(|domain| domain.rule_for(entries))
            };
            entries.iter().zip(&request.descriptors).map(own).collect()
        });
        Self {
            turn,
            asked: request,
            entries,
            rules,
            count,
            settings,
        }
    }

    /// Judges each descriptor, in order.
    pub(super) fn judge(&self) -> Result<SmallVec<[Judged; 2]>, RlsError> {
        let descriptors = self.asked.descriptors.iter().zip(self.entries);
        let judged = descriptors.enumerate().map(|(at, (descriptor, &entries))| {
            let rule = self.rules.get(at).copied().flatten();
            let judged = match (descriptor.limit, rule) {
                (Some(limit), _) => self.by_own_limit(descriptor, entries, limit)?,
                (None, Some(rule)) if rule.is_unlimited() => {
                    return Ok(Judged::passes(UNLIMITED));
                }
                (None, Some(rule)) if self.is_replaced(rule) => Judged::passes(0),
                (None, rule) => self.by_contracts(descriptor, entries, rule)?,
            };
            let is_quota = judged.is_quota || self.settings.quota;
            Ok(Judged { is_quota, ..judged })
        });
        judged.collect()
    }

    /// Whether the rule of another descriptor takes the place of this one.
    fn is_replaced(&self, rule: EnvoyRule<'_>) -> bool {
        let Some(name) = rule.name() else {
            return false;
        };
        let mut rules = self.rules.iter().flatten();
        rules.any(|other| other.replaces().iter().any(|replaced| replaced == name))
    }

    fn by_contracts(
        &self,
        descriptor: &RateLimitDescriptor,
        entries: Pairs<'a>,
        rule: Option<EnvoyRule<'a>>,
    ) -> Result<Judged, RlsError> {
        let ask = self.ask(descriptor, entries)?;
        let answer = self.asked(&ask, descriptor)?;
        let passes = self.passes(descriptor, ask.cost, &answer);
        if self.count == Count::Judged
            && !descriptor.is_negative_hits
            && let Some(contract) = rule.and_then(|rule| rule.contract())
        {
            let hits = Hits::of(ask.cost.tokens(), &answer, self.settings.near_limit);
            self.turn.meter().ruled(contract, &hits);
        }
        Ok(Judged {
            status: status::of(self.turn, &answer, (rule, passes)),
            is_quota: rule.is_some_and(|rule| rule.is_quota()),
            answer: Some(answer),
            own: None,
        })
    }

    /// Charges or gives back, where that is what is wanted; and what the contracts say then.
    ///
    /// A cost that a descriptor brings along is that of a response as often as not, and Envoy does not say which: it is taken
    /// though less is left.
    fn asked(&self, ask: &Ask<'_>, descriptor: &RateLimitDescriptor) -> Result<Answer, RlsError> {
        let turn = self.turn;
        match self.count {
            Count::Not => {}
            _ if descriptor.is_negative_hits => turn.refund(ask).map_err(RlsError::Engine)?,
            Count::Unjudged => {
                if !turn.charge(ask).map_err(RlsError::Engine)? {
                    return Err(RlsError::Full);
                }
            }
            Count::Judged => {
                let answer = turn.check(ask).map_err(RlsError::Engine)?;
                if !answer.is_allowed() && descriptor.hits_addend.is_some() {
                    // What refusing cost by itself is part of the whole.
                    turn.give_back(&answer.receipt);
                    turn.charge(ask).map_err(RlsError::Engine)?;
                }
                return Ok(answer);
            }
        }
        let peek = Ask {
            cost: Cost::PEEK,
            ..*ask
        };
        turn.check(&peek).map_err(RlsError::Engine)
    }

    /// What is given back, or counted whatever the limits say, is refused by nobody.
    fn passes(&self, descriptor: &RateLimitDescriptor, cost: Cost, answer: &Answer) -> bool {
        match self.count {
            _ if descriptor.is_negative_hits => true,
            Count::Unjudged => true,
            Count::Judged => answer.is_allowed(),
            // A peek asks for one; more must be left for more.
            Count::Not => {
                let is_enough = cost.tokens() <= answer.remaining.max(1);
                answer.is_allowed() && (is_enough || answer.contract.is_none() || answer.shadowed)
            }
        }
    }

    /// Judges by a limit that the request brought along, in windows as those of an imported rule.
    fn by_own_limit(
        &self,
        descriptor: &RateLimitDescriptor,
        entries: Pairs<'a>,
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
        // Without a way to give back here, what should be is left as it is.
        if descriptor.is_negative_hits || self.count == Count::Not {
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

    fn ask(
        &self,
        descriptor: &RateLimitDescriptor,
        entries: Pairs<'a>,
    ) -> Result<Ask<'a>, RlsError> {
        let whole = u64::from(self.asked.hits_addend.max(1));
        let cost = Cost::new(descriptor.hits_addend.unwrap_or(whole));
        Ok(Ask {
            scope: Scope::Domain(&self.asked.domain),
            ..Ask::new(
                Key::Entries(entries),
                cost.map_err(|_| RlsError::CostTooLarge)?,
            )
        })
    }
}

/// The entries of a descriptor as texts.
pub(super) fn texts(descriptor: &RateLimitDescriptor, key_bytes_max: usize) -> Texts<'_> {
    let entries = descriptor.entries.iter();
    let mut texts: Texts<'_> = entries
        .map(|entry| (text(&entry.key), text(&entry.value)))
        .collect();
    shorten(&mut texts, key_bytes_max);
    texts
}

/// The same, as contracts see them.
pub(super) fn entries<'a>(texts: &'a Texts<'_>) -> Entries<'a> {
    texts
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect()
}

/// What is left of a rule without a limit.
const UNLIMITED: u32 = u32::MAX;
