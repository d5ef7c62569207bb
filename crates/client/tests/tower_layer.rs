//! The layer around services of our own: who is counted, what is answered, who is held back.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use tollgate_client::{
    Algorithm, Answer, ClientAddress, Clock, Contracts, Dialect, FakeClock, Instant, LayerConfig,
    Limiter, LimiterConfig, NoKey, Period, PolicyConfig, RateLimitLayer, RequestKey, Reset, Trust,
    by_address, by_entries, by_header,
};
use tower::{Layer, Service, ServiceExt};

mod common;
use common::{Sleep, StubbornClock};

const USER: HeaderName = HeaderName::from_static("x-user");

/// A service that may be called only after it said it was ready, as the contract of tower has it. A clone has not.
#[derive(Debug, Default)]
struct Strict {
    ready: bool,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self { ready: false }
    }
}

impl Service<Request<String>> for Strict {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        assert!(
            std::mem::take(&mut self.ready),
            "called without being asked whether it is ready"
        );
        ready(Ok(Response::new(request.into_body())))
    }
}

fn two_an_hour() -> PolicyConfig {
    PolicyConfig::token_bucket(2, Period::HOUR)
}

/// Ten a second, one after the other.
fn queue() -> PolicyConfig {
    PolicyConfig::new(Algorithm::LeakyBucket, 10, Period::SECOND)
}

fn fake(policy: PolicyConfig) -> Arc<Limiter<FakeClock>> {
    Arc::new(Limiter::with_clock([policy], FakeClock::default()).unwrap())
}

fn contracts(text: &str) -> Arc<Limiter<FakeClock>> {
    let contracts = Contracts::parse(text).unwrap();
    Arc::new(Limiter::with(contracts, LimiterConfig::default(), FakeClock::default()).unwrap())
}

fn from(user: &str) -> Request<String> {
    Request::builder()
        .header(USER, user)
        .body(String::from("body"))
        .unwrap()
}

fn nameless() -> Request<String> {
    Request::new(String::from("body"))
}

/// Sends a request as a server would: asks whether the service is ready, then calls it.
async fn send<S>(service: &mut S, request: Request<String>) -> Response<String>
where
    S: Service<Request<String>, Response = Response<String>, Error = Infallible>,
{
    service.ready().await.unwrap().call(request).await.unwrap()
}

#[track_caller]
fn status_is(response: &Response<String>, status: StatusCode) {
    assert_eq!(response.status(), status, "{response:?}");
}

#[tokio::test]
async fn requests_within_the_limit_pass_and_hear_what_is_left() {
    let layer = RateLimitLayer::new(fake(two_an_hour()), by_header(USER));
    let mut service = layer.layer(Strict::default());
    for left in ["\"policy-1\";r=1;t=1800", "\"policy-1\";r=0;t=1800"] {
        let response = send(&mut service, from("ada")).await;
        status_is(&response, StatusCode::OK);
        assert_eq!(response.body(), "body");
        assert_eq!(response.headers()["ratelimit"], left);
        assert_eq!(
            response.headers()["ratelimit-policy"],
            "\"policy-1\";q=2;w=3600"
        );
        assert!(!response.headers().contains_key(RETRY_AFTER));
    }
    status_is(
        &send(&mut service, from("ada")).await,
        StatusCode::TOO_MANY_REQUESTS,
    );
    status_is(&send(&mut service, from("bob")).await, StatusCode::OK);
}

