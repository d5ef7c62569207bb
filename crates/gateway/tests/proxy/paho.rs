//! Eclipse Paho through the gateway: a third-party client notices only the answers it gets.

use std::path::{Path, PathBuf};
use std::process::Command;

use tollgate_parts::Mosquitto;

use crate::kit::Gateway;

/// The version that is installed, so that runs are reproducible.
const VERSION: &str = "2.1.0";

const CONTRACTS: &str = "
contracts:
  - id: one
    match: { topic: limited/+ }
    key: [client]
    policies: [{ name: one, limit: 1, per: 1h }]
";

/// A Python with Paho, installed once in the build folder.
fn installed() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("paho-mqtt-{VERSION}"));
    let done = folder.join("done");
    if !done.exists() {
        let run = |command: &mut Command| {
            let out = command.output().unwrap();
            let errors = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{errors}");
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let package = format!("paho-mqtt=={VERSION}");
        run(Command::new(folder.join("bin/pip")).args(["install", "-q", &package]));
        std::fs::write(done, "").unwrap();
    }
    folder.join("bin/python")
}

#[test]
fn paho_does_not_notice_it_until_it_is_refused() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), CONTRACTS);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy/client.py");
    let mut command = Command::new(installed());
    command.arg(script).arg(gateway.address.port().to_string());
    let out = command.output().unwrap();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{errors}");
    let passed = gateway.metric("tollgate_gateway_publishes_total{outcome=\"passed\"}");
    assert_eq!(passed, 2 * (3 * 50 + 1));
}
