//! The axum example behind a real socket on the loopback.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tollgate_client::{ClientAddress, Limiter, Period, PolicyConfig, Trust};

#[path = "../examples/axum_server.rs"]
#[allow(dead_code, reason = "the example's own start is not used")]
mod example;

/// Starts the example's router, with three requests an hour, on a port that is free.
async fn start(addresses: ClientAddress) -> SocketAddr {
    let limiter = Limiter::new([PolicyConfig::token_bucket(3, Period::HOUR)]).unwrap();
    let router = example::router(Arc::new(limiter), addresses);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    address
}

/// The whole response, status line first, in lower case.
async fn ask(server: SocketAddr, header: &str) -> String {
    let mut stream = TcpStream::connect(server).await.unwrap();
    let request = format!("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response.to_lowercase()
}

#[track_caller]
fn says(response: &str, parts: &[&str]) {
    for part in parts {
        assert!(response.contains(part), "no `{part}` in\n{response}");
    }
}

#[tokio::test]
async fn a_client_hears_what_is_left_and_then_when_to_come_back() {
    let server = start(ClientAddress::default()).await;
    for left in [2, 1, 0] {
        let response = ask(server, "").await;
        says(
            &response,
            &[
                "http/1.1 200 ok\r\n",
                "ratelimit-policy: \"policy-1\";q=3;w=3600\r\n",
            ],
        );
        says(
            &response,
            &[
                &format!("ratelimit: \"policy-1\";r={left};t="),
                "\r\n\r\nhello\n",
            ],
        );
    }
    let response = ask(server, "").await;
    says(
        &response,
        &[
            "http/1.1 429 too many requests\r\n",
            "\r\nretry-after: 1200\r\n",
        ],
    );
    says(
        &response,
        &["\r\ncontent-type: application/problem+json\r\n"],
    );
    says(
        &response,
        &[
            "ratelimit: \"policy-1\";r=0;t=1200\r\n",
            "\"violated-policies\":[\"policy-1\"]",
        ],
    );
}

#[tokio::test]
async fn a_client_cannot_say_who_it_is_unless_a_proxy_is_trusted() {
    let server = start(ClientAddress::default()).await;
    for client in 0..3 {
        ask(server, &format!("x-forwarded-for: 203.0.113.{client}\r\n")).await;
    }
    let response = ask(server, "x-forwarded-for: 203.0.113.99\r\n").await;
    says(&response, &["http/1.1 429 "]);
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_client_has_its_own_quota() {
    let addresses = ClientAddress {
        trust: Trust::Hops(1),
        ..ClientAddress::default()
    };
    let server = start(addresses).await;
    for lie in 0..3 {
        let header = format!("x-forwarded-for: 10.0.0.{lie}\r\nx-forwarded-for: 203.0.113.9\r\n");
        says(&ask(server, &header).await, &["http/1.1 200 "]);
    }
    let again = ask(server, "x-forwarded-for: 10.9.9.9, 203.0.113.9\r\n").await;
    says(&again, &["http/1.1 429 "]);
    let other = ask(server, "x-forwarded-for: 203.0.113.10\r\n").await;
    says(&other, &["http/1.1 200 "]);
}

#[test]
fn the_example_starts_with_its_own_policy() {
    let limiter = Limiter::new([example::policy()]).unwrap();
    let answers = (0..6).map(|_| limiter.check("client", 1).is_allowed());
    assert_eq!(answers.filter(|allowed| *allowed).count(), 5);
}
