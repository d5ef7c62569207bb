//! Any mix of requests in any pipeline over HTTP/1 gets one answer each, in order, wherever the keys are decided.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::net::SocketAddr;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tollgate_parts::wire::{self, Wire};
use tollgate_serve::settings::{Listener, Settings};

use crate::lease::pair;
use crate::pipelines::{MODES, USERS, settings};

/// A request, and a number that few others have.
#[derive(Clone, Copy, Debug)]
struct Asked {
    verb: u8,
    mode: usize,
    user: u8,
    number: u32,
}

/// The status of the answer, and what is in its body.
type Want = (u16, Vec<String>);

const VERBS: u8 = 11;

impl Asked {
    fn key(self, mode: usize) -> String {
        let mode = MODES[mode].0;
        format!(r#"{{"key":{{"mode":"{mode}","user":"u{}"}}}}"#, self.user)
    }

    /// The request, and what its answer must be.
    fn request(self) -> (String, Want) {
        let (next, number) = ((self.mode + 1) % MODES.len(), self.number);
        let limit = |mode: usize| format!("\"limit\":{}", MODES[mode].2);
        let key = self.key(self.mode);
        let both = format!("[{key},{}]", self.key(next));
        let stranger = format!(r#"{{"contract":"c{number}",{}"#, &key[1..]);
        let charge = format!(r#"{{"cost":1,{}"#, &key[1..]);
        let applied = vec![r#""applied":true"#.to_owned()];
        let one = (200, vec![limit(self.mode)]);
        match self.verb {
            0 | 1 => (post("check", &key), one),
            2 => (
                post("check", &both),
                (200, vec![limit(self.mode), limit(next)]),
            ),
            3 => (post("peek", &key), one),
            4 => (post("charge", &charge), (200, applied)),
            5 => (post("refund", &charge), (200, applied)),
            6 => (post("check", &stranger), (404, vec![format!("c{number}")])),
            7 => (post("check", &key[1..]), (400, Vec::new())),
            8 => (
                format!("GET /no{number} HTTP/1.1\r\nhost: t\r\n\r\n"),
                (404, Vec::new()),
            ),
            9 => (chunked("check", &key), one),
            _ => (post("explain", &key), one),
        }
    }
}

fn post(what: &str, body: &str) -> String {
    wire::post(&format!("/v1/{what}"), body)
}

/// From this request on, another loop reads the connection.
fn chunked(what: &str, body: &str) -> String {
    let head = "host: t\r\ncontent-type: application/json\r\ntransfer-encoding: chunked";
    let length = body.len();
    format!("POST /v1/{what} HTTP/1.1\r\n{head}\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n")
}

fn converse(at: SocketAddr, asked: &[Asked], portions: &[usize]) -> Result<(), TestCaseError> {
    let mut wire = Wire::to(at);
    let stream = wire.stream.try_clone().unwrap();
    let (mut bytes, mut wants) = (Vec::new(), Vec::new());
    for one in asked {
        let (request, want) = one.request();
        bytes.extend(request.bytes());
        wants.push((request, want));
    }
    bytes.extend(b"GET /livez HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
    wants.push(("the last".to_owned(), (200, Vec::new())));
    std::thread::scope(|scope| {
        scope.spawn(|| crate::pipelines::send(stream, &bytes, portions));
        for (request, (status, parts)) in &wants {
            let answer = wire.try_reply();
            let is_met = answer.as_ref().is_ok_and(|reply| {
                let mut rest = Some(&*reply.body);
                for part in parts {
                    rest = rest.and_then(|rest| Some(rest.split_once(&**part)?.1));
                }
                reply.status == *status && rest.is_some()
            });
            prop_assert!(
                is_met,
                "{request}\nwants {status} {parts:?}, got {answer:?}"
            );
        }
        let rest = wire.rest();
        prop_assert!(rest.is_empty(), "{} behind the last", rest.escape_ascii());
        Ok(())
    })
}

#[test]
fn any_mix_of_requests_in_any_pipeline_gets_one_answer_each_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        http: vec![Listener::loopback()],
        ..settings(folder.path())
    };
    let servers = pair(&settings, folder.path());
    let sides = servers.each_ref().map(|server| server.http().unwrap());
    let asked = (0..VERBS, 0..MODES.len(), 0..USERS, 0..1_000_000_u32).prop_map(
        |(verb, mode, user, number)| Asked {
            verb,
            mode,
            user,
            number,
        },
    );
    let strategy = (
        prop::collection::vec(asked, 1..60),
        prop::collection::vec(1..4_000_usize, 1..8),
        any::<bool>(),
    );
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(&strategy, |(asked, portions, side)| {
        converse(sides[usize::from(side)], &asked, &portions)
    });
    run.unwrap_or_else(|why| panic!("{why}"));
}

const CASES: u32 = 300;
