//! Contracts, plans and assignments: lists, one, put, delete.
//!
//! Not here: earlier versions (`history`).

use std::time::Duration;

use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use tollgate_catalogue::{Difference, Document, Edit, Kind, Seen, differences};
use tollgate_catalogue_sql::{Database, Filter, Item, PAGE_MAX, WriteResult};
use tollgate_contract::Contract;
use tollgate_serve::shared::Shared;

use super::{effective, source};
use crate::admin::Books;
use crate::answer::Reply;
use crate::body;
use crate::call::Call;
use crate::condition::{Condition, is_known};
use crate::fault::Fault;
use crate::page::{self, AFTER};

/// `GET /contracts`, `/plans`, `/assignments`.
pub(crate) async fn list(call: &Call) -> Result<Reply, Fault> {
    let limit = page::limit(&call.query)?;
    let wanted = Wanted::of(call)?;
    let items = match &call.office.books {
        Books::Database(database) => wanted.page(database, call.kind, limit).await?,
        Books::File(_) => {
            let mut items = source::items(call);
            items.retain(|item| wanted.has(item));
            items.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            items
        }
    };
    Ok(page::page(&items, limit, |item| item.id.clone()))
}

struct Wanted {
    filter: Filter,
}

impl Wanted {
    fn of(call: &Call) -> Result<Self, Fault> {
        let text = |name| Ok::<_, Fault>(call.query.text(name)?.map(str::to_owned));
        let wanted = Self {
            filter: Filter {
                prefix: text("prefix")?.unwrap_or_default(),
                plan: text("plan")?,
                identity: text("identity")?,
                contract: text("contract")?,
                after: text(AFTER)?,
            },
        };
        let is_of_one = matches!(call.kind, Kind::Assignment | Kind::Ban);
        if !is_of_one && (wanted.filter.identity.is_some() || wanted.filter.contract.is_some()) {
            let what = "`identity` and `contract` tell assignments and bans apart, nothing else";
            return Err(Fault::malformed(what));
        }
        Ok(wanted)
    }

    fn has(&self, item: &Item) -> bool {
        let after = self.filter.after.as_deref().unwrap_or_default();
        item.id.as_str() > after
            && item.id.starts_with(&self.filter.prefix)
            && self.fits(&item.document)
    }

    fn fits(&self, document: &Document) -> bool {
        let is = |names: &[&str], wanted: &Option<String>| {
            let mut names = names.iter();
            wanted.is_none()
                || names
                    .any(|name| document.get(*name).and_then(Value::as_str) == wanted.as_deref())
        };
        is(&["plan", "follows", "then"], &self.filter.plan)
            && is(&["contract"], &self.filter.contract)
            && is(&["identity"], &self.filter.identity)
    }

    /// A page of a database. Filters that the database cannot index scan a bounded number of items.
    async fn page(self, database: &Database, kind: Kind, limit: u64) -> Result<Vec<Item>, Fault> {
        let is_assignment = kind == Kind::Assignment;
        let shape = [&self.filter.plan, &self.filter.contract];
        let has_shape = shape.iter().any(|name| name.is_some());
        let has_identity = self.filter.identity.is_some();
        let is_looked_up =
            !has_shape && !has_identity || is_assignment && has_shape != has_identity;
        if is_looked_up {
            return Ok(database.list(kind, &self.filter, limit).await?);
        }
        // Assignments are filtered by identity, which leaves few; other kinds are scanned.
        let mut filter = self.filter.clone();
        (filter.plan, filter.contract) = (None, None);
        if !is_assignment {
            filter.identity = None;
        }
        let (mut found, most) = (Vec::new(), usize::try_from(limit).unwrap_or(usize::MAX));
        for _ in 0..PAGES_MAX {
            let page = database.list(kind, &filter, PAGE_MAX).await?;
            let is_last = u64::try_from(page.len()).is_ok_and(|count| count < PAGE_MAX);
            filter.after = page.last().map(|item| item.id.clone());
            found.extend(page.into_iter().filter(|item| self.fits(&item.document)));
            if is_last || found.len() >= most {
                found.truncate(most);
                return Ok(found);
            }
        }
        Err(Fault::invalid(
            "there are too many to look through; say a `prefix`, a `plan` or an `identity`",
        ))
    }
}

/// `GET /contracts/{id}` and the like.
pub(crate) async fn get(call: &Call) -> Result<Reply, Fault> {
    let is_compiled = call.query.flag("compiled")?;
    if is_compiled && call.kind != Kind::Contract {
        return Err(Fault::malformed("only contracts have a compiled form"));
    }
    let item = match &call.office.books {
        Books::Database(database) => database.get(call.kind, call.name()).await?,
        Books::File(_) => source::items(call)
            .into_iter()
            .find(|item| item.id == call.name()),
    };
    let item = item.ok_or_else(|| missing(call))?;
    if is_known(call.request.headers(), item.version) && !is_compiled {
        return Ok(Reply::bare(StatusCode::NOT_MODIFIED).version(item.version));
    }
    let compiled = if is_compiled {
        compiled(call).await?
    } else {
        None
    };
    let answer = Reply::json(&Shown {
        item: &item,
        compiled,
    });
    // A file has no versions.
    Ok(if item.version == 0 {
        answer
    } else {
        answer.version(item.version)
    })
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    item: &'a Item,
    #[serde(skip_serializing_if = "Option::is_none")]
    compiled: Option<Value>,
}

