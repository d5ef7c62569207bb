//! Programs in other languages, as they stand in `examples/`: with a limiter of their own, and at a running server.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tollgate_parts::{NodePackage, node_modules};

use crate::kit::{Server, file};

/// What a program in JavaScript calls C by.
const KOFFI: NodePackage = NodePackage {
    name: "koffi",
    version: "3.3.4",
    sha512: "df556bf8b33ec35744b0d70e26d256bd8c944e355cfd258ec4d0d92717e1b010\
             baa99e58567f7c9f9c75a016c3ab9b24c426d60f8481c89a4d9aaeb77ef83d03",
};

/// The part of it that is made for this processor.
const KOFFI_NATIVE: NodePackage = if cfg!(target_arch = "aarch64") {
    NodePackage {
        name: "@koromix/koffi-linux-arm64",
        version: "3.3.4",
        sha512: "93a14f8c46038a8c958a152abd1157e1064ad112ff46b9f8c4f133acac4e0f18\
                 0b0145e58414eeb77f75ccfce0b0c700ad780de184ee4b5d4cfe4c66039b3e16",
    }
} else {
    NodePackage {
        name: "@koromix/koffi-linux-x64",
        version: "3.3.4",
        sha512: "c62e3b30aba843d7c0d92b2b1fac258e5f6df75db484eebaa8499bd657baabad\
                 faab9e49f7be1c65f7300eb2b99d6d466a527ed0d2d7a07d93dff346401ccf37",
    }
};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// An example, with the library that Cargo has put beside this test.
fn example(language: &str, program: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let mut command = Command::new(language);
    command
        .arg(examples().join(program))
        .env("TOLLGATE_LIBRARY", test.with_file_name("libtollgate.so"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn javascript(program: &str) -> Command {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let modules = node_modules(folder, &[KOFFI, KOFFI_NATIVE]);
    let mut command = example("node", program);
    command.env("NODE_PATH", modules);
    command
}

/// A server with a contract of the examples, changed by `change`.
fn server(folder: &Path, name: &str, change: impl Fn(String) -> String) -> Server {
    let contract = std::fs::read_to_string(examples().join(name)).unwrap();
    let path = file(folder, name, &change(contract));
    Server::start(folder, &["--contracts", path.to_str().unwrap()])
}

fn ask(command: &mut Command, server: &Server) -> Output {
    let addresses = [server.http.to_string(), server.resp.to_string()];
    command.args(addresses).output().unwrap()
}

/// It ended well, and printed these rows.
#[track_caller]
fn prints(output: &Output, rows: &[&str]) {
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    for row in rows {
        let is_row = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == *row;
        assert!(printed.lines().any(is_row), "{row:?} is not in\n{printed}");
    }
}

const EMBEDDED: [&str; 4] = [
    "ada 3 allow 2 -",
    "ada 6 never 2 -",
    "bob 5 allow 0 -",
    "eve reserved 5 and settled at 1: 4 left",
];
const AT_A_NODE: [&str; 4] = [
    "http 3 true 2 no",
    "http 3 false 2 yes",
    "resp 3 false 2 yes",
    "resp 6 false 2 no",
];

#[test]
fn python_decides_in_its_own_process() {
    let output = example("python3", "python/embedded.py").output().unwrap();
    prints(&output, &EMBEDDED);
}

#[test]
fn javascript_decides_in_its_own_process() {
    prints(&javascript("node/embedded.js").output().unwrap(), &EMBEDDED);
}

#[test]
fn python_and_javascript_ask_a_node() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), "languages.yaml", |contract| contract);
    prints(
        &ask(&mut example("python3", "python/node.py"), &server),
        &AT_A_NODE,
    );
    prints(&ask(&mut javascript("node/node.js"), &server), &AT_A_NODE);
}

#[test]
fn python_and_javascript_decide_by_leases_of_a_node() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), "lease.yaml", |contract| contract);
    for mut command in [
        example("python3", "python/lease.py"),
        javascript("node/lease.js"),
    ] {
        let output = command.arg(server.resp.to_string()).output().unwrap();
        prints(&output, &["at once, with no lease at hand: refused"]);
        let printed = String::from_utf8_lossy(&output.stdout);
        for (kind, passed) in [("rate", "500"), ("count", "3")] {
            let is_row = |line: &str| {
                let words: Vec<&str> = line.split_whitespace().collect();
                matches!(words[..], [first, _, third, ..] if first == kind && third == passed)
            };
            assert!(printed.lines().any(is_row), "{kind} is not in\n{printed}");
        }
    }
}

#[test]
fn a_decision_that_is_not_what_it_should_be_fails_the_example() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), "languages.yaml", |contract| {
        contract.replace("limit: 5", "limit: 7")
    });
    for mut command in [
        example("python3", "python/node.py"),
        javascript("node/node.js"),
    ] {
        let output = ask(&mut command, &server);
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}