#[tokio::test]
async fn a_refusal_is_a_problem_with_a_time_to_come_back() {
    let layer = RateLimitLayer::new(fake(two_an_hour()), by_header(USER));
    let service = layer.layer(Strict::default());
    for _ in 0..2 {
        let _ = service.clone().oneshot(from("ada")).await;
    }
    let response = service.oneshot(from("ada")).await.unwrap();
    status_is(&response, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    assert_eq!(response.headers()[RETRY_AFTER], "1800");
    assert_eq!(response.headers()["ratelimit"], "\"policy-1\";r=0;t=1800");
    let problem: serde_json::Value = serde_json::from_str(response.body()).unwrap();
    assert_eq!(problem["status"], 429);
    assert_eq!(
        problem["violated-policies"],
        serde_json::json!(["policy-1"])
    );
}

#[tokio::test]
async fn the_key_says_what_a_request_costs() {
    let limiter = fake(PolicyConfig::token_bucket(10, Period::HOUR));
    let by_user = by_header(USER);
    let layer = RateLimitLayer::new(Arc::clone(&limiter), move |parts: &Parts| {
        Some(by_user(parts)?.costing(if parts.method.is_safe() { 1 } else { 4 }))
    });
    let mut service = layer.layer(Strict::default());
    let mut post = from("ada");
    *post.method_mut() = http::Method::POST;
    send(&mut service, post).await;
    send(&mut service, from("ada")).await;
    assert_eq!(limiter.check("ada", 0).remaining, 5);
}

#[tokio::test]
async fn requests_without_a_key_are_counted_together() {
    let limiter = fake(two_an_hour());
    let mut service =
        RateLimitLayer::new(Arc::clone(&limiter), by_header(USER)).layer(Strict::default());
    for _ in 0..2 {
        status_is(&send(&mut service, nameless()).await, StatusCode::OK);
    }
    status_is(
        &send(&mut service, nameless()).await,
        StatusCode::TOO_MANY_REQUESTS,
    );
    status_is(&send(&mut service, from("ada")).await, StatusCode::OK);
    assert_eq!(limiter.check("unknown", 0).remaining, 0);
}

#[tokio::test]
async fn requests_without_a_key_are_refused_where_no_contract_counts_them() {
    let limiter = contracts(
        "contracts:\n  - id: a\n    match: { plan: free }\n    key: [user]\n    policies:\n      \
         - { name: b, limit: 1, per: 1h }\n",
    );
    let mut service = RateLimitLayer::new(limiter, |_: &Parts| None).layer(Strict::default());
    let response = send(&mut service, nameless()).await;
    status_is(&response, StatusCode::BAD_REQUEST);
    assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(response.body()).unwrap()["status"],
        400
    );
}

#[tokio::test]
async fn requests_without_a_key_pass_or_not_as_configured() {
    for (no_key, status) in [
        (NoKey::Allow, StatusCode::OK),
        (NoKey::Refuse, StatusCode::BAD_REQUEST),
    ] {
        let config = LayerConfig {
            no_key,
            ..LayerConfig::default()
        };
        let layer = RateLimitLayer::with(fake(two_an_hour()), by_header(USER), config);
        let mut service = layer.layer(Strict::default());
        for _ in 0..5 {
            status_is(&send(&mut service, nameless()).await, status);
        }
    }
}

#[tokio::test]
async fn clients_are_counted_by_the_address_that_a_trusted_proxy_saw() {
    let rules = ClientAddress {
        trust: Trust::Hops(1),
        ..ClientAddress::default()
    };
    let peer = |parts: &Parts| parts.extensions.get::<IpAddr>().copied();
    let limiter = fake(two_an_hour());
    let layer = RateLimitLayer::new(Arc::clone(&limiter), by_address(rules, peer));
    let mut service = layer.layer(Strict::default());
    for lie in ["", "1.1.1.1, ", "\u{e9}, 8.8.8.8,"] {
        let mut request = nameless();
        let forwarded = http::HeaderValue::from_bytes(format!("{lie}203.0.113.9").as_bytes());
        request
            .headers_mut()
            .insert("x-forwarded-for", forwarded.unwrap());
        request.extensions_mut().insert(IpAddr::from([10, 0, 0, 1]));
        send(&mut service, request).await;
    }
    assert_eq!(limiter.check("203.0.113.9", 0).remaining, 0);
    assert_eq!(limiter.node().cells_count(), 1);
}

