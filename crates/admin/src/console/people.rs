//! Identities: search, why one is blocked, what is left, and what it used.

use serde_json::Value;
use tollgate_console::Moment;
use tollgate_console::chart::Meaning;
use tollgate_console::editor::{AssignmentDraft, chip};
use tollgate_console::page::{
    self, AssignmentRow, BanRow, Blocked, DecisionRow, Identities, Identity, IdentityRow, KeyState,
    Spent,
};
use tollgate_console::part::Mode;

use super::desk::Page;
use super::fit::{Fit, fitted};
use super::inner::{Inner, encoded};
use super::list::{ROWS, searched};
use super::thing::ids;
use super::told::{at_ms, items, list, moment, number, some, text};
use super::{figures, list as lists};
use crate::answer::Answer;
use crate::fault::Fault;

/// Those whose assignment begins with what is searched for.
pub(super) async fn search(page: &Page) -> Result<Answer, Fault> {
    let mut fit = Fit::of(ROWS);
    loop {
        let view = found(page, fit.rows()).await?;
        if let Some(answer) = fit.take(page::identities(&page.frame, &view)) {
            return Ok(answer);
        }
    }
}

async fn found(page: &Page, most: usize) -> Result<Identities, Fault> {
    let mut view = Identities {
        query: page.query.get("q").to_owned(),
        ..Identities::default()
    };
    if page.frame.read_only.is_none() {
        let told = searched(page, "/assignments", most).await?;
        let row = |item: &Value| {
            let document = &item["document"];
            IdentityRow {
                identity: text(&document["identity"]),
                plan: some(&document["plan"]),
                until: moment(&document["until"]),
                is_blocked: false,
                note: text(&document["note"]),
            }
        };
        view.rows = items(&told).map(row).collect();
        view.next = some(&told["next"]);
    }
    Ok(view)
}

/// One identity; with the link for the customer, where one was just made.
pub(super) async fn one(
    page: &Page,
    identity: &str,
    customer: Option<String>,
) -> Result<Answer, Fault> {
    let told = explained(&page.inner, identity).await?;
    let bound = contracts(&told);
    let assignments = of_identity(page, "/assignments", identity).await?;
    let first = items(&assignments).next().map(|item| &item["document"]);
    let view = Identity {
        identity: identity.to_owned(),
        blocked: blocked(&told, page.frame.now),
        bans: bans(page, &told).await?,
        states: states(&told, page.frame.now),
        decisions: decisions(page, identity).await?,
        used: figures::used(&page.inner, &bound, identity).await?,
        draft: first
            .and_then(AssignmentDraft::from_document)
            .unwrap_or_default(),
        assignments: items(&assignments).map(row).collect(),
        plans: ids(page, "/plans?limit=200").await?,
        contracts: ids(page, "/contracts?limit=200").await?,
        customer,
    };
    Ok(fitted((&page.frame, &view), cut, page::identity))
}

/// Leaves out what has no room.
fn cut(view: &mut Identity, fit: &mut Fit) {
    let mut room = fit.rows();
    for state in &mut view.states {
        fit.cut_to(room, &mut state.policies);
        room -= state.policies.len();
    }
    view.states.retain(|state| !state.policies.is_empty());
    fit.cut(&mut view.bans);
    fit.cut(&mut view.decisions);
    view.used.iter_mut().for_each(|used| fit.cut(used));
    fit.cut(&mut view.assignments);
    fit.cut(&mut view.plans);
    fit.cut(&mut view.contracts);
}

/// Why it would pass or not.
pub(super) async fn explained(inner: &Inner, identity: &str) -> Result<Value, Fault> {
    inner
        .get(&format!("/keys/explain?key={}", encoded(identity)))
        .await
}

/// The contracts that bind it.
pub(super) fn contracts(told: &Value) -> Vec<String> {
    let mut ids: Vec<String> = list(&told["policies"])
        .map(|policy| text(&policy["contract"]))
        .collect();
    ids.dedup();
    ids
}

/// What a list has of an identity; nothing where a file is the source.
async fn of_identity(page: &Page, place: &str, identity: &str) -> Result<Value, Fault> {
    if page.frame.read_only.is_some() {
        return Ok(Value::Null);
    }
    page.inner
        .get(&format!("{place}?limit=50&identity={}", encoded(identity)))
        .await
}

