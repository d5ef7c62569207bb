//! Identities: search, their assignments and bans, and what is left of their limits.

use serde_json::Value;
use tollgate_console::Moment;
use tollgate_console::editor::chip;
use tollgate_console::page::{
    self, AssignmentRow, BanRow, Identities, IdentityRow, KeyState, Spent, as_part,
};
use tollgate_console::part::BindingMode;

use super::desk::PageRequest;
use super::fit::Fit;
use super::inner::encoded;
use super::list::{ROWS, searched};
use super::told::{items, list, moment, number, some, text};
use super::why::{key_of, meaning};
use super::{figures, list as lists};
use crate::answer::Reply;
use crate::fault::Fault;

/// Identities with an assignment or a count under this prefix.
pub(super) async fn search(page: &PageRequest) -> Result<Reply, Fault> {
    let mut fit = Fit::of(ROWS);
    loop {
        let view = found(page, fit.rows()).await?;
        if let Some(answer) = fit.take(page::identities(&page.frame, &view)) {
            return Ok(answer);
        }
    }
}

async fn found(page: &PageRequest, most: usize) -> Result<Identities, Fault> {
    let mut view = Identities {
        query: page.query.get("q").trim().to_owned(),
        ..Identities::default()
    };
    if page.frame.read_only.is_none() {
        let told = searched(page, "/assignments", most).await?;
        let row = |item: &Value| {
            let document = &item["document"];
            let identity = text(&document["identity"]);
            IdentityRow {
                key: as_part(&identity),
                identity,
                plan: some(&document["plan"]),
                until: moment(&document["until"]),
                note: text(&document["note"]),
                ..IdentityRow::default()
            }
        };
        view.rows = items(&told).map(row).collect();
        view.next = some(&told["next"]);
    }
    let is_first = page.query.get("after").is_empty();
    for seen in figures::seen(&page.inner, &view.query, most).await? {
        let (identity, tally) = (seen.identity, figures::tally(&seen.counts));
        let mut known = view.rows.iter_mut();
        if let Some(row) = known.find(|row| as_part(&row.identity) == identity) {
            // A request is counted by every contract that binds it.
            let before = row.tally.filter(|before| before.all() >= tally.all());
            row.tally = before.or(Some(tally));
            continue;
        }
        // Those without an assignment come after the last one with one.
        let has_room = view.next.is_none() && view.rows.len() < most;
        if !has_room || !is_first && is_assigned(page, &identity).await? {
            continue;
        }
        view.rows.push(IdentityRow {
            key: key_of(&page.inner, &seen.contract, &identity),
            identity,
            tally: Some(tally),
            ..IdentityRow::default()
        });
    }
    Ok(view)
}

/// Whether the identity has an assignment, and so is on an earlier page.
async fn is_assigned(page: &PageRequest, identity: &str) -> Result<bool, Fault> {
    let found = of_identity(page, "/assignments", identity).await?;
    Ok(items(&found).next().is_some())
}

/// The items of an identity in a list; none if a file is the source.
pub(super) async fn of_identity(
    page: &PageRequest,
    place: &str,
    identity: &str,
) -> Result<Value, Fault> {
    if page.frame.read_only.is_some() {
        return Ok(Value::Null);
    }
    page.inner
        .get(&format!("{place}?limit=50&identity={}", encoded(identity)))
        .await
}

/// Includes bans of a range that contains its address.
pub(super) async fn bans(page: &PageRequest, told: &Value) -> Result<Vec<BanRow>, Fault> {
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

pub(super) fn row(item: &Value) -> AssignmentRow {
    let document = &item["document"];
    let overrides: Vec<String> = list(&document["overrides"]).map(overridden).collect();
    AssignmentRow {
        id: text(&item["id"]),
        version: number(&item["version"]),
        identity: text(&document["identity"]),
        plan: some(&document["plan"]),
        contract: some(&document["contract"]),
        from: moment(&document["from"]),
        until: moment(&document["until"]),
        overrides: overrides.join(", "),
        note: text(&document["note"]),
    }
}

/// In words: `burst.limit 500`.
fn overridden(policy: &Value) -> String {
    let fields = policy.as_object().into_iter().flatten();
    let fields = fields.filter(|(field, _)| *field != "name");
    let said = |(field, value): (&String, &Value)| {
        let value = some(value).unwrap_or_else(|| value.to_string());
        format!("{}.{field} {value}", text(&policy["name"]))
    };
    fields.map(said).collect::<Vec<_>>().join(", ")
}

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
        meaning: meaning(policy),
        mode: if policy["enforced"] == true {
            BindingMode::Enforce
        } else {
            BindingMode::Shadow
        },
    }
}

/// A period as `1h`.
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
