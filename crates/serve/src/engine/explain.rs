//! Why a request would pass or not: every policy that binds its key, and the contracts that nearly do.
//!
//! Nothing is charged. Not here: how an explanation is written on a wire.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use tollgate_catalogue::Ban;
use tollgate_contract::{Contract, Contracts, NamedPolicy, Unmatched};
use tollgate_limit::{Cost, Forecast, Span, Verdict};
use tollgate_node::Key;

use super::{EngineError, EngineRequest, RemoteAnswer, Scope, Turn};
use crate::meter::Event;

/// Why a request would pass or not.
#[derive(Clone, Debug)]
pub struct Explanation<'a> {
    /// What all policies together would say now.
    pub verdict: Verdict,
    /// The bans that hold for the key.
    pub bans: Vec<Ban>,
    /// What each policy that binds the key says, in order.
    pub policies: Vec<Explained<'a>>,
    /// The contracts that come closest to binding the key but do not, closest first.
    pub misses: Vec<ContractMiss<'a>>,
    /// The whole in one sentence.
    pub sentence: String,
}

/// What one policy says.
#[derive(Clone, Debug)]
pub struct Explained<'a> {
    /// The contract.
    pub contract: &'a Contract,
    /// The policy.
    pub policy: Cow<'a, NamedPolicy>,
    /// Whether an assignment gives the key this policy, and not the contract.
    pub is_assigned: bool,
    /// What it would say.
    pub forecast: Forecast,
    /// That in one sentence.
    pub sentence: String,
}

/// A contract that does not bind the key.
#[derive(Clone, Debug)]
pub struct ContractMiss<'a> {
    /// The contract.
    pub contract: &'a Contract,
    /// What the key lacks, such as `plan: free`.
    pub lacks: Vec<String>,
    /// Entries of the key that are nearly one that it lacks, and that one.
    pub slips: Vec<(String, String)>,
}

impl Turn<'_> {
    /// Why a request would pass or not, by what policies said elsewhere, or else here. Its id is not looked at.
    pub fn explain<'a>(
        &'a self,
        ask: &EngineRequest<'a>,
        said: Option<RemoteAnswer>,
    ) -> Result<Explanation<'a>, EngineError> {
        let within = self.within(ask.scope)?;
        let mut read = match said {
            Some(RemoteAnswer::Forecasts(each)) => self.read_elsewhere(within, ask, each),
            _ => within.foresee(ask.key, ask.cost, self.now()),
        };
        let node = read.node;
        let bound: Vec<usize> = read.each.iter().map(|(place, _)| *place).collect();
        let policies = read.policies();
        let policies = policies.map(|(contract, policy, is_assigned, forecast)| {
            let mut sentence = sentence(contract, &policy, &forecast, ask.cost);
            if is_assigned {
                sentence.push_str(" (by an assignment)");
            }
            Explained {
                contract,
                policy,
                is_assigned,
                forecast,
                sentence,
            }
        });
        let policies: Vec<_> = policies.collect();
        let misses = misses(node.contracts(), ask.key, &bound);
        let bans = self.bans(ask);
        let is_refused = bound.is_empty() && self.refuses_unmatched(ask);
        let barred = self.banned(ask).map(|answer| answer.verdict);
        Ok(Explanation {
            verdict: match barred {
                Some(verdict) => verdict,
                None if is_refused => Verdict::Never,
                None => verdict(&policies),
            },
            sentence: match (barred, bans.first()) {
                (Some(verdict), Some(ban)) => banned(ban, verdict),
                _ => summary(&policies, &misses, is_refused),
            },
            bans,
            policies,
            misses,
        })
    }
}

impl Turn<'_> {
    /// Whether a key that no contract binds is refused.
    fn refuses_unmatched(&self, ask: &EngineRequest<'_>) -> bool {
        let is_domain = matches!(ask.scope, Scope::Domain(_));
        !is_domain && self.node().unmatched() == Unmatched::Deny
    }

    /// Counts a request that no contract binds, and says so now and then.
    #[cold]
    pub(super) fn tell_unmatched(&self, ask: &EngineRequest<'_>) {
        self.engine.meter().count(Event::Unmatched(self.door));
        let contracts = self.node().contracts();
        let is_told = self.node().unmatched() == Unmatched::Warn && !contracts.is_empty();
        // Whoever asks by domains sends much that no rule is for.
        if !is_told || matches!(ask.scope, Scope::Domain(_)) {
            return;
        }
        let Some(before) = self.engine.unmatched.now() else {
            return;
        };
        let entries = match ask.key {
            Key::Entries(entries) => entries.iter().map(|(name, _)| *name).collect(),
            Key::Word(_) | Key::Text(_) => vec!["(a bare key)"],
        };
        let entries = entries.join(", ");
        let nearest = near(&misses(contracts, ask.key, &[]));
        tracing::warn!(
            %entries, %nearest, before, door = self.door.name(),
            "no contract binds a key, so it passes unlimited; `unmatched: deny` refuses such keys, `allow` says nothing"
        );
    }
}

