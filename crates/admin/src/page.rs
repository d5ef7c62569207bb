//! Lists, a page at a time: `limit` items after a cursor, which is the `next` of the previous page.

use serde::Serialize;
use tollgate_catalogue_sql::PAGE_MAX;

use crate::answer::Reply;
use crate::fault::Fault;
use crate::query::Query;

pub(crate) const AFTER: &str = "after";
pub(crate) const LIMIT: &str = "limit";

/// How many items a page may have: 50 by default.
pub(crate) fn limit(query: &Query) -> Result<u64, Fault> {
    match query.number(LIMIT)? {
        None => Ok(LIMIT_DEFAULT),
        Some(limit) if (1..=PAGE_MAX).contains(&limit) => Ok(limit),
        Some(_) => Err(Fault::malformed(format!("`limit` is 1 to {PAGE_MAX}"))),
    }
}

/// `cursor` gives the start of the next page, if this one is full.
pub(crate) fn page<T: Serialize>(items: &[T], limit: u64, cursor: impl Fn(&T) -> String) -> Reply {
    #[derive(Serialize)]
    struct Page<'a, T> {
        items: &'a [T],
        next: Option<String>,
    }
    let is_full = u64::try_from(items.len()).is_ok_and(|count| count >= limit);
    let next = items.last().filter(|_| is_full).map(cursor);
    Reply::json(&Page { items, next })
}

const LIMIT_DEFAULT: u64 = 50;
