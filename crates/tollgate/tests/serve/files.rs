//! Files, flags and the environment: what is refused, and before what.

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tollgate_parts::Wire;

use crate::kit::{CONTRACTS, Server, file, refused, run, serve, tollgate};

#[test]
fn bad_files_end_with_64_before_a_port_opens() {
    let folder = tempfile::tempdir().unwrap();
    // Taken, so that trying to open it would end with 69.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let cases: [(&str, &str, &[&str]); 5] = [
        (
            "t.yaml",
            "access: { tokens: [short-secret] }\n",
            &["t.yaml:1:20", "openssl rand -hex 16"],
        ),
        ("a.yaml", "htpp: 1\n", &["a.yaml:1:1", "mean `http`?"]),
        (
            "b.yaml",
            "limits:\n  conections: 1\n",
            &["b.yaml:2:3", "did you mean `connections`?"],
        ),
        (
            "c.yaml",
            "contracts:\n  - id: a\n    polices: []\n",
            &["c.yaml:3:5", "`polices`", "did you mean `policies`?"],
        ),
        (
            "d.yaml",
            "http: 1\n\tresp: 2\n",
            &["d.yaml:1:", "indent with spaces"],
        ),
    ];
    for (name, text, said) in cases {
        let path = file(folder.path(), name, text);
        let path = path.to_str().unwrap();
        refused(
            &run(&["serve", "--config", path, "--http", &address]),
            64,
            said,
        );
        refused(&run(&["config", "check", path]), 64, said);
    }
    let contracts = file(folder.path(), "e.yaml", "contrats: []\n");
    let home = folder.path().to_str().unwrap();
    let flags = [
        "serve",
        "--contracts",
        contracts.to_str().unwrap(),
        "--data-dir",
        home,
        "--http",
        &address,
    ];
    refused(
        &run(&flags),
        64,
        &["e.yaml:1:1", "did you mean `contracts`?"],
    );
    refused(
        &run(&["serve", "--config", "/nowhere.yaml"]),
        66,
        &["/nowhere.yaml"],
    );
}

#[test]
fn bad_flags_and_variables_end_with_64() {
    refused(&run(&["serve", "--htpp", "1"]), 64, &["--http"]);
    refused(&run(&["serve", "--http", ":80"]), 64, &["0.0.0.0:80"]);
    let environment = tollgate(&["serve"])
        .env("TOLLGATE_HTTP", "nowhere")
        .output()
        .unwrap();
    refused(&environment, 64, &["TOLLGATE_HTTP"]);
}

#[test]
fn a_port_in_use_ends_with_69_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::start(folder.path(), &[]);
    let other = tempfile::tempdir().unwrap();
    let (address, home) = (first.http.to_string(), other.path().to_str().unwrap());
    let output = run(&["serve", "--http", &address, "--no-resp", "--data-dir", home]);
    refused(&output, 69, &[&address, "in use", "--http"]);
}

#[test]
fn a_folder_in_use_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Server::start(folder.path(), &[]);
    let home = folder.path().to_str().unwrap();
    let output = run(&["serve", "--http", "0", "--no-resp", "--data-dir", home]);
    refused(&output, 74, &[home, "--data-dir"]);
}

/// A folder of data and the server in it, which runs under a umask that hides nothing.
struct Bare {
    home: TempDir,
    server: Server,
}

impl Bare {
    fn start(home: TempDir) -> Self {
        let serve = serve();
        let mut command = Command::new("sh");
        command.args(["-c", "umask 0; exec \"$0\" \"$@\""]);
        command.arg(serve.get_program()).args(serve.get_args());
        for (name, _) in serve.get_envs() {
            command.env_remove(name);
        }
        let store = home.path().join("store.db");
        command.env("TOLLGATE_STORE", format!("sqlite:{}", store.display()));
        let data = home.path().join("data");
        let server = Server::spawn(command.arg("--data-dir").arg(data).stdin(Stdio::null()));
        Self { home, server }
    }

