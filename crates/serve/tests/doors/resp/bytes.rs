//! Bytes in every portion: pipelines, garbage, and replies that the client does not read.

use std::io::Write;

use tollgate_kit::Dice;

use crate::resp::kit::{RespServer, command, until};

/// Distinct commands and the replies to them.
fn conversation(count: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut asked, mut told) = (Vec::new(), Vec::new());
    for number in 0..count {
        match number % 5 {
            0 => {
                asked.extend(command(&[
                    "CL.THROTTLE",
                    &number.to_string(),
                    "15",
                    "30",
                    "60",
                ]));
                told.extend(b"*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n");
            }
            1 => {
                asked.extend(b"PING\r\n");
                told.extend(b"+PONG\r\n");
            }
            2 => {
                let text = "x".repeat(number % 97);
                asked.extend(command(&["ECHO", &text]));
                told.extend(format!("${}\r\n{text}\r\n", text.len()).bytes());
            }
            3 => {
                asked.extend(b"\r\n*0\r\nECHO \"a\\r\\n\"\n");
                told.extend(b"$3\r\na\r\n\r\n");
            }
            _ => {
                asked.extend(command(&["NONSENSE"]));
                told.extend(b"-ERR unknown command 'NONSENSE'\r\n");
            }
        }
    }
    (asked, told)
}

#[test]
fn a_conversation_cut_anywhere_is_the_same() {
    let server = RespServer::open();
    let (asked, told) = conversation(10);
    // Keys are forgotten between the rounds by being others: only the first ten digits are keys.
    for cut in 0..=asked.len() {
        let mut wire = server.connect();
        let asked = renamed(&asked, cut);
        wire.send(&asked[..cut]);
        // What is whole in the first part is answered before the rest comes.
        let mut whole = server.connect();
        whole.lives();
        wire.send(&asked[cut..]);
        wire.expect(&told);
    }
}

/// The same with other keys of the same length.
fn renamed(asked: &[u8], round: usize) -> Vec<u8> {
    let text = String::from_utf8(asked.to_vec()).unwrap();
    let key = format!("${}\r\nr{round:05}", 7);
    text.replace("$1\r\n0", &format!("{key}0"))
        .replace("$1\r\n5", &format!("{key}5"))
        .into_bytes()
}

#[test]
fn ten_thousand_commands_in_one_pipeline_byte_by_byte_and_at_once() {
    let server = RespServer::open();
    let (asked, told) = conversation(10_000);
    let mut wire = server.connect();
    std::thread::scope(|scope| {
        let mut stream = wire.stream.try_clone().unwrap();
        scope.spawn(move || stream.write_all(&asked).unwrap());
        wire.expect(&told);
    });
    // Every boundary of a part of it falls on the end of a packet.
    let server = RespServer::open();
    let mut wire = server.connect();
    let (asked, told) = conversation(200);
    for byte in asked.chunks(1) {
        wire.send(byte);
    }
    wire.expect(&told);
    // And portions of every size fall on every boundary of all of it.
    let server = RespServer::open();
    let mut wire = server.connect();
    let (asked, told) = conversation(10_000);
    std::thread::scope(|scope| {
        let mut stream = wire.stream.try_clone().unwrap();
        scope.spawn(move || {
            let (mut at, mut size) = (0, 1);
            while at < asked.len() {
                let end = (at + size).min(asked.len());
                stream.write_all(&asked[at..end]).unwrap();
                (at, size) = (end, size % 997 + 1);
            }
        });
        wire.expect(&told);
    });
}

#[test]
fn replies_that_nobody_takes_stop_the_reading_and_not_the_server() {
    let server = RespServer::open();
    let mut greedy = server.connect();
    greedy.stream.set_nonblocking(true).unwrap();
    let echo = command(&["ECHO", &"e".repeat(60_000)]);
    let mut sent = 0;
    // As much as fits on the way; the server stops taking it.
    let mut stuck = 0;
    while stuck < 20 && sent < 64 << 20 {
        if let Ok(count) = greedy.stream.write(&echo[sent % echo.len()..]) {
            (sent, stuck) = (sent + count, 0);
        } else {
            stuck += 1;
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    assert!(sent < 64 << 20, "the server takes everything");
    server.connect().lives();
    // Every request is answered once replies are read.
    greedy.stream.set_nonblocking(false).unwrap();
    let whole = sent / echo.len();
    let reply = format!("$60000\r\n{}\r\n", "e".repeat(60_000));
    for _ in 0..whole {
        greedy.expect(&reply);
    }
}

#[test]
fn garbage_ends_its_own_connection_and_no_other() {
    let server = RespServer::open();
    let mut neighbour = server.connect();
    neighbour.lives();
    let table: [(&[u8], &str); 8] = [
        (b"*x\r\n", "invalid multibulk length"),
        (b"*1025\r\n", "invalid multibulk length"),
        (b"*1\r\n$65537\r\n", "invalid bulk length"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*1\r\n:1\r\n", "expected '$', got ':'"),
        (b"*1\r\n$4\r\nPINGPONG", "expected a line end after bulk"),
        (b"PING \"x\r\n", "unbalanced quotes in request"),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\n\r\n",
            "this is not an HTTP port",
        ),
    ];
    for (bytes, why) in table {
        let mut wire = server.connect();
        wire.send(bytes);
        let rest = String::from_utf8(wire.rest()).unwrap();
        assert_eq!(rest, format!("-ERR Protocol error: {why}\r\n"));
        neighbour.lives();
    }
}

#[test]
fn a_megabyte_for_a_key_is_turned_down_at_its_announcement() {
    let server = RespServer::open();
    let mut wire = server.connect();
    wire.send("*5\r\n$11\r\nCL.THROTTLE\r\n$1048576\r\n");
    // Much follows it; none of it hides the reply.
    let _ = wire.stream.write_all(&vec![b'k'; 1 << 20]);
    assert_eq!(wire.rest(), b"-ERR Protocol error: invalid bulk length\r\n");
    server.connect().lives();
}

#[test]
fn random_bytes_disturb_nobody() {
    let server = RespServer::open();
    let mut neighbour = server.connect();
    let mut dice = Dice::new(1);
    for _ in 0..300 {
        let mut wire = server.connect();
        let noise: Vec<u8> = (0..2_000)
            .map(|_| {
                // Often a byte that means something.
                let known = b"*$\r\n0123456789PING \"'\\x-:";
                let [low, high, ..] = dice.roll().to_le_bytes();
                if low < 128 {
                    known[usize::from(high) % known.len()]
                } else {
                    high
                }
            })
            .collect();
        let _ = wire.stream.write_all(&noise);
        neighbour.lives();
    }
    drop(neighbour);
    let connections = || {
        server
            .running()
            .shared()
            .engine
            .meter()
            .top(&server.running().shared().engine)
            .connections
    };
    until("all connections are closed", || connections() == 0);
}
