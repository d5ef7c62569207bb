//! How connections end: by the client, by time, by the server.

use std::net::Shutdown;
use std::time::{Duration, Instant};

use crate::resp::kit::{RespServer, command, until};

#[test]
fn a_client_that_says_no_more_still_hears_everything() {
    let server = RespServer::open();
    let mut wire = server.connect();
    wire.send("PING\r\nPING\r\nPIN");
    wire.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(wire.rest(), b"+PONG\r\n+PONG\r\n");
}

#[test]
fn decisions_are_charged_though_the_client_vanishes() {
    let server = RespServer::open();
    for _ in 0..5 {
        let mut wire = server.connect();
        wire.send(command(&["CL.THROTTLE", "k", "9", "1", "86400"]));
        // The socket is closed with the reply unread.
        drop(wire);
    }
    let mut wire = server.connect();
    until("five are charged", || {
        wire.send(command(&["CL.THROTTLE", "k", "9", "1", "86400", "0"]));
        let lines: Vec<_> = (0..6).map(|_| wire.line()).collect();
        lines[3] == ":5"
    });
}

#[test]
fn an_idle_connection_is_closed_after_its_time() {
    let server = RespServer::limited(|limits| {
        limits.idle = Duration::from_millis(300);
        limits.slow = Duration::from_millis(100);
    });
    let mut wire = server.connect();
    wire.lives();
    let start = Instant::now();
    assert_eq!(wire.rest(), b"");
    assert!(start.elapsed() >= Duration::from_millis(300));
}

#[test]
fn a_command_that_trickles_in_is_given_up() {
    let server = RespServer::limited(|limits| limits.slow = Duration::from_millis(300));
    let mut wire = server.connect();
    wire.lives();
    let start = Instant::now();
    wire.send("*1\r\n");
    // Every byte is progress, and none of it helps.
    while start.elapsed() < Duration::from_secs(15) {
        std::thread::sleep(Duration::from_millis(20));
        if std::io::Write::write_all(&mut wire.stream, b"$").is_err() {
            break;
        }
        if start.elapsed() > Duration::from_millis(40) {
            break;
        }
    }
    let rest = wire.rest();
    assert!(
        rest.is_empty() || rest.starts_with(b"-ERR Protocol"),
        "{rest:?}"
    );
    let mut wire = server.connect();
    wire.send("*2\r\n$4\r\nECHO\r\n$100\r\n");
    let start = Instant::now();
    let mut sent = 0;
    while std::io::Write::write_all(&mut wire.stream, b"x").is_ok() && sent < 90 {
        sent += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(sent < 90, "the server waits for ever");
    assert!(start.elapsed() >= Duration::from_millis(300));
}

#[test]
fn strangers_have_little_time_to_say_who_they_are() {
    let server = RespServer::with(|settings| {
        settings.tokens = vec![tollgate_serve::settings::Token::new("token-1")].into();
        settings.limits.slow = Duration::from_millis(300);
    });
    let mut silent = server.connect();
    let mut busy = server.connect();
    let mut known = server.connect();
    known.exchange(command(&["AUTH", "token-1"]), "+OK\r\n");
    let start = Instant::now();
    // Input before authentication does not extend the deadline.
    while std::io::Write::write_all(&mut busy.stream, b"PING\r\nPI").is_ok()
        && std::io::Write::write_all(&mut busy.stream, b"NG\r\n").is_ok()
    {
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(silent.rest(), b"");
    known.lives();
}

#[test]
fn a_stop_answers_what_is_there_and_closes() {
    let mut server = RespServer::open();
    let mut idle = server.connect();
    idle.lives();
    let mut busy = server.connect();
    busy.lives();
    let count = 2_000;
    busy.send("PING\r\n".repeat(count));
    server.stop();
    assert_eq!(idle.rest(), b"");
    let answered = busy.rest();
    assert_eq!(answered.len() % 7, 0, "whole replies only");
    assert_eq!(answered, b"+PONG\r\n".repeat(answered.len() / 7));
}