    fn files(&self) -> Vec<PathBuf> {
        let folders = [self.home.path().to_owned(), self.home.path().join("data")];
        let entries = folders
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_file()).collect()
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn every_file_of_a_server_is_for_its_owner_alone_whatever_the_umask_says() {
    let bare = Bare::start(tempfile::tempdir().unwrap());
    let data = bare.home.path().join("data");
    assert_eq!(mode(&data), 0o700);
    let names = [
        "catalogue.db",
        "catalogue.db.key",
        "tollgate.db",
        "tollgate.db-wal",
        "contracts.yaml",
        "../store.db",
    ];
    assert!(
        names.iter().all(|name| data.join(name).is_file()),
        "{:?}",
        bare.files()
    );
    for path in bare.files() {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn files_that_an_earlier_version_left_open_are_made_private_and_the_log_says_so() {
    let bare = Bare::start(tempfile::tempdir().unwrap());
    // Killed, so that logs of databases stay.
    bare.server.signal("KILL");
    let wide = bare.files();
    let _ = bare.server.end();
    for path in &wide {
        std::fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    }
    let bare = Bare::start(bare.home);
    let is_database = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".db") || name.contains(".db-")
    };
    let databases: Vec<_> = wide
        .iter()
        .filter(is_database)
        .filter(|path| path.is_file())
        .collect();
    assert!(databases.len() >= 3, "{databases:?}");
    for path in databases {
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
    bare.server.signal("TERM");
    let (code, said) = bare.server.end();
    assert_eq!(code, Some(0));
    assert!(said.contains("its mode is changed"), "{said}");
    // Others may have read the key, so that it is not made good by its mode alone.
    assert!(
        said.contains("mode 644 lets other users of this machine read it"),
        "{said}"
    );
}

#[test]
fn the_key_of_the_console_is_written_once_and_rotated_by_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("console.key");
    let path = path.to_str().unwrap();
    refused(&run(&["config", "key", "rotate", path]), 66, &[path]);
    assert_eq!(run(&["config", "key", "new", path]).status.code(), Some(0));
    refused(&run(&["config", "key", "new", path]), 74, &[path]);
    let key = || std::fs::read_to_string(path).unwrap();
    let before = key();
    assert_eq!(
        run(&["config", "key", "rotate", path]).status.code(),
        Some(0)
    );
    assert_ne!(key(), before);
    assert_eq!(mode(path.as_ref()), 0o600);
    std::fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(
        run(&["config", "key", "rotate", path]).status.code(),
        Some(0)
    );
    std::fs::write(path, "key: mine\n").unwrap();
    refused(
        &run(&["config", "key", "rotate", path]),
        64,
        &[path, "config key new"],
    );
}

#[test]
fn the_first_start_has_a_sample_in_its_catalogue_that_no_file_changes_later() {
    let home = tempfile::tempdir().unwrap();
    let command = || {
        let mut command = tollgate(&["serve", "--format", "json", "--http", "0", "--resp", "0"]);
        command.env("XDG_DATA_HOME", home.path());
        command
    };
    let server = Server::spawn(&mut command());
    let sample = home.path().join("tollgate/contracts.yaml");
    let text = std::fs::read_to_string(&sample).unwrap();
    assert!(home.path().join("tollgate/catalogue.db").is_file());
    let body = "{\"key\": {\"user\": \"42\", \"plan\": \"free\"}, \"cost\": 1}";
    let ask = |server: &Server| {
        let answer = server.post("/v1/check", body).body;
        assert!(
            answer.contains("\"allowed\":true") && answer.contains("\"limit\":5,"),
            "{answer}"
        );
    };
    ask(&server);
    drop(server);
    std::fs::write(&sample, text.replace("limit: 5,", "limit: 7,")).unwrap();
    let server = Server::spawn(&mut command());
    ask(&server);
    assert!(
        std::fs::read_to_string(&sample)
            .unwrap()
            .contains("limit: 7,")
    );
}

#[test]
fn a_server_file_serves_with_contracts_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("http: 127.0.0.1:0\nresp: 127.0.0.1:0\n{CONTRACTS}");
    let path = file(folder.path(), "tollgate.yaml", &text);
    let path = path.to_str().unwrap();
    let server = Server::spawn(&mut tollgate(&[
        "serve", "--format", "json", "--config", path,
    ]));
    assert_eq!(server.take("a"), 99);
    let output = run(&["config", "check", path]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 contract, all good"),
        "{said}"
    );
    let schema = run(&["config", "schema", "--server"]);
    assert!(String::from_utf8_lossy(&schema.stdout).contains("\"ServerFile\""));
}

