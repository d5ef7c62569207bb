//! Why a key passes or not: the question as typed, and the API's explanation as a page.
//!
//! Not here: the explanation itself (`resource`), and actions for a key (`acts`).

use serde_json::Value;
use tollgate_catalogue::Identity;
use tollgate_console::Url;
use tollgate_console::chart::Meaning;
use tollgate_console::editor::AssignmentDraft;
use tollgate_console::page::{
    self, Assigned, DecisionRow, Missed, PredictedAnswer, RecentKey, Unfollowed, Way, Why, as_part,
};
use tollgate_contract::Contract;
use tollgate_node::Key;
use tollgate_stats::identity_of;

use super::desk::PageRequest;
use super::figures;
use super::fit::{Fit, fitted};
use super::inner::{SignedIn, encoded};
use super::people::{bans, of_identity, row, states};
use super::thing::ids;
use super::told::{at_ms, items, list, number, some, text, texts};
use crate::answer::Reply;
use crate::fault::Fault;
use crate::query::decoded;
use crate::resource::objects;

/// A typed key: entries with commas between them, as `user=42, plan=free`, or one bare word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Bare(String),
    Entries(Vec<(String, String)>),
}

impl Typed {
    /// Reads a key; a comma within a value is `%2C`.
    pub(super) fn read(typed: &str) -> Result<Self, Fault> {
        let parts = typed.split(',').map(str::trim);
        let parts = parts.filter(|part| !part.is_empty());
        let plain = |part: &str| decoded(part, false).unwrap_or_else(|| part.to_owned());
        let parts: Vec<String> = parts.map(plain).collect();
        if let [bare] = &*parts
            && !bare.contains('=')
        {
            return Ok(Self::Bare(bare.clone()));
        }
        let entry = |part: &String| {
            let pair = part.split_once('=');
            let pair = pair.map(|(name, value)| (name.trim().to_owned(), value.to_owned()));
            pair.ok_or_else(|| {
                Fault::invalid(format!(
                    "“{part}” is no entry: write a name and its value, as `user=42`, with commas between entries"
                ))
            })
        };
        let entries: Result<_, Fault> = parts.iter().map(entry).collect();
        Ok(Self::Entries(entries?))
    }

    fn entries(&self) -> &[(String, String)] {
        match self {
            Self::Bare(_) => &[],
            Self::Entries(entries) => entries,
        }
    }

    /// As in requests to the API.
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Bare(text) => text.as_str().into(),
            Self::Entries(entries) => {
                let pairs = entries.iter().cloned();
                Value::Object(pairs.map(|(name, value)| (name, value.into())).collect())
            }
        }
    }

    /// The entries that can have assignments and bans.
    fn identities(&self) -> Vec<String> {
        let each = self.entries().iter();
        let each = each.map(|(name, value)| format!("{name}={value}"));
        each.filter(|each| Identity::parse(each).is_ok()).collect()
    }

    /// Contracts that count by entries of this key, with the names under which they count it; regardless of what else
    /// they match.
    pub(super) fn counted(&self, inner: &SignedIn) -> Vec<(String, String)> {
        let entries: Vec<(&str, &str)> = self
            .entries()
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        let has = |contract: &Contract| match self {
            Self::Bare(_) => contract.key.len() == 1,
            Self::Entries(_) => {
                let mut names = contract.key.iter();
                !contract.key.is_empty()
                    && names.all(|name| entries.iter().any(|(is, _)| is == name))
            }
        };
        let name = |contract: &Contract| {
            let key = match self {
                Self::Bare(text) => Key::Text(text.as_bytes()),
                Self::Entries(_) => Key::Entries(&entries),
            };
            let mut name = String::new();
            identity_of(contract, key, &mut name);
            (contract.id.clone(), name)
        };
        let node = inner.shared.engine.node();
        let all = node.contracts().as_slice().iter();
        all.filter(|is| has(is)).map(name).collect()
    }

    /// The key that a contract would bind: with the entries it matches, and typing errors fixed. `None` if a value
    /// would
    /// be invented.
    fn completed(&self, contract: &Contract, slips: &Value) -> Option<String> {
        let mut entries = self.entries().to_vec();
        for (name, _) in &mut entries {
            if let Some(meant) = slips[&*name].as_str() {
                meant.clone_into(name);
            }
        }
        for (wanted, value) in &contract.matches {
            let found = entries.iter_mut().find(|(name, _)| name == wanted);
            match (found, &**value) {
                (Some(_), "*") => {}
                (None, "*") => return None,
                (Some((_, is)), value) => value.clone_into(is),
                (None, value) => entries.push((wanted.clone(), value.to_owned())),
            }
        }
        let has = |name: &String| entries.iter().any(|(is, _)| is == name);
        contract.key.iter().all(has).then(|| written(&entries))
    }
}

