//! Whole runs against small servers of the test's own, and against Redis.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_load::{
    Arrivals, Call, CallLimit, Distribution, ErrorKind, KeyTemplate, Keys, LoadError, LoadPlan,
    LoadReport, Pace, ServerAddress, run,
};
use tollgate_parts::Redis;

const LIMIT: CallLimit = CallLimit {
    burst: 15,
    count: 30,
    period_secs: 60,
};

fn plan(server: &str, call: Call) -> LoadPlan {
    LoadPlan {
        others: Vec::new(),
        server: server.parse().unwrap(),
        call,
        keys: Keys {
            count: 1000,
            distribution: Distribution::Uniform,
            template: KeyTemplate::new("user:{}").unwrap(),
        },
        pace: Pace::Closed,
        connections: 4,
        depth: 8,
        threads: 2,
        warm_up: Duration::from_millis(50),
        duration: Duration::from_millis(300),
        token: None,
        marks: Vec::new(),
        seed: 1,
    }
}

/// Serves every connection on a thread of its own: one answer for each `end` that comes.
fn responder(end: &'static [u8], answer: &'static [u8], pause: fn(usize) -> Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer_all(stream, end, answer, pause));
        }
    });
    address
}

fn answer_all(mut stream: TcpStream, end: &[u8], answer: &[u8], pause: fn(usize) -> Duration) {
    let (mut input, mut buffer, mut answers) = (Vec::new(), [0; 16384], 0);
    stream.set_nodelay(true).unwrap();
    while let Ok(read) = stream.read(&mut buffer) {
        if read == 0 {
            return;
        }
        input.extend_from_slice(&buffer[..read]);
        while let Some(at) = input.windows(end.len()).position(|window| window == end) {
            input.drain(..at + end.len());
            thread::sleep(pause(answers));
            answers += 1;
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

fn at_once(_: usize) -> Duration {
    Duration::ZERO
}

#[track_caller]
fn done(plan: &LoadPlan) -> LoadReport {
    run(plan, |_| {}).unwrap()
}

#[test]
fn a_closed_loop_counts_verdicts_and_times() {
    let server = responder(
        b"$2\r\n60\r\n",
        b"*5\r\n:1\r\n:16\r\n:0\r\n:9\r\n:9\r\n",
        at_once,
    );
    let report = done(&plan(&server, Call::ClThrottle(LIMIT)));
    assert!(report.replies > 100, "{report:?}");
    assert_eq!((report.allowed, report.denied), (0, report.replies));
    assert_eq!(report.errors, []);
    assert!(report.latency.p50 > 0 && report.latency.p50 <= report.latency.max);
    assert_eq!(report.rate_due, None);
}

#[test]
fn a_stall_is_charged_to_every_request_that_was_due() {
    // One connection, 1000 a second, and a server that sleeps for 100 ms once: about a hundred requests are late,
    // though only few were under way.
    let stall = |answers| match answers {
        150 => Duration::from_millis(100),
        _ => Duration::ZERO,
    };
    let server = responder(
        b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        stall,
    );
    let path = "/".to_owned();
    let mut plan = plan(&server, Call::Get { path });
    (plan.connections, plan.threads, plan.depth) = (1, 1, 1);
    plan.duration = Duration::from_millis(500);
    plan.pace = Pace::Open {
        rate: 1000.0,
        arrivals: Arrivals::Even,
    };
    plan.marks = [150, 350].map(Duration::from_millis).into();
    let report = done(&plan);
    let late = |latency: &tollgate_load::Latency| -> u64 {
        let slices = latency
            .slices
            .iter()
            .filter(|slice| slice.up_to > 20_000_000);
        slices.map(|slice| slice.count).sum()
    };
    assert_eq!(report.latency.count, 500, "{report:?}");
    assert!(late(&report.latency) >= 60, "{report:?}");
    // Cut by when they were due: the stall begins 150 answers after the start, and the warm-up is left out.
    let counts: Vec<u64> = report.parts.iter().map(|part| part.count).collect();
    assert_eq!(counts, [100, 200, 200]);
    let parts: Vec<u64> = report.parts.iter().map(late).collect();
    assert_eq!(
        parts.iter().sum::<u64>(),
        late(&report.latency),
        "{parts:?}"
    );
    // By service time alone, one request was slow.
    assert!(late(&report.service) < 40, "{report:?}");
}

#[test]
fn requests_that_nobody_answers_are_counted() {
    let never = |answers| match answers {
        0 => Duration::ZERO,
        _ => Duration::from_hours(1),
    };
    let server = responder(
        b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        never,
    );
    let path = "/".to_owned();
    let mut plan = plan(&server, Call::Get { path });
    (plan.connections, plan.threads, plan.depth) = (1, 1, 2);
    plan.pace = Pace::Open {
        rate: 100.0,
        arrivals: Arrivals::Poisson,
    };
    let report = done(&plan);
    let count = |kind| {
        let found = report.errors.iter().find(|error| error.kind == kind);
        found.map_or(0, |error| error.count)
    };
    assert!(count(ErrorKind::Unanswered) == 2, "{report:?}");
    assert!(count(ErrorKind::Unsent) > 10, "{report:?}");
    assert!(report.latency.p50 > 1_000_000_000, "{report:?}");
}

#[test]
fn errors_of_the_server_are_told_apart() {
    let refusing = responder(b"PING\r\n", b"-NOAUTH who are you\r\n", at_once);
    let report = done(&plan(&refusing, Call::Ping));
    let [error] = report.errors.as_slice() else {
        panic!("{report:?}");
    };
    assert_eq!(
        (error.kind, error.example.as_str()),
        (ErrorKind::Refused, "NOAUTH who are you")
    );

    let stranger = responder(b"PING\r\n", b"220 mail.example.org\r\n", at_once);
    let report = done(&plan(&stranger, Call::Ping));
    assert_eq!(
        report.errors.first().map(|error| error.kind),
        Some(ErrorKind::Malformed)
    );
}

#[test]
fn a_server_that_is_not_there_is_said_at_once() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let started = Instant::now();
    let refused = run(&plan(&free.to_string(), Call::Ping), |_| {});
    assert!(matches!(refused, Err(LoadError::Connect(_))), "{refused:?}");
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[test]
fn redis_answers_a_bucket_in_lua() {
    let redis = Redis::start();
    let mut plan = plan(&redis.address(), Call::Lua(LIMIT));
    plan.keys.count = 10;
    let report = done(&plan);
    assert_eq!(report.errors, []);
    // Ten keys with fifteen each, some of them spent in the warm-up.
    assert!(report.allowed <= 160 && report.denied > 100, "{report:?}");
    let report = done(&self::plan(&redis.address(), Call::Set));
    assert!(
        report.errors.is_empty() && report.allowed > 100,
        "{report:?}"
    );
}

#[test]
fn unix_sockets_are_addresses_too() {
    let address: ServerAddress = "unix:/nowhere.sock".parse().unwrap();
    assert_eq!(address.to_string(), "unix:/nowhere.sock");
}
