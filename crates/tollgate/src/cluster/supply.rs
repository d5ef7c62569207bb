//! `tollgate cluster supply`: how a contract's rate is divided, as its nodes say.
//!
//! Not here: how the figures come about (`tollgate-serve`).

use std::fmt::Write as _;
use std::io::Write as _;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tollgate_load::Address;
use tollgate_serve::supply::view::{SupplyPolicyView, SupplyView};

use super::options::{ClusterFormat, SupplyOptions};
use crate::check::http::Request;
use crate::failure::Failure;
use crate::report::table::{Align, Cell, Table, cell, tame};
use crate::report::{Ink, Look, Meaning, units};

/// What one node said.
type Told = (String, Result<(SupplyView, Value), Failure>);

pub(super) fn run(options: &SupplyOptions) -> Result<(), Failure> {
    let path = path("supply", options)?;
    let told = options.at.iter().map(|server| {
        let told = fetch(server, &path, options);
        (
            server.to_string(),
            told.and_then(|told| divides(server, told)),
        )
    });
    let told: Vec<Told> = told.collect();
    if told.iter().all(|(_, told)| told.is_err()) {
        let first = told.into_iter().find_map(|(_, told)| told.err());
        return first.map_or(Ok(()), Err);
    }
    let text = match options.format {
        ClusterFormat::Json => format!("{}\n", machine(&told)),
        ClusterFormat::Human => human(&told, Look::of_stdout()),
    };
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).map_err(Failure::output)
}

fn divides(server: &Address, told: (SupplyView, Value)) -> Result<(SupplyView, Value), Failure> {
    if told.0.on {
        Ok(told)
    } else {
        Err(no_roster(server))
    }
}

pub(crate) fn no_roster(server: &Address) -> Failure {
    Failure::usage(format!(
        "error: {server} divides no rates\nA cluster that does has a roster: --roster a,b,c."
    ))
}

/// The path of the question.
pub(crate) fn path(what: &str, options: &SupplyOptions) -> Result<String, Failure> {
    let mut path = format!("/v1/cluster/{what}?contract={}", encoded(&options.contract));
    for entry in &options.key {
        if !entry.contains('=') {
            return Err(Failure::usage(format!(
                "error: --key {entry}: write an entry and its value, as user=42"
            )));
        }
        let _ = write!(path, "&key={}", encoded(entry));
    }
    Ok(path)
}

/// A text that fits into a query.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// What a server says there, as it is meant and as it is.
pub(crate) fn fetch<T: DeserializeOwned>(
    server: &Address,
    path: &str,
    options: &SupplyOptions,
) -> Result<(T, Value), Failure> {
    let request = Request {
        server,
        method: "GET",
        path,
        token: options.token.as_deref(),
        line: None,
        body: None,
    };
    let reply = request.send().map_err(|error| {
        Failure::unavailable(format!("error: {server} does not answer: {error}"))
    })?;
    let value: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let detail = value.get("detail").and_then(Value::as_str).unwrap_or("");
    match reply.status {
        200 => {}
        400 => return Err(Failure::usage(format!("error: {server}: {detail}"))),
        401 | 403 => {
            return Err(Failure::no_permission(format!(
                "error: {server} lets nobody look without a token\nSet TOLLGATE_TOKEN to a token that the server knows."
            )));
        }
        status => {
            return Err(Failure::protocol(format!(
                "error: {server} does not answer that (status {status}); is it a Tollgate?"
            )));
        }
    }
    let view = serde_json::from_value(value.clone()).ok();
    let view = view.ok_or_else(|| {
        Failure::protocol(format!("error: {server} says what makes no sense here"))
    })?;
    Ok((view, value))
}

fn machine(told: &[Told]) -> Value {
    let nodes = told.iter().map(|(server, told)| match told {
        Ok((_, value)) => value.clone(),
        Err(failure) => json!({ "server": server, "error": failure.to_string() }),
    });
    json!({ "nodes": nodes.collect::<Vec<_>>() })
}

fn human(told: &[Told], look: Look) -> String {
    let views: Vec<&SupplyView> = told
        .iter()
        .filter_map(|(_, told)| told.as_ref().ok().map(|(view, _)| view))
        .collect();
    let mut text = String::new();
    let Some(first) = views.first() else {
        return text;
    };
    for policy in &first.policies {
        one_policy(policy, &views, look, &mut text);
    }
    for small in &first.by_owner {
        let _ = writeln!(text, "{}", tame(&small.to_string(), SENTENCE_MAX));
    }
    for name in &first.doubled {
        let said = format!("more than one live node is called {}", tame(name, NAME_MAX));
        let _ = writeln!(text, "{}", look.paint(Ink::Meaning(Meaning::Denied), &said));
    }
    for (server, told) in told {
        if let Err(failure) = told {
            let _ = writeln!(text, "{server}: {failure}");
        }
    }
    let missing = first.roster.len().saturating_sub(views.len());
    if missing > 0 {
        let _ = writeln!(
            text,
            "{missing} more of the roster were not asked; name them with --server"
        );
    }
    text
}