/// Reverses [`Typed::read`].
fn written(entries: &[(String, String)]) -> String {
    let parts = entries.iter();
    let parts = parts.map(|(name, value)| as_part(&format!("{name}={value}")));
    parts.collect::<Vec<_>>().join(",")
}

/// The key to explain for a counted identity: includes the entries that the contract matches.
pub(super) fn key_of(inner: &SignedIn, contract: &str, counted: &str) -> String {
    let completed = with_contract(inner, contract, |contract| {
        Typed::read(counted).ok()?.completed(contract, &Value::Null)
    });
    completed.unwrap_or_else(|| counted.to_owned())
}

fn with_contract<T>(
    inner: &SignedIn,
    id: &str,
    look: impl Fn(&Contract) -> Option<T>,
) -> Option<T> {
    let node = inner.shared.engine.node();
    let mut all = node.contracts().as_slice().iter();
    all.find(|contract| contract.id == id).and_then(look)
}

/// The address of the page about a key.
pub(super) fn here(key: &str) -> Url {
    Url::to("/console/why").query("key", key)
}

pub(super) async fn explained(inner: &SignedIn, key: &Typed, cost: &str) -> Result<Value, Fault> {
    let parts = match key {
        Typed::Bare(text) => vec![text.clone()],
        Typed::Entries(entries) => {
            let pairs = entries.iter();
            pairs
                .map(|(name, value)| format!("{name}={value}"))
                .collect()
        }
    };
    let parts = parts.iter().map(|part| format!("key={}", encoded(part)));
    let mut query = parts.collect::<Vec<_>>().join("&");
    if !cost.is_empty() {
        query = format!("{query}&cost={}", encoded(cost));
    }
    inner.get(&format!("/keys/explain?{query}")).await
}

/// Shows the customer's link if one was just created.
pub(super) async fn why(
    page: &PageRequest,
    key: &str,
    customer: Option<String>,
) -> Result<Reply, Fault> {
    let asked = Why {
        key: key.trim().to_owned(),
        cost: page.query.get("cost").trim().to_owned(),
        customer,
        ..Why::default()
    };
    if asked.key.is_empty() {
        return Ok(fitted(&page.frame, &asked, cut, page::why));
    }
    match answered(page, asked.clone()).await {
        Ok(view) => Ok(fitted(&page.frame, &view, cut, page::why)),
        Err(fault) if fault.status().is_client_error() => {
            let view = Why {
                complaint: Some(fault.message().to_owned()),
                ..asked
            };
            let answer = fitted(&page.frame, &view, cut, page::why);
            Ok(answer.with(fault.status()))
        }
        Err(fault) => Err(fault),
    }
}

async fn answered(page: &PageRequest, asked: Why) -> Result<Why, Fault> {
    let key = Typed::read(&asked.key)?;
    let inner = &page.inner;
    let told = explained(inner, &key, &asked.cost).await?;
    let identities = key.identities();
    let mut assignments = Vec::new();
    for identity in identities.iter().take(IDENTITIES_MAX) {
        let found = of_identity(page, "/assignments", identity).await?;
        assignments.extend(items(&found).cloned());
    }
    let first = assignments.first().filter(|_| identities.len() == 1);
    let (decisions, seen) = recent(inner, &key).await?;
    Ok(Why {
        outcome: Some(outcome(page, &told)),
        ways: ways(&told, number_of(&asked.cost)),
        bans: bans(page, &told).await?,
        states: states(&told, page.frame.now),
        misses: misses(page, &key, &told),
        seen,
        decisions,
        used: figures::used(inner, &key.counted(inner)).await?,
        assigned: Assigned {
            draft: first
                .and_then(|item| AssignmentDraft::from_document(&item["document"]))
                .unwrap_or_default(),
            unfollowed: assignments.iter().find_map(|item| unfollowed(inner, item)),
            rows: assignments.iter().map(row).collect(),
            identities,
            plans: ids(page, "/plans?limit=200").await?,
            contracts: ids(page, "/contracts?limit=200").await?,
        },
        ..asked
    })
}

