//! What is kept of requests is what clients counted, over any protocol and whatever the database does.

use std::path::Path;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tollgate_catalogue_sql::{Config, Database, Source};
use tollgate_parts::{Postgres, Wire};
use tollgate_serve::run::Running;
use tollgate_serve::settings::{ContractSource, DatabaseSettings, Settings};
use tollgate_stats::{By, Counts, DAY_S, Ranking, Step, Usage, UsageRow};
use tollgate_stats_sql::UsageBook;

use crate::run::kit::{check, server, tcp, until};

const CONTRACTS: &str = "contracts: [
    { id: users, key: [user], policies: [{ name: p, limit: 10, per: 1h, algorithm: fixed-window }] },
    { id: all, key: [], policies: [{ name: q, limit: 1000000, per: 1h, algorithm: fixed-window }] }]";

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn counting(settings: &mut Settings, folder: &Path) {
    settings.contracts = ContractSource::Text(CONTRACTS.to_owned());
    settings.data_dir = Some(folder.to_owned());
    settings.keeping.statistics.on = Some(true);
    settings.keeping.statistics.every = Duration::from_millis(50);
}

fn today() -> Usage {
    Usage {
        // However long this runs, and whenever.
        from_day: 0,
        until_day: u64::MAX,
        ..Usage::default()
    }
}

/// Everything that a server has kept, by way of its reader.
fn usage(running: &Running) -> Vec<UsageRow> {
    let reader = running.shared().statistics.get().unwrap().clone();
    let now = running.shared().engine.now().as_nanos() / 1_000_000_000;
    let mut asked = today();
    asked.from_day = (now / DAY_S).saturating_sub(2);
    let page = runtime().block_on(reader.usage(asked, None, 1_000));
    page.map(|page| page.rows).unwrap_or_default()
}

fn sum(rows: &[UsageRow], contract: &str) -> Counts {
    let mut sum = Counts::ZERO;
    let rows = rows.iter().filter(|row| row.contract == contract);
    rows.for_each(|row| sum.add(&row.counts));
    sum
}

/// What is in a database after its server is gone.
fn left_in(source: Source) -> Vec<UsageRow> {
    runtime().block_on(async {
        let database = Database::open(&Config::new(source)).await.unwrap();
        let book = UsageBook::new(database, "reader".into());
        let mut asked = today();
        asked.from_day = 20_000;
        let mut rows = Vec::new();
        // A call looks at so many days at most.
        while asked.from_day < 30_000 {
            rows.extend(book.usage(&asked, None, 1_000).await.unwrap().rows);
            asked.from_day += 100;
        }
        rows
    })
}

/// Posts to a path, and returns the answer.
fn post(running: &Running, path: &str, body: &str) -> String {
    let mut wire = tcp(running.http());
    let reply = wire.post(path, body);
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.body
}

/// Asks over RESP: eleven names and values, of which the second is the verdict.
fn resp_check(wire: &mut Wire, user: &str) -> bool {
    let fields = wire.call(&["TOLLGATE.CHECK", "KEY", "user", user]);
    assert_eq!((fields.len(), &*fields[0]), (22, "allowed"));
    fields[1] == ":1"
}

/// Requests over two protocols, singly and in lists, from several threads; how many were allowed and denied.
fn ask_a_lot(running: &Running) -> (u64, u64) {
    let count = |text: &str, of: &str| text.matches(of).count() as u64;
    std::thread::scope(|scope| {
        let threads = (0..4).map(|thread| {
            scope.spawn(move || {
                let mut counts = (0, 0);
                let mut wire = tcp(running.http());
                let mut resp = tcp(running.resp());
                for each in 0..100 {
                    wire.send(check(&format!("{}", each % 7)));
                    let mut bodies = wire.reply().body;
                    if each % 10 == 0 {
                        let list = r#"[{"key":{"user":"a"}},{"key":{"user":"b"},"cost":2},{"key":{"user":"c"}}]"#;
                        bodies += &post(running, "/v1/check", list);
                    }
                    counts.0 += count(&bodies, "\"allowed\":true");
                    counts.1 += count(&bodies, "\"allowed\":false");
                    let is_allowed = resp_check(&mut resp, &format!("resp{}", thread % 2));
                    counts.0 += u64::from(is_allowed);
                    counts.1 += u64::from(!is_allowed);
                }
                counts
            })
        });
        let threads: Vec<_> = threads.collect();
        let each = threads.into_iter().map(|thread| thread.join().unwrap());
        each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    })
}

