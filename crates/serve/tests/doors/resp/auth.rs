//! Before and after a client has said who it is.

use crate::resp::kit::{RespServer, command};

const NOAUTH: &str = "-NOAUTH Authentication required.\r\n";
const WRONGPASS: &str = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

#[test]
fn nothing_but_greetings_before_the_token() {
    let server = RespServer::guarded("token-1");
    let mut wire = server.connect();
    for words in [
        &["PING"][..],
        &["CL.THROTTLE", "k", "1", "1", "1"],
        &["TOLLGATE.CHECK", "KEY", "x"],
        &["INFO"],
        &["COMMAND"],
        &["NONSENSE"],
        &["HELLO", "3"],
    ] {
        wire.exchange(command(words), NOAUTH);
    }
    wire.exchange(command(&["AUTH", "token-2"]), WRONGPASS);
    wire.exchange(
        command(&["HELLO", "3", "AUTH", "default", "token-2"]),
        WRONGPASS,
    );
    wire.exchange(command(&["PING"]), NOAUTH);
    wire.exchange(command(&["AUTH", "token-1"]), "+OK\r\n");
    wire.lives();
    wire.exchange(command(&["RESET"]), "+RESET\r\n");
    wire.exchange(command(&["PING"]), NOAUTH);
    wire.exchange(command(&["AUTH", "anybody", "token-1"]), "+OK\r\n");
    wire.lives();
    assert_eq!(server.running().shared().engine.adhoc().keys_count(), 0);
}

#[test]
fn a_pipeline_may_begin_with_the_token() {
    let server = RespServer::guarded("token-1");
    let mut wire = server.connect();
    let mut bytes = command(&["PING"]);
    bytes.extend(command(&["HELLO", "3", "AUTH", "default", "token-1"]));
    bytes.extend(command(&["PING"]));
    wire.send(bytes);
    wire.expect(NOAUTH);
    wire.expect("%7\r\n");
    while wire.line() != "+PONG" {}
}

#[test]
fn guessing_ends_the_connection() {
    let server = RespServer::guarded("token-1");
    let mut wire = server.connect();
    for _ in 0..9 {
        wire.exchange(command(&["AUTH", "guess"]), WRONGPASS);
        wire.exchange(command(&["RESET"]), "+RESET\r\n");
    }
    wire.send(command(&["AUTH", "guess"]));
    assert_eq!(wire.rest(), b"-ERR too many wrong passwords\r\n");
}

#[test]
fn little_is_read_from_strangers() {
    let server = RespServer::guarded("token-1");
    let mut wire = server.connect();
    wire.send("*11\r\n");
    assert_eq!(
        wire.rest(),
        b"-ERR Protocol error: invalid multibulk length\r\n"
    );
    let mut wire = server.connect();
    wire.send("*2\r\n$4\r\nAUTH\r\n$16385\r\n");
    assert_eq!(wire.rest(), b"-ERR Protocol error: invalid bulk length\r\n");
    let mut wire = server.connect();
    wire.exchange(command(&["AUTH", "token-1"]), "+OK\r\n");
    let long = "k".repeat(20_000);
    wire.exchange(command(&["ECHO", &long]), format!("$20000\r\n{long}\r\n"));
}