fn one_policy(of: &SupplyPolicyView, views: &[&SupplyView], look: Look, text: &mut String) {
    let rows: Vec<(&SupplyView, &SupplyPolicyView)> = views
        .iter()
        .filter_map(|view| {
            let same = |policy: &&SupplyPolicyView| policy.policy == of.policy;
            Some((*view, view.policies.iter().find(same)?))
        })
        .collect();
    let usable: f64 = rows.iter().map(|(_, policy)| policy.stands.usable).sum();
    let line = format!(
        "{} / {}: {} of {}/s may be used, burst {}",
        tame(&of.contract, NAME_MAX),
        tame(&of.policy, NAME_MAX),
        rate(usable),
        rate(of.rate),
        of.burst
    );
    let _ = writeln!(text, "{}\n", look.paint(Ink::Bold, &line));
    let (left, right) = (Align::Left, Align::Right);
    let header = [
        ("node", left),
        ("home", right),
        ("lent", right),
        ("borrowed", right),
        ("usable", right),
        ("demand", right),
        ("fill", right),
        ("loans", right),
        ("", left),
    ];
    let table = Table {
        header: &header,
        rows: rows
            .iter()
            .map(|(view, policy)| row(view, policy))
            .collect(),
    };
    table.write(look, text);
    text.push('\n');
    counts(&rows, look, text);
}

/// What was counted since each node started.
fn counts(rows: &[(&SupplyView, &SupplyPolicyView)], look: Look, text: &mut String) {
    let mut header = vec![("node", Align::Left)];
    header.extend(COUNTS.map(|(_, title)| (title, Align::Right)));
    let row = |(view, policy): &(&SupplyView, &SupplyPolicyView)| {
        let mut cells = vec![cell(tame(&view.name, NAME_MAX)).ink(Ink::Bold)];
        let counts = COUNTS.map(|(name, _)| cell(units::number(policy.count(name))));
        cells.extend(counts);
        cells
    };
    let table = Table {
        header: &header,
        rows: rows.iter().map(row).collect(),
    };
    table.write(look, text);
    text.push('\n');
    for (view, policy) in rows
        .iter()
        .filter(|(_, policy)| policy.count("drift") > 0.0)
    {
        let name = tame(&view.name, NAME_MAX);
        let asks = units::number(policy.count("drift"));
        let _ = writeln!(
            text,
            "{name} did not lend for {asks} asks of nodes whose clock runs wrong"
        );
    }
}

/// Counts that are shown, and how they are called there.
const COUNTS: [(&str, &str); 11] = [
    ("offered", "offered"),
    ("admitted", "admitted"),
    ("refused", "refused"),
    ("refused_while_rich", "while rich"),
    ("asks", "asks"),
    ("taken", "taken"),
    ("given", "given"),
    ("renewals", "renewed"),
    ("recalls", "recalled"),
    ("expired", "expired"),
    ("lapsed", "lapsed"),
];

fn row(view: &SupplyView, policy: &SupplyPolicyView) -> Vec<Cell> {
    let state = match (policy.stands.quarantine_ms, policy.stands.settled) {
        (1.., _) => format!("its home in {} ms", policy.stands.quarantine_ms),
        (0, false) => "waits for all to agree".to_owned(),
        (0, true) => String::new(),
    };
    vec![
        cell(tame(&view.name, NAME_MAX)).ink(Ink::Bold),
        cell(rate(policy.stands.home)),
        cell(rate(policy.stands.lent)),
        cell(rate(policy.stands.borrowed)),
        cell(rate(policy.stands.usable)),
        cell(rate(policy.stands.demand)),
        cell(format!("{:.2}", policy.stands.fill_ratio)),
        cell(policy.stands.loans.to_string()),
        cell(state),
    ]
}

/// Requests per second.
fn rate(value: f64) -> String {
    format!("{value:.1}")
}

const NAME_MAX: usize = 40;
const SENTENCE_MAX: usize = 400;

#[cfg(test)]
mod tests {
    use tollgate_serve::supply::view::StandsView;

    use super::*;

    #[test]
    fn a_query_has_no_letters_that_mean_something() {
        assert_eq!(encoded("a b&c=d/é"), "a%20b%26c%3Dd%2F%C3%A9");
    }

    #[test]
    fn the_table_says_who_has_what() {
        let policy = SupplyPolicyView {
            contract: "api".into(),
            policy: "all".into(),
            rate: 100.0,
            stands: StandsView {
                usable: 60.0,
                quarantine_ms: 5,
                ..StandsView::default()
            },
            ..SupplyPolicyView::default()
        };
        let view = SupplyView {
            on: true,
            name: "n1".into(),
            policies: vec![policy],
            ..SupplyView::default()
        };
        let told = vec![("http://a".to_owned(), Ok((view, Value::Null)))];
        let text = human(&told, Look::PLAIN);
        assert!(text.contains("60.0 of 100.0/s"), "{text}");
        assert!(text.contains("its home in 5 ms"), "{text}");
    }
}
