//! What is counted is what happened, and reads as Prometheus wants it.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a broken set-up must stop the test"
)]
#![allow(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "shares of counts"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use tollgate_contract::Contracts;
use tollgate_kit::Dice;
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, NodeConfig};
use tollgate_serve::engine::{Engine, EngineRequest, Secrets};
use tollgate_serve::meter::{Decided, Door, Event, Judgement, Meter};

const FILE: &str = "
contracts:
  - { id: 'quoted \"id\" \\ here', key: [user], policies: [{ name: fast, limit: 3, per: 1h }] }
  - { id: wait, key: [slow], policies: [{ name: late, limit: 1, per: 1h, on_limit: delay }] }
  - { id: shadow, key: [dark], policies: [{ name: dark, limit: 1, per: 1h, mode: shadow }] }
";

fn engine() -> Engine {
    let contracts = Contracts::parse(FILE).unwrap();
    Engine::new(contracts, NodeConfig::default(), &Secrets::draw().unwrap())
}

fn check(engine: &Engine, door: Door, name: &str, value: &str) {
    let entries = [(name, value)];
    let ask = EngineRequest::new(Key::Entries(&entries), Cost::ONE);
    let _ = engine.turn().by(door).check(&ask).unwrap();
}

/// Samples by name and labels, as the text has them.
type Samples = BTreeMap<String, f64>;

/// Reads the text format strictly: help and type before samples, families whole, labels escaped, histograms sound.
fn parse(text: &str) -> Samples {
    assert!(text.ends_with('\n'));
    let mut samples = Samples::new();
    let mut families = BTreeSet::new();
    let (mut family, mut kind) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a name and a help");
            assert!(
                !help.is_empty() && families.insert(name.to_owned()),
                "{line}"
            );
            family = name.into();
            kind.clear();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, is) = rest.split_once(' ').expect("a name and a type");
            assert_eq!(name, family);
            assert!(["counter", "gauge", "histogram"].contains(&is), "{line}");
            assert_eq!(is == "counter", name.ends_with("_total"), "{line}");
            kind = is.into();
        } else {
            let (series, value) = line.rsplit_once(' ').expect("a series and a value");
            let name = series.split('{').next().unwrap();
            assert!(is_name(name), "{line}");
            let of_family = match name.strip_prefix(family.as_str()) {
                Some("") => kind != "histogram",
                Some("_bucket" | "_sum" | "_count") => kind == "histogram",
                _ => false,
            };
            assert!(of_family && !kind.is_empty(), "{line}");
            check_labels(&series[name.len()..]);
            let value: f64 = value.parse().expect("a number");
            assert!(
                samples.insert(series.into(), value).is_none(),
                "twice: {series}"
            );
        }
    }
    samples
}

fn is_name(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(inner)
}

fn check_labels(labels: &str) {
    if labels.is_empty() {
        return;
    }
    let mut rest = labels.strip_prefix('{').expect("labels begin");
    loop {
        let (name, value) = rest.split_once("=\"").expect("a label");
        assert!(is_name(name), "{labels}");
        let mut end = None;
        let mut escaped = false;
        for (place, character) in value.char_indices() {
            match character {
                _ if escaped => {
                    assert!(['\\', '"', 'n'].contains(&character), "{labels}");
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    end = Some(place);
                    break;
                }
                _ => {}
            }
        }
        rest = &value[end.expect("the end of a label") + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return assert_eq!(rest, "}"),
        }
    }
}

#[test]
fn decisions_are_counted_by_door_verdict_and_contract() {
    let engine = engine();
    for _ in 0..5 {
        check(&engine, Door::Resp, "user", "ann");
    }
    for _ in 0..3 {
        check(&engine, Door::Grpc, "slow", "bob");
        check(&engine, Door::Http, "dark", "eve");
    }
    check(&engine, Door::Http, "nobody", "x");
    let samples = parse(&engine.meter().render(&engine));
    let decisions = |door: &str, verdict: &str| {
        samples[&format!("tollgate_decisions_total{{door=\"{door}\",verdict=\"{verdict}\"}}")]
    };
    assert_eq!(
        (decisions("resp", "allow"), decisions("resp", "deny")),
        (3.0, 2.0)
    );
    assert_eq!(
        (decisions("grpc", "allow"), decisions("grpc", "delay")),
        (1.0, 2.0)
    );
    assert_eq!(
        (decisions("http", "allow"), decisions("http", "shadow_deny")),
        (2.0, 2.0)
    );
    let contract =
        |labels: &str| samples[&format!("tollgate_contract_decisions_total{{{labels}}}")];
    assert_eq!(
        contract("contract=\"quoted \\\"id\\\" \\\\ here\",verdict=\"deny\""),
        2.0
    );
    assert_eq!(contract("contract=\"none\",verdict=\"allow\""), 1.0);
    assert_eq!(samples["tollgate_table_cells"], 3.0);
}

