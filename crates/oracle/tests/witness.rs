//! The model and `replay.py` must agree on every answer, though one searches where the other computes.

#![allow(clippy::expect_used, reason = "helpers of tests may fail them")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tollgate_oracle::strategy::{Grain, ModelRequest, contract_and_trace};
use tollgate_oracle::{Model, ModelAlgorithm, Period, Policy};

#[test]
fn both_witnesses_agree_on_random_traces() {
    let mut runner = TestRunner::deterministic();
    let cases = contract_and_trace(Grain::Millis, 1..=60);
    let cases: Vec<_> = (0..400)
        .map(|_| {
            cases
                .new_tree(&mut runner)
                .expect("nothing is rejected")
                .current()
        })
        .collect();
    let lines: Vec<String> = cases
        .iter()
        .map(|(policies, trace)| case_json(policies, trace).to_string())
        .collect();
    let output = replay(&["--batch"], lines.join("\n"));
    let answers: Vec<Value> = output.lines().map(parse).collect();
    assert_eq!(answers.len(), cases.len());
    let (mut allowed, mut refused) = (0, 0);
    for ((policies, trace), python) in cases.iter().zip(&answers) {
        let mut model = Model::new(policies.clone());
        for (index, request) in trace.iter().enumerate() {
            let rust = answer_json(&mut model, request);
            assert_eq!(
                rust,
                python[index],
                "request {index} of {}",
                case_json(policies, trace)
            );
            if rust["allowed"] == true {
                allowed += 1;
            } else {
                refused += 1;
            }
        }
    }
    assert!(
        allowed > 2_000 && refused > 2_000,
        "one-sided traces: {allowed} and {refused}"
    );
}

#[test]
fn the_script_reads_policies_and_trace_from_files() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (policies, trace) = (folder.join("policies.json"), folder.join("trace.jsonl"));
    let written = json!({"policies": [
        {"name": "burst", "limit": 2, "per": "1s", "algorithm": "token-bucket"},
    ]});
    std::fs::write(&policies, written.to_string()).expect("the folder exists");
    let lines = concat!(
        "{\"time\": 1000, \"user\": \"ann\", \"cost\": 2}\n\n",
        "{\"time\": 1100, \"user\": \"ann\"}\n"
    );
    std::fs::write(&trace, lines).expect("the folder exists");
    let arguments = [policies, trace].map(|path| path.display().to_string());
    let output = replay(&[&arguments[0], &arguments[1]], String::new());
    let answers: Vec<Value> = output.lines().map(parse).collect();
    let allowed = json!({"time": 1000, "key": "user=ann", "cost": 2, "allowed": true, "policy": null,
        "remaining": 0, "retry_after_ns": null, "wait_ns": 0});
    let refused = json!({"time": 1100, "key": "user=ann", "cost": 1, "allowed": false,
        "policy": "burst", "remaining": 0, "retry_after_ns": 400_000_000, "wait_ns": 0});
    assert_eq!(answers, [allowed, refused]);
}

/// Runs the script; a missing interpreter is a failure, not a skip.
fn replay(arguments: &[&str], input: String) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay.py");
    let mut child = Command::new("python3")
        .arg(script)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is on the path");
    let mut stdin = child.stdin.take().expect("it is piped");
    let output = thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        child
            .wait_with_output()
            .expect("the script can be waited for")
    });
    assert!(output.status.success(), "the script failed");
    String::from_utf8(output.stdout).expect("the script writes UTF-8")
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).expect("the script writes JSON")
}

fn answer_json(model: &mut Model, request: &ModelRequest) -> Value {
    let answer = model.check(&request.key, request.cost, request.now_ns);
    json!({
        "time": request.now_ns / 1_000_000,
        "key": format!("user={}", request.key),
        "cost": request.cost,
        "allowed": answer.allowed,
        "policy": answer.policy.map(name),
        "remaining": answer.remaining,
        "retry_after_ns": answer.retry_after.map(|nanos| nanos.to_string()),
        "wait_ns": answer.wait.to_string(),
    })
}

fn name(index: usize) -> String {
    format!("policy-{index}")
}

fn case_json(policies: &[Policy], trace: &[ModelRequest]) -> Value {
    let policies: Vec<Value> = policies
        .iter()
        .enumerate()
        .map(|(index, policy)| policy_json(&name(index), policy))
        .collect();
    let trace: Vec<Value> = trace
        .iter()
        .map(|request| {
            json!({
                "time": request.now_ns / 1_000_000,
                "user": request.key,
                "cost": request.cost,
            })
        })
        .collect();
    json!({"policies": policies, "trace": trace})
}

fn policy_json(name: &str, policy: &Policy) -> Value {
    let algorithm = match policy.algorithm {
        ModelAlgorithm::TokenBucket => "token-bucket",
        ModelAlgorithm::LeakyBucket => "leaky-bucket",
        ModelAlgorithm::FixedWindow => "fixed-window",
        ModelAlgorithm::SlidingLog => "sliding-log",
        ModelAlgorithm::SlidingCounters { .. } => "sliding-counters",
        ModelAlgorithm::SlidingWeighted => "sliding-weighted",
    };
    let per = match policy.period {
        Period::Nanos(nanos) => format!("{nanos}ns"),
        Period::Day => "day".to_owned(),
        Period::Week => "week".to_owned(),
        Period::Month => "month".to_owned(),
        Period::Year => "year".to_owned(),
    };
    let mut json = json!({
        "name": name,
        "limit": policy.limit,
        "per": per,
        "algorithm": algorithm,
        "burst": policy.burst,
        "on_limit": if policy.delay.is_some() { "delay" } else { "deny" },
        "max_wait": policy.delay.flatten().map(|nanos| format!("{nanos}ns")),
        "offset": format!("{}ns", policy.offset_ns),
        "time_zone": policy.time_zone,
        "count_refused": policy.count_refused,
        "max_debt": policy.max_debt,
    });
    if let ModelAlgorithm::SlidingCounters { slices } = policy.algorithm {
        json["slices"] = slices.into();
    }
    json
}
