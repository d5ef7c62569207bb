//! Bounds on clients: slow, large and many requests.

use std::time::{Duration, Instant};

use crate::http::kit::{HttpServer, chunked, post};

const CHECK: &str = r#"{"key": {"user": "42"}, "cost": 0}"#;

fn hasty() -> HttpServer {
    HttpServer::with(|settings| {
        settings.limits.slow = Duration::from_millis(400);
        settings.limits.idle = Duration::from_millis(1_200);
    })
}

#[test]
fn slow_heads_and_bodies_are_cut() {
    let server = hasty();
    let head = "GET /livez HTTP/1.1\r\nHost: a\r\nX: ";
    let body = post("/v1/check", CHECK);
    for request in [
        head.as_bytes(),
        &body.as_bytes()[..body.len() - 1],
        b"P",
        b"PRI * HT",
    ] {
        let mut client = server.connect();
        let began = Instant::now();
        client.send(request);
        let answer = client.reply();
        assert_eq!(answer.status, 408, "{request:?}");
        assert!(began.elapsed() >= Duration::from_millis(350));
        assert!(client.ends());
    }
    let other = server.post("/v1/check", CHECK);
    assert_eq!(other.status, 200);
}

#[test]
fn dripping_does_not_buy_time() {
    let server = hasty();
    let mut client = server.connect();
    let began = Instant::now();
    let drips = b"GET /livez HTTP/1.1\r\nHost: a\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy";
    for byte in drips {
        if std::io::Write::write_all(&mut client.stream, &[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
        if began.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
    assert_eq!(client.reply().status, 408);
}

#[test]
fn slow_heads_and_bodies_are_cut_behind_chunks_too() {
    let server = hasty();
    let first = chunked("/v1/check", CHECK);
    let mut client = server.connect();
    client.send(first.as_bytes());
    assert_eq!(client.reply().status, 200);
    client.send(b"GET /livez HT");
    assert_eq!(client.reply().status, 408);
    assert!(client.ends());
    let mut client = server.connect();
    client.send(&first.as_bytes()[..first.len() - 5]);
    assert_eq!(client.reply().status, 408);
}

#[test]
fn idle_connections_are_closed_and_busy_ones_are_not() {
    let server = hasty();
    let mut idle = [server.connect(), server.connect()];
    idle[1].send(chunked("/v1/check", CHECK).as_bytes());
    assert_eq!(idle[1].reply().status, 200);
    let mut busy = server.connect();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        busy.send(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(busy.reply().status, 200);
        std::thread::sleep(Duration::from_millis(200));
    }
    for client in &mut idle {
        assert!(client.ends());
    }
    assert!(began.elapsed() < Duration::from_secs(6));
}

#[test]
fn large_heads_and_bodies_are_refused() {
    let server = HttpServer::start();
    let mut client = server.connect();
    let head = format!(
        "GET /livez HTTP/1.1\r\nHost: a\r\nX: {}",
        "y".repeat(20_000)
    );
    client.send(head.as_bytes());
    assert_eq!(client.reply().status, 431);
    assert!(client.ends());
    let mut client = server.connect();
    client.send(
        format!(
            "GET /livez HTTP/1.1\r\nHost: a\r\n{}\r\n",
            "X: y\r\n".repeat(200)
        )
        .as_bytes(),
    );
    assert_eq!(client.reply().status, 431);
    // With a declared length it is refused before it is read.
    let mut client = server.connect();
    client.send(b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n");
    let answer = client.reply();
    assert_eq!(answer.status, 413);
    assert!(answer.problem().contains("1048576"));
    let mut client = server.connect();
    client.send(b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 999999999999999\r\n\r\n");
    assert_eq!(client.reply().status, 413);
    // Without one it is read up to the limit.
    let mut client = server.connect();
    let chunk = format!("{:x}\r\n{}\r\n", 65_536, " ".repeat(65_536));
    client.send(b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..17 {
        if std::io::Write::write_all(&mut client.stream, chunk.as_bytes()).is_err() {
            break;
        }
    }
    assert_eq!(client.reply().status, 413);
}

#[test]
fn bodies_up_to_the_limit_are_read() {
    let server = HttpServer::start();
    let spaces = " ".repeat(1 << 19);
    let answer = server.post("/v1/check", &format!("{spaces}{CHECK}"));
    assert_eq!(answer.status, 200);
    // Larger than the fast path reads, and more after it.
    let mut client = server.connect();
    let large = post("/v1/check", &format!("{}{CHECK}", " ".repeat(20_000)));
    client.send(format!("{large}{}", post("/v1/check", CHECK)).as_bytes());
    assert_eq!((client.reply().status, client.reply().status), (200, 200));
}

#[test]
fn requests_beyond_the_limit_are_shed_with_when_to_come_again() {
    let server = HttpServer::with(|settings| {
        settings.limits.requests_max = 1;
        settings.limits.slow = Duration::from_mins(1);
    });
    // One that is asked to go on has been counted.
    let mut slow = server.connect();
    let expect = post("/v1/check", CHECK).replace("host:", "expect: 100-continue\r\nhost:");
    slow.send(&expect.as_bytes()[..expect.len() - CHECK.len()]);
    assert_eq!(slow.reply().status, 100);
    let mut client = server.connect();
    client.send(chunked("/v1/check", CHECK).as_bytes());
    let shed = client.reply();
    assert_eq!((shed.status, shed.field("retry-after")), (503, Some("1")));
    assert!(
        shed.json()["type"]
            .as_str()
            .expect("a type")
            .ends_with("#temporary-reduced-capacity")
    );
    // What needs no waiting is answered still.
    assert_eq!(server.post("/v1/check", CHECK).status, 200);
    slow.send(CHECK.as_bytes());
    assert_eq!(slow.reply().status, 200);
}

#[test]
fn answers_that_nobody_takes_do_not_pile_up() {
    let server = hasty();
    let mut client = server.connect();
    client.stream.set_nonblocking(true).expect("no waiting");
    let request = "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
    let deadline = Instant::now() + Duration::from_secs(10);
    // The server stops reading when nothing is taken, and closes in the end.
    loop {
        match std::io::Write::write(&mut client.stream, request.as_bytes()) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(_) => break,
        }
        assert!(Instant::now() < deadline, "still open");
    }
    assert_eq!(server.post("/v1/check", CHECK).status, 200);
}

#[test]
fn a_long_key_of_throttlecrab_is_counted_by_all_its_bytes() {
    let server = HttpServer::start();
    let long = |middle: &str| format!("{}{middle}{}", "x".repeat(4_500), "x".repeat(4_500));
    for left in [2, 1] {
        for key in [long("a"), long("b")] {
            let body = format!(
                r#"{{"key": "{key}", "max_burst": 3, "count_per_period": 1, "period": 3600}}"#
            );
            let answer = server.post("/throttle", &body).json();
            assert_eq!(
                (&answer["allowed"], &answer["remaining"]),
                (&true.into(), &left.into())
            );
        }
    }
}
