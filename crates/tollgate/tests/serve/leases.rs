//! Tasks and services that decide by leases of a running server.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use tollgate_client::{
    BackoffConfig, Client, ClientConfig, DecisionPath, GiveUp, Outcome, RateLimitLayer, by_entries,
};
use tower::{Layer, Service, ServiceExt};

use crate::kit::{PATIENCE, Server, file};

/// A rate that is lent, and a count that has to be asked for.
const CONTRACTS: &str = "contracts:
  - id: rates
    match: { kind: rate }
    key: [user]
    coordination: lease
    policies: [{ name: rate, limit: 2000, per: 1s, burst: 1000 }]
  - id: counts
    match: { kind: count }
    key: [user]
    coordination: lease
    policies: [{ name: count, limit: 3, per: 1d, algorithm: sliding-log }]
";

const PATIENT: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(1),
    cap: Duration::from_millis(50),
    tries_max: u32::MAX,
    time_max: PATIENCE,
};

fn pair() -> (tempfile::TempDir, Server, Arc<Client>) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "contracts.yaml", CONTRACTS);
    let server = Server::start(folder.path(), &["--contracts", path.to_str().unwrap()]);
    let config = ClientConfig {
        timeout: PATIENCE,
        ..ClientConfig::new([server.resp.to_string()])
    };
    let client = Arc::new(Client::connect(config).unwrap());
    (folder, server, client)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(future)
}

#[test]
fn tasks_wait_for_their_turn_at_a_server() {
    let (_folder, _server, client) = pair();
    block_on(async {
        let ada = &[("kind", "rate"), ("user", "ada")];
        let mut lent = 0;
        for _ in 0..500 {
            let outcome = client.until_ready(ada, 1, PATIENT).await.unwrap();
            lent += u32::from(outcome.path == DecisionPath::Lease);
        }
        assert!(lent > 0, "{:?}", client.counts());

        let few = &[("kind", "count"), ("user", "ada")];
        for _ in 0..3 {
            let outcome = client.check_in_task(few, 1).await;
            assert!(outcome.is_allowed, "{outcome:?}");
        }
        let refused = client.until_ready(few, 1, PATIENT).await;
        let Err(GiveUp::Time { retry_after }) = refused else {
            panic!("{refused:?}");
        };
        assert!(retry_after > PATIENCE, "a day, less what has passed");
    });
}

#[test]
fn a_layer_lets_pass_what_a_server_does() {
    let (_folder, _server, client) = pair();
    let layer = RateLimitLayer::new(client, by_entries([("kind", "count"), ("user", "bob")]));
    let told = |request: Request<String>| {
        let is_told = request.extensions().get::<Outcome>().is_some();
        ready(Ok::<_, Infallible>(Response::new(is_told.to_string())))
    };
    let mut service = layer.layer(tower::service_fn(told));
    block_on(async {
        let mut statuses = Vec::new();
        for _ in 0..5 {
            let request = Request::new(String::new());
            let response: Response<String> =
                service.ready().await.unwrap().call(request).await.unwrap();
            match response.status() {
                StatusCode::OK => assert_eq!(response.body(), "true"),
                _ => assert!(response.headers().contains_key("retry-after")),
            }
            statuses.push(response.status().as_u16());
        }
        assert_eq!(statuses, [200, 200, 200, 429, 429]);
    });
}
