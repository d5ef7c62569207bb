//! Alert rules and the dashboard: Prometheus takes them, they use only metrics that a node has, and fire when
//! a node dies.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::modes::nodes;

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

fn promtool(words: &[&str], input: &str) {
    let promtool = Command::new("promtool")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut promtool = promtool.unwrap();
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}");
}

/// Names of metrics in a text.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| word.starts_with("tollgate_") || word.starts_with("process_"))
        .collect()
}

#[test]
fn what_alerts_and_the_dashboard_ask_for_is_told_by_a_node_of_a_cluster() {
    let (_folder, mut nodes) = nodes();
    let told = nodes[0].get("/metrics").1;
    promtool(&["check", "metrics"], &told);
    let told = metrics(&told);
    for file in ["prometheus/alerts.yaml", "grafana/tollgate.json"] {
        let text = std::fs::read_to_string(Path::new(DEPLOY).join(file)).unwrap();
        let asked = metrics(&text);
        assert!(asked.len() >= 20, "{file}: {asked:?}");
        let missing: Vec<_> = asked.difference(&told).collect();
        assert!(missing.is_empty(), "{file}: {missing:?}");
    }
}

#[test]
fn prometheus_takes_the_alert_rules_and_one_of_them_names_a_node_that_died() {
    let rules = format!("{DEPLOY}/prometheus/alerts.yaml");
    promtool(&["check", "rules", &rules], "");
    let folder = tempfile::tempdir().unwrap();
    let tests = folder.path().join("tests.yaml");
    let text = format!(
        "rule_files: [{rules}]
evaluation_interval: 15s
tests:
- interval: 15s
  input_series:
  - {{ series: 'tollgate_cluster_members{{job=\"tollgate\",instance=\"a\",state=\"dead\"}}', values: '0x8 1x20' }}
  alert_rule_test:
  - {{ eval_time: 2m, alertname: TollgateNodeMissing }}
  - eval_time: 4m
    alertname: TollgateNodeMissing
    exp_alerts:
    - exp_labels: {{ severity: critical, job: tollgate }}
      exp_annotations:
        summary: A node of the cluster died or never came
        description: \"`tollgate cluster status` names it. Start it again, or run `tollgate cluster forget NAME` where it is gone for good.\"
"
    );
    std::fs::write(&tests, text).unwrap();
    promtool(&["test", "rules", tests.to_str().unwrap()], "");
}
