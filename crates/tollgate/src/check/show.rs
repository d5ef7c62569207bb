//! A decision in words.

use serde_json::Value;

use crate::report::table::tame;
use crate::report::{Ink, Meaning, TerminalStyle, units};

/// One or two lines: the verdict, and how the policy behind it stands.
pub(super) fn text(key: &str, decision: &Value, look: TerminalStyle) -> String {
    let number = |name: &str| decision.get(name).and_then(Value::as_u64);
    let allowed = decision.get("allowed") == Some(&Value::Bool(true));
    let wait = number("wait_ms").filter(|wait| *wait > 0);
    let (meaning, verdict) = match (allowed, wait) {
        (false, _) => (Meaning::Denied, "denied".to_owned()),
        (true, Some(wait)) => (
            Meaning::Delayed,
            format!("allowed after {}", units::span(wait)),
        ),
        (true, None) => (Meaning::Allowed, "allowed".to_owned()),
    };
    let verdict = look.paint(
        Ink::Meaning(meaning),
        &format!("{} {verdict}", meaning.glyph()),
    );
    let mut text = format!("{verdict}  {}", tame(key, KEY_MAX));
    if !allowed {
        let hope = match number("retry_after_ms") {
            Some(wait) => format!(", again in {}", units::span(wait)),
            None => ", and waiting does not help".to_owned(),
        };
        text.push_str(&hope);
    }
    text.push('\n');
    let policy = decision.get("policy").and_then(Value::as_str);
    let standing = match policy {
        Some(policy) => format!(
            "  {policy}: {}; whole again in {}\n",
            left(decision),
            units::span(number("reset_after_ms").unwrap_or_default())
        ),
        None if decision.get("matched") == Some(&Value::Bool(false)) => {
            "  no contract binds this key; `POST /v1/explain` says what it lacks\n".to_owned()
        }
        None => String::new(),
    };
    text.push_str(&look.paint(Ink::Dim, standing.trim_end_matches('\n')));
    if !standing.is_empty() {
        text.push('\n');
    }
    text
}

/// What is left of what a policy can hold, with its limit if that differs.
pub(crate) fn left(decision: &Value) -> String {
    let number = |name: &str| decision.get(name).and_then(Value::as_u64).unwrap_or(0);
    let [limit, capacity] = ["limit", "capacity"].map(&number);
    let of = if capacity > limit {
        format!(
            "{}, at a limit of {}",
            units::exact(capacity),
            units::exact(limit)
        )
    } else {
        format!("a limit of {}", units::exact(limit))
    };
    match number("debt") {
        0 => format!("{} left of {of}", units::exact(number("remaining"))),
        debt => format!("owes {} beyond {of}", units::exact(debt)),
    }
}

const KEY_MAX: usize = 120;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn verdicts_are_told_with_what_is_left() {
        let mut decision = json!({
            "allowed": true, "policy": "burst", "limit": 1500, "remaining": 5, "retry_after_ms": null,
            "reset_after_ms": 500, "wait_ms": 0, "receipt": "x"
        });
        let shown = |decision: &Value| text("user=42", decision, TerminalStyle::PLAIN);
        let left = "  burst: 5 left of a limit of 1\u{202f}500; whole again in 500 ms\n";
        assert_eq!(shown(&decision), format!("░ allowed  user=42\n{left}"));
        decision["wait_ms"] = json!(1500);
        assert_eq!(
            shown(&decision),
            format!("▒ allowed after 1.5 s  user=42\n{left}")
        );
        decision["allowed"] = json!(false);
        decision["retry_after_ms"] = json!(61_000);
        assert_eq!(
            shown(&decision),
            format!("█ denied  user=42, again in 1 min 1 s\n{left}")
        );
        decision["retry_after_ms"] = Value::Null;
        assert!(shown(&decision).starts_with("█ denied  user=42, and waiting does not help\n"));
    }

    #[test]
    fn a_larger_bucket_and_debt_are_told() {
        let mut decision = json!({
            "allowed": true, "matched": true, "policy": "burst", "limit": 5, "capacity": 10, "remaining": 9, "debt": 0,
            "retry_after_ms": null, "reset_after_ms": 200, "wait_ms": 0, "receipt": "x"
        });
        let shown = |decision: &Value| text("user=42", decision, TerminalStyle::PLAIN);
        assert!(shown(&decision).contains("burst: 9 left of 10, at a limit of 5; whole"));
        decision["debt"] = json!(7);
        assert!(shown(&decision).contains("burst: owes 7 beyond 10, at a limit of 5; whole"));
    }

    #[test]
    fn a_key_that_nothing_binds_is_told_as_such() {
        let decision = json!({"allowed": true, "matched": false, "policy": null});
        assert_eq!(
            text("x", &decision, TerminalStyle::PLAIN),
            "░ allowed  x\n  no contract binds this key; `POST /v1/explain` says what it lacks\n"
        );
    }
}