#[tokio::test]
async fn entries_are_matched_by_name() {
    let limiter = contracts(
        "contracts:\n  - id: a\n    match: { plan: free }\n    key: [user]\n    policies:\n      \
         - { name: b, limit: 1, per: 1h }\n",
    );
    let free = RateLimitLayer::new(
        Arc::clone(&limiter),
        by_entries([("plan", "free"), ("user", "ada")]),
    );
    let paid = RateLimitLayer::new(limiter, |parts: &Parts| {
        let user = parts.headers.get(USER)?.to_str().ok()?.to_owned();
        Some(RequestKey::entries([
            ("plan", "paid".to_owned()),
            ("user", user),
        ]))
    });
    let mut service = free.layer(Strict::default());
    status_is(&send(&mut service, nameless()).await, StatusCode::OK);
    status_is(
        &send(&mut service, nameless()).await,
        StatusCode::TOO_MANY_REQUESTS,
    );
    let response = send(&mut paid.layer(Strict::default()), from("ada")).await;
    status_is(&response, StatusCode::OK);
    assert!(
        !response.headers().contains_key("ratelimit"),
        "no contract binds it"
    );
}

#[tokio::test]
async fn a_delayed_request_reaches_the_service_that_was_ready() {
    let limiter = fake(queue());
    let layer = RateLimitLayer::new(Arc::clone(&limiter), by_header(USER));
    let mut service = layer.layer(Strict::default());
    for turn in 0..5 {
        let response = send(&mut service, from("ada")).await;
        status_is(&response, StatusCode::OK);
        assert_eq!(
            limiter.clock().now(),
            Instant::from_nanos(turn * 100_000_000)
        );
        assert!(!response.headers().contains_key(RETRY_AFTER));
    }
    assert_eq!(limiter.waiting(), 0);
}

#[tokio::test]
async fn a_delay_that_is_too_long_is_refused_and_given_back() {
    let limiter =
        Arc::new(Limiter::with_clock([queue()], StubbornClock::new(Sleep::Forever)).unwrap());
    let delay_max = Duration::from_millis(250);
    let config = LayerConfig {
        delay_max,
        ..LayerConfig::default()
    };
    let layer = RateLimitLayer::with(Arc::clone(&limiter), by_header(USER), config);
    let mut service = layer.layer(Strict::default());
    status_is(&send(&mut service, from("ada")).await, StatusCode::OK);
    let mut first = pin!(service.ready().await.unwrap().call(from("ada")));
    let mut second = pin!(service.ready().await.unwrap().call(from("ada")));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(context).is_pending());
    assert!(second.as_mut().poll(context).is_pending());
    let before = limiter.status("ada");
    let response = send(&mut service, from("ada")).await;
    status_is(&response, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()[RETRY_AFTER], "1");
    assert_eq!(limiter.status("ada"), before);
}

#[tokio::test]
async fn a_response_dropped_during_its_delay_gives_charge_and_place_back() {
    let limiter =
        Arc::new(Limiter::with_clock([queue()], StubbornClock::new(Sleep::Forever)).unwrap());
    let config = LayerConfig {
        delayed_max: 1,
        ..LayerConfig::default()
    };
    let layer = RateLimitLayer::with(Arc::clone(&limiter), by_header(USER), config);
    let mut service = layer.layer(Strict::default());
    status_is(&send(&mut service, from("ada")).await, StatusCode::OK);
    let before = limiter.status("ada");
    for polled in [true, false] {
        let mut held = Box::pin(service.ready().await.unwrap().call(from("ada")));
        if polled {
            assert!(
                held.as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()))
                    .is_pending()
            );
        }
        assert_eq!(limiter.waiting(), 1);
        assert_ne!(limiter.status("ada"), before);
        let one_more = send(&mut service, from("ada")).await;
        status_is(&one_more, StatusCode::TOO_MANY_REQUESTS);
        drop(held);
        assert_eq!(limiter.status("ada"), before);
        assert_eq!(limiter.waiting(), 0);
    }
}

