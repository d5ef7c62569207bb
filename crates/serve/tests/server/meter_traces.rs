//! Traces reach a collector, by either protocol; an unavailable collector costs only a counter.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a broken set-up must stop the test"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use prost::Message;
use tollgate_parts::Wire;
use tollgate_serve::run::{self, Running};
use tollgate_serve::settings::{ContractSource, Listener, Settings, TraceProtocol, TraceSettings};

const FILE: &str = "
contracts:
  - { id: api, key: [user], policies: [{ name: fast, limit: 5, per: 1h }] }
";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// The parts of OTLP that the test looks at, written down a second time.
mod otlp {
    use prost::Message;

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct ExportRequest {
        #[prost(message, repeated, tag = "1")]
        pub(super) resources: Vec<Resource>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Resource {
        #[prost(message, repeated, tag = "2")]
        pub(super) scopes: Vec<ExportedScope>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct ExportedScope {
        #[prost(message, repeated, tag = "2")]
        pub(super) spans: Vec<ExportedSpan>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct ExportedSpan {
        #[prost(bytes = "vec", tag = "1")]
        pub(super) trace: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")]
        pub(super) id: Vec<u8>,
        #[prost(bytes = "vec", tag = "4")]
        pub(super) parent: Vec<u8>,
        #[prost(string, tag = "5")]
        pub(super) name: String,
        #[prost(fixed64, tag = "7")]
        pub(super) start: u64,
        #[prost(fixed64, tag = "8")]
        pub(super) end: u64,
    }
}

fn serve(endpoint: &str, protocol: TraceProtocol) -> Running {
    let mut settings = Settings {
        contracts: ContractSource::Text(FILE.into()),
        http: vec![Listener::loopback()],
        ..Settings::default()
    };
    settings.telemetry.traces = Some(TraceSettings {
        endpoint: endpoint.into(),
        protocol,
        one_in: 10,
    });
    run::start(settings).unwrap()
}

fn check(http: SocketAddr) {
    let reply = Wire::to(http).check("ann");
    assert_eq!(reply.status, 200, "{reply:?}");
}

/// Reads metrics until one of them is as wanted.
fn wait_for(http: SocketAddr, line: &str) {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let metrics = Wire::to(http).get("/metrics").body;
        if metrics.contains(line) {
            return;
        }
        assert!(Instant::now() < until, "no `{line}` in {metrics}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn spans(message: &[u8]) -> Vec<otlp::ExportedSpan> {
    let request = otlp::ExportRequest::decode(message).unwrap();
    let scopes = request
        .resources
        .into_iter()
        .flat_map(|resource| resource.scopes);
    scopes.flat_map(|scope| scope.spans).collect()
}

/// Asks, and looks at what the collector got.
fn trace(running: &Running, messages: &mpsc::Receiver<Vec<u8>>) {
    let http = running.http().unwrap();
    for _ in 0..60 {
        check(http);
    }
    let head = format!(
        "GET /openapi.json HTTP/1.1\r\nhost: x\r\ntraceparent: 00-{TRACE}-00f067aa0ba902b7-01\r\n\r\n"
    );
    Wire::to(http).ask(&head);
    let unsampled = head
        .replace("-01\r\n", "-00\r\n")
        .replace(TRACE, &"1".repeat(32));
    Wire::to(http).ask(&unsampled);
    let mut got = Vec::new();
    let names =
        |got: &[otlp::ExportedSpan], name| got.iter().filter(|span| span.name == name).count();
    while names(&got, "decide") < 3 || names(&got, "HTTP GET") < 1 {
        let message = messages.recv_timeout(Duration::from_secs(20)).unwrap();
        got.extend(spans(&message));
    }
    for span in &got {
        assert!(span.end >= span.start && span.start > 1_700_000_000_000_000_000);
        assert_eq!((span.trace.len(), span.id.len()), (16, 8));
        assert_ne!(span.trace, [0x11; 16], "the caller records nothing");
    }
    let child = got.iter().find(|span| span.name == "HTTP GET").unwrap();
    assert_eq!(child.trace[..4], [0x4b, 0xf9, 0x2f, 0x35]);
    assert_eq!(child.parent[..4], [0x00, 0xf0, 0x67, 0xaa]);
    wait_for(http, "tollgate_trace_spans_total{result=\"failed\"} 0");
}

#[test]
fn spans_reach_a_collector_over_http() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let (sender, messages) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in collector.incoming() {
            receive(stream.unwrap(), &sender);
        }
    });
    let running = serve(&endpoint, TraceProtocol::Http);
    trace(&running, &messages);
}

/// A collector as small as can be.
fn receive(mut stream: TcpStream, messages: &mpsc::Sender<Vec<u8>>) {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        let read = stream.read(&mut chunk).unwrap_or(0);
        if read == 0 {
            return;
        }
        bytes.extend_from_slice(&chunk[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, _)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let whole = head.len() + 4 + length.unwrap().parse::<usize>().unwrap();
        if bytes.len() >= whole {
            let message = bytes.drain(..whole).skip(head.len() + 4).collect();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                .unwrap();
            let _ = messages.send(message);
        }
    }
}

#[test]
fn spans_reach_a_collector_over_grpc() {
    let (sender, messages) = mpsc::channel();
    let (told, address) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(listener.local_addr().unwrap()).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let mut calls = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut answer))) = calls.accept().await {
                    assert!(request.uri().path().ends_with("TraceService/Export"));
                    let sender = sender.clone();
                    tokio::spawn(async move {
                        let mut body = request.into_body();
                        let mut bytes = Vec::new();
                        while let Some(Ok(data)) = body.data().await {
                            bytes.extend_from_slice(&data);
                            body.flow_control().release_capacity(data.len()).unwrap();
                        }
                        let head =
                            http::Response::builder().header("content-type", "application/grpc");
                        let mut stream =
                            answer.send_response(head.body(()).unwrap(), false).unwrap();
                        stream.send_data(vec![0, 0, 0, 0, 0].into(), false).unwrap();
                        let mut trailers = http::HeaderMap::new();
                        trailers.insert("grpc-status", "0".parse().unwrap());
                        stream.send_trailers(trailers).unwrap();
                        sender.send(bytes.split_off(5)).unwrap();
                    });
                }
            }
        });
    });
    let endpoint = format!("http://{}", address.recv().unwrap());
    let running = serve(&endpoint, TraceProtocol::Grpc);
    trace(&running, &messages);
}

#[test]
fn a_collector_that_is_away_costs_a_counter() {
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let running = serve(&format!("http://{nobody}"), TraceProtocol::Grpc);
    let http = running.http().unwrap();
    for _ in 0..30 {
        check(http);
    }
    wait_for(http, "tollgate_trace_spans_total{result=\"sent\"} 0");
    wait_for(http, "tollgate_trace_spans_total{result=\"failed\"} ");
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let metrics = Wire::to(http).get("/metrics").body;
        if !metrics.contains("tollgate_trace_spans_total{result=\"failed\"} 0\n") {
            break;
        }
        assert!(Instant::now() < until, "{metrics}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_address_that_makes_no_sense_is_refused() {
    for endpoint in [
        "",
        "127.0.0.1:4317",
        "https://collector:4317",
        "http://",
        "http://a:1/path",
    ] {
        let settings = TraceSettings {
            endpoint: endpoint.into(),
            protocol: TraceProtocol::Grpc,
            one_in: 0,
        };
        assert!(settings.check().is_err(), "{endpoint}");
    }
}
