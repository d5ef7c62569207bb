//! Schemathesis: requests made from the description of the interface, to find answers that it does not describe.

use std::path::Path;
use std::process::Command;

use tollgate_parts::python_programs;
use tollgate_serve::settings::Token;

use crate::http::kit::{HttpServer, text};

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
    let server = HttpServer::with(|settings| settings.tokens = vec![Token::new("sesame")].into());
    let out = schemathesis()
        .args(["run", &format!("http://{}/openapi.json", server.at)])
        .args(["--header", "Authorization: Bearer sesame"])
        .args([
            "--checks",
            "all",
            "--max-examples",
            "40",
            "--seed",
            "1",
            "--no-color",
        ])
        .output()
        .expect("schemathesis runs");
    assert!(
        out.status.success(),
        "{}\n{}",
        text(&out.stdout),
        text(&out.stderr)
    );
}
