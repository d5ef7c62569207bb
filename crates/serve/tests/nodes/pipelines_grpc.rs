//! Any mix of calls at once on one connection of gRPC gets one answer each, wherever the keys are decided.
//!
//! Calls are streams of HTTP/2, which may end in any order: each answer must be that of its call.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use prost::Message;
use tokio::net::TcpStream;
use tollgate_serve::settings::{Listener, Settings};
use tollgate_wire::native::{CheckManyRequest, CheckManyResponse, CheckRequest, CheckResponse};
use tollgate_wire::rls::{Entry, RateLimitDescriptor, RateLimitRequest, RateLimitResponse};
use tollgate_wire::throttlecrab::{ThrottleRequest, ThrottleResponse};

use crate::lease::pair;
use crate::pipelines::{MODES, USERS, settings};

const CHECK: &str = "/tollgate.v1.Tollgate/Check";
const CHECK_MANY: &str = "/tollgate.v1.Tollgate/CheckMany";
const RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const THROTTLE: &str = "/throttlecrab.RateLimiter/Throttle";
const OK: u16 = 0;
const INVALID_ARGUMENT: u16 = 3;
const UNIMPLEMENTED: u16 = 12;

/// A call, and a number that few others have.
#[derive(Clone, Copy, Debug)]
struct Call {
    verb: u8,
    mode: usize,
    user: u8,
    number: u32,
}

const VERBS: u8 = 8;

/// What the answer must be: the code of gRPC, and the limits that its message names.
type Want = (u16, Vec<u64>);

impl Call {
    fn check(self, mode: usize) -> CheckRequest {
        let entry = |key: &str, value: String| tollgate_wire::native::Entry {
            key: key.to_owned(),
            value,
        };
        CheckRequest {
            entries: vec![
                entry("mode", MODES[mode].0.to_owned()),
                entry("user", format!("u{}", self.user)),
            ],
            ..CheckRequest::default()
        }
    }

    /// The path, the message, and what its answer must be.
    fn request(self) -> (&'static str, Vec<u8>, Want) {
        let next = (self.mode + 1) % MODES.len();
        let limit = |mode: usize| u64::try_from(MODES[mode].2).unwrap();
        let one = (OK, vec![limit(self.mode)]);
        let both = (OK, vec![limit(self.mode), limit(next)]);
        match self.verb {
            0 | 1 => (CHECK, self.check(self.mode).encode_to_vec(), one),
            2 => {
                let many = CheckManyRequest {
                    checks: vec![self.check(self.mode), self.check(next)],
                    with_receipts: false,
                };
                (CHECK_MANY, many.encode_to_vec(), both)
            }
            3 => {
                let descriptor = |mode| RateLimitDescriptor {
                    entries: self.check(mode).entries.into_iter().map(of_envoy).collect(),
                    ..RateLimitDescriptor::default()
                };
                let request = RateLimitRequest {
                    domain: "any".to_owned(),
                    descriptors: vec![descriptor(self.mode), descriptor(next)],
                    hits_addend: 1,
                };
                (RATE_LIMIT, request.encode_to_vec(), both)
            }
            4 => {
                let burst = i32::try_from(self.number).unwrap() + 1;
                let request = ThrottleRequest {
                    key: format!("u{}", self.user),
                    max_burst: burst,
                    count_per_period: 30,
                    period: 60,
                    quantity: 1,
                };
                let limit = u64::from(self.number) + 1;
                (THROTTLE, request.encode_to_vec(), (OK, vec![limit]))
            }
            5 => {
                let unknown = CheckRequest {
                    contract: format!("c{}", self.number),
                    ..self.check(self.mode)
                };
                (
                    CHECK,
                    unknown.encode_to_vec(),
                    (INVALID_ARGUMENT, Vec::new()),
                )
            }
            6 => (CHECK, vec![0xff; 7], (INVALID_ARGUMENT, Vec::new())),
            _ => ("/no.such/Method", Vec::new(), (UNIMPLEMENTED, Vec::new())),
        }
    }
}

fn of_envoy(entry: tollgate_wire::native::Entry) -> Entry {
    Entry {
        key: entry.key.into(),
        value: entry.value.into(),
    }
}

/// The limits that a message names.
fn limits(path: &str, message: &[u8]) -> Vec<u64> {
    match path {
        CHECK => vec![CheckResponse::decode(message).unwrap().limit],
        CHECK_MANY => {
            let answers = CheckManyResponse::decode(message).unwrap().answers;
            answers.iter().map(|answer| answer.limit).collect()
        }
        RATE_LIMIT => {
            let statuses = RateLimitResponse::decode(message).unwrap().statuses;
            let limit = |status: &tollgate_wire::rls::DescriptorStatus| {
                let limit = status.current_limit.as_ref();
                limit.map_or(0, |limit| u64::from(limit.requests_per_unit))
            };
            statuses.iter().map(limit).collect()
        }
        _ => {
            let answer = ThrottleResponse::decode(message).unwrap();
            vec![u64::try_from(answer.limit).unwrap()]
        }
    }
}

/// Makes one call, and takes its answer apart: the code, and the limits in the one message of a success.
async fn made(mut client: SendRequest<Full<Bytes>>, call: Call) -> (Call, Want) {
    let (path, message, _) = call.request();
    let mut framed = vec![0];
    framed.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    framed.extend(message);
    let request = Request::post(format!("http://t{path}"))
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Full::from(framed));
    let (head, body) = client
        .send_request(request.unwrap())
        .await
        .unwrap()
        .into_parts();
    let body = body.collect().await.unwrap();
    let fields = body.trailers().unwrap_or(&head.headers);
    let code = fields.get("grpc-status").unwrap().to_str().unwrap();
    let code = code.parse().unwrap();
    let bytes = body.to_bytes();
    if code != OK {
        assert!(bytes.is_empty(), "{call:?}: {code} and a message");
        return (call, (code, Vec::new()));
    }
    let (head, message) = bytes.split_first_chunk::<5>().unwrap();
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    assert_eq!(length as usize, message.len(), "{call:?}: one message");
    (call, (code, limits(path, message)))
}

async fn converse(at: SocketAddr, calls: &[Call]) -> Result<(), TestCaseError> {
    let stream = TcpStream::connect(at).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let mut under_way = tokio::task::JoinSet::new();
    for call in calls {
        under_way.spawn(made(client.clone(), *call));
    }
    let mut answers = 0;
    while let Some(answer) = under_way.join_next().await {
        let (call, got) = answer.unwrap();
        prop_assert_eq!(&got, &call.request().2, "{:?}", call);
        answers += 1;
    }
    prop_assert_eq!(answers, calls.len());
    connection.abort();
    Ok(())
}

#[test]
fn any_mix_of_calls_on_one_connection_gets_one_answer_each() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        http: vec![Listener::loopback()],
        ..settings(folder.path())
    };
    let servers = pair(&settings, folder.path());
    let sides = servers.each_ref().map(|server| server.http().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let call = (0..VERBS, 0..MODES.len(), 0..USERS, 0..1_000_000_u32).prop_map(
        |(verb, mode, user, number)| Call {
            verb,
            mode,
            user,
            number,
        },
    );
    let strategy = (prop::collection::vec(call, 1..80), any::<bool>());
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(&strategy, |(calls, side)| {
        runtime.block_on(converse(sides[usize::from(side)], &calls))
    });
    run.unwrap_or_else(|why| panic!("{why}"));
}

const CASES: u32 = 200;
