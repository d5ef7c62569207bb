//! Stopping in good order.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::run::kit::{check, server, tcp, until};

#[test]
fn idle_connections_are_closed_at_once() {
    let running = server(|settings| settings.limits.drain = Duration::from_secs(30));
    let (mut http, mut resp) = (tcp(running.http()), tcp(running.resp()));
    let mut fresh = tcp(running.http());
    assert_eq!(http.check("1").status, 200);
    assert_eq!(resp.inline("PING"), "+PONG");
    let begun = Instant::now();
    running.stop().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert!(http.is_closed() && resp.is_closed() && fresh.is_closed());
}

#[test]
fn what_is_under_way_is_finished_and_nobody_new_is_let_in() {
    let running = server(|settings| settings.limits.drain = Duration::from_secs(20));
    let address = running.http().unwrap();
    let shared = running.shared().clone();
    let mut wire = tcp(Some(address));
    let request = check("2");
    let (first, rest) = request.split_at(request.len() - 3);
    wire.begin(first);
    let stopping = thread::spawn(move || running.stop().unwrap());
    until("the port is closed", || {
        TcpStream::connect(address).is_err()
    });
    assert!(!shared.state.is_ready());
    wire.send(rest);
    let reply = wire.reply();
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(wire.is_closed());
    stopping.join().unwrap();
}

#[test]
fn whoever_does_not_finish_is_cut_off_when_the_time_is_up() {
    let running = server(|settings| settings.limits.drain = Duration::from_millis(300));
    let mut wire = tcp(running.http());
    wire.begin("POST /v1/check HTTP/1.1\r\nhost: t\r\ncontent-le");
    let begun = Instant::now();
    running.stop().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert!(wire.is_closed());
}

#[test]
fn a_stop_can_be_cut_short() {
    let running = server(|settings| settings.limits.drain = Duration::from_mins(1));
    let mut wire = tcp(running.http());
    wire.begin("POST /v1/check HTTP/1.1\r\nhost: t\r\ncontent-le");
    running.halt();
    let begun = Instant::now();
    running.stop().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}
