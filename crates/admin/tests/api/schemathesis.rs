//! Schemathesis: requests made from the description of the interface, to find answers that it does not describe.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kit::{PRESET, Server};

/// The version that is installed, so that a run is the same next year.
const VERSION: &str = "4.32.5";

/// Where it is installed: once, beside what cargo builds.
fn installed() -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("schemathesis-admin-{VERSION}"));
    let program = folder.join("bin/st");
    if !program.exists() {
        let run = |command: &mut Command| {
            let out = command.output().unwrap();
            assert!(
                out.status.success(),
                "{}",
                String::from_utf8_lossy(&out.stderr)
            );
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let package = format!("schemathesis=={VERSION}");
        run(Command::new(folder.join("bin/pip")).args(["install", "-q", &package]));
    }
    program
}

#[test]
fn no_answer_is_undescribed() {
    let server = Server::start();
    server.furnish();
    let checks = [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    ];
    let out = Command::new(installed())
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .args([
            "run",
            &format!("http://{}/admin/v1/openapi.json", server.at),
        ])
        .args(["--header", &format!("Authorization: Bearer {PRESET}")])
        .args(["--checks", &checks.join(",")])
        .args(["--max-examples", "20", "--seed", "1", "--no-color"])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        out.status.success(),
        "{}\n{}",
        text(&out.stdout),
        text(&out.stderr)
    );
}
