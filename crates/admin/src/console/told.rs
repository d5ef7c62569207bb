//! Converts answers of the API to what pages show.

use serde_json::Value;
use tollgate_catalogue::differences;
use tollgate_console::Moment;
use tollgate_console::chart::Tally;
use tollgate_console::part::{ChangeRow, Difference};

use crate::time;

/// Empty for anything but a string.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// `None` for anything but a string.
pub(super) fn some(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

pub(super) fn texts(value: &Value) -> Vec<String> {
    list(value).map(text).collect()
}

/// Empty for anything but a list.
pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(super) fn items(page: &Value) -> impl Iterator<Item = &Value> {
    list(&page["items"])
}

pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

pub(super) fn moment(told: &Value) -> Option<Moment> {
    let nanos = time::read(told.as_str()?)?;
    Some(at_ns(nanos))
}

pub(super) fn at_ns(nanos: u64) -> Moment {
    at_ms(nanos / 1_000_000)
}

pub(super) fn at_ms(millis: u64) -> Moment {
    Moment(i64::try_from(millis).unwrap_or(i64::MAX))
}

pub(super) fn tally(told: &Value) -> Tally {
    Tally {
        allowed: number(&told["allowed"]),
        delayed: number(&told["delayed"]),
        denied: number(&told["denied"]),
    }
}

pub(super) fn change(told: &Value) -> ChangeRow {
    let documents = [&told["before"], &told["after"]]
        .map(|document| Some(document).filter(|document| !document.is_null()));
    ChangeRow {
        revision: number(&told["revision"]),
        kind: text(&told["kind"]),
        id: text(&told["id"]),
        version: number(&told["version"]),
        author: text(&told["author"]),
        at: moment(&told["at"]).unwrap_or_default(),
        reason: text(&told["reason"]),
        differences: shortened(different(documents[0], documents[1])),
    }
}

/// Shortens the list; the last line is the number of the rest.
fn shortened(mut list: Vec<Difference>) -> Vec<Difference> {
    let more = list.len().saturating_sub(LINES_MAX);
    if more > 0 {
        list.truncate(LINES_MAX);
        list.push(Difference {
            path: format!("and {more} more"),
            ..Difference::default()
        });
    }
    list
}

pub(super) fn different(before: Option<&Value>, after: Option<&Value>) -> Vec<Difference> {
    let shown = |value: &Value| {
        let said = some(value).unwrap_or_else(|| value.to_string());
        match said.char_indices().nth(LETTERS_MAX) {
            None => said,
            Some((end, _)) => format!("{}…", &said[..end]),
        }
    };
    let line = |difference: &tollgate_catalogue::Difference| Difference {
        path: difference.path.join("."),
        before: difference.before.as_ref().map(shown),
        after: difference.after.as_ref().map(shown),
    };
    differences(before, after).iter().map(line).collect()
}

/// The most differences of one change in a history.
const LINES_MAX: usize = 8;
/// The most letters of a value in a difference.
const LETTERS_MAX: usize = 200;
