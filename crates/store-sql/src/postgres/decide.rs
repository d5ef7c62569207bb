//! The statement that decides plain checks and unconditional changes, and the verification of its result.

use std::fmt::Write as _;

use sqlx::Row;
use sqlx::postgres::{PgConnection, PgRow};
use tollgate_limit::{Lot, Policy, RequestTerms};
use tollgate_store::{EngineAnswer, Failure, StoreRequest, StoredKey, Verb, Write};

use super::group::{Group, Way};
use crate::form;

const DECIDE: &str = "
    SELECT ask.place, one.is_other, one.found_charged, one.found_kept, one.verdicts
        FROM unnest($1::BIGINT[], $2::TEXT[], $3::BIGINT[], $4::INT[], $5::TEXT[])
            WITH ORDINALITY AS ask (tag, name, shape, policies, asks, place),
        LATERAL tollgate_change(ask.tag, ask.name, ask.shape, ask.policies, ask.asks) AS one";

/// Decides every group that the database can decide. A group that found a state of other policies falls back to `swap`.
pub(super) async fn decide(
    connection: &mut PgConnection,
    groups: &mut [Group],
) -> Result<(), sqlx::Error> {
    let mut plain: Vec<&mut Group> = groups
        .iter_mut()
        .filter(|group| group.way == Way::Decide)
        .collect();
    if plain.is_empty() {
        return Ok(());
    }
    let (mut tags, mut names, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut policies, mut asks) = (Vec::new(), Vec::new());
    for group in &plain {
        let (tag, name) = group.id().unwrap_or_default();
        let book = group.asks.first().map(|ask| &ask.book);
        tags.push(tag);
        names.push(name);
        shapes.push(book.map_or(0, |book| book.shape_id().cast_signed()));
        let count = book.map_or(0, |book| book.set().policies().len());
        policies.push(i32::try_from(count).unwrap_or(0));
        asks.push(text(&group.asks));
    }
    let query = sqlx::query(DECIDE).bind(tags).bind(names).bind(shapes);
    let rows = query
        .bind(policies)
        .bind(asks)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let place: i64 = row.try_get(0)?;
        let place = usize::try_from(place - 1).unwrap_or(usize::MAX);
        if let Some(group) = plain.get_mut(place) {
            judge(group, &row)?;
        }
    }
    Ok(())
}

/// Computes the answers from the state that the database found, and compares its verdicts with them.
fn judge(group: &mut Group, row: &PgRow) -> Result<(), sqlx::Error> {
    if row.try_get(1)? {
        group.way = Way::Swap;
        return Ok(());
    }
    let (charged, kept): (Option<String>, Option<String>) = (row.try_get(2)?, row.try_get(3)?);
    let verdicts: Vec<bool> = row.try_get(4)?;
    let found = match charged.zip(kept) {
        None => Ok(None),
        Some((charged, kept)) => form::found(&charged, &kept)
            .map(Some)
            .ok_or_else(|| Failure::Broken("a row makes no sense".into())),
    };
    match found.and_then(|found| answers(&group.asks, &verdicts, found)) {
        Ok(answers) => group.finish(answers),
        Err(broken) => group.fail(&broken),
    }
    Ok(())
}

type Answers = Vec<Result<EngineAnswer, Failure>>;

fn answers(
    asks: &[StoreRequest],
    verdicts: &[bool],
    mut found: Option<StoredKey>,
) -> Result<Answers, Failure> {
    let mut answers = Vec::new();
    for (place, ask) in asks.iter().enumerate() {
        let next = ask.book.apply(found.as_ref(), ask.verb, ask.now);
        let next = next.map_err(|error| Failure::Broken(error.to_string()))?;
        let ours = match &next.said {
            EngineAnswer::Outcome { outcome, .. } => Some(outcome.decision.verdict.is_allowed()),
            EngineAnswer::Done | EngineAnswer::Found(_) => None,
        };
        let theirs = verdicts.get(place).copied();
        if theirs.is_none() || ours.is_some_and(|ours| theirs != Some(ours)) {
            return Err(Failure::Broken(
                "the database decided otherwise than we would".into(),
            ));
        }
        if let Some(Write::Keep { found: kept, .. }) = next.write {
            found = Some(kept);
        }
        answers.push(Ok(next.said));
    }
    Ok(answers)
}

/// The requests of one key in the format of `tollgate_change`.
fn text(asks: &[StoreRequest]) -> String {
    let mut text = String::from("{");
    for ask in asks {
        let change = ask.verb.change(ask.now);
        let (cost, lot) = match ask.verb {
            Verb::Check { cost, lot } => (cost.tokens(), lot),
            _ => (change.map_or(0, |change| change.tokens), Lot::ALWAYS),
        };
        let now = change.map_or(ask.now, |change| change.now);
        let (op, at) = change.map_or((0, now), |change| (change.kind as u8, change.at));
        // Writing to a string cannot fail.
        let _ = write!(text, "{},{cost},{op},{}", now.as_nanos(), at.as_nanos());
        for (place, policy) in ask.book.set().policies().iter().enumerate() {
            let binds = match change {
                None => lot.is_within(policy.config().enforce_percent),
                Some(change) => change.is_of(place),
            };
            let terms = policy.terms(cost.max(1), now);
            terms_text(&mut text, u8::from(binds), policy, &terms);
            let _ = match policy.owed_max() {
                None => write!(text, ",-1"),
                Some(most) => write!(text, ",{most}"),
            };
        }
        text.push(',');
    }
    text.truncate(text.trim_end_matches(',').len());
    text.push('}');
    text
}

fn terms_text(text: &mut String, binds: u8, policy: &Policy, terms: &RequestTerms) {
    let period = policy.config().period.nanos();
    let _ = match terms {
        RequestTerms::Bucket {
            need,
            refill,
            top,
            is_never,
        } => {
            let top = top.map_or("-1".to_owned(), |top| top.to_string());
            write!(
                text,
                ",1,{binds},{need},{refill},{top},{}",
                u8::from(*is_never)
            )
        }
        RequestTerms::Window { limit, start, end } => {
            write!(text, ",2,{binds},{limit},{start},{end},0")
        }
        RequestTerms::Weighted {
            limit, period_ns, ..
        } => write!(text, ",3,{binds},{limit},{period_ns},0,0"),
        RequestTerms::Log { limit, period_ns } => {
            write!(text, ",4,{binds},{limit},{period_ns},1,1")
        }
        RequestTerms::Slices {
            limit, width_ns, ..
        } => write!(text, ",4,{binds},{limit},{period},{width_ns},0"),
    };
}
