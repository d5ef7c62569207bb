//! Commands that people paste: in README and the docs, in `--help`, and on the screens of `serve` and `cluster dev`.
//! Each runs here as it stands there.
//!
//! A fenced block `sh` or `console` runs unless the words behind that say why not, as in `sh not run: needs a broker`;
//! so does every example of `--help` but those of [`HELP_NOT_RUN`]. Of what does not run, calls of `tollgate` are
//! parsed. Blocks of one file run in order, in a network and among processes of their own, beside a server without
//! settings.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::CommandFactory as _;
use tollgate::cli::Cli;
use tollgate::cluster::nets;

/// Parts of examples of `--help` that do not run, and why.
const HELP_NOT_RUN: [(&str, &str); 19] = [
    ("10.0.0.", "other machines"),
    (".internal", "other machines"),
    ("redis://", "needs Redis"),
    (":6379", "needs Redis"),
    ("/run/", "the system's folders"),
    ("/var/", "the system's folders"),
    ("/etc/", "the system's folders"),
    ("tollgate gateway --", "needs a broker"),
    ("access.log.gz", "the reader's log"),
    ("gateway status", "needs gateways"),
    ("cluster status", BESIDE_A_CLUSTER),
    ("gateway fit", "needs gateways"),
    (
        "tollgate bench ",
        "takes its time, and `crates/tollgate/tests/tools.rs` runs it",
    ),
    (
        "tollgate lab ",
        "takes its time, and `crates/tollgate/tests/lab.rs` runs it",
    ),
    (
        "cluster forget",
        "needs a node that died, and `crates/tollgate/tests/cluster/dead.rs` runs it",
    ),
    ("cluster prove", "takes minutes"),
    ("cluster supply", BESIDE_A_CLUSTER),
    ("tg_...", "the token is the reader's"),
    ("tollgate tail", BESIDE_A_CLUSTER),
];
/// Why: a test of their own runs them.
const BESIDE_A_CLUSTER: &str = "needs a cluster, or a server that ends";
/// The same, where it is the whole example.
const HELP_WITHOUT_END: [&str; 2] = ["tollgate top", "tollgate top --once"];

/// Commands to paste, and where they stand.
struct Block {
    place: String,
    commands: String,
    is_run: bool,
}

impl Block {
    /// As a part of a script.
    fn script(&self) -> String {
        let mut script = format!("where='{}'\n", self.place);
        if self.is_run {
            return script + &self.commands + "\n";
        }
        for line in self.commands.replace("\\\n", " ").lines() {
            let call = line.find("tollgate ").map_or("", |at| &line[at..]);
            let is_first =
                line.trim_start().starts_with("tollgate ") || line.contains("| tollgate ");
            let call = call
                .split(['|', '>', '<', '&', ';', '…'])
                .next()
                .unwrap_or_default();
            let call = call.split(" #").next().unwrap_or_default();
            if is_first && !line.contains('…') {
                let arguments = call.trim_start_matches("tollgate ");
                // Whoever asks for help behind words that make no sense is told of those.
                let _ = writeln!(script, "\"$REAL\" {arguments} --help > /dev/null");
            }
        }
        script
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a page, and what is wrong with it.
fn blocks(name: &str, text: &str) -> (Vec<Block>, Vec<String>) {
    let (mut blocks, mut wrong) = (Vec::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let body: Vec<&str> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| *line != "```")
            .collect();
        let (kind, mark) = info.split_once(' ').unwrap_or((info, ""));
        let place = format!("{name}:{}", at + 1);
        let is_command = |line: &&&str| {
            ["$ ", "tollgate ", "curl ", "redis-cli ", "grpcurl "]
                .iter()
                .any(|start| line.starts_with(start))
        };
        let commands = match kind {
            "sh" => body.join("\n"),
            "console" => console(&body),
            _ => {
                wrong.extend(body.iter().find(is_command).map(|line| {
                    format!("{place}: `{line}` is in a block `{kind}`: make it `sh` or `console`")
                }));
                continue;
            }
        };
        if !mark.is_empty() && !mark.starts_with("not run: ") {
            wrong.push(format!(
                "{place}: `{mark}` is no mark; write `not run: why`"
            ));
        }
        blocks.push(Block {
            place,
            commands,
            is_run: mark.is_empty(),
        });
    }
    (blocks, wrong)
}

/// The commands of a session, without what they print. One that is shown to be answered with a problem may fail.
fn console(body: &[&str]) -> String {
    let mut commands: Vec<String> = Vec::new();
    for line in body {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push(command.to_owned()),
            (None, Some(command)) if line.starts_with("{\"type\":") => command.push_str(" || true"),
            (None, _) => {}
        }
    }
    commands.join("\n")
}