#[test]
fn the_example_is_good() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/tollgate.yaml");
    let output = run(&["config", "check", path]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn tokens_come_from_files_that_others_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = file(folder.path(), "tokens", "open-sesame-open-sesame\n");
    let name = tokens.to_str().unwrap();
    let home = folder.path().to_str().unwrap();
    std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = run(&[
        "serve",
        "--data-dir",
        home,
        "--http",
        "0",
        "--no-resp",
        "--token-file",
        name,
    ]);
    refused(&output, 64, &["chmod 600", name]);
    std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(0o600)).unwrap();
    let server = Server::start(folder.path(), &["--token-file", name]);
    let ask = |more: &str| {
        let request = format!("GET /metrics HTTP/1.1\r\nhost: t\r\n{more}\r\n");
        Wire::to(server.http).ask(request).status
    };
    assert_eq!(ask(""), 401);
    let token = "authorization: Bearer open-sesame-open-sesame\r\n";
    assert_eq!(ask(token), 200);
    assert_eq!(server.get("/readyz").status, 200);
    server.signal("TERM");
    let (_, errors) = server.end();
    assert!(!errors.contains("sesame"), "{errors}");
}

#[test]
fn whoever_is_open_to_the_world_is_warned() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--http", "0.0.0.0:0"]);
    server.signal("TERM");
    let (code, errors) = server.end();
    assert_eq!(code, Some(0));
    assert!(
        errors.contains("warning: 0.0.0.0:0 can be reached from other machines"),
        "{errors}"
    );
}

/// What a server says until it is ready; with contracts in a catalogue, or in a file.
fn said_at_the_start(is_file: bool, token: Option<&str>) -> Vec<String> {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().unwrap();
    let mut command = tollgate(&[
        "serve",
        "--http",
        "127.0.0.1:0",
        "--resp",
        "0",
        "--data-dir",
    ]);
    command.arg(folder.path());
    if is_file {
        let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
        command.arg("--contracts").arg(contracts);
    }
    command
        .envs(token.map(|token| ("TOLLGATE_ADMIN_TOKEN", token)))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines: Vec<String> = lines
        .map_while(Result::ok)
        .take_while(|line| line != "ready")
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    lines
}

#[test]
fn what_is_no_terminal_gets_plain_lines() {
    let lines = said_at_the_start(false, None);
    assert!(lines[0].starts_with("http http://127.0.0.1:"), "{lines:?}");
    assert!(lines[1].starts_with("resp 127.0.0.1:"), "{lines:?}");
    assert!(
        !lines.iter().any(|line| line.contains('\u{1b}')),
        "{lines:?}"
    );
}

#[test]
fn the_console_is_named_at_the_start_where_somebody_can_sign_in() {
    let console = |is_file, token| {
        let lines = said_at_the_start(is_file, token).into_iter();
        let mut found = lines.filter(|line| line.starts_with("console "));
        found.next().unwrap()
    };
    let shut = console(true, None);
    assert!(
        !shut.contains("http") && shut.contains("set TOLLGATE_ADMIN_TOKEN"),
        "{shut}"
    );
    for (is_file, token) in [(true, Some("open-sesame-open-sesame")), (false, None)] {
        let open = console(is_file, token);
        assert!(open.starts_with("console http://127.0.0.1:"), "{open}");
    }
}

#[test]
fn config_check_reads_descriptor_files_and_says_where_nodes_would_admit_n_times() {
    let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/envoy");
    let descriptors = format!("{deploy}/descriptors.yaml");
    let output = run(&["config", "check", &descriptors]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("library/branch/action_lend") && said.contains("0 per 1s"),
        "{said}"
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(&descriptors, folder.path().join("rules.yaml")).unwrap();
    let folder = folder.path().display().to_string();
    assert!(run(&["config", "check", &folder]).status.success());
    let server = format!("{folder}/server.yml");
    for (coordination, is_noted) in [("", false), ("rls: { coordination: local }", true)] {
        let text = format!("contracts: rules.yaml\ncluster: {{}}\n{coordination}\n");
        std::fs::write(&server, text).unwrap();
        let output = run(&["config", "check", &server]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}");
        assert_eq!(
            said.contains("N nodes admit N times their limits"),
            is_noted,
            "{said}"
        );
    }
}
