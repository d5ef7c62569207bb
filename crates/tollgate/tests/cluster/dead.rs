//! A node of three is killed: everything that people look at names it, until it is forgotten.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tollgate_parts::{Daemon, free_port, until};

const TOKEN: &str = "a-token-for-the-tests";

/// A server of its own.
struct Node {
    daemon: Daemon,
    http: String,
    log: PathBuf,
}

fn tollgate(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(words).env("TOLLGATE_ADMIN_TOKEN", TOKEN);
    command
}

fn start(folder: &Path, ports: [u16; 3], number: usize) -> Node {
    let name = format!("n{number}");
    let log = folder.join(format!("{name}.log"));
    let key = folder.join("cluster.key");
    let mut command = tollgate(&["serve", "--format", "json", "--http", "127.0.0.1:0"]);
    command.args(["--resp", "127.0.0.1:0", "--name", &name, "--data-dir"]);
    command
        .arg(folder.join(&name))
        .arg("--cluster-key")
        .arg(key);
    command.args(["--cluster", &format!("127.0.0.1:{}", ports[number])]);
    for port in ports {
        command.args(["--join", &format!("127.0.0.1:{port}")]);
    }
    let daemon = Daemon::logged(command.stderr(File::create(&log).unwrap()));
    let http = format!("http://{}", daemon.address("http"));
    Node { daemon, http, log }
}

impl Node {
    fn curl(&self, path: &str, more: &[&str]) -> String {
        let mut curl = Command::new("curl");
        let output = curl
            .arg("-s")
            .args(more)
            .arg(format!("{}{path}", self.http))
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    fn status(&self) -> Output {
        tollgate(&["cluster", "status", "--server", &self.http])
            .output()
            .unwrap()
    }
}

/// The lines that have a text.
fn with(text: &str, wanted: &str) -> String {
    let lines = text.lines().filter(|line| line.contains(wanted));
    lines.collect::<Vec<_>>().join("\n")
}

/// What the overview says of health, without its tags.
fn health(page: &str) -> String {
    let (_, rest) = page.split_once("aria-label=\"Health\">").unwrap();
    let (section, _) = rest.split_once("</section>").unwrap();
    let texts = section.split('<').filter_map(|part| part.split_once('>'));
    let texts = texts
        .map(|(_, text)| text.trim())
        .filter(|text| !text.is_empty());
    format!(" {} ", texts.collect::<Vec<_>>().join(" "))
}

#[test]
fn a_killed_node_is_named_everywhere_until_it_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("cluster.key");
    let made = tollgate(&["cluster", "key", "new", key.to_str().unwrap()]).output();
    assert!(made.unwrap().status.success());
    let ports = [free_port(), free_port(), free_port()];
    let nodes = [0, 1, 2].map(|number| start(folder.path(), ports, number));
    let counts = |node: &Node, state: &str, count: u32| {
        let line = format!("tollgate_cluster_members{{state=\"{state}\"}} {count}\n");
        node.curl("/metrics", &[]).contains(&line)
    };
    until("all see all", || {
        nodes.iter().all(|node| counts(node, "alive", 3))
    });
    let whole = nodes[0].status();
    assert_eq!(whole.status.code(), Some(0), "{whole:?}");

    nodes[2].daemon.signal("KILL");
    until("the others know", || {
        nodes[..2].iter().all(|node| counts(node, "dead", 1))
    });
    let node = &nodes[0];
    let status = node.status();
    let told = String::from_utf8(status.stdout).unwrap();
    eprintln!("$ tollgate cluster status --server {}\n{told}", node.http);
    assert_eq!(status.status.code(), Some(1));
    assert!(!with(&told, "dead since").is_empty(), "{told}");
    assert!(with(&told, "dead since").contains("n2"), "{told}");
    let ready = node.curl("/readyz", &[]);
    eprintln!("$ curl {}/readyz\n{ready}\n", node.http);
    assert!(
        ready.contains("2 of 3 nodes of the cluster are there: n2 is dead since"),
        "{ready}"
    );
    let metrics = with(&node.curl("/metrics", &[]), "tollgate_cluster_members{");
    eprintln!("$ curl {}/metrics | grep members\n{metrics}\n", node.http);
    for other in &nodes[..2] {
        let log = with(&std::fs::read_to_string(&other.log).unwrap(), "WARN");
        assert!(with(&log, "dead").contains("n2"), "{log}");
        eprintln!("$ grep WARN {}\n{log}\n", other.log.display());
    }
    let jar = folder.path().join("cookies");
    let jar = ["-c", jar.to_str().unwrap(), "-b", jar.to_str().unwrap()];
    let sign_in = format!("token={TOKEN}");
    node.curl("/console/login", &[&jar[..], &["-d", &sign_in]].concat());
    let overview = node.curl("/console", &jar);
    let told = health(&overview);
    eprintln!("{}/console\n{told}\n", node.http);
    assert!(told.contains(" nodes 2 of 3 "), "{told}");
    assert_eq!(told.matches("n2 is dead since").count(), 1, "{told}");

    let forgotten = tollgate(&["cluster", "forget", "n2", "--server", &node.http]).output();
    let forgotten = forgotten.unwrap();
    assert_eq!(forgotten.status.code(), Some(0), "{forgotten:?}");
    for other in &nodes[..2] {
        until("nobody is missed", || {
            other.status().status.code() == Some(0)
        });
    }
    let overview = node.curl("/console", &jar);
    assert!(health(&overview).contains(" nodes 2 of 2 "), "{overview}");
}