fn number_of(cost: &str) -> u64 {
    cost.parse().unwrap_or(1)
}

/// Leaves out rows that do not fit.
fn cut(view: &mut Why, fit: &mut Fit) {
    let mut room = fit.rows();
    for state in &mut view.states {
        fit.cut_to(room, &mut state.policies);
        room -= state.policies.len();
    }
    view.states.retain(|state| !state.policies.is_empty());
    fit.cut(&mut view.ways);
    fit.cut(&mut view.bans);
    fit.cut(&mut view.seen);
    fit.cut(&mut view.decisions);
    view.used.iter_mut().for_each(|used| fit.cut(used));
    fit.cut(&mut view.assigned.rows);
    fit.cut(&mut view.assigned.plans);
    fit.cut(&mut view.assigned.contracts);
}

pub(super) fn meaning(told: &Value) -> Meaning {
    match (told["allowed"].as_bool(), number(&told["wait_ms"])) {
        (Some(false), _) => Meaning::Denied,
        (_, 0) => Meaning::Allowed,
        _ => Meaning::Delayed,
    }
}

fn outcome(page: &PageRequest, told: &Value) -> PredictedAnswer {
    let left = told["retry_after_ms"].as_i64();
    PredictedAnswer {
        meaning: match meaning(told) {
            Meaning::Allowed if told["matched"] == false => Meaning::Accent,
            said => said,
        },
        summary: text(&told["summary"]),
        until: left.map(|left| page.frame.now.plus(left)),
    }
}

/// Changes that would change the answer.
fn ways(told: &Value, cost: u64) -> Vec<Way> {
    let mut ways = Vec::new();
    for ban in list(&told["bans"]) {
        ways.push(Way {
            text: format!("Lift the ban of `{}`.", text(&ban["identity"])),
            to: None,
        });
    }
    let edit = |policy: &Value| {
        let url = Url::to("/console/contract");
        Some(url.query("id", text(&policy["contract"])))
    };
    let mut least: Option<(u64, &Value)> = None;
    for policy in list(&told["policies"]) {
        let who = format!(
            "`{}` of `{}`",
            text(&policy["policy"]),
            text(&policy["contract"])
        );
        let (capacity, left) = (number(&policy["capacity"]), number(&policy["remaining"]));
        let is_enforced = policy["enforced"] == true;
        let said = match (policy["allowed"] == true, is_enforced) {
            (true, true) => {
                let more = left / cost.max(1);
                least = least.filter(|(is, _)| *is <= more).or(Some((more, policy)));
                continue;
            }
            (true, false) => continue,
            (false, false) => format!("{who} only watches: enforced, it would deny."),
            (false, true) if cost > capacity => {
                format!("{who} holds {capacity} at most: ask for less, or raise its limit.")
            }
            (false, true) => {
                let lacking = cost
                    .saturating_add(number(&policy["debt"]))
                    .saturating_sub(left);
                format!(
                    "A refund of {lacking} satisfies {who} at once, and so does a reset or a higher limit."
                )
            }
        };
        ways.push(Way {
            text: said,
            to: edit(policy),
        });
    }
    if let Some((more, policy)) = least.filter(|_| meaning(told) == Meaning::Allowed) {
        ways.push(Way {
            text: format!(
                "After {more} such requests at once `{}` of `{}` is spent.",
                text(&policy["policy"]),
                text(&policy["contract"])
            ),
            to: edit(policy),
        });
    }
    ways
}

