//! A server under load is killed at any moment and started again: what it charged is there, but for a flush interval,
//! on its disk, or in a database where the disk is lost as well. One that stood still meanwhile overwrites nothing
//! there.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a broken set-up must stop the test"
)]

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use tollgate_parts::wire::{Wire, post};
use tollgate_parts::{Daemon, Postgres, until};

const LIMIT: u64 = 1_000_000_000;
const FLUSH: Duration = Duration::from_millis(250);
/// On a machine that is busy with other tests a flush begins late and takes long.
const SLACK: Duration = Duration::from_millis(750);
const ROUNDS: u32 = 10;

fn start(folder: &Path) -> Daemon {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(["serve", "--http", "127.0.0.1:0", "--no-resp"]);
    command.args(["--format", "json", "--config"]);
    Daemon::spawn(command.arg(folder.join("tollgate.yaml")))
}

/// What is answered to a request, where the server is there to the end.
fn ask(wire: &mut Wire, cost: u32) -> std::io::Result<serde_json::Value> {
    let body = format!(r#"{{"key": {{"user": "ann"}}, "cost": {cost}}}"#);
    wire.try_send(post("/v1/check", &body))?;
    Ok(wire.try_reply()?.json())
}

fn charge(server: &Daemon, cost: u32) {
    ask(&mut Wire::to(server.address("http")), cost).unwrap();
}

fn used(server: &Daemon) -> u64 {
    let answer = ask(&mut Wire::to(server.address("http")), 0).unwrap();
    LIMIT
        - answer["remaining"]
            .as_u64()
            .unwrap_or_else(|| panic!("{answer}"))
}

/// Settings of a server: where it keeps counts, and one policy.
fn settle(folder: &Path, keeping: &str) {
    let settings = format!(
        "{keeping}\nflush_every: 250ms\ncontracts:\n  - id: api\n    key: [user]\n    policies:\n      \
         - {{ name: year, limit: {LIMIT}, per: 100d, algorithm: fixed-window, durable: true }}\n"
    );
    std::fs::write(folder.join("tollgate.yaml"), settings).unwrap();
}

#[test]
fn a_killed_server_loses_a_flush_interval_at_most() {
    let folder = tempfile::tempdir().unwrap();
    settle(folder.path(), "data_dir: data");
    loses_what_it_says_at_most(folder.path(), ROUNDS, Some(FLUSH + SLACK), || {});
}

#[test]
fn a_server_that_loses_its_disk_as_well_finds_its_counts_in_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let database = Postgres::start();
    let url = database.url();
    settle(
        folder.path(),
        &format!("data_dir: data\ndatabase: {{ url: \"{url}\", seat: n1 }}"),
    );
    let data = folder.path().join("data");
    // How long a database takes that has to share the processors with all this is its own affair.
    loses_what_it_says_at_most(folder.path(), 5, None, || {
        std::fs::remove_dir_all(&data).unwrap();
    });
}

#[test]
fn a_server_that_stood_still_overwrites_nothing_of_the_one_that_has_its_seat() {
    let folder = tempfile::tempdir().unwrap();
    let database = Postgres::start();
    settle(
        folder.path(),
        &format!("database: {{ url: \"{}\" }}", database.url()),
    );
    let old = start(folder.path());
    charge(&old, 10);
    until("it is written", || {
        old.metric("tollgate_durable_rows_total") > 0.0
    });
    charge(&old, 1000);
    old.signal("STOP");
    let new = start(folder.path());
    let before = used(&new);
    assert!(before == 10 || before == 1010, "{before}");
    charge(&new, 7);
    until("it is written", || {
        new.metric("tollgate_durable_rows_total") > 0.0
    });
    old.signal("CONT");
    charge(&old, 100);
    until("the old one is told", || {
        old.metric("tollgate_durable_refused_total") > 0.0
    });
    charge(&old, 100);
    let told = old.metric("tollgate_durable_refused_total");
    until("it was told again", || {
        old.metric("tollgate_durable_refused_total") > told + 1.0
    });
    assert_eq!(used(&old), 1210, "it goes on deciding");
    assert_eq!(used(&new), before + 7);
    assert!(new.metric("tollgate_durable_refused_total") < 1.0);
    drop(new);
    // The old one is still there, and still keeps nothing.
    assert_eq!(used(&start(folder.path())), before + 7);
}

/// What is lost is measured by what clients were answered: of the charges that were found, the newest tells until when
/// all was kept. That must be no less than the server says it would lose, nor than `at_most`.
fn loses_what_it_says_at_most(
    folder: &Path,
    rounds: u32,
    at_most: Option<Duration>,
    meanwhile: impl Fn(),
) {
    let mut server = start(folder);
    let mut known = 0;
    let mut losses = Vec::new();
    for round in 0..rounds {
        let asked = AtomicU64::new(0);
        let life = Duration::from_millis(u64::from(1_100 + (round * 7_919) % 900));
        let killed = Instant::now() + life;
        let mut kept = Instant::now();
        let mut answered: Vec<Instant> = std::thread::scope(|scope| {
            let load = |_| {
                let mut wire = Wire::to(server.address("http"));
                let asked = &asked;
                scope.spawn(move || {
                    let mut answered = Vec::new();
                    loop {
                        asked.fetch_add(1, SeqCst);
                        match ask(&mut wire, 1) {
                            Ok(_) => answered.push(Instant::now()),
                            Err(_) => return answered,
                        }
                    }
                })
            };
            let clients: Vec<_> = (0..2).map(load).collect();
            std::thread::sleep(killed.saturating_duration_since(Instant::now()));
            let asked_at = Instant::now();
            let lag = server.metric("tollgate_durable_flush_lag_seconds");
            kept = asked_at.checked_sub(Duration::from_secs_f64(lag)).unwrap();
            drop(server);
            clients
                .into_iter()
                .flat_map(|client| client.join().unwrap())
                .collect()
        });
        let end = Instant::now();
        answered.sort_unstable();
        meanwhile();
        server = start(folder);
        let found = used(&server) - known;
        let charged = asked.load(SeqCst);
        let kept = at_most.map_or(kept, |at_most| kept.max(end.checked_sub(at_most).unwrap()));
        let safe = answered.iter().filter(|at| **at < kept).count() as u64;
        assert!(found <= charged, "round {round}: {found} of {charged}");
        assert!(found >= safe, "round {round}: {found}, and {safe} were old");
        // The newest charge that was found tells how much time was lost.
        let newest = answered.get(usize::try_from(found).unwrap());
        let lost = newest.map_or(Duration::ZERO, |at| end.saturating_duration_since(*at));
        losses.push(lost);
        println!(
            "round {round}: lived {life:?}, answered {}, found {found}, lost {} charges or {lost:?}",
            answered.len(),
            (answered.len() as u64).saturating_sub(found)
        );
        known += found;
    }
    losses.sort_unstable();
    let (median, most) = (losses[losses.len() / 2], losses[losses.len() - 1]);
    println!("flush every {FLUSH:?}; lost: median {median:?}, most {most:?}; all: {losses:?}");
    assert!(at_most.is_none() || median <= FLUSH, "{losses:?}");
    drop(server);
}
