//! The live tail of decisions, as a page.

use serde_json::Value;
use tollgate_console::chart::Meaning;
use tollgate_console::number::span;
use tollgate_console::page::{self, Tail, TailRow};

use super::desk::PageRequest;
use super::fit::{Fit, fitted};
use super::inner::encoded;
use super::thing::ids;
use super::told::{at_ms, items, number, text};
use crate::answer::Reply;
use crate::fault::Fault;

pub(super) async fn tail(page: &PageRequest) -> Result<Reply, Fault> {
    let [contract, key, verdict] = ["contract", "key", "verdict"].map(|name| page.query.get(name));
    let mut view = Tail {
        contract: contract.to_owned(),
        key: key.to_owned(),
        verdict: verdict.to_owned(),
        contracts: ids(page, "/contracts?limit=200").await?,
        ..Tail::default()
    };
    let keys = key.split(',').map(|entry| ("key", entry.trim()));
    let said = keys.chain([("contract", contract), ("verdict", verdict)]);
    let said = said.filter(|(_, value)| !value.is_empty());
    let said: Vec<String> = said
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    match page.inner.get(&format!("/tail?{}", said.join("&"))).await {
        Ok(told) => {
            view.node = text(&told["node"]);
            view.since = Some(at_ms(number(&told["since_ms"])));
            view.dropped = number(&told["dropped"]);
            view.rows = items(&told).map(row).collect();
        }
        // The field keeps the text that was typed.
        Err(fault) if fault.code() == "malformed" => view.wrong = Some(fault.message().to_owned()),
        Err(fault) => return Err(fault),
    }
    let cut = |view: &mut Tail, fit: &mut Fit| fit.cut(&mut view.rows);
    Ok(fitted(&page.frame, &view, cut, page::tail))
}

fn row(told: &Value) -> TailRow {
    let of = |name: &str| number(&told[name]);
    let policy = [text(&told["contract"]), text(&told["policy"])];
    let policy: Vec<&str> = policy
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    let mut left = match (policy.is_empty(), of("debt")) {
        (true, _) => String::new(),
        (false, 0) => format!("{} left of {}", of("remaining"), of("capacity")),
        (false, debt) => format!("owes {debt} beyond {}", of("capacity")),
    };
    for (name, words) in [("wait_ms", "held back"), ("retry_after_ms", "again in")] {
        if let Some(millis) = told[name].as_u64() {
            left = format!("{left}, {words} {}", span(millis));
        }
    }
    TailRow {
        at: at_ms(of("at_ms")),
        meaning: match told["verdict"].as_str() {
            Some("deny") => Meaning::Denied,
            Some("delay") => Meaning::Delayed,
            Some("allow" | "shadow_deny") => Meaning::Allowed,
            _ => Meaning::Plain,
        },
        is_shadowed: told["verdict"] == "shadow_deny",
        key: text(&told["key"]),
        policy: policy.join("/"),
        cost: of("cost"),
        left,
    }
}
