//! `tollgate replay` as a process agrees with both witnesses, in Rust and in Python, on every decision.

#![allow(clippy::expect_used, reason = "helpers of tests may fail them")]

use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tollgate::trace::COST_MAX;
use tollgate_oracle::strategy::{Grain, ModelRequest, contract_and_trace};
use tollgate_oracle::{Model, ModelAlgorithm, ModelAnswer, Period, Policy};
use tollgate_parts::Redis;

/// Random contracts, each with a trace.
const CASES: usize = 150;

#[test]
fn every_decision_equals_that_of_the_model_and_of_the_script() {
    let mut runner = TestRunner::deterministic();
    let strategy = contract_and_trace(Grain::Millis, 1..=80);
    for case in 0..CASES {
        let (policies, mut trace) = strategy
            .new_tree(&mut runner)
            .expect("nothing is rejected")
            .current();
        // A trace with a larger cost is refused, which is not what is tested here.
        trace.retain(|request| request.cost <= COST_MAX);
        let files = Files::write(case, &policies, &trace);
        let ours = files.tollgate(&[]);
        assert_eq!(ours.len(), trace.len(), "case {case}");
        let mut model = Model::new(policies.clone());
        let script = files.script();
        for (index, request) in trace.iter().enumerate() {
            let told = &ours[index];
            let expected = line_of(
                request,
                &model.check(&request.key, request.cost, request.now_ns),
            );
            assert_eq!(
                *told, expected,
                "request {index} of case {case}: {policies:?}"
            );
            assert_eq!(
                *told, script[index],
                "request {index} of case {case}: {policies:?}"
            );
        }
    }
}

#[test]
fn a_store_decides_every_request_as_the_model_does() {
    let redis = Redis::start();
    let mut runner = TestRunner::deterministic();
    let strategy = contract_and_trace(Grain::Millis, 1..=80);
    for case in 0..CASES {
        let tree = strategy.new_tree(&mut runner).expect("nothing is rejected");
        let (policies, mut trace) = tree.current();
        trace.retain(|request| request.cost <= COST_MAX);
        let files = Files::write(CASES + case, &policies, &trace);
        let told = files.tollgate(&["--store", &redis.url()]);
        assert_eq!(told.len(), trace.len(), "case {case}");
        let mut model = Model::new(policies.clone());
        for (index, request) in trace.iter().enumerate() {
            let answer = model.check(&request.key, request.cost, request.now_ns);
            let expected = line_of(request, &answer);
            let what = format!("request {index} of case {case}: {policies:?}");
            assert_eq!(told[index], expected, "{what}");
        }
    }
}

/// The line `replay` must print.
fn line_of(request: &ModelRequest, answer: &ModelAnswer) -> Value {
    let retry_after_ns = answer
        .retry_after
        .filter(|_| !answer.allowed && !answer.never);
    json!({
        "time": request.now_ns / 1_000_000,
        "key": format!("user={}", request.key),
        "cost": request.cost,
        "allowed": answer.allowed,
        "policy": answer.policy.map(name_of),
        "remaining": answer.remaining,
        "retry_after_ns": retry_after_ns.map(|nanos| nanos.to_string()),
        "wait_ns": answer.wait.to_string(),
    })
}

/// A case as files.
struct Files {
    contracts: PathBuf,
    policies: PathBuf,
    trace: PathBuf,
}

impl Files {
    fn write(case: usize, policies: &[Policy], trace: &[ModelRequest]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = |kind: &str| folder.join(format!("exact-{case}.{kind}"));
        let (contracts, described, recorded) = (path("yaml"), path("json"), path("jsonl"));
        let policies: Vec<Value> = (0..)
            .zip(policies)
            .map(|(place, policy)| policy_json(place, policy))
            .collect();
        let contract =
            json!({"contracts": [{"id": "case", "key": ["user"], "policies": policies}]});
        let line = |request: &ModelRequest| {
            json!({"time": request.now_ns / 1_000_000, "user": request.key, "cost": request.cost})
                .to_string()
        };
        let lines: Vec<String> = trace.iter().map(line).collect();
        std::fs::write(&contracts, contract.to_string()).expect("the folder exists");
        std::fs::write(&described, json!({"policies": policies}).to_string())
            .expect("the folder exists");
        std::fs::write(&recorded, lines.join("\n") + "\n").expect("the folder exists");
        Self {
            contracts,
            policies: described,
            trace: recorded,
        }
    }

    fn tollgate(&self, more: &[&str]) -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command
            .args(["replay", "--format", "jsonl", "--contracts"])
            .arg(&self.contracts);
        lines(command.arg("--trace").arg(&self.trace).args(more))
    }

    fn script(&self) -> Vec<Value> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracle/replay.py");
        lines(
            Command::new("python3")
                .arg(script)
                .arg(&self.policies)
                .arg(&self.trace),
        )
    }
}

/// What a command prints, line by line; it must succeed.
fn lines(command: &mut Command) -> Vec<Value> {
    let output = command.output().expect("the command runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines()
        .map(|line| serde_json::from_str(&quoted(line)).expect("JSON"))
        .collect()
}

/// The line with its longest numbers as strings: a JSON reader would round those beyond 64 bits.
fn quoted(line: &str) -> String {
    let mut line = line.to_owned();
    for field in ["\"retry_after_ns\":", "\"wait_ns\":"] {
        let after = line.find(field).expect("the field") + field.len();
        let start = after + line[after..].len() - line[after..].trim_start().len();
        let digits = line[start..].bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            line.insert(start + digits, '"');
            line.insert(start, '"');
        }
    }
    line
}

/// A policy as the contract file writes it.
fn policy_json(place: usize, policy: &Policy) -> Value {
    let (algorithm, slices) = match policy.algorithm {
        ModelAlgorithm::TokenBucket => ("token-bucket", None),
        ModelAlgorithm::LeakyBucket => ("leaky-bucket", None),
        ModelAlgorithm::FixedWindow => ("fixed-window", None),
        ModelAlgorithm::SlidingLog => ("sliding-log", None),
        ModelAlgorithm::SlidingCounters { slices } => ("sliding-counters", Some(slices)),
        ModelAlgorithm::SlidingWeighted => ("sliding-weighted", None),
    };
    let per = match policy.period {
        Period::Nanos(nanos) => format!("{nanos}ns"),
        Period::Day => "day".to_owned(),
        Period::Week => "week".to_owned(),
        Period::Month => "month".to_owned(),
        Period::Year => "year".to_owned(),
    };
    let mut object =
        json!({"name": name_of(place), "limit": policy.limit, "per": per, "algorithm": algorithm});
    let mut set = |name: &str, value: Value| object[name] = value;
    if let Some(slices) = slices {
        set("slices", json!(slices));
    }
    if let Some(burst) = policy.burst {
        set("burst", json!(burst));
    }
    if let Some(max_wait) = policy.delay {
        set("on_limit", json!("delay"));
        if let Some(nanos) = max_wait {
            set("max_wait", json!(format!("{nanos}ns")));
        }
    }
    if policy.offset_ns > 0 {
        set("offset", json!(format!("{}ns", policy.offset_ns)));
    }
    if let Some(zone) = &policy.time_zone {
        set("time_zone", json!(zone));
    }
    if let Some(debt) = policy.max_debt {
        set("max_debt", json!(debt));
    }
    if policy.count_refused {
        set("count_refused", json!(true));
    }
    object
}

fn name_of(place: usize) -> String {
    format!("p{place}")
}
