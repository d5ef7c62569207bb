//! Lists: contracts, plans and bans, a page at a time.

use serde_json::Value;
use tollgate_catalogue::Kind as Catalogued;
use tollgate_console::editor::{DraftKind, chip};
use tollgate_console::page::{self, BanRow, Bans, Binding, Followers, More, ThingRow, Things};
use tollgate_console::part::{BindingMode, Chip};
use tollgate_stats::Step;

use super::desk::PageRequest;
use super::figures;
use super::fit::Fit;
use super::inner::encoded;
use super::told::{items, list, moment, number, some, text, texts};
use crate::answer::Reply;
use crate::fault::Fault;

pub(super) async fn things(page: &PageRequest, kind: DraftKind) -> Result<Reply, Fault> {
    let mut fit = Fit::of(ROWS);
    loop {
        let view = view(page, kind, fit.rows()).await?;
        if let Some(answer) = fit.take(page::things(&page.frame, &view)) {
            return Ok(answer);
        }
    }
}

async fn view(page: &PageRequest, kind: DraftKind, most: usize) -> Result<Things, Fault> {
    let told = searched(page, place(kind), most).await?;
    let mut rows: Vec<ThingRow> = items(&told)
        .map(|item| row(kind, &item["document"]))
        .collect();
    let catalogued = match kind {
        DraftKind::Contract => Catalogued::Contract,
        DraftKind::Plan => Catalogued::Plan,
    };
    let changed = figures::changed(&page.inner, catalogued, &told).await?;
    for row in &mut rows {
        row.changed = changed.get(&row.id).copied();
    }
    match kind {
        DraftKind::Contract => count(page, &mut rows).await?,
        DraftKind::Plan => followers(page, &mut rows).await?,
    }
    Ok(Things {
        kind,
        query: page.query.get("q").to_owned(),
        rows,
        next: some(&told["next"]),
    })
}

/// A page of at most `most` objects whose id begins with the search text.
pub(super) async fn searched(page: &PageRequest, place: &str, most: usize) -> Result<Value, Fault> {
    let (query, after) = (page.query.get("q"), page.query.get("after"));
    let mut path = format!("{place}?limit={most}&prefix={}", encoded(query));
    if !after.is_empty() {
        path = format!("{path}&after={}", encoded(after));
    }
    page.inner.get(&path).await
}

pub(super) const fn place(kind: DraftKind) -> &'static str {
    match kind {
        DraftKind::Contract => "/contracts",
        DraftKind::Plan => "/plans",
    }
}

fn row(kind: DraftKind, document: &Value) -> ThingRow {
    let mut policies: Vec<Chip> = list(&document["policies"]).map(chip).collect();
    let (plan, more) = match kind {
        DraftKind::Contract => ("plan", More::Contract(binding(document, &policies))),
        DraftKind::Plan => ("follows", More::Plan(Followers::default())),
    };
    few(&mut policies, |name| Chip {
        name,
        ..Chip::default()
    });
    ThingRow {
        id: text(&document["id"]),
        plan: some(&document[plan]),
        policies,
        changed: None,
        more,
    }
}

fn binding(document: &Value, policies: &[Chip]) -> Binding {
    let only_watches =
        !policies.is_empty() && policies.iter().all(|chip| chip.mode == BindingMode::Shadow);
    let pairs = document["match"].as_object().into_iter().flatten();
    let pairs = pairs.map(|(name, value)| (name.clone(), text(value)));
    let mut matches: Vec<(String, String)> = pairs.collect();
    few(&mut matches, |more| (more, String::new()));
    let mut key = texts(&document["key"]);
    few(&mut key, |more| more);
    Binding {
        matches,
        key,
        coordination: some(&document["coordination"]).unwrap_or_else(|| "local".to_owned()),
        mode: if only_watches {
            BindingMode::Shadow
        } else {
            BindingMode::Enforce
        },
        ..Binding::default()
    }
}

/// Shortens the list; the last item is the number of the rest.
fn few<T>(list: &mut Vec<T>, rest: impl FnOnce(String) -> T) {
    let more = list.len().saturating_sub(TOLD_MAX);
    if more > 0 {
        list.truncate(TOLD_MAX);
        list.push(rest(format!("and {more} more")));
    }
}

/// Adds the counts of contracts.
async fn count(page: &PageRequest, rows: &mut [ThingRow]) -> Result<(), Fault> {
    let ids = rows.iter().map(|row| row.id.clone()).collect();
    let tallies = figures::tallies(&page.inner, ids, Step::Minute).await?;
    for row in rows {
        if let (More::Contract(binding), Some(counts)) = (&mut row.more, tallies.get(&row.id)) {
            binding.tally = figures::tally(counts);
        }
    }
    Ok(())
}

/// Adds what uses the plans.
async fn followers(page: &PageRequest, rows: &mut [ThingRow]) -> Result<(), Fault> {
    let ids = rows.iter().map(|row| row.id.clone()).collect();
    let assigned = figures::assigned(&page.inner, ids).await?;
    let node = page.inner.shared.engine.node();
    let contracts = node.contracts().as_slice();
    for row in rows {
        let followed = contracts
            .iter()
            .filter(|contract| contract.plan.as_deref() == Some(&*row.id));
        row.more = More::Plan(Followers {
            contracts: followed.count() as u64,
            assignments: assigned.get(&row.id).copied().unwrap_or(0),
        });
    }
    Ok(())
}

pub(super) async fn bans(page: &PageRequest) -> Result<Reply, Fault> {
    let mut fit = Fit::of(ROWS);
    loop {
        let mut view = Bans {
            query: page.query.get("q").to_owned(),
            ..Bans::default()
        };
        if page.frame.read_only.is_none() {
            let told = searched(page, "/bans", fit.rows()).await?;
            view.rows = ban_rows(page, &told).await?;
            view.next = some(&told["next"]);
        }
        if let Some(answer) = fit.take(page::bans(&page.frame, &view)) {
            return Ok(answer);
        }
    }
}

pub(super) async fn ban_rows(page: &PageRequest, told: &Value) -> Result<Vec<BanRow>, Fault> {
    let since = figures::changed(&page.inner, Catalogued::Ban, told).await?;
    let row = |item: &Value| {
        let (id, document) = (text(&item["id"]), &item["document"]);
        BanRow {
            since: since.get(&id).copied(),
            id,
            version: number(&item["version"]),
            identity: text(&document["identity"]),
            contract: some(&document["contract"]),
            until: moment(&document["until"]),
            reason: text(&document["reason"]),
        }
    };
    Ok(items(told).map(row).collect())
}

pub(super) const ROWS: usize = 50;
/// Policies, entries and keys that a row shows of one contract.
const TOLD_MAX: usize = 8;
