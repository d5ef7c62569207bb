//! Requests of HTTP/1.1 clients.

use std::fmt::Write;

use super::{CallLimit, Judge, Prepared, Protocol};
use crate::key::KeyParts;
use crate::plan::LoadPlan;
use crate::template::Template;

pub(super) fn prepare(template: Template, judge: Judge) -> Prepared {
    Prepared {
        protocol: Protocol::Http1,
        template,
        judge,
    }
}

/// One check, or a list of them.
pub(super) fn checks(key: &KeyParts, batch: usize) -> String {
    let check = format!("{{\"key\":{}}}", json_key(key));
    match batch {
        0 | 1 => check,
        batch => format!("[{}]", vec![check; batch].join(",")),
    }
}

pub(super) fn throttle(key: &str, limit: CallLimit) -> String {
    let CallLimit {
        burst,
        count,
        period_secs,
    } = limit;
    format!(
        "{{\"key\":{},\"max_burst\":{burst},\"count_per_period\":{count},\"period\":{period_secs},\"quantity\":1}}",
        json_text(key)
    )
}

pub(super) fn post(plan: &LoadPlan, path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let fields = format!("content-type: application/json\r\ncontent-length: {length}\r\n");
    head(plan, "POST", path, &fields)
        .into_bytes()
        .into_iter()
        .chain(body.bytes())
        .collect()
}

pub(super) fn get(plan: &LoadPlan, path: &str) -> Vec<u8> {
    head(plan, "GET", path, "").into_bytes()
}

fn head(plan: &LoadPlan, method: &str, path: &str, fields: &str) -> String {
    let host = plan.server.host();
    let token = plan.token.as_ref();
    let token = token.map(|token| format!("authorization: Bearer {token}\r\n"));
    let token = token.unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{token}{fields}\r\n")
}

fn json_key(key: &KeyParts) -> String {
    match key {
        KeyParts::Bare(value) => json_text(value),
        KeyParts::Entries(entries) => {
            let entry = |(name, value): &(String, String)| {
                format!("{}:{}", json_text(name), json_text(value))
            };
            let entries: Vec<_> = entries.iter().map(entry).collect();
            format!("{{{}}}", entries.join(","))
        }
    }
}

/// A JSON string.
fn json_text(text: &str) -> String {
    let mut quoted = String::from('"');
    for symbol in text.chars() {
        match symbol {
            '"' | '\\' => quoted.extend(['\\', symbol]),
            symbol if u32::from(symbol) < 0x20 => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(symbol));
            }
            symbol => quoted.push(symbol),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_as_json() {
        let entries = vec![
            ("user".to_owned(), "4\"2".to_owned()),
            ("plan".to_owned(), "a\n".to_owned()),
        ];
        assert_eq!(
            json_key(&KeyParts::Entries(entries)),
            r#"{"user":"4\"2","plan":"a\u000a"}"#
        );
        let bare = KeyParts::Bare("x\\y".to_owned());
        assert_eq!(checks(&bare, 2), r#"[{"key":"x\\y"},{"key":"x\\y"}]"#);
    }
}
