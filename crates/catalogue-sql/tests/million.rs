//! A million assignments: how long it takes to load them, to open the database and to look one up, and how much memory.
//!
//! `cargo test --release -p tollgate-catalogue-sql --test million -- --ignored --nocapture`, alone on the machine. With
//! a path in `CATALOGUE_MILLION` the file is kept there and reused by the next run.

#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a broken set-up must stop the measurement, and figures are rounded"
)]

mod suite;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use suite::furnish;
use tollgate_catalogue::{Catalogue, Kind};
use tollgate_catalogue_sql::{Config, Database, Filter, Snapshot, Source};
use tollgate_limit::Instant as Time;

const MILLION: u64 = 1_000_000;
const STEP: u64 = 100_000;
const LOOKUPS: u64 = 2000;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; prints figures"]
async fn a_million_assignments_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::var("CATALOGUE_MILLION");
    let path = path.map_or_else(|_| folder.path().join("catalogue.db"), PathBuf::from);
    measure("sqlite", Source::Sqlite(path.clone())).await;
    let bytes = std::fs::metadata(path).unwrap().len();
    println!("sqlite: the file has {} MB", bytes / 1_000_000);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; prints figures"]
async fn a_million_assignments_in_postgres() {
    let server = tollgate_parts::Postgres::start();
    measure("postgres", Source::Postgres(server.url())).await;
}

async fn measure(name: &str, source: Source) {
    let config = Config {
        time: Duration::from_mins(1),
        ..Config::new(source)
    };
    let database = Database::open(&config).await.unwrap();
    if database.revision().await.unwrap() == 0 {
        furnish(&database).await;
        load(name, &database).await;
    }
    drop(database);

    let before = resident_kib();
    let begin = Instant::now();
    let database = Database::open(&config).await.unwrap();
    let snapshot = database.snapshot().await.unwrap();
    let opened = begin.elapsed();
    println!(
        "{name}: opened, contracts and plans read, in {:.1} ms",
        opened.as_secs_f64() * 1e3
    );

    cold(name, &database, &snapshot).await;
    println!(
        "{name}: opening and {LOOKUPS} keys took {} KiB more",
        resident_kib().saturating_sub(before)
    );

    let begin = Instant::now();
    let filter = Filter {
        prefix: "user=5".into(),
        plan: Some("pro".into()),
        after: Some("user=55".into()),
        ..Filter::default()
    };
    let page = database.list(Kind::Assignment, &filter, 50).await.unwrap();
    println!(
        "{name}: a page of {} in {:.1} ms",
        page.len(),
        begin.elapsed().as_secs_f64() * 1e3
    );
    let seen = database
        .get(Kind::Plan, "pro")
        .await
        .unwrap()
        .unwrap()
        .version;
    let edit = suite::edit(Kind::Plan, "pro", tollgate_catalogue::Seen::Version(seen));
    let begin = Instant::now();
    let text = format!(
        "{{ id: pro, follows: free, policies: [{{ name: burst, limit: {} }}] }}",
        300 + seen
    );
    database.put(&edit, &text).await.unwrap();
    println!(
        "{name}: a plan that {} are on changed in {:.1} ms",
        MILLION / 3,
        begin.elapsed().as_secs_f64() * 1e3
    );
    assert!(opened < Duration::from_secs(1), "{opened:?}");
}

async fn load(name: &str, database: &Database) {
    let begin = Instant::now();
    let mut import = database.import("load", "a million");
    for user in 0..MILLION {
        let plan = if user % 3 == 0 { "pro" } else { "free" };
        // One in ten has an override, one in a thousand its own.
        let overrides = match user {
            user if user % 1000 == 0 => {
                format!(r#","overrides":[{{"name":"burst","limit":{}}}]"#, user + 1)
            }
            user if user % 10 == 0 => r#","overrides":[{"name":"burst","limit":77}]"#.to_owned(),
            _ => String::new(),
        };
        let text = format!(r#"{{"identity":"user={user}","plan":"{plan}"{overrides}}}"#);
        import.add(text).await.unwrap();
        if user % STEP == 0 {
            println!(
                "{name}: {user} after {:.1} s",
                begin.elapsed().as_secs_f64()
            );
        }
    }
    assert_eq!(import.finish().await.unwrap().made, MILLION);
    println!("{name}: loaded in {:.1} s", begin.elapsed().as_secs_f64());
}

async fn cold(name: &str, database: &Database, snapshot: &Snapshot) {
    let contract = snapshot.catalogue.contract("users").unwrap();
    let mut took: Vec<Duration> = Vec::new();
    let mut user: u64 = 7;
    for _ in 0..LOOKUPS {
        // A pseudo-random order, unlike that of the pages in the file.
        user = (user * 577_937 + 424_243) % MILLION;
        let value = user.to_string();
        let begin = Instant::now();
        let found = database
            .lookup(Catalogue::identities(contract, &[&value]))
            .await
            .unwrap();
        let ruling = snapshot
            .catalogue
            .ruling(contract, &[&value], &found, Time::from_nanos(1));
        took.push(begin.elapsed());
        assert!(ruling.terms.is_some());
    }
    took.sort_unstable();
    let at = |share: usize| took[(took.len() - 1) * share / 100].as_secs_f64() * 1e6;
    println!(
        "{name}: a cold key has its terms in {:.0} us (median), {:.0} us (99 %), {:.0} us (slowest)",
        at(50),
        at(99),
        at(100)
    );
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