/// Contracts that nearly bind the key, each with the key that it would bind.
fn misses(page: &PageRequest, key: &Typed, told: &Value) -> Vec<Missed> {
    let miss = |miss: &Value| {
        let (contract, slips) = (text(&miss["contract"]), &miss["did_you_mean"]);
        let meant = slips.as_object().into_iter().flatten();
        let meant =
            meant.map(|(is, meant)| format!(" (did you mean `{}` by `{is}`?)", text(meant)));
        Missed {
            lacks: texts(&miss["lacks"]).join(" and ") + &meant.collect::<String>(),
            key: with_contract(&page.inner, &contract, |of| key.completed(of, slips)),
            contract,
        }
    };
    list(&told["misses"]).map(miss).collect()
}

/// The newest requests with these entries that this node remembers, and keys with more.
pub(super) async fn recent(
    inner: &SignedIn,
    key: &Typed,
) -> Result<(Vec<DecisionRow>, Vec<RecentKey>), Fault> {
    let first = match key {
        Typed::Bare(text) => text.clone(),
        Typed::Entries(entries) => {
            let first = entries.first();
            first.map_or_else(String::new, |(name, value)| format!("{name}={value}"))
        }
    };
    let path = format!("/recent?limit={REMEMBERED}&key={}", encoded(&first));
    let told = match inner.get(&path).await {
        Ok(told) => told,
        Err(fault) if fault.code() == "not_kept" => return Ok(Default::default()),
        Err(fault) => return Err(fault),
    };
    let (mut decisions, mut seen) = (Vec::new(), Vec::<RecentKey>::new());
    for row in items(&told) {
        let pair = |pair: &Value| (text(&pair[0]), text(&pair[1]));
        let whole: Vec<(String, String)> = list(&row["key"]).map(pair).collect();
        if !key.entries().iter().all(|entry| whole.contains(entry)) {
            continue;
        }
        let (at, meaning) = (at_ms(number(&row["at_ms"])), said(row));
        let shown = written(&whole);
        let is_new = whole.len() > key.entries().len() && seen.iter().all(|is| is.key != shown);
        if is_new && matches!(key, Typed::Entries(_)) && seen.len() < SEEN_MAX {
            seen.push(RecentKey {
                key: shown,
                at,
                meaning,
            });
        }
        if decisions.len() < DECISIONS_MAX {
            decisions.push(DecisionRow {
                at,
                contract: text(&row["contract"]),
                cost: number(&row["cost"]),
                meaning,
                detail: text(&row["policy"]),
            });
        }
    }
    Ok((decisions, seen))
}

/// The answer to a remembered request.
fn said(row: &Value) -> Meaning {
    match row["said"].as_str() {
        Some("deny") => Meaning::Denied,
        Some("delay") => Meaning::Delayed,
        _ => Meaning::Allowed,
    }
}

/// Set for an assignment without effect: no contract that counts by its entry follows a plan.
fn unfollowed(inner: &SignedIn, item: &Value) -> Option<Unfollowed> {
    let document = &item["document"];
    let (entry, contracts) = objects::unfollowed(&inner.shared, document)?;
    Some(Unfollowed {
        entry,
        plan: some(&document["plan"]).unwrap_or_default(),
        contracts,
    })
}

/// The most entries of a key whose assignments are shown.
const IDENTITIES_MAX: usize = 8;
/// Remembered requests that are searched.
const REMEMBERED: usize = 200;
const DECISIONS_MAX: usize = 20;
const SEEN_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_people_type_and_pages_write_them() {
        let entries = |text: &str| Typed::read(text).map(|key| key.entries().to_vec()).ok();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let two = vec![pair("user", "42"), pair("plan", "free")];
        assert_eq!(entries("user=42, plan=free").as_ref(), Some(&two));
        assert_eq!(written(&two), "user=42,plan=free");
        let sly = vec![pair("user", "a,b=%c"), pair("x", "")];
        assert_eq!(entries(&written(&sly)), Some(sly));
        assert_eq!(entries("user=50%"), Some(vec![pair("user", "50%")]));
        assert_eq!(
            Typed::read("word").ok(),
            Some(Typed::Bare("word".to_owned()))
        );
        assert!(Typed::read("user=42, plan").is_err());
    }
}
