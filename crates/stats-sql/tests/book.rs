//! Statistics in both databases: lines are added once, returned as counted, and deleted when old.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tollgate_catalogue_sql::{Config, Database, Error, Source};
use tollgate_parts::Postgres;
use tollgate_stats::{By, Counts, DAY_S, Line, Point, Ranking, Step, Usage, date};
use tollgate_stats_sql::{Batch, UsageBook};

async fn book(source: Source, node: &str) -> UsageBook {
    let database = Database::open(&Config::new(source)).await.unwrap();
    UsageBook::new(database, node.to_owned())
}

fn sqlite(folder: &Path) -> Source {
    Source::Sqlite(folder.join("statistics.db"))
}

fn allowed(number: u64) -> Counts {
    Counts {
        allowed: number,
        cost: 2 * number,
        ..Counts::ZERO
    }
}

/// The lines of an identity in a minute, as a ledger writes them; also for the sums.
fn lines(minute: u64, contract: &str, identity: &str, counts: Counts) -> Vec<Line> {
    let line = |step: Step, at, contract: &str, identity: &str| Line {
        step,
        at,
        contract: Arc::from(contract),
        identity: Arc::from(identity),
        counts,
    };
    let mut lines = Vec::new();
    for (step, at) in [(Step::Minute, minute), (Step::Hour, minute / 60)] {
        lines.push(line(step, at, "", ""));
        lines.push(line(step, at, contract, ""));
        if !identity.is_empty() {
            lines.push(line(step, at, contract, identity));
        }
    }
    lines
}

fn batch(sequence: u64, all: Vec<Line>) -> Batch {
    // A ledger returns each row once.
    let mut lines: Vec<Line> = Vec::new();
    for line in all {
        let place = |of: &Line| (of.step, of.at, of.contract.clone(), of.identity.clone());
        match lines.iter_mut().find(|known| place(known) == place(&line)) {
            Some(known) => known.counts.add(&line.counts),
            None => lines.push(line),
        }
    }
    Batch {
        writer: "w".into(),
        sequence,
        at_s: 0,
        lines,
    }
}

fn days(from_day: u64, until_day: u64) -> Usage {
    Usage {
        from_day,
        until_day,
        ..Usage::default()
    }
}

/// The common suite of both databases.
async fn suite(source: Source) {
    let (one, two) = (book(source.clone(), "n1").await, book(source, "n2").await);
    let day = 20_000_u64;
    // The last minute of a day and the first of the next.
    let (last, first) = (day * 1440 + 1439, (day + 1) * 1440);
    let mut all = lines(last, "c", "user=1", allowed(3));
    all.extend(lines(first, "c", "user=1", allowed(4)));
    all.extend(lines(
        first,
        "c",
        "=cmd'; DROP TABLE statistics_row --",
        allowed(1),
    ));
    // An identity without a row, and a contract that counts all keys together.
    all.extend(lines(first, "c", "", allowed(10)));
    all.extend(lines(first, "everybody", "", allowed(7)));
    assert!(one.keep(&batch(1, all.clone())).await.unwrap());
    assert!(
        !one.keep(&batch(1, all)).await.unwrap(),
        "a batch is added once"
    );
    let denied = Counts {
        denied: 5,
        refused: 9,
        ..Counts::ZERO
    };
    let mut other = batch(1, lines(first, "c", "user=1", denied));
    other.writer = "v".into();
    assert!(
        two.keep(&other).await.unwrap(),
        "another process, another row"
    );

    usage(&one, day).await;
    series(&one, day, denied).await;
    ranks(&two, first).await;
    prune(&one, day).await;
}

/// Minutes and days of an identity, of a contract, and of all.
async fn series(one: &UsageBook, day: u64, denied: Counts) {
    let (last, first) = (day * 1440 + 1439, (day + 1) * 1440);
    let of = |contract, identity| {
        let range = last * 60..(first + 1) * 60;
        one.series(contract, identity, range, Step::Minute)
    };
    let point = |at, counts| Point { at, counts };
    let mut both = allowed(4);
    both.add(&denied);
    let series = of("c", "user=1").await.unwrap();
    assert_eq!(
        series,
        [point(last * 60, allowed(3)), point(first * 60, both)]
    );
    let sums = of("", "").await.unwrap();
    assert_eq!(sums[1].counts.asked(), 4 + 5 + 1 + 10 + 7);
    let by_day = one.series("c", "user=1", day * DAY_S..(day + 2) * DAY_S, Step::Day);
    let by_day = by_day.await.unwrap();
    assert_eq!(
        by_day,
        [
            point(day * DAY_S, allowed(3)),
            point((day + 1) * DAY_S, both)
        ]
    );
}

fn rank(by: By, contract: &str, rows_max: usize) -> Ranking {
    Ranking {
        by,
        contract: contract.to_owned(),
        prefix: String::new(),
        rows_max,
    }
}

