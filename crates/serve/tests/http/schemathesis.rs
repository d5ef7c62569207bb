//! Schemathesis: requests made from the description of the interface, to find answers that it does not describe.

use std::path::{Path, PathBuf};
use std::process::Command;

use tollgate_serve::settings::Token;

use crate::kit::{Server, text};

/// The version that is installed, so that a run is the same next year.
const VERSION: &str = "4.32.5";

/// Where it is installed: once, beside what cargo builds.
fn installed() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.join(format!("schemathesis-{VERSION}"));
    let program = folder.join("bin/st");
    if !program.exists() {
        let run = |command: &mut Command| {
            let out = command.output().expect("it runs");
            assert!(out.status.success(), "{}", text(&out.stderr));
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let package = format!("schemathesis=={VERSION}");
        run(Command::new(folder.join("bin/pip")).args(["install", "-q", &package]));
    }
    program
}

#[test]
fn no_answer_is_undescribed() {
    let server = Server::with(|settings| settings.tokens = vec![Token::new("sesame")]);
    let out = Command::new(installed())
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
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
