//! `GET /v1/cluster/supply`, `GET /v1/cluster/split`, `GET /v1/cluster/sync` and `GET /v1/leases`: how policies under
//! each of these ways to agree stand on this node.
//!
//! `contract=ID` asks about one contract, and each `key=ENTRY=VALUE` names an entry of the key, where it has one;
//! without, known keys are summed. Values are percent-encoded.

use http::StatusCode;
use tollgate_contract::Coordination;

use super::{Asked, Reply};
use crate::engine::Turn;
use crate::modes::{self, view::ModeView};

/// `GET /v1/cluster/supply`.
pub(super) fn supply(_turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    answer(asked, Coordination::Supply, reply);
}

/// `GET /v1/cluster/split`.
pub(super) fn split(_turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    answer(asked, Coordination::Split, reply);
}

/// `GET /v1/cluster/sync`.
pub(super) fn sync(_turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    answer(asked, Coordination::Sync, reply);
}

/// `GET /v1/leases`.
pub(super) fn leases(_turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    answer(asked, Coordination::Lease, reply);
}

fn answer(asked: &Asked<'_>, by: Coordination, reply: &mut Reply) {
    reply.line("cache-control", b"no-store");
    match found(asked, by) {
        Ok(view) => reply.json(&view),
        Err((status, what)) => reply.refuse(status, &what),
    }
}

fn found(asked: &Asked<'_>, by: Coordination) -> Result<ModeView, (StatusCode, String)> {
    let question = question(asked.query);
    let (contract, entries) = question.map_err(|what| (StatusCode::BAD_REQUEST, what))?;
    let Some(contract) = contract else {
        return Ok(modes::view(asked.shared, by));
    };
    let entries: Vec<(&str, &str)> = entries.iter().map(|(e, v)| (&**e, &**v)).collect();
    let found = modes::asked(asked.shared, by, &contract, &entries);
    found.map_err(|what| (StatusCode::NOT_FOUND, what))
}

/// The contract and the entries of the key that a query names.
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

/// A text without its percent signs; nothing where they mean nothing.
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