/// Rankings and load.
async fn ranks(two: &UsageBook, first: u64) {
    let now = (first + 1) * 60;
    for (from, asked) in [(now - 600, 12), (now - 90_000, 12), (first * 60, 9)] {
        let top = two.top(&rank(By::Asked, "c", 1), from, now).await.unwrap();
        assert_eq!((top.len(), &*top[0].identity), (1, "user=1"));
        assert_eq!(top[0].counts.asked(), asked);
    }
    let top = two
        .top(&rank(By::Denied, "", 10), now - 600, now)
        .await
        .unwrap();
    assert_eq!(top.len(), 1, "whoever was not refused is not among them");
    for (prefix, count) in [("us", 1), ("user=1", 1), ("=cmd'", 1), ("%", 0), ("ser", 0)] {
        let begins = Ranking {
            prefix: prefix.to_owned(),
            ..rank(By::Asked, "", 10)
        };
        let top = two.top(&begins, now - 600, now).await.unwrap();
        assert_eq!(top.len(), count, "{prefix}");
    }
    let load = two.load_in(first).await.unwrap();
    let nodes: Vec<_> = load.iter().map(|of| (&*of.node, &*of.contract)).collect();
    assert_eq!(nodes, [("n1", "c"), ("n1", "everybody"), ("n2", "c")]);
    assert!((load[2].denied - 1.0).abs() < 1e-9);
    let asked = ["c", "none", "'"].map(str::to_owned);
    let range = now - 600..now;
    let sums = two.tallies(&asked, range.clone(), Step::Minute);
    let sums = sums.await.unwrap();
    let series = two.series("c", "", range, Step::Minute).await.unwrap();
    let mut sum = Counts::ZERO;
    for point in &series {
        sum.add(&point.counts);
    }
    assert_eq!(sums, [("c".to_owned(), sum)]);
}

/// What is old is dropped.
async fn prune(one: &UsageBook, day: u64) {
    let (last, first) = (day * 1440 + 1439, (day + 1) * 1440);
    let range = last * 60..(first + 1) * 60;
    // A day after the first minute and 90 days after the hours.
    while one.prune((first + 1440) * 60).await.unwrap() {}
    let left = one.series("c", "", range, Step::Minute).await.unwrap();
    assert_eq!(left.len(), 1, "the older minute is dropped: {left:?}");
    while one.prune((day + 92) * DAY_S).await.unwrap() {}
    assert_eq!(
        one.usage(&days(day, day + 9), None, 10).await.unwrap().rows,
        []
    );
}

async fn usage(book: &UsageBook, day: u64) {
    let whole = book.usage(&days(day, day + 9), None, 100).await.unwrap();
    assert_eq!(whole.next, None);
    let told: Vec<_> = whole
        .rows
        .iter()
        .map(|row| {
            (
                &*row.day,
                &*row.contract,
                &*row.identity,
                row.counts.asked(),
            )
        })
        .collect();
    let (today, next) = (date(day), date(day + 1));
    assert_eq!(
        told,
        [
            (&*today, "c", "user=1", 3),
            (&*next, "c", "", 10),
            (&*next, "c", "=cmd'; DROP TABLE statistics_row --", 1),
            (&*next, "c", "user=1", 9),
            (&*next, "everybody", "", 7),
        ]
    );
    let sums = book.usage_sums(&days(day, day + 9), Step::Day).await;
    let sums: Vec<_> = sums
        .unwrap()
        .iter()
        .map(|is| (is.at / DAY_S, is.counts.asked()))
        .collect();
    assert_eq!(sums, [(day, 3), (day + 1, 27)], "all rows together");
    let one = Usage {
        identity: Some("user=1".into()),
        ..days(day, day + 9)
    };
    let sums = book.usage_sums(&one, Step::Hour).await.unwrap();
    assert_eq!(sums.iter().map(|is| is.counts.asked()).sum::<u64>(), 12);
    for (by, first) in [(By::Asked, 9), (By::Denied, 9), (By::Cost, 4)] {
        let rows = book.usage_first(&days(day, day + 9), by, 2).await.unwrap();
        assert_eq!((rows.len(), &*rows[0].identity), (2, "user=1"), "{by:?}");
        assert!(rows[0].counts.asked() >= first, "{rows:?}");
    }
    for rows_max in 1..6 {
        let mut paged = Vec::new();
        let mut after = None;
        loop {
            let page = book.usage(&days(day, day + 9), after, rows_max).await;
            let page = page.unwrap();
            assert!(page.rows.len() <= rows_max);
            paged.extend(page.rows);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(paged, whole.rows, "pages of {rows_max} are the whole");
    }
    let one = Usage {
        identity: Some("user=1".into()),
        contract: Some("c".into()),
        ..days(day + 1, day + 2)
    };
    let one = book.usage(&one, None, 9).await.unwrap().rows;
    assert_eq!(
        (one.len(), one[0].net_cost, one[0].counts.refused),
        (1, 8, 9)
    );
}

#[tokio::test]
async fn sqlite_keeps_and_tells() {
    let folder = tempfile::tempdir().unwrap();
    suite(sqlite(folder.path())).await;
}

#[tokio::test]
async fn postgres_keeps_and_tells() {
    let server = Postgres::start();
    suite(Source::Postgres(server.url())).await;
}

#[tokio::test]
async fn a_batch_that_was_late_is_added_once() {
    let mut server = Postgres::start();
    let mut config = Config::new(Source::Postgres(server.url()));
    config.time = Duration::from_secs(2);
    let book = UsageBook::new(Database::open(&config).await.unwrap(), "n".into());
    server.stop();
    let sent = batch(1, lines(60, "c", "user=1", allowed(1)));
    assert!(matches!(
        book.keep(&sent).await,
        Err(Error::Away(_) | Error::Late)
    ));
    server.run(&[]);
    // Resending it changes nothing.
    for _ in 0..3 {
        book.keep(&sent).await.unwrap();
    }
    book.keep(&batch(2, lines(60, "c", "user=1", allowed(1))))
        .await
        .unwrap();
    let rows = book.usage(&days(0, 1), None, 10).await.unwrap().rows;
    assert_eq!((rows.len(), rows[0].counts.allowed), (1, 2));
}
