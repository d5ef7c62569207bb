//! Schemathesis: requests made from the description of the interface, to find answers that it does not describe.

use std::path::Path;
use std::process::Command;

use tollgate_parts::python_programs;

use crate::kit::{PRESET, Server};

/// The version that is installed, so that runs are reproducible.
const VERSION: &str = "4.32.5";

fn schemathesis() -> Command {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let programs = python_programs(folder, "schemathesis", VERSION);
    let mut command = Command::new(programs.join("st"));
    command.current_dir(folder);
    command
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
    let out = schemathesis()
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