#[test]
fn sums_are_what_clients_counted_and_a_clean_stop_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let running = server(|settings| counting(settings, folder.path()));
    let (allowed, denied) = ask_a_lot(&running);
    assert!(allowed > 0 && denied > 0);
    until("all is kept", || {
        let users = sum(&usage(&running), "users");
        users.allowed == allowed && users.denied == denied
    });
    let rows = usage(&running);
    // A refused request is refused by one contract; one that passes, passes all.
    let all = sum(&rows, "all");
    assert_eq!((all.allowed, all.denied), (allowed, 0));
    let one = rows.iter().find(|row| row.identity == "user=3").unwrap();
    assert_eq!((one.counts.allowed, one.net_cost), (10, 10));
    let reader = running.shared().statistics.get().unwrap().clone();
    let now = running.shared().engine.now().as_nanos() / 1_000_000_000;
    let (series, top, load) = runtime().block_on(async {
        let series = reader.series(
            String::new(),
            String::new(),
            now - 3600..now + 60,
            Step::Minute,
        );
        let ranking = Ranking {
            by: By::Denied,
            contract: "users".into(),
            prefix: String::new(),
            rows_max: 3,
        };
        let top = reader.top(ranking, 3600, now);
        (
            series.await.unwrap(),
            top.await.unwrap(),
            reader.load(&running.shared().engine).await,
        )
    });
    let asked: u64 = series.iter().map(|point| point.counts.asked()).sum();
    assert_eq!(asked, 2 * allowed + denied);
    assert!(top[0].counts.denied >= top[2].counts.denied && top[2].counts.denied > 0);
    let of_all = load
        .contracts
        .iter()
        .find(|of| of.contract == "all")
        .unwrap();
    assert!(load.all.rate > 0.0 && of_all.saturation > 0.0 && of_all.saturation < 0.01);
    let recent = reader.recent(Some("users"), Some("user=3"), 5);
    assert_eq!((recent.len(), recent[0].policy.as_deref()), (5, Some("p")));

    // What was asked a moment before the end is there.
    post(&running, "/v1/check", r#"{"key":{"user":"last"}}"#);
    running.stop().unwrap();
    let rows = left_in(Source::Sqlite(folder.path().join("statistics.db")));
    assert!(
        rows.iter()
            .any(|row| row.identity == "user=last" && row.counts.allowed == 1)
    );
    assert_eq!(sum(&rows, "users").asked(), allowed + denied + 1);
}