#[tokio::test]
async fn a_handler_can_settle_by_the_answer_that_its_request_carries() {
    let limiter = fake(PolicyConfig::token_bucket(100, Period::HOUR));
    let by_user = by_header(USER);
    let layer = RateLimitLayer::new(Arc::clone(&limiter), move |parts: &Parts| {
        Some(by_user(parts)?.costing(50))
    });
    let settles = Arc::clone(&limiter);
    let handler = tower::service_fn(move |request: Request<String>| {
        let answer: &Answer = request.extensions().get().unwrap();
        settles.settle(&answer.receipt, 7);
        ready(Ok::<_, Infallible>(Response::new(String::new())))
    });
    let response = layer.layer(handler).oneshot(from("ada")).await.unwrap();
    assert_eq!(response.headers()["ratelimit"], "\"policy-1\";r=50;t=1800");
    assert_eq!(limiter.check("ada", 0).remaining, 93);
}

#[tokio::test]
async fn dialects_are_a_choice() {
    let dialect = Dialect::XRateLimit {
        reset: Reset::Seconds,
    };
    let config = LayerConfig {
        dialect,
        ..LayerConfig::default()
    };
    let layer = RateLimitLayer::with(fake(two_an_hour()), by_header(USER), config);
    let response = layer
        .layer(Strict::default())
        .oneshot(from("ada"))
        .await
        .unwrap();
    assert_eq!(response.headers()["x-ratelimit-limit"], "2");
    assert_eq!(response.headers()["x-ratelimit-remaining"], "1");
    assert_eq!(response.headers()["x-ratelimit-reset"], "1800");
    assert!(!response.headers().contains_key("ratelimit"));
}

#[tokio::test]
async fn layers_around_layers_add_to_the_list() {
    let outer = RateLimitLayer::new(fake(two_an_hour()), |_: &Parts| {
        Some(RequestKey::text("all"))
    });
    let inner = RateLimitLayer::new(fake(two_an_hour()), by_header(USER));
    let service = outer.layer(inner.layer(Strict::default()));
    let response = service.oneshot(from("ada")).await.unwrap();
    assert_eq!(response.headers().get_all("ratelimit").iter().count(), 2);
}

#[cfg(feature = "remote")]
mod remote {
    use tollgate_client::{Client, ClientConfig, DecisionPath, Outcome, WhenAway};

    use super::*;

    /// A client of a node that is not there.
    fn nobody(when_away: WhenAway) -> Arc<Client> {
        let config = ClientConfig {
            timeout: Duration::from_millis(20),
            when_away,
            ..ClientConfig::new(["127.0.0.1:1"])
        };
        Arc::new(Client::connect(config).unwrap())
    }

    #[tokio::test]
    async fn where_no_node_answers_the_client_says_what_becomes_of_requests() {
        let layer = RateLimitLayer::new(nobody(WhenAway::Allow), by_entries([("user", "ada")]));
        let told = |request: Request<String>| {
            let outcome = request.extensions().get::<Outcome>().unwrap();
            assert_eq!(outcome.path, DecisionPath::Failed);
            ready(Ok::<_, Infallible>(Response::new(String::from("served"))))
        };
        let service = layer.layer(tower::service_fn(told));
        let response = service.oneshot(Request::new(String::new())).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.body(), "served");
    }

    #[tokio::test]
    async fn where_no_node_answers_and_nothing_may_pass_the_status_is_503() {
        let layer = RateLimitLayer::new(nobody(WhenAway::Deny), by_entries([("user", "ada")]));
        let service = layer.layer(Strict::default());
        let response = service.oneshot(Request::new(String::new())).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
        assert!(response.body().contains("Nobody"), "{}", response.body());
    }

    #[tokio::test]
    async fn as_many_wait_for_nodes_as_may() {
        let config = LayerConfig {
            delayed_max: 0,
            ..LayerConfig::default()
        };
        let client = nobody(WhenAway::Allow);
        let layer = RateLimitLayer::with(client, by_entries([("user", "ada")]), config);
        let service = layer.layer(Strict::default());
        let response = service.oneshot(Request::new(String::new())).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
