//! Applies all requests of one key in order to its row: the answers, and the change of the row.

use std::sync::Arc;

use tollgate_limit::Instant;
use tollgate_store::{Book, EngineAnswer, Failure, StoreRequest, StoredKey, Verb, Write};

#[derive(Clone, Debug)]
pub(crate) struct StoredRow {
    /// The number of the shape that wrote it, and its text if known.
    pub(crate) shape: u64,
    pub(crate) text: Option<String>,
    pub(crate) found: StoredKey,
}

#[derive(Clone, Debug)]
pub(crate) enum RowChange {
    Nothing,
    Forget,
    Keep {
        book: Arc<Book>,
        found: StoredKey,
        fresh_at: Instant,
    },
}

/// The answers to the requests of one key, in order, and the change of its row.
pub(crate) fn fold<'a>(
    asks: impl IntoIterator<Item = &'a StoreRequest>,
    mut stored: Option<StoredRow>,
) -> (Vec<Result<EngineAnswer, Failure>>, RowChange) {
    let mut change = RowChange::Nothing;
    let mut answers = Vec::new();
    for ask in asks {
        let said = one(ask, &mut stored);
        answers.push(said.map(|(said, changed)| {
            change = changed.unwrap_or_else(|| core::mem::replace(&mut change, RowChange::Nothing));
            said
        }));
    }
    (answers, change)
}

fn one(
    ask: &StoreRequest,
    stored: &mut Option<StoredRow>,
) -> Result<(EngineAnswer, Option<RowChange>), Failure> {
    // Even if the row cannot be read.
    if ask.verb == Verb::Reset {
        let change = stored.take().map(|_| RowChange::Forget);
        return Ok((EngineAnswer::Done, change));
    }
    let found = understood(ask, stored.as_ref())?;
    let next = ask.book.apply(found.as_ref(), ask.verb, ask.now);
    let next = next.map_err(|error| Failure::Broken(error.to_string()))?;
    let change = match next.write {
        None => None,
        Some(Write::Forget) => {
            *stored = None;
            Some(RowChange::Forget)
        }
        Some(Write::Keep { found, fresh_at }) => {
            *stored = Some(StoredRow {
                shape: ask.book.shape_id(),
                text: Some(ask.book.shape().to_owned()),
                found: found.clone(),
            });
            let book = Arc::clone(&ask.book);
            Some(RowChange::Keep {
                book,
                found,
                fresh_at,
            })
        }
    };
    Ok((next.said, change))
}

/// The row, converted to the policies of a request.
fn understood(
    ask: &StoreRequest,
    stored: Option<&StoredRow>,
) -> Result<Option<StoredKey>, Failure> {
    let Some(stored) = stored else {
        return Ok(None);
    };
    if stored.shape == ask.book.shape_id() {
        return Ok(Some(stored.found.clone()));
    }
    let unknown = || Failure::Broken(format!("nothing says what shape {:x} was", stored.shape));
    let text = stored.text.as_deref().ok_or_else(unknown)?;
    Ok(ask.book.inherit(text, &stored.found, ask.now))
}