/// The examples of `--help` of a command and those below it.
fn help(command: &clap::Command, name: &str, blocks: &mut Vec<(String, Vec<Block>)>) {
    let text = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let text = text.replace("\\\n", " ");
    let lines = text
        .lines()
        .filter(|line| line.starts_with("  "))
        .map(str::trim_start);
    let block = |line: &str| Block {
        place: format!("{name} --help"),
        commands: line.to_owned(),
        is_run: !HELP_NOT_RUN.iter().any(|(part, _)| line.contains(part))
            && !HELP_WITHOUT_END.contains(&line),
    };
    let is_command = |line: &&str| line.contains("tollgate ") && !line.starts_with('-');
    let found: Vec<Block> = lines.filter(is_command).map(block).collect();
    let is_known = |(_, known): &(String, Vec<Block>)| {
        known
            .iter()
            .map(|block| &block.commands)
            .eq(found.iter().map(|block| &block.commands))
    };
    if !found.is_empty() && !blocks.iter().any(is_known) {
        blocks.push((name.to_owned(), found));
    }
    for below in command.get_subcommands() {
        help(below, &format!("{name} {}", below.get_name()), blocks);
    }
}

/// Runs the blocks of a page; what went wrong.
fn paste(name: &str, blocks: &[Block], extra: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (name, text) in FILES {
        std::fs::write(at.join(name), text).unwrap();
    }
    let copied = Command::new("cp")
        .arg("-r")
        .arg(root().join("examples"))
        .arg(at)
        .status();
    assert!(copied.unwrap().success());
    for name in ["contracts.yaml", "traffic.csv"] {
        std::fs::copy(at.join("examples").join(name), at.join(name)).unwrap();
    }
    let parts: String = blocks.iter().map(Block::script).collect();
    let script = format!("{PRELUDE}\nup serve\n{parts}\n{extra}\n");
    std::fs::write(at.join("script"), script).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--net", "--pid", "--fork", "--kill-child", "bash", "script"]);
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("TOLLGATE_") {
            command.env_remove(variable);
        }
    }
    command
        .env("REAL", env!("CARGO_BIN_EXE_tollgate"))
        .current_dir(at);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| format!("{name}:\n{errors}"))
}

fn all_pass(pages: &[(String, Vec<Block>)]) {
    if let Some(why) = nets::obstacle() {
        println!("skipped: no network namespaces here: {why}");
        return;
    }
    let (first, second) = pages.split_at(pages.len() / 2);
    let run = |pages: &[(String, Vec<Block>)]| -> Vec<String> {
        pages
            .iter()
            .filter_map(|(name, blocks)| paste(name, blocks, ""))
            .collect()
    };
    let wrong = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(second));
        [run(first), other.join().unwrap()].concat()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_block_of_readme_and_docs_runs_as_it_is_pasted_or_says_why_not() {
    let mut files = vec![root().join("README.md"), root().join("bench/README.md")];
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    files.extend(
        docs.map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|it| it == "md")),
    );
    let (mut pages, mut wrong) = (Vec::new(), Vec::new());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let (blocks, mistakes) = blocks(&name, &text);
        wrong.extend(mistakes);
        if !blocks.is_empty() {
            pages.push((name, blocks));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let run = pages
        .iter()
        .flat_map(|(_, blocks)| blocks)
        .filter(|block| block.is_run)
        .count();
    assert!(run >= 15, "only {run} blocks run");
    all_pass(&pages);
}

#[test]
fn every_example_of_help_runs_as_it_is_pasted_or_is_parsed() {
    let mut pages = Vec::new();
    help(&Cli::command(), "tollgate", &mut pages);
    assert!(pages.len() > 15, "{}", pages.len());
    all_pass(&pages);
}

#[test]
fn examples_of_help_about_clusters_run_beside_one() {
    if let Some(why) = nets::obstacle() {
        println!("skipped: no network namespaces here: {why}");
        return;
    }
    let mut pages = Vec::new();
    help(&Cli::command(), "tollgate", &mut pages);
    let of = |what: &str| -> Vec<String> {
        let blocks = pages.iter().flat_map(|(_, blocks)| blocks);
        let lines = blocks.map(|block| block.commands.clone());
        let here = |line: &String| line.contains(what) && !line.contains("10.0.0.");
        lines.filter(here).collect()
    };
    let (status, supply, tail) = (
        of("cluster status"),
        of("cluster supply"),
        of("tollgate tail"),
    );
    assert!(
        status.len() >= 2 && supply.len() >= 2 && tail.len() >= 3,
        "{status:?} {supply:?} {tail:?}"
    );
    let mut script = "where='a cluster of one'\n\"$REAL\" cluster key new cluster.key\n\
        up serve --name n1 --roster n1 --cluster 127.0.0.1:7380 --cluster-key cluster.key --contracts divided.yaml\n"
        .to_owned();
    for line in status.iter().chain(&supply) {
        let _ = writeln!(script, "where={line:?}\n{line} > seen.txt\n[ -s seen.txt ]");
    }
    // Its end is that of the server.
    for line in &tail {
        let _ = writeln!(
            script,
            "up serve\nwhere={line:?}\n{{ {line}; }} > seen.txt &\ntail=$!\n{REFUSED}\ndown\nwait $tail\n[ -s seen.txt ]"
        );
    }
    assert_eq!(paste("clusters", &[], &script), None);
}

