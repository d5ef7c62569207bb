//! A server that is killed amid a thousand writes: every answered write is stored, and every stored object is complete.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use crate::kit::{ApiRequest, PRESET, Server, contract, sqlite};

const CHILD: &str = "TOLLGATE_ADMIN_CHILD";
const WRITES: u64 = 1000;

#[test]
#[ignore = "the part of a child that is killed"]
fn serves_until_it_is_killed() {
    let Ok(path) = std::env::var(CHILD) else {
        return;
    };
    let server = Server::on(&path, Some(PRESET));
    println!("\nat {}", server.at);
    // Ends with its parent at the latest.
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn start(folder: &std::path::Path) -> (Child, SocketAddr) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "killed::serves_until_it_is_killed",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(CHILD, folder.join("catalogue.db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let at = lines.find_map(|line| {
        line.unwrap()
            .strip_prefix("at ")
            .map(|at| at.parse().unwrap())
    });
    (child, at.expect("an address"))
}

#[test]
fn a_killed_server_keeps_what_it_answered() {
    let folder = tempfile::tempdir().unwrap();
    let answered = Mutex::new(Vec::new());
    let next = AtomicU64::new(0);
    for until in [30, 250, 500, 800] {
        let (mut child, at) = start(folder.path());
        let write = || {
            while (answered.lock().unwrap().len() as u64) < until {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= WRITES {
                    return;
                }
                let id = format!("c{number:04}");
                let ask = ApiRequest::new(at, "PUT", &format!("/contracts/{id}"))
                    .json(&contract(&id, number + 1));
                match ask.try_send() {
                    Some(answer) => assert_eq!(answer.status, 201, "{}", answer.body),
                    None => return,
                }
                answered.lock().unwrap().push(id);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(write);
            }
            // The last of them are in flight when it dies.
            while (answered.lock().unwrap().len() as u64) < until - 5 {
                std::thread::yield_now();
            }
            child.kill().unwrap();
        });
        child.wait().unwrap();
        check(folder.path(), &answered.lock().unwrap());
    }
    let _ = std::io::stdout().flush();
}

/// Every answered write is stored, and every stored object is complete.
fn check(folder: &std::path::Path, answered: &[String]) {
    let server = Server::on(&sqlite(folder), Some(PRESET));
    let mut there = Vec::new();
    let mut path = "/contracts?limit=1000".to_owned();
    loop {
        let page = server.get(&path).json();
        there.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => path = format!("/contracts?limit=1000&after={next}"),
            None => break,
        }
    }
    for id in answered {
        assert!(
            there.iter().any(|item| item["id"] == json!(id)),
            "{id} was lost"
        );
    }
    for item in &there {
        let id = item["id"].as_str().unwrap();
        let number: u64 = id[1..].parse().unwrap();
        assert_eq!(item["version"], 1);
        assert_eq!(item["document"]["policies"][0]["limit"], number + 1);
    }
    let revision = server.get("/status").json()["catalogue"]["revision"].clone();
    assert_eq!(revision, there.len() as u64);
}
