//! YAML to raw types under a fixed budget, and the parser's complaints in this crate's words.
//!
//! JSON is read by the same door, being YAML.

use serde::Deserialize;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DefaultMessageFormatter, Error, MessageFormatter, Options};

use crate::TEXT_BYTES_MAX;
use crate::error::{ContractErrors, ErrorKind};
use crate::nearest::unknown_field;
use crate::problems::Problem;
use crate::snippet::{Place, one_line, quote};
use crate::text::{TOO_MANY, place_of};

/// Reads the one document of a text.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ContractErrors> {
    check_size(text)?;
    serde_saphyr::from_str_with_options(text, options(1)).map_err(|e| explain(&e).alone(text))
}

/// Reads every document of a text; empty ones are left out.
pub(crate) fn read_all<'a, T: Deserialize<'a>>(text: &'a str) -> Result<Vec<T>, ContractErrors> {
    check_size(text)?;
    serde_saphyr::from_multiple_with_options(text, options(DOCUMENTS_MAX))
        .map_err(|e| explain(&e).alone(text))
}

/// Bytes as text, or the place of the first that is not UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, ContractErrors> {
    let Err(error) = str::from_utf8(bytes) else {
        return Ok(str::from_utf8(bytes).unwrap_or_default());
    };
    let (valid, rest) = bytes.split_at(error.valid_up_to());
    let valid = String::from_utf8_lossy(valid);
    let lines = valid.split('\n');
    let column = lines
        .clone()
        .next_back()
        .map_or(0, |line| line.chars().count());
    let place = place(lines.count(), column + 1);
    let bad = rest.first().copied().unwrap_or_default();
    let what = format!("the byte 0x{bad:02X} is not UTF-8; save the file as UTF-8");
    // Only the bad line is shown, so only its end is decoded.
    let line_rest = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let shown = format!("{valid}{}", String::from_utf8_lossy(line_rest));
    Err(Problem::new(ErrorKind::Encoding, place, what).alone(&shown))
}

fn check_size(text: &str) -> Result<(), ContractErrors> {
    if text.len() <= TEXT_BYTES_MAX {
        return Ok(());
    }
    let what = format!(
        "the file has {} bytes, more than the {TEXT_BYTES_MAX} (16 MiB) it may have",
        text.len()
    );
    Err(Problem::new(ErrorKind::TooLarge, place(1, 1), what).alone(text))
}

fn place(line: usize, column: usize) -> Place {
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Place {
        line: narrow(line),
        column: narrow(column),
        width: 1,
    }
}

/// The budget: a text of the largest size fits, what its aliases make of it is bounded.
fn options(documents: usize) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 4 * NODES_MAX,
            max_nodes: NODES_MAX,
            max_depth: DEPTH_MAX,
            flow_nesting_limit: DEPTH_MAX,
            max_aliases: ALIASES_MAX,
            max_anchors: ALIASES_MAX,
            max_merge_keys: ALIASES_MAX,
            max_total_scalar_bytes: TEXT_BYTES_MAX,
            max_recorded_anchor_events: REPLAYED_MAX,
            max_recorded_anchor_bytes: TEXT_BYTES_MAX,
            max_documents: documents.max(2),
            max_inclusion_depth: 0,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: REPLAYED_MAX,
            max_replay_stack_depth: DEPTH_MAX,
        },
        emit_comments: false,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// The parser's error as a mistake in the file.
fn explain(error: &Error) -> Problem {
    let error = innermost(error);
    let place = error.location().map_or_else(|| place(1, 1), place_of);
    let (kind, what) = match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => (ErrorKind::UnknownField, unknown_field(field, expected)),
        Error::SerdeMissingField { field, .. } => (
            ErrorKind::Missing,
            format!("the field `{field}` is missing"),
        ),
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().map_or("this key".into(), quote);
            (ErrorKind::Duplicate, format!("{key} is given twice here"))
        }
        Error::MultipleDocuments { .. } => (
            ErrorKind::Syntax,
            "a contract file is one document; remove the `---` and what is not part of it".into(),
        ),
        Error::NullIntoString { .. } => (
            ErrorKind::Missing,
            "a value is missing here; write one, or remove the line".into(),
        ),
        Error::Unexpected { expected, .. } => (ErrorKind::WrongType, expected_shape(expected)),
        Error::Message { msg, .. } if msg.starts_with(TOO_MANY) => {
            (ErrorKind::TooLarge, one_line(msg))
        }
        Error::Budget { breach, .. } => (
            ErrorKind::TooLarge,
            format!("{}; {UNFOLD}", exceeded(breach)),
        ),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            let what = format!("aliases unfold to more than {REPLAYED_MAX} parts; {UNFOLD}");
            (ErrorKind::TooLarge, what)
        }
        Error::SerdeInvalidType {
            unexpected,
            expected,
            ..
        } => (
            ErrorKind::WrongType,
            one_line(&format!("expected {expected}, found {unexpected}")),
        ),
        other => {
            let message = DefaultMessageFormatter.format_message(other);
            let help = if message.contains("tab") {
                "; indent with spaces"
            } else {
                ""
            };
            (
                ErrorKind::Syntax,
                format!("not readable as YAML: {}{help}", one_line(&message)),
            )
        }
    };
    Problem::new(kind, place, what)
}

fn exceeded(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Depth { .. } => {
            format!("lists and fields are nested deeper than {DEPTH_MAX}")
        }
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => {
            format!("the file has more than {NODES_MAX} values, lists and fields")
        }
        BudgetBreach::Documents { .. } => {
            format!("the file has more than {DOCUMENTS_MAX} documents")
        }
        BudgetBreach::Aliases { .. }
        | BudgetBreach::Anchors { .. }
        | BudgetBreach::MergeKeys { .. } => {
            format!("the file has more than {ALIASES_MAX} anchors, aliases or merges")
        }
        _ => "anchors and aliases make the file larger than it may be".into(),
    }
}

fn innermost(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } =
        error
    {
        error = inner;
    }
    error
}

fn expected_shape(expected: &str) -> String {
    match expected {
        "mapping start" => "expected fields here, as in `name: value`".into(),
        "sequence start" => {
            "expected a list here, as in `[a, b]` or lines that begin with `- `".into()
        }
        "string scalar" => "expected a single value here, not a list or fields".into(),
        other => format!("expected {}", one_line(other)),
    }
}

/// The most scalars, lists and maps in a file.
const NODES_MAX: usize = 4_000_000;
/// The deepest nesting.
const DEPTH_MAX: usize = 64;
/// The most anchors, and the most aliases.
const ALIASES_MAX: usize = 100_000;
/// The most parts that aliases may unfold to, all together.
const REPLAYED_MAX: usize = 1_000_000;
/// The most documents in a file that may have several.
const DOCUMENTS_MAX: usize = 1024;
const UNFOLD: &str = "use fewer or smaller aliases and less nesting";
