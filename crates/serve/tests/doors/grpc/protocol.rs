//! The protocol itself: heads, frames and trailers as a client of HTTP/2 sees them, and what strangers send.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::TcpStream;
use tollgate_kit::Dice;
use tollgate_serve::settings::{RequestLimits, Settings, Token};
use tollgate_wire::rls::{Code, Entry, RateLimitDescriptor, RateLimitRequest, RateLimitResponse};

use crate::grpc::server::GrpcServer;

const CONTRACTS: &str = "
contracts:
  - {id: users, key: [user], policies: [{name: hourly, limit: 100000, per: 1h}]}
";
const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// A call as bytes: the head of its frame, then the message.
fn framed(message: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    out.extend(u32::try_from(message.len()).expect("short").to_be_bytes());
    out.extend(message);
    out
}

fn question(value: &str) -> Vec<u8> {
    let request = RateLimitRequest {
        domain: "any".into(),
        descriptors: vec![RateLimitDescriptor {
            entries: vec![Entry {
                key: "user".into(),
                value: value.into(),
            }],
            ..RateLimitDescriptor::default()
        }],
        hits_addend: 1,
    };
    request.encode_to_vec()
}

/// What came back: the status of HTTP, that of gRPC and where it stood, the message.
struct Told {
    http: u16,
    grpc: Option<u16>,
    in_trailers: bool,
    text: String,
    body: Bytes,
}

async fn told(response: Response<Incoming>) -> Told {
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a body");
    let trailers = body.trailers().cloned();
    let fields = trailers.as_ref().unwrap_or(&head.headers);
    let text = |name: &str| {
        let value = fields.get(name).map(|value| value.to_str().expect("text"));
        value.map(str::to_owned)
    };
    Told {
        http: head.status.as_u16(),
        grpc: text("grpc-status").map(|code| code.parse().expect("a number")),
        in_trailers: trailers.is_some(),
        text: text("grpc-message").unwrap_or_default(),
        body: body.to_bytes(),
    }
}

fn call(server: &GrpcServer, path: &str) -> http::request::Builder {
    let uri = format!("http://{}{path}", server.at());
    let builder = Request::post(uri).version(Version::HTTP_2);
    builder
        .header("content-type", "application/grpc")
        .header("te", "trailers")
}

type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, std::convert::Infallible>;

fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// Sends one request on a connection of its own.
async fn send(server: &GrpcServer, request: Request<Body>) -> Told {
    let stream = TcpStream::connect(server.at()).await.expect("a connection");
    let handshake =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.expect("a handshake");
    tokio::spawn(connection);
    let response = sender.send_request(request).await.expect("a response");
    told(response).await
}

async fn ask(server: &GrpcServer, bytes: Vec<u8>) -> Told {
    let request = call(server, PATH).body(whole(bytes)).expect("a request");
    send(server, request).await
}

#[tokio::test]
async fn an_answer_is_one_frame_and_its_status_in_trailers() {
    let server = GrpcServer::start(CONTRACTS);
    let told = ask(&server, framed(&question("7"))).await;
    assert_eq!(
        (told.http, told.grpc, told.in_trailers),
        (200, Some(0), true)
    );
    let length = u32::from_be_bytes(told.body[1..5].try_into().expect("four"));
    assert_eq!(usize::try_from(length), Ok(told.body.len() - 5));
    let response = RateLimitResponse::decode(&told.body[5..]).expect("a response");
    assert_eq!(response.overall_code(), Code::Ok);
}

#[tokio::test]
async fn errors_have_a_head_and_nothing_else() {
    let server = GrpcServer::start(CONTRACTS);
    let empty = framed(&RateLimitRequest::default().encode_to_vec());
    let told = ask(&server, empty).await;
    assert_eq!(
        (told.http, told.grpc, told.in_trailers),
        (200, Some(3), false)
    );
    assert!(told.body.is_empty());
    assert_eq!(told.text, "a request needs a domain");
}