/// Requests of one key that are refused, for as long as somebody may take to begin looking.
const REFUSED: &str = r#"for _ in $(seq 30); do
    curl http://127.0.0.1:8080/v1/check --json '{"key": {"user": "42", "plan": "free"}, "cost": 1000000}' > /dev/null
    sleep 0.1
done"#;

#[test]
fn what_screens_say_to_try_runs_as_it_is_pasted() {
    if let Some(why) = nets::obstacle() {
        println!("skipped: no network namespaces here: {why}");
        return;
    }
    let dev = "where='tollgate cluster dev'\ndown\nup cluster dev --nodes 3\ntried out.txt";
    let serve = "where='the screen of tollgate serve'\ndown\nscript -qfc \"$REAL serve\" screen.txt > /dev/null &\n\
                 until grep -q Ctrl-C screen.txt; do sleep 0.05; done\ntried screen.txt";
    for (name, script) in [("cluster dev", dev), ("serve", serve)] {
        assert_eq!(paste(name, &[], script), None);
    }
}

#[test]
fn blocks_that_are_not_marked_run_and_commands_hide_nowhere() {
    let page = "```sh\na\n```\n```sh not run: why\nb\n```\n```console\n$ c 1\nsaid\n$ d\n{\"type\":1}\n```\n```text\n$ e\n```\n```sh perhaps\n```\n";
    let (blocks, wrong) = blocks("p", page);
    let said: Vec<(&str, bool)> = blocks
        .iter()
        .map(|block| (&*block.commands, block.is_run))
        .collect();
    assert_eq!(
        said,
        [
            ("a", true),
            ("b", false),
            ("c 1\nd || true", true),
            ("", false)
        ]
    );
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(
        wrong[0].starts_with("p:13: `$ e`") && wrong[1].contains("no mark"),
        "{wrong:?}"
    );
}

/// What a reader is told to have.
const FILES: [(&str, &str); 11] = [
    (
        "divided.yaml",
        "contracts:\n  - { id: whole-api, coordination: supply, policies: [{ name: ceiling, limit: 40, per: 1s }] }\n  \
         - { id: per-tenant, key: [tenant], coordination: supply, policies: [{ name: rate, limit: 40, per: 1s }] }\n",
    ),
    (
        "users.yaml",
        "id: users\nkey: [user]\npolicies: [{ name: burst, limit: 100, per: 1m }]\n",
    ),
    (
        "minute.yaml",
        "contracts:\n  - id: users\n    key: [user]\n    policies:\n      - { name: minute, limit: 100, per: 1m, algorithm: token-bucket }\n",
    ),
    (
        "free.yaml",
        "id: free\npolicies: [{ name: burst, limit: 7, per: 1s }]\n",
    ),
    ("tollgate.yaml", "contracts: contracts.yaml\n"),
    (
        "ratelimit.yaml",
        "domain: edge\ndescriptors:\n  - key: path\n    rate_limit: { unit: second, requests_per_unit: 5 }\n",
    ),
    (
        "traffic.jsonl",
        "{\"time\": 1794700800790, \"user\": \"42\", \"cost\": 1}\n",
    ),
    ("faults.txt", "at 0 delay 1ms\n"),
    ("placement.txt", "gateway g1 127.0.0.1:1884\nothers\n"),
    ("clients.txt", "plant-3-17\n"),
    (
        "customers.jsonl",
        "{\"identity\": \"user=1\", \"plan\": \"free\"}\n",
    ),
];

/// Servers begin in the background, in the place of the one that runs; everything else is what it is.
const PRELUDE: &str = r#"
set -eEuo pipefail
trap 'echo "failed at $where: $BASH_COMMAND" >&2; tail -n 5 err.txt >&2' ERR
where='the first server'
ip link set lo up
export HOME=$PWD/home TOLLGATE_ADMIN_TOKEN=a-token-for-the-tests TOLLGATE_SHUTDOWN_DELAY=0s
mkdir home
printf '#!/bin/sh\n' > nightly && chmod +x nightly
server=
down() {
    if [ -n "$server" ]; then kill "$server" || true; wait "$server" || true; server=; fi
}
up() {
    down
    # What the one before said is not taken for this one's.
    : > out.txt
    "$REAL" "$@" > out.txt 2> err.txt &
    server=$!
    until grep -qE '^ready|"pid"|Ctrl-C' out.txt; do kill -0 "$server"; sleep 0.05; done
}
tollgate() {
    case "$*" in
        "" | serve* | "cluster dev"*) up "$@" ;;
        *) "$REAL" "$@" ;;
    esac
}
cargo() {
    [ "$1 $2" = "run --release" ]
    shift 2
    if [ "${1-}" = -- ]; then shift; fi
    tollgate "$@"
}
curl() { command curl -sS --max-time 20 --fail-with-body "$@"; }
tried() {
    sed -e 's/\x1b\[[0-9;]*m//g' -e 's/\r$//' "$1" | sed -n '/^ *Try$/,/^$/p' | grep -E '^  (curl|redis-cli|tollgate) ' > try.txt
    [ "$(wc -l < try.txt)" -ge 2 ]
    while IFS= read -r line; do where="$where: $line"; eval "$line" < /dev/null; done < try.txt
}
"#;
