//! Bodies: read, or refused with the error and the field that was probably meant.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tollgate_contract::nearest;

use crate::fault::Fault;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Json,
    Yaml,
    Lines,
    /// No `Content-Type`.
    Untold,
    Other,
}

impl Kind {
    fn of(headers: &HeaderMap) -> Self {
        let Some(kind) = headers.get(CONTENT_TYPE) else {
            return Self::Untold;
        };
        let kind = kind.to_str().unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        match &*kind.to_ascii_lowercase() {
            "application/json" => Self::Json,
            "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml" => Self::Yaml,
            "application/x-ndjson" | "application/jsonl" | "application/json-lines" => Self::Lines,
            _ => Self::Other,
        }
    }
}

/// A missing body is read as an empty object.
pub(crate) fn json<'a, T: Deserialize<'a>>(
    headers: &HeaderMap,
    body: &'a [u8],
) -> Result<T, Fault> {
    let body = if body.trim_ascii().is_empty() {
        b"{}"
    } else {
        body
    };
    match Kind::of(headers) {
        Kind::Json | Kind::Untold => {}
        Kind::Yaml | Kind::Lines | Kind::Other => {
            return Err(Fault::unsupported("`application/json`"));
        }
    }
    serde_json::from_slice(body).map_err(|error| wrong(&error))
}

pub(crate) fn document<'a>(headers: &HeaderMap, body: &'a [u8]) -> Result<&'a str, Fault> {
    let kind = Kind::of(headers);
    if matches!(kind, Kind::Other | Kind::Lines) {
        return Err(Fault::unsupported(
            "`application/json` and `application/yaml`",
        ));
    }
    if kind == Kind::Json {
        serde_json::from_slice::<IgnoredAny>(body).map_err(|error| wrong(&error))?;
    }
    text(body)
}

/// Documents with their places: one per line, or the items of a JSON list.
pub(crate) fn documents(headers: &HeaderMap, body: &[u8]) -> Result<Vec<(usize, String)>, Fault> {
    match Kind::of(headers) {
        Kind::Json => {
            let list: Vec<Value> = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
            let texts = list.into_iter().map(|document| document.to_string());
            Ok((1..).zip(texts).collect())
        }
        Kind::Lines | Kind::Untold => {
            let lines = (1..).zip(text(body)?.lines());
            let lines = lines.map(|(number, line)| (number, line.trim().to_owned()));
            Ok(lines.filter(|(_, line)| !line.is_empty()).collect())
        }
        Kind::Yaml | Kind::Other => Err(Fault::unsupported(
            "`application/x-ndjson` and `application/json`",
        )),
    }
}

/// A single document, or one in the first line with requests in the lines after it. Returns the document and the lines.
pub(crate) fn document_and_lines<'a>(
    headers: &HeaderMap,
    body: &'a [u8],
) -> Result<(&'a str, Option<NumberedLines<'a>>), Fault> {
    if Kind::of(headers) != Kind::Lines {
        return Ok((document(headers, body)?, None));
    }
    let lines = (1..).zip(text(body)?.lines());
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let mut lines: NumberedLines<'a> = lines.collect();
    let Some((_, first)) = lines.first().copied() else {
        return Err(Fault::malformed("the first line is the document"));
    };
    lines.remove(0);
    serde_json::from_str::<IgnoredAny>(first).map_err(|error| wrong(&error))?;
    Ok((first, Some(lines)))
}

pub(crate) type NumberedLines<'a> = Vec<(usize, &'a str)>;

fn text(body: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(body).map_err(|_| Fault::malformed("the body is not UTF-8"))
}

fn wrong(error: &serde_json::Error) -> Fault {
    let said: String = error.to_string().chars().take(SHOWN_MAX).collect();
    let hint = meant(&said).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let kind = if error.is_data() {
        "has the wrong shape"
    } else {
        "is not JSON"
    };
    Fault::malformed(format!("the body {kind}: {said}{hint}"))
}

/// The field that was probably meant by an unknown one.
fn meant(text: &str) -> Option<&str> {
    let text = text.strip_prefix("unknown field ")?;
    let mut names = text.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    nearest(unknown, names)
}

/// The most letters of an error that are shown.
const SHOWN_MAX: usize = 300;