#[tokio::test]
async fn bad_frames_are_refused_and_the_server_goes_on() {
    let server = GrpcServer::start(CONTRACTS);
    let good = framed(&question("7"));
    let mut compressed = good.clone();
    compressed[0] = 1;
    let mut odd = good.clone();
    odd[0] = 2;
    let mut long = good.clone();
    long[4] += 1;
    let mut twice = good.clone();
    twice.extend(&good);
    for (bytes, code) in [
        (Vec::new(), 3),
        (vec![0, 0, 0], 3),
        (good[..good.len() - 1].to_vec(), 3),
        (compressed, 12),
        (odd, 3),
        (long, 3),
        (twice, 3),
    ] {
        let told = ask(&server, bytes.clone()).await;
        assert_eq!((told.http, told.grpc), (200, Some(code)), "{bytes:?}");
    }
    assert_eq!(ask(&server, good).await.grpc, Some(0));
}

/// The verdict on a limit.
fn verdict(told: &Told) -> Code {
    assert_eq!(told.grpc, Some(0), "{}", told.text);
    let answer = RateLimitResponse::decode(told.body.slice(5..)).expect("an answer");
    answer.overall_code()
}

#[tokio::test]
async fn a_message_that_cannot_be_read_is_denied_where_a_proxy_asks() {
    let server = GrpcServer::start(CONTRACTS);
    let what_is_no_message: [&[u8]; 2] = [&[0xff; 40], &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]];
    for message in what_is_no_message {
        let told = ask(&server, framed(message)).await;
        assert_eq!(verdict(&told), Code::OverLimit);
        for (path, code) in [
            ("/envoy.service.auth.v3.Authorization/Check", 0),
            ("/kuadrant.service.ratelimit.v1.RateLimitService/Report", 3),
            ("/tollgate.v1.Tollgate/Check", 3),
        ] {
            let request = call(&server, path).body(whole(framed(message)));
            let told = send(&server, request.expect("a request")).await;
            assert_eq!(told.grpc, Some(code), "{path}");
        }
    }
}

