//! `GET /v1/leases`, and `GET /v1/cluster/` with the name of a mode: the state of that mode's policies on this node.
//!
//! `contract=ID` selects one contract, and each `key=ENTRY=VALUE` names an entry of the key; without, known keys are
//! summed. Values are percent-encoded.

use http::StatusCode;
use tollgate_contract::{Coordination, Decider};

use super::{ReceivedRequest, Reply};
use crate::engine::Turn;
use crate::modes::{self, view::ModeView};

pub(super) fn stand(_turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    reply.line("cache-control", b"no-store");
    let by = asked_mode(asked.path).unwrap_or_default();
    match found(asked, by) {
        Ok(view) => reply.json(&view),
        Err((status, what)) => reply.refuse(status, &what),
    }
}

/// The mode in a path.
pub(super) fn asked_mode(path: &str) -> Option<Coordination> {
    let mut modes = Coordination::ALL.into_iter();
    modes.find(|mode| path_of(*mode).is_some_and(|of| of == path))
}

/// The state paths of all modes.
pub(super) fn paths() -> impl Iterator<Item = String> {
    Coordination::ALL.into_iter().filter_map(path_of)
}

fn path_of(mode: Coordination) -> Option<String> {
    match mode.row().decider {
        Decider::Alone | Decider::Owner | Decider::Store => None,
        Decider::Client => Some("/v1/leases".to_owned()),
        Decider::Each | Decider::Roster => Some(format!("/v1/cluster/{}", mode.name())),
    }
}

fn found(asked: &ReceivedRequest<'_>, by: Coordination) -> Result<ModeView, (StatusCode, String)> {
    let question = question(asked.query);
    let (contract, entries) = question.map_err(|what| (StatusCode::BAD_REQUEST, what))?;
    let Some(contract) = contract else {
        return Ok(modes::view(asked.shared, by));
    };
    let entries: Vec<(&str, &str)> = entries.iter().map(|(e, v)| (&**e, &**v)).collect();
    let found = modes::asked(asked.shared, by, &contract, &entries);
    found.map_err(|what| (StatusCode::NOT_FOUND, what))
}

/// The contract and the entries of the key in a query.
fn question(query: &str) -> Result<Question, String> {
    let mut contract = None;
    let mut entries = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let value = decoded(value).ok_or("A parameter is not percent-encoded UTF-8.")?;
        match name {
            "contract" => contract = Some(value),
            "key" if entries.len() < ENTRIES_MAX => {
                let pair = value.split_once('=');
                let (entry, value) = pair.ok_or("`key` is written `key=entry=value`.")?;
                entries.push((entry.to_owned(), value.to_owned()));
            }
            "key" => return Err(format!("A key has at most {ENTRIES_MAX} entries.")),
            _ => return Err("There are only the parameters `contract` and `key`.".into()),
        }
    }
    Ok((contract, entries))
}

type Question = (Option<String>, Vec<(String, String)>);

/// Percent-decodes; `None` if malformed.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?;
                u8::from_str_radix(digits, 16).ok()?
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

const ENTRIES_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn percent_signs_are_read_or_refused() {
        assert_eq!(decoded("user%3D4+2").as_deref(), Some("user=4 2"));
        for text in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }
}