/// The contracts that come closest to binding a key but do not.
fn misses<'a>(contracts: &'a Contracts, key: Key<'_>, bound: &[usize]) -> Vec<ContractMiss<'a>> {
    let each = contracts.as_slice().iter().enumerate();
    let unbound = each.filter(|(place, _)| !bound.contains(place));
    let misses = unbound
        .take(LOOKED_AT_MAX)
        .map(|(_, contract)| ContractMiss {
            contract,
            lacks: lacks(contract, key),
            slips: slips(contract, key),
        });
    // Nothing is lacking where another contract of the same domain, or a scope, came first.
    let mut misses: Vec<_> = misses.filter(|miss| !miss.lacks.is_empty()).collect();
    misses.sort_by_key(|miss| {
        (
            miss.lacks.len() - miss.slips.len().min(miss.lacks.len()),
            miss.lacks.len(),
        )
    });
    misses.truncate(MISSES_MAX);
    misses
}

/// Entries of a key that are nearly one that a contract wants and it lacks, and that one.
fn slips(contract: &Contract, key: Key<'_>) -> Vec<(String, String)> {
    let Key::Entries(entries) = key else {
        return Vec::new();
    };
    let named = contract.matches.iter().map(|(name, _)| name);
    let named = named.chain(&contract.key);
    let lacking = named.filter(|name| entries.iter().all(|(is, _)| is != name));
    let unknown = |name: &str| {
        !contract
            .matches
            .iter()
            .map(|(is, _)| is)
            .chain(&contract.key)
            .any(|is| is == name)
    };
    let slip = |name: &String| {
        let others = entries.iter().map(|(is, _)| *is).filter(|is| unknown(is));
        let is = tollgate_contract::nearest(name, others)?;
        Some((is.to_owned(), name.clone()))
    };
    lacking.filter_map(slip).collect()
}

/// What a key would need for a contract to bind it.
fn lacks(contract: &Contract, key: Key<'_>) -> Vec<String> {
    let Key::Entries(entries) = key else {
        let named = contract.matches.iter().map(|(name, _)| name);
        let named = named.chain(&contract.key);
        return named
            .map(|name| format!("an entry named `{name}`"))
            .collect();
    };
    let value = |name: &str| entries.iter().find(|(is, _)| *is == name);
    let mut lacks = Vec::new();
    for (name, wanted) in &contract.matches {
        match value(name) {
            Some((_, is)) if wanted == "*" || is == wanted => {}
            Some((_, is)) => lacks.push(format!("`{name}: {wanted}` (it is `{is}`)")),
            None => lacks.push(format!("`{name}: {wanted}`")),
        }
    }
    let keys = contract.key.iter().filter(|name| value(name).is_none());
    lacks.extend(keys.map(|name| format!("an entry named `{name}`")));
    lacks
}

/// What all policies together would say.
fn verdict(policies: &[Explained<'_>]) -> Verdict {
    let enforced = policies.iter().filter(|one| one.forecast.is_enforced);
    let verdicts = enforced.map(|one| one.forecast.verdict);
    verdicts.fold(Verdict::Allow, |gravest, verdict| {
        if weight(verdict) > weight(gravest) {
            verdict
        } else {
            gravest
        }
    })
}

/// Never over deny over delay over allow, and the longer wait of two alike.
const fn weight(verdict: Verdict) -> (u8, u128) {
    match verdict {
        Verdict::Allow => (0, 0),
        Verdict::Delay { wait } => (1, wait.as_nanos()),
        Verdict::Deny { retry_after } => (2, retry_after.as_nanos()),
        Verdict::Never => (3, 0),
    }
}

fn summary(policies: &[Explained<'_>], misses: &[ContractMiss<'_>], is_refused: bool) -> String {
    let enforced = policies.iter().filter(|one| one.forecast.is_enforced);
    let rank = |one: &&Explained<'_>| {
        let left = u64::MAX - one.forecast.remaining;
        (weight(one.forecast.verdict), left)
    };
    // Of several alike, the first is heard.
    let gravest = enforced.rev().max_by_key(rank);
    if let Some(one) = gravest.or(policies.first()) {
        return one.sentence.clone();
    }
    let verdict = if is_refused { "denied" } else { "passes" };
    let near = Some(near(misses)).filter(|near| !near.is_empty());
    let near = near.map(|near| format!("; the nearest is {near}"));
    format!(
        "{verdict}: no contract binds this key{}",
        near.unwrap_or_default()
    )
}