#[test]
fn cost_is_what_was_taken_and_not_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let running = server(|settings| {
        counting(settings, folder.path());
        settings.contracts = ContractSource::Text(
            "contracts: [{ id: c, key: [user], policies: [{ name: p, limit: 1000, per: 1h }] }]"
                .into(),
        );
    });
    let receipt = |body: String| {
        let (_, rest) = body.split_once("\"receipt\":\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    for (user, actual) in [("less", 3), ("more", 25)] {
        let taken = post(
            &running,
            "/v1/check",
            &format!(r#"{{"key":{{"user":"{user}"}},"cost":10}}"#),
        );
        let body = format!(r#"{{"receipt":"{}","cost":{actual}}}"#, receipt(taken));
        // Settled twice, done once.
        for _ in 0..2 {
            post(&running, "/v1/settle", &body);
        }
    }
    for (id, path, body) in [
        ("kept", "/v1/commit", r#"{"id":"kept","cost":7}"#),
        ("back", "/v1/cancel", r#"{"id":"back"}"#),
    ] {
        let body_of = format!(r#"{{"id":"{id}","key":{{"user":"{id}"}},"cost":10}}"#);
        for _ in 0..2 {
            post(&running, "/v1/reserve", &body_of);
        }
        post(&running, path, body);
    }
    for _ in 0..3 {
        post(
            &running,
            "/v1/check",
            r#"{"id":"same","key":{"user":"again"},"cost":4}"#,
        );
        post(
            &running,
            "/v1/charge",
            r#"{"id":"ch","key":{"user":"charged"},"cost":5}"#,
        );
        post(
            &running,
            "/v1/refund",
            r#"{"id":"re","key":{"user":"charged"},"cost":2}"#,
        );
    }
    post(
        &running,
        "/v1/check",
        r#"{"key":{"user":"never"},"cost":5000}"#,
    );
    running.stop().unwrap();
    costs_add_up(&left_in(Source::Sqlite(
        folder.path().join("statistics.db"),
    )));
}

fn costs_add_up(rows: &[UsageRow]) {
    let of = |user: &str| {
        let row = rows
            .iter()
            .find(|row| row.identity == format!("user={user}"));
        let row = row.unwrap_or_else(|| panic!("{user} in {rows:?}"));
        (row.counts.asked(), row.net_cost, row.counts.refused)
    };
    assert_eq!(of("less"), (1, 3, 0));
    assert_eq!(of("more"), (1, 25, 0));
    assert_eq!(of("kept"), (1, 7, 0));
    assert_eq!(of("back"), (1, 0, 0));
    assert_eq!(of("again"), (1, 4, 0));
    assert_eq!(of("charged"), (0, 3, 0));
    assert_eq!(of("never"), (1, 0, 5000));
    assert!(rows.iter().all(|row| !row.identity.is_empty()), "{rows:?}");
}

#[test]
fn two_nodes_add_up_in_one_database_that_goes_and_comes_back() {
    let mut postgres = Postgres::start();
    let node = |seat: &str| {
        server(|settings| {
            settings.contracts = ContractSource::Text(CONTRACTS.to_owned());
            let mut database = DatabaseSettings::new(postgres.url().parse().unwrap());
            database.seat = Some(seat.parse().unwrap());
            settings.keeping.database = Some(database);
            settings.keeping.statistics.on = Some(true);
            settings.keeping.statistics.every = Duration::from_millis(50);
        })
    };
    let (one, two) = (node("one"), node("two"));
    let mut sums = (0, 0);
    let mut ask = |running: &Running| {
        let asked = ask_a_lot(running);
        sums = (sums.0 + asked.0, sums.1 + asked.1);
        sums
    };
    ask(&one);
    let (allowed, denied) = ask(&two);
    let kept = |running: &Running, allowed, denied| {
        let users = sum(&usage(running), "users");
        (users.allowed, users.denied) == (allowed, denied)
    };
    until("either node tells of both", || {
        kept(&one, allowed, denied) && kept(&two, allowed, denied)
    });
    postgres.stop();
    ask(&one);
    let (allowed, denied) = ask(&two);
    let failures = |running: &Running| {
        running
            .shared()
            .engine
            .statistics()
            .unwrap()
            .figures()
            .failures
    };
    until("writes fail", || failures(&one) > 0 && failures(&two) > 0);
    assert_eq!(tcp(one.http()).check("still").status, 200);
    postgres.run(&[]);
    until("what waited is there once", || {
        kept(&one, allowed + 1, denied)
    });
    one.stop().unwrap();
    two.stop().unwrap();
    let rows = left_in(Source::Postgres(postgres.url()));
    let users = sum(&rows, "users");
    assert_eq!((users.allowed, users.denied), (allowed + 1, denied));
}

#[test]
fn nobody_is_named_where_keys_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let running = server(|settings| {
        counting(settings, folder.path());
        settings.telemetry.show_keys = false;
    });
    tcp(running.http()).check("secret");
    let reader = running.shared().statistics.get().unwrap().clone();
    until("it is kept", || !usage(&running).is_empty());
    assert!(reader.recent(None, None, 9).is_empty());
    let metrics = tcp(running.http()).get("/metrics").body;
    assert!(
        metrics.contains("tollgate_statistics_writes_total{result=\"ok\"}"),
        "{metrics}"
    );
    running.stop().unwrap();
    let rows = left_in(Source::Sqlite(folder.path().join("statistics.db")));
    assert!(rows.iter().all(|row| row.identity.is_empty()) && sum(&rows, "users").allowed == 1);
}