/// The bans that cover it. One of a range of addresses is another's, and shown all the same.
async fn bans(page: &Page, told: &Value) -> Result<Vec<BanRow>, Fault> {
    let mut rows = Vec::new();
    for ban in list(&told["bans"]) {
        let path = format!("/bans/{}", encoded(&text(&ban["id"])));
        match page.inner.get(&path).await {
            Ok(item) => {
                let found = serde_json::json!({ "items": [item] });
                rows.extend(lists::ban_rows(page, &found).await?);
            }
            // It was lifted meanwhile.
            Err(fault) if fault.code() == "not_found" => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(rows)
}

/// The newest requests that this node remembers.
async fn decisions(page: &Page, identity: &str) -> Result<Vec<DecisionRow>, Fault> {
    let path = format!("/recent?limit=20&key={}", encoded(identity));
    let told = match page.inner.get(&path).await {
        Ok(told) => told,
        Err(fault) if fault.code() == "not_kept" => return Ok(Vec::new()),
        Err(fault) => return Err(fault),
    };
    let row = |told: &Value| DecisionRow {
        at: at_ms(number(&told["at_ms"])),
        contract: text(&told["contract"]),
        cost: number(&told["cost"]),
        meaning: match told["said"].as_str() {
            Some("deny") => Meaning::Denied,
            Some("delay") => Meaning::Delayed,
            _ => Meaning::Allowed,
        },
        detail: text(&told["policy"]),
    };
    Ok(items(&told).map(row).collect())
}

fn row(item: &Value) -> AssignmentRow {
    let document = &item["document"];
    let overrides: Vec<String> = list(&document["overrides"]).map(overridden).collect();
    AssignmentRow {
        id: text(&item["id"]),
        version: number(&item["version"]),
        plan: some(&document["plan"]),
        contract: some(&document["contract"]),
        from: moment(&document["from"]),
        until: moment(&document["until"]),
        overrides: overrides.join(", "),
        note: text(&document["note"]),
    }
}

/// What an override says, in words: `burst.limit 500`.
fn overridden(policy: &Value) -> String {
    let fields = policy.as_object().into_iter().flatten();
    let fields = fields.filter(|(field, _)| *field != "name");
    let said = |(field, value): (&String, &Value)| {
        let value = some(value).unwrap_or_else(|| value.to_string());
        format!("{}.{field} {value}", text(&policy["name"]))
    };
    fields.map(said).collect::<Vec<_>>().join(", ")
}

/// Why the next request would be refused: by a ban, or by the policy that refuses for longest.
fn blocked(told: &Value, now: Moment) -> Option<Blocked> {
    if told["allowed"] != false {
        return None;
    }
    if list(&told["bans"]).next().is_some() {
        let left = told["retry_after_ms"].as_i64();
        return Some(Blocked {
            why: format!("it is {},", text(&told["summary"])),
            until: left.map(|left| now.plus(left)),
        });
    }
    let refusing = list(&told["policies"])
        .filter(|policy| policy["allowed"] == false && policy["enforced"] == true);
    let worst =
        refusing.max_by_key(|policy| policy["retry_after_ms"].as_u64().unwrap_or(u64::MAX))?;
    let left = worst["retry_after_ms"].as_i64();
    let stands = match number(&worst["debt"]) {
        0 => format!("has {} left of {}", worst["remaining"], worst["capacity"]),
        debt => format!("owes {debt} beyond {}", worst["capacity"]),
    };
    Some(Blocked {
        why: format!(
            "policy {} of contract {} {stands}",
            text(&worst["policy"]),
            text(&worst["contract"]),
        ),
        until: left.map(|left| now.plus(left)),
    })
}

/// What is spent, by contract.
pub(super) fn states(told: &Value, now: Moment) -> Vec<KeyState> {
    let mut states: Vec<KeyState> = Vec::new();
    for policy in list(&told["policies"]) {
        let contract = text(&policy["contract"]);
        if states.last().is_none_or(|state| state.contract != contract) {
            let by = list(&told["assignments"]).find(|by| by["contract"] == contract);
            states.push(KeyState {
                plan: by.and_then(|by| some(&by["plan"])),
                contract,
                ..KeyState::default()
            });
        }
        if let Some(state) = states.last_mut() {
            state.policies.push(spent(policy, now));
        }
    }
    states
}

fn spent(policy: &Value, now: Moment) -> Spent {
    let count = |name: &str| number(&policy[name]);
    let mut said = policy.clone();
    if let Some(nanos) = policy["per_ns"].as_u64() {
        said["per"] = period(nanos).into();
    }
    if policy["burst"].is_null() || policy["burst"] == policy["limit"] {
        said.as_object_mut().map(|said| said.remove("burst"));
    }
    Spent {
        policy: text(&policy["policy"]),
        text: chip(&said).text,
        spent: count("capacity").saturating_sub(count("remaining")) + count("debt"),
        limit: count("capacity"),
        full: policy["reset_after_ms"]
            .as_i64()
            .filter(|left| *left > 0)
            .map(|left| now.plus(left)),
        mode: if policy["enforced"] == true {
            Mode::Enforce
        } else {
            Mode::Shadow
        },
    }
}

/// A period as people write it: `1h`.
fn period(nanos: u64) -> String {
    const UNITS: [(u64, &str); 5] = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
    ];
    let fits = |(unit, _): &&(u64, &str)| nanos >= *unit && nanos.is_multiple_of(*unit);
    let found = UNITS.iter().find(fits);
    found.map_or_else(
        || format!("{nanos}ns"),
        |(unit, name)| format!("{}{name}", nanos / unit),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_said_in_their_largest_unit() {
        let said = [
            1,
            1_500_000,
            1_000_000_000,
            90_000_000_000,
            2_592_000_000_000_000,
        ];
        assert_eq!(said.map(period), ["1ns", "1500000ns", "1s", "90s", "30d"]);
    }
}
