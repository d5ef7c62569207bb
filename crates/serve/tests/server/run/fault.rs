//! Malicious callers, while others are served.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_kit::Dice;
use tollgate_serve::run::Running;

use crate::run::kit::{check, server, tcp};

/// Fails unless both protocols answer a good client.
fn assert_serves(running: &Running) {
    assert_eq!(tcp(running.http()).check("good").status, 200);
    assert_eq!(tcp(running.resp()).inline("PING"), "+PONG");
}

#[test]
fn whoever_dribbles_a_request_is_cut_off_and_others_are_served() {
    let running = server(|settings| settings.limits.slow = Duration::from_secs(1));
    let addresses = [running.http(), running.resp()];
    let begun = Instant::now();
    let mut slow: Vec<(TcpStream, Vec<u8>)> = Vec::new();
    for number in 0..100 {
        let stream = tcp(addresses[number % 2]).stream;
        let bytes = if number % 2 == 0 {
            check("slow").into_bytes()
        } else {
            b"*2\r\n$4\r\nECHO\r\n$1000000\r\n".repeat(9)
        };
        slow.push((stream, bytes));
    }
    // One byte of each every 20 ms, which would take many seconds; a write fails once the server has closed.
    let mut turn = 0;
    while !slow.is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "{} are still there",
            slow.len()
        );
        slow.retain_mut(|(stream, bytes)| {
            let byte = bytes[turn % bytes.len()];
            stream.write_all(&[byte]).is_ok()
        });
        if turn % 10 == 0 {
            assert_serves(&running);
        }
        turn += 1;
        thread::sleep(Duration::from_millis(20));
    }
    assert!(
        begun.elapsed() >= Duration::from_millis(900),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn whoever_is_idle_is_let_go() {
    let running = server(|settings| {
        settings.limits.idle = Duration::from_millis(300);
        settings.limits.slow = Duration::from_millis(300);
    });
    let (mut http, mut resp) = (tcp(running.http()), tcp(running.resp()));
    let mut silent = tcp(running.http());
    assert_eq!(http.check("1").status, 200);
    assert_eq!(resp.inline("PING"), "+PONG");
    assert!(http.is_closed() && resp.is_closed() && silent.is_closed());
    assert_serves(&running);
}

#[test]
fn a_client_that_sends_no_more_still_gets_its_answer() {
    let running = server(|_| {});
    let mut wire = tcp(running.http());
    wire.send(check("1"));
    wire.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(wire.reply().status, 200);
    assert!(wire.is_closed());
    let mut wire = tcp(running.resp());
    wire.send("PING\r\nPING\r\n");
    wire.stream.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    wire.stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "+PONG\r\n+PONG\r\n");
}

#[test]
fn a_key_of_a_megabyte_is_refused_and_nothing_else_happens() {
    let running = server(|_| {});
    let large = "k".repeat(1 << 20);
    let mut wire = tcp(running.http());
    let sent = wire.try_send(check(&large));
    // A server may answer and close before it has read everything.
    if let (true, Some(reply)) = (sent.is_ok(), wire.reply_to("POST")) {
        assert!((400..500).contains(&reply.status), "{reply:?}");
    }
    let short = "k".repeat(500_000);
    let reply = tcp(running.http()).check(&short);
    assert!((400..500).contains(&reply.status), "{reply:?}");
    for name in ["CL.THROTTLE", "THROTTLE"] {
        let length = name.len();
        let mut wire = tcp(running.resp());
        let head = format!("*5\r\n${length}\r\n{name}\r\n${}\r\n", large.len());
        let _ = wire.try_send(format!(
            "{head}{large}\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n"
        ));
        let mut first = [0];
        if matches!(wire.stream.read(&mut first), Ok(1)) {
            assert_eq!(first, *b"-", "an error");
        }
    }
    assert_serves(&running);
}

#[test]
fn random_bytes_harm_nobody() {
    pelt(Duration::from_secs(2));
}

#[test]
#[ignore = "takes a minute: cargo test -p tollgate-serve --test server run -- --ignored"]
fn random_bytes_harm_nobody_for_a_minute() {
    pelt(Duration::from_mins(1));
}

/// Throws bytes of every kind at both protocols for a while. A connection that is closed is opened again.
fn pelt(time: Duration) {
    let running = server(|settings| settings.limits.slow = Duration::from_secs(2));
    let until = Instant::now() + time;
    let memory = resident();
    thread::scope(|scope| {
        for seed in 0..8_u64 {
            let address = if seed % 2 == 0 {
                running.http()
            } else {
                running.resp()
            };
            scope.spawn(move || throw(address.unwrap(), seed, until));
        }
        while Instant::now() < until {
            assert_serves(&running);
            thread::sleep(Duration::from_millis(20));
        }
    });
    assert_serves(&running);
    let panics = running
        .shared()
        .engine
        .meter()
        .render(&running.shared().engine);
    let counted = panics
        .lines()
        .filter(|line| line.contains("panic") && !line.starts_with('#'));
    for line in counted {
        assert!(line.ends_with(" 0"), "{line}");
    }
    let grown = resident().saturating_sub(memory);
    assert!(grown < 256 << 20, "{grown} bytes more than before");
}

fn throw(address: SocketAddr, seed: u64, until: Instant) {
    let mut dice = Dice::new(seed);
    while Instant::now() < until {
        let Ok(mut stream) = TcpStream::connect(address) else {
            continue;
        };
        let patience = Some(Duration::from_millis(20));
        stream.set_read_timeout(patience).unwrap();
        stream.set_write_timeout(patience).unwrap();
        // Half of the time something that begins as it should.
        let begin = BEGINNINGS[dice.place(16) % BEGINNINGS.len()];
        let mut bytes = begin.to_vec();
        let length = dice.below(4096);
        bytes.extend((0..length).map(|_| dice.roll().to_le_bytes()[0]));
        let mut answer = [0; 4096];
        for chunk in bytes.chunks(1 + dice.place(2000)) {
            if stream.write_all(chunk).is_err() {
                break;
            }
        }
        let _ = stream.read(&mut answer);
    }
}

const BEGINNINGS: [&[u8]; 11] = [
    b"",
    b"*3\r\n$11\r\nCL.THROTTLE\r\n$",
    b"*99999999\r\n",
    b"$-5\r\n",
    b"PING\r\nHELLO 3\r\n",
    b"POST /v1/check HTTP/1.1\r\ncontent-length: 4000\r\n\r\n",
    b"POST /v1/check HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
    b"GET /v1/auth HTTP/1.1\r\nhost: ",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
];

/// Bytes this process holds in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() << 10
}