#[test]
fn connections_and_latencies_are_counted() {
    let engine = engine();
    let meter = engine.meter();
    for _ in 0..5 {
        meter.count(Event::Opened(Door::Http));
    }
    meter.count(Event::Closed(Door::Http));
    meter.count(Event::Malformed(Door::Resp));
    meter.count(Event::ReloadFailed);
    meter.served(Door::Resp, 64, Duration::from_micros(100));
    meter.served(Door::Resp, 1, Duration::from_secs(100));
    let samples = parse(&meter.render(&engine));
    assert_eq!(samples["tollgate_connections_open{door=\"http\"}"], 4.0);
    assert_eq!(samples["tollgate_malformed_total{door=\"resp\"}"], 1.0);
    assert_eq!(samples["tollgate_reloads_total{result=\"failed\"}"], 1.0);
    let count = "tollgate_request_duration_seconds_count{door=\"resp\"}";
    assert_eq!(samples[count], 65.0);
    assert_eq!(
        samples["tollgate_request_duration_seconds_bucket{door=\"resp\",le=\"0.000131072\"}"],
        64.0
    );
    assert_eq!(
        samples["tollgate_request_duration_seconds_bucket{door=\"resp\",le=\"0.000065536\"}"],
        0.0
    );
    assert_eq!(
        samples["tollgate_request_duration_seconds_bucket{door=\"resp\",le=\"+Inf\"}"],
        65.0
    );
}

#[test]
fn promtool_finds_nothing_to_complain_about() {
    let engine = engine();
    check(&engine, Door::Resp, "user", "ann");
    let text = engine.meter().render(&engine);
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut promtool = promtool.expect("promtool, of the package prometheus");
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn many_contracts_make_few_series() {
    let mut file = String::from("contracts:\n");
    for number in 0..300 {
        let contract = format!("{{ id: c{number}, key: [k{number}]");
        file.push_str("  - ");
        file.push_str(&contract);
        file.push_str(", policies: [{ name: p, limit: 1, per: 1h }] }\n");
    }
    let contracts = Contracts::parse(&file).unwrap();
    let engine = Engine::new(contracts, NodeConfig::default(), &Secrets::draw().unwrap());
    for number in 0..300 {
        check(&engine, Door::Http, &format!("k{number}"), "x");
    }
    let samples = parse(&engine.meter().render(&engine));
    let contracts = samples
        .iter()
        .filter(|(name, _)| name.starts_with("tollgate_contract_decisions"));
    let contracts: Vec<_> = contracts.collect();
    assert_eq!(contracts.len(), 65);
    assert_eq!(
        contracts.iter().map(|(_, count)| *count).sum::<f64>(),
        300.0
    );
    assert_eq!(
        samples["tollgate_contract_decisions_total{contract=\"other\",verdict=\"allow\"}"],
        236.0
    );
    assert!(samples.len() < 300, "{}", samples.len());
}

#[test]
fn no_decision_is_lost_between_threads() {
    let engine = engine();
    std::thread::scope(|scope| {
        for thread in 0..40 {
            let engine = &engine;
            scope.spawn(move || {
                for _ in 0..2_000 {
                    check(engine, Door::Resp, "user", &thread.to_string());
                }
            });
        }
        for _ in 0..20 {
            let _ = engine.meter().render(&engine);
            let _ = engine.meter().top(&engine);
        }
    });
    let samples = parse(&engine.meter().render(&engine));
    let resp = samples
        .iter()
        .filter(|(name, _)| name.starts_with("tollgate_decisions_total{door=\"resp\""));
    assert_eq!(resp.map(|(_, count)| count).sum::<f64>(), 80_000.0);
}

const START: u64 = 1_800_000_000_000_000_000;

fn decided(key: &str, judgement: Judgement, nanos: u64) -> Decided<'_> {
    Decided {
        door: Door::Resp,
        key: Key::Text(key.as_bytes()),
        judgement,
        contract: Some(0),
        now: Instant::from_nanos(START + nanos),
    }
}