#[tokio::test]
async fn random_bytes_get_answers() {
    let server = GrpcServer::start(CONTRACTS);
    let mut dice = Dice::new(1);
    for path in [
        PATH,
        "/envoy.service.auth.v3.Authorization/Check",
        "/tollgate.v1.Tollgate/CheckMany",
        "/pb.gubernator.V1/GetRateLimits",
        "/throttlecrab.RateLimiter/Throttle",
        "/grpc.health.v1.Health/Check",
    ] {
        for length in 0..64 {
            let message: Vec<u8> = (0..length).map(|_| dice.roll().to_le_bytes()[0]).collect();
            let request = call(&server, path).body(whole(framed(&message)));
            let told = send(&server, request.expect("a request")).await;
            assert!(
                told.http == 200 && told.grpc.is_some(),
                "{path} {message:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_message_may_be_as_long_as_the_settings_say_and_no_longer() {
    let settings = Settings {
        limits: RequestLimits {
            body_bytes_max: 10_000,
            ..RequestLimits::default()
        },
        ..Settings::default()
    };
    let server = GrpcServer::with(CONTRACTS, settings);
    // A long key is counted as any other; too long a message is not read.
    let read = [Code::Ok, Code::Ok, Code::OverLimit, Code::OverLimit];
    for (length, read) in [1_000, 9_000, 11_000, 5_000_000].into_iter().zip(read) {
        let told = ask(&server, framed(&question(&"x".repeat(length)))).await;
        assert_eq!(verdict(&told), read, "{length}");
    }
    let check = call(&server, "/tollgate.v1.Tollgate/Check").body(whole(framed(&[0; 11_000])));
    let told = send(&server, check.expect("a request")).await;
    assert_eq!(told.grpc, Some(8), "{}", told.text);
    assert_eq!(ask(&server, framed(&question("7"))).await.grpc, Some(0));
}

/// Sends a message in two pieces, the second after a while.
fn slow(pause: Duration) -> Body {
    let good = framed(&question("7"));
    let (first, second) = good.split_at(9);
    let pieces = [
        (Duration::ZERO, Bytes::copy_from_slice(first)),
        (pause, Bytes::copy_from_slice(second)),
    ];
    let pieces = futures_from(pieces);
    BodyExt::boxed_unsync(StreamBody::new(pieces))
}

/// Pieces of a body, each after its pause.
fn futures_from(
    pieces: [(Duration, Bytes); 2],
) -> impl tonic::codegen::tokio_stream::Stream<Item = Result<Frame<Bytes>, std::convert::Infallible>>
{
    let (sender, receiver) = tokio::sync::mpsc::channel(2);
    tokio::spawn(async move {
        for (pause, piece) in pieces {
            tokio::time::sleep(pause).await;
            if sender.send(Ok(Frame::data(piece))).await.is_err() {
                return;
            }
        }
    });
    Receiving(receiver)
}

struct Receiving<T>(tokio::sync::mpsc::Receiver<T>);

impl<T> tonic::codegen::tokio_stream::Stream for Receiving<T> {
    type Item = T;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<T>> {
        self.0.poll_recv(context)
    }
}

#[tokio::test]
async fn a_message_may_come_in_pieces_but_not_for_ever() {
    let settings = Settings {
        limits: RequestLimits {
            slow: Duration::from_millis(300),
            ..RequestLimits::default()
        },
        ..Settings::default()
    };
    let server = GrpcServer::with(CONTRACTS, settings);
    for (pause, timeout, code) in [
        (20, None, 0),
        (20, Some("1S"), 0),
        (60_000, None, 4),
        (60_000, Some("20m"), 4),
        (0, Some("0m"), 4),
        (0, Some("nonsense"), 0),
    ] {
        let mut request = call(&server, PATH);
        if let Some(timeout) = timeout {
            request = request.header("grpc-timeout", timeout);
        }
        let body = slow(Duration::from_millis(pause));
        let told = send(&server, request.body(body).expect("a request")).await;
        assert_eq!(told.grpc, Some(code), "{pause} {timeout:?}: {}", told.text);
    }
}

#[tokio::test]
async fn more_calls_than_may_wait_are_turned_away() {
    let settings = Settings {
        limits: RequestLimits {
            requests_max: 0,
            ..RequestLimits::default()
        },
        ..Settings::default()
    };
    let server = GrpcServer::with(CONTRACTS, settings);
    let request = call(&server, PATH).body(slow(Duration::from_millis(200)));
    let told = send(&server, request.expect("a request")).await;
    assert_eq!(told.grpc, Some(14), "{}", told.text);
}

#[tokio::test]
async fn other_types_and_methods_are_not_spoken() {
    let server = GrpcServer::start(CONTRACTS);
    for kind in ["application/grpc-web", "application/grpc+json"] {
        let mut request = call(&server, PATH)
            .body(whole(framed(&question("7"))))
            .expect("a request");
        let kind = kind.parse().expect("a value");
        request.headers_mut().insert("content-type", kind);
        let told = send(&server, request).await;
        assert_eq!((told.http, told.grpc), (415, None));
    }
    for path in [
        "/",
        "/x/y",
        "/tollgate.v1.Tollgate/Nothing",
        "/grpc.health.v1.Health/No",
    ] {
        let request = call(&server, path).body(whole(framed(b"")));
        let told = send(&server, request.expect("a request")).await;
        assert_eq!((told.http, told.grpc), (200, Some(12)), "{path}");
    }
    let mut request = call(&server, PATH)
        .body(whole(framed(&question("7"))))
        .expect("a request");
    *request.method_mut() = http::Method::PUT;
    assert_eq!(send(&server, request).await.grpc, Some(12));
}

#[tokio::test]
async fn a_token_opens_everything_and_health_needs_none() {
    let settings = Settings {
        tokens: vec![Token::new("secret-token")].into(),
        ..Settings::default()
    };
    let server = GrpcServer::with(CONTRACTS, settings);
    let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    for (path, shown, code) in [
        (PATH, None, 16),
        (PATH, Some("Bearer wrong"), 16),
        (PATH, Some("Bearer secret-token"), 0),
        ("/pb.gubernator.V1/LiveCheck", None, 16),
        (reflection, None, 16),
        ("/grpc.health.v1.Health/Check", None, 0),
    ] {
        let mut request = call(&server, path);
        if let Some(shown) = shown {
            request = request.header("authorization", shown);
        }
        let message = if path == PATH {
            question("7")
        } else {
            Vec::new()
        };
        let request = request.body(whole(framed(&message))).expect("a request");
        let told = send(&server, request).await;
        assert_eq!(told.grpc, Some(code), "{path} {shown:?}");
    }
}