/// With the fields of its plan.
async fn compiled(call: &Call) -> Result<Option<Value>, Fault> {
    match &call.office.books {
        Books::Database(database) => {
            let snapshot = database.snapshot().await?;
            Ok(snapshot
                .catalogue
                .contract(call.name())
                .map(effective::contract))
        }
        Books::File(_) => {
            let node = call.shared.engine.node();
            let mut contracts = node.contracts().as_slice().iter();
            Ok(contracts
                .find(|contract| contract.id == call.name())
                .map(effective::contract))
        }
    }
}

/// `PUT /contracts/{id}` and the like.
pub(crate) async fn put(call: &Call) -> Result<Reply, Fault> {
    let database = call.database()?;
    let text = body::document(call.request.headers(), call.request.body())?;
    write(call, database, text, call.reason()?).await
}

/// Replaces the version that was read, or does a dry run.
pub(crate) async fn write(
    call: &Call,
    database: &Database,
    text: &str,
    reason: String,
) -> Result<Reply, Fault> {
    let condition = Condition::of(call.request.headers())?;
    let present = database.get(call.kind, call.name()).await?;
    let version = present.as_ref().map(|item| item.version);
    if call.query.flag("dry_run")? {
        // A dry run needs no precondition.
        let seen = match (&condition, version) {
            (Condition::None, Some(version)) => Seen::Version(version),
            _ => condition.seen(version)?,
        };
        let after = database.try_put(&edit(call, seen, reason), text).await?;
        let before = present.map(|item| item.document);
        let diff = told(before.as_ref(), Some(&after));
        return Ok(Reply::json(
            &json!({ "dry_run": true, "document": after, "diff": diff }),
        ));
    }
    let edit = edit(call, condition.seen(version)?, reason);
    let written = database.put(&edit, text).await?;
    let status = if version.is_none() {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok(done(call, written).await.with(status))
}

/// Set if an assignment has no effect: its entry, if no contract that counts by it follows a plan, and contracts that
/// could follow one.
pub(crate) fn unfollowed(shared: &Shared, document: &Value) -> Option<(String, Vec<String>)> {
    let (entry, _) = document["identity"].as_str()?.split_once('=')?;
    let node = shared.engine.node();
    let counting = node.contracts().as_slice().iter();
    let counting = counting.filter(|contract| contract.key.iter().any(|name| name == entry));
    let counting: Vec<&Contract> = counting.collect();
    let is_idle = document["contract"].is_null() && counting.iter().all(|is| is.plan.is_none());
    let ids = counting.iter().take(NAMED_MAX).map(|is| is.id.clone());
    is_idle.then(|| (entry.to_owned(), ids.collect()))
}

fn said(entry: &str, contracts: &[String]) -> String {
    let next = match contracts {
        [] => "make a contract that counts by it and follows a plan".to_owned(),
        some => format!("let one follow a plan: `{}`", some.join("`, `")),
    };
    format!(
        "no contract that counts by `{entry}` follows a plan, so that the assignment changes nothing; {next}"
    )
}

/// `DELETE /contracts/{id}` and the like.
pub(crate) async fn delete(call: &Call) -> Result<Reply, Fault> {
    let database = call.database()?;
    let (seen, reason) = (seen(call, database).await?, call.reason()?);
    if seen == Seen::Nothing {
        return Err(missing(call));
    }
    let written = database.delete(&edit(call, seen, reason)).await?;
    Ok(done(call, written).await)
}

/// The precondition of a change of the present object.
pub(crate) async fn seen(call: &Call, database: &Database) -> Result<Seen, Fault> {
    let condition = Condition::of(call.request.headers())?;
    let present = database.get(call.kind, call.name()).await?;
    condition.seen(present.map(|item| item.version))
}

pub(crate) fn edit(call: &Call, seen: Seen, reason: String) -> Edit {
    Edit {
        kind: call.kind,
        id: call.name().to_owned(),
        seen,
        author: call.caller.name.clone(),
        origin: call.origin(),
        reason,
    }
}

/// The answer to a change, once it is in force on this server; other servers follow within a second.
pub(crate) async fn done(call: &Call, written: WriteResult) -> Reply {
    let WriteResult {
        revision,
        version,
        is_changed,
    } = written;
    let mut told = json!({
        "id": call.name(),
        "version": version,
        "revision": revision,
        "changed": is_changed,
        "in_force": in_force(call, revision).await,
    });
    if call.kind == Kind::Assignment
        && let Ok(database) = call.database()
        && let Ok(Some(item)) = database.get(call.kind, call.name()).await
        && let Some((entry, contracts)) = unfollowed(&call.shared, &item.document)
    {
        told["note"] = said(&entry, &contracts).into();
    }
    Reply::json(&told).version(version)
}

/// Waits a bounded time for a revision to be in force on this server.
pub(crate) async fn in_force(call: &Call, revision: u64) -> bool {
    call.shared.catalogue().reach(revision, FORCE_WITHIN).await
}

/// Differences as data and in words.
pub(crate) fn told(before: Option<&Document>, after: Option<&Document>) -> Vec<Value> {
    let told = |difference: &Difference| {
        let mut value = json!(difference);
        value["text"] = difference.to_string().into();
        value
    };
    differences(before, after).iter().map(told).collect()
}

pub(crate) fn missing(call: &Call) -> Fault {
    let name: String = call.name().chars().take(100).collect();
    Fault::not_found(format!("there is no {} `{name}`", call.kind.name()))
}

/// The most contracts that are named.
const NAMED_MAX: usize = 8;
/// The most pages that are scanned for one.
const PAGES_MAX: usize = 100;
/// How long a change may take to come into force before the answer reports that it is not.
const FORCE_WITHIN: Duration = Duration::from_secs(1);