#[test]
fn a_slow_stream_is_counted_exactly() {
    let meter = Meter::new();
    // A minute at 100 a second: 60 of them for one key, 25 refused ones for another.
    for tick in 0..6_000_u64 {
        let (key, judgement) = match tick % 20 {
            0..12 => ("often", Judgement::Allowed),
            12..17 => ("refused", Judgement::Denied),
            _ => ("seldom", Judgement::Allowed),
        };
        meter.decided(&decided(key, judgement, tick * 10_000_000));
    }
    let now = Instant::from_nanos(START + 60_000_000_000);
    let rates = meter.rates(now, 10);
    assert_eq!(
        (rates.all, rates.denied, rates.allowed),
        (100.0, 25.0, 75.0)
    );
    assert_eq!(meter.rates(now, 1).all, 100.0);
    assert_eq!(meter.rates(now, 60).all, 100.0);
    let (keys, denied) = meter.keys(now, 2);
    assert_eq!(keys[0].key, "often");
    assert!((keys[0].rate - 60.0).abs() < 1.0, "{keys:?}");
    assert_eq!((keys[1].key.as_str(), keys[1].denied), ("refused", 1.0));
    assert_eq!((denied.len(), denied[0].key.as_str()), (1, "refused"));
    assert!((denied[0].rate - 25.0).abs() < 1.0 && denied[0].error < 1e-9);
    // Five minutes later nothing is said of any of them.
    let later = Instant::from_nanos(START + 360_000_000_000);
    assert_eq!(meter.keys(later, 10), (Vec::new(), Vec::new()));
    assert_eq!(meter.rates(later, 60).all, 0.0);
}

#[test]
fn a_fast_skewed_stream_is_estimated_within_its_errors() {
    let meter = Meter::new();
    let keys: Vec<_> = (0..50_000).map(|key| format!("user:{key}")).collect();
    let mut exact = vec![0_u64; keys.len()];
    let mut dice = Dice::new(1);
    // Two million in two seconds; nothing fades yet.
    for tick in 0..2_000_000_u64 {
        let key = ((keys.len() as f64).powf(dice.unit()) as usize).saturating_sub(1);
        exact[key] += 1;
        let judgement = if key.is_multiple_of(3) {
            Judgement::Denied
        } else {
            Judgement::Allowed
        };
        meter.decided(&decided(&keys[key], judgement, tick * 1_000));
    }
    let now = Instant::from_nanos(START + 2_000_000_000);
    let (top, denied) = meter.keys(now, 20);
    assert_eq!(top.len(), 20);
    // The meter reckons from its own start, which is not that of this stream: compare shares.
    let sum: f64 = top.iter().map(|key| key.rate).sum();
    let exact_sum: u64 = exact[..20].iter().sum();
    for (place, count) in exact[..10].iter().enumerate() {
        let found = top.iter().find(|key| key.key == keys[place]);
        let found = found.unwrap_or_else(|| panic!("{}: {top:?}", keys[place]));
        let (is, was) = (found.rate / sum, *count as f64 / exact_sum as f64);
        assert!(
            (is - was).abs() < 0.15 * was,
            "{}: {is} for {was}",
            found.key
        );
        assert!(found.error < found.rate * 0.2, "{found:?}");
        assert_eq!(found.denied, if place % 3 == 0 { 1.0 } else { 0.0 });
    }
    assert_eq!(denied[0].key, keys[0]);
    assert!(denied.iter().take(5).all(|key| key.denied > 0.99));
}

#[test]
fn texts_of_keys_can_be_kept_out() {
    let meter = Meter::new();
    meter.show_keys(false);
    meter.decided(&decided("secret", Judgement::Denied, 0));
    let (keys, denied) = meter.keys(Instant::from_nanos(START), 10);
    assert_eq!((keys.len(), denied.len()), (1, 1));
    assert!(
        keys[0].key.starts_with('#') && keys[0].key.len() == 13,
        "{keys:?}"
    );
    assert_eq!(keys[0].key, denied[0].key);
}

#[test]
fn every_metric_is_explained() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
    let text = std::fs::read_to_string(path).unwrap();
    let engine = engine();
    for line in engine.meter().render(&engine).lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let name = rest.split(' ').next().unwrap();
            assert!(text.contains(&format!("`{name}`")), "{name}");
        }
    }
}

#[test]
fn keys_of_limits_that_requests_bring_along_are_counted_with_those_of_contracts() {
    let engine = engine();
    check(&engine, Door::Http, "user", "ann");
    let policy = tollgate_limit::PolicyConfig::token_bucket(5, tollgate_limit::Period::SECOND);
    let space = tollgate_node::Space::named("test");
    for key in 0..3 {
        let ask = tollgate_node::AdhocAsk {
            print: engine.adhoc().print(space, None, Key::Word(key)),
            cost: Cost::ONE,
            policy: &policy,
        };
        let _ = engine.adhoc().check(&ask, engine.now()).unwrap();
    }
    let samples = parse(&engine.meter().render(&engine));
    assert_eq!(samples["tollgate_table_cells"], 4.0);
    assert_eq!(samples["tollgate_table_refused_total"], 0.0);
    for result in ["found", "new", "failed", "late"] {
        let name = format!("tollgate_durable_reads_total{{result=\"{result}\"}}");
        assert_eq!(samples[&name], 0.0);
    }
}