/// The nearest contract, what a key lacks for it, and what was probably meant; empty where there is none.
fn near(misses: &[ContractMiss<'_>]) -> String {
    let Some(miss) = misses.first() else {
        return String::new();
    };
    let mut text = format!(
        "`{}`, for which it lacks {}",
        miss.contract.id,
        miss.lacks.join(" and ")
    );
    for (is, meant) in &miss.slips {
        // Writing to a string does not fail.
        let _ = write!(text, " (did you mean `{meant}` by `{is}`?)");
    }
    text
}

/// A ban in one sentence.
fn banned(ban: &Ban, verdict: Verdict) -> String {
    let mut text = format!("denied: `{}` is banned", ban.identity);
    if let Some(contract) = &ban.contract {
        let _ = write!(text, " in `{contract}`");
    }
    let _ = match verdict.retry_after() {
        Some(after) => write!(text, " for another {}", Text(after)),
        None => write!(text, " without an end"),
    };
    if let Some(reason) = &ban.reason {
        let _ = write!(text, ": {reason}");
    }
    text
}

fn sentence(contract: &Contract, policy: &NamedPolicy, told: &Forecast, cost: Cost) -> String {
    let Forecast {
        capacity,
        remaining,
        debt,
        is_enforced,
        verdict,
        ..
    } = *told;
    let who = format!("`{}` of `{}`", policy.name, contract.id);
    let used = match debt {
        0 => format!("{} of {capacity} used", capacity.saturating_sub(remaining)),
        _ => format!("{capacity} of {capacity} used, and owes {debt}"),
    };
    let percent = policy.policy.config().enforce_percent;
    let denied = match (is_enforced, percent) {
        (true, _) => "denied",
        (false, 0) => "passes, as it only watches, but would be denied",
        (false, _) => "passes, as it binds other keys only, but would be denied",
    };
    match verdict {
        Verdict::Allow => format!("passes {who}: {used}"),
        Verdict::Delay { wait } => {
            format!("passes {who} after {}: {used}", Text(wait))
        }
        Verdict::Deny { retry_after } => {
            format!("{denied} by {who}: {used}; passes in {}", Text(retry_after))
        }
        Verdict::Never => format!(
            "{denied} by {who} for ever: it holds {capacity} at most, and the cost is {}",
            cost.tokens()
        ),
    }
}

/// A length of time in its two largest units, rounded up.
struct Text(Span);

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        if nanos < SECOND_NS {
            return write!(f, "{} ms", nanos.div_ceil(1_000_000));
        }
        let seconds = nanos.div_ceil(SECOND_NS);
        let at = UNITS.iter().position(|(_, unit)| seconds >= *unit);
        let mut units = UNITS.iter().skip(at.unwrap_or(UNITS.len() - 1));
        let Some((name, unit)) = units.next() else {
            return Ok(());
        };
        write!(f, "{} {name}", seconds / unit)?;
        match units
            .next()
            .map(|(name, unit_below)| (name, seconds % unit / unit_below))
        {
            None | Some((_, 0)) => Ok(()),
            Some((name, count)) => write!(f, " {count} {name}"),
        }
    }
}

const SECOND_NS: u128 = 1_000_000_000;
/// Units with their seconds, largest first.
const UNITS: [(&str, u128); 4] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
/// Contracts that are looked at for near misses.
const LOOKED_AT_MAX: usize = 10_000;
/// Near misses that are told.
const MISSES_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_two_units() {
        let text = |nanos: u128| Text(Span::from_nanos(nanos)).to_string();
        assert_eq!(text(0), "0 ms");
        assert_eq!(text(1), "1 ms");
        assert_eq!(text(1_000_000_001), "2 s");
        assert_eq!(text(724 * SECOND_NS), "12 min 4 s");
        assert_eq!(text(3_600 * SECOND_NS), "1 h");
        assert_eq!(text(90_000 * SECOND_NS), "1 d 1 h");
    }
}
