//! Contracts from a management server made of Envoy's own types: what is asked, what is accepted, what is refused and
//! why.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::discovery::v3::aggregated_discovery_service_server::{
    AggregatedDiscoveryService, AggregatedDiscoveryServiceServer,
};
use envoy_types::pb::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use envoy_types::pb::google::protobuf::Any;
use envoy_types::pb::ratelimit::config::ratelimit::v3 as rules;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;
use tollgate_parts::{HttpReply, Papers, Wire};
use tollgate_serve::settings::{ClientTls, RlsSettings};
use tonic::codegen::tokio_stream::Stream;
use tonic::codegen::tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

use crate::grpc::server::GrpcServer;
use crate::proxy::envoy::{BY_USER, PATIENT, envoy, status};

const KIND: &str = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";
/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

type Down = mpsc::Sender<Result<DiscoveryResponse, Status>>;

/// A management server that is scripted by the test.
#[derive(Clone)]
struct Control {
    /// All requests, with their streams.
    asked: mpsc::Sender<(DiscoveryRequest, Down)>,
}

#[tonic::async_trait]
impl AggregatedDiscoveryService for Control {
    type StreamAggregatedResourcesStream = ReceiverStream<Result<DiscoveryResponse, Status>>;
    type DeltaAggregatedResourcesStream =
        Pin<Box<dyn Stream<Item = Result<DeltaDiscoveryResponse, Status>> + Send>>;

    async fn stream_aggregated_resources(
        &self,
        request: Request<Streaming<DiscoveryRequest>>,
    ) -> Result<Response<Self::StreamAggregatedResourcesStream>, Status> {
        let (down, responses) = mpsc::channel(4);
        let (asked, mut requests) = (self.asked.clone(), request.into_inner());
        tokio::spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                if asked.send((request, down.clone())).await.is_err() {
                    break;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(responses)))
    }

    async fn delta_aggregated_resources(
        &self,
        _request: Request<Streaming<DeltaDiscoveryRequest>>,
    ) -> Result<Response<Self::DeltaAggregatedResourcesStream>, Status> {
        Err(Status::unimplemented("nobody asks"))
    }
}

/// The test's side of it.
struct Desk {
    at: SocketAddr,
    asked: Arc<Mutex<mpsc::Receiver<(DiscoveryRequest, Down)>>>,
}

impl Desk {
    async fn open() -> Self {
        Self::open_by(tonic::transport::Server::builder()).await
    }

    /// The same over TLS with client certificates.
    async fn secured(papers: &Papers) -> Self {
        let read = |path: PathBuf| std::fs::read(path).expect("a file");
        let (certificate, key) = papers.server();
        let tls = ServerTlsConfig::new()
            .identity(Identity::from_pem(read(certificate), read(key)))
            .client_ca_root(Certificate::from_pem(read(papers.ca())));
        let builder = tonic::transport::Server::builder();
        Self::open_by(builder.tls_config(tls).expect("certificates")).await
    }

    async fn open_by(mut builder: tonic::transport::Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        let (asked, receiver) = mpsc::channel(16);
        let service = AggregatedDiscoveryServiceServer::new(Control { asked });
        let serve = builder
            .add_service(service)
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(serve);
        Self {
            at,
            asked: Arc::new(Mutex::new(receiver)),
        }
    }

    /// The next request.
    async fn next(&self) -> (DiscoveryRequest, Down) {
        let mut asked = self.asked.lock().await;
        let next = timeout(PATIENCE, asked.recv()).await.expect("in time");
        next.expect("a request")
    }
}

fn config(name: &str, domain: &str, per_hour: &[u32]) -> Any {
    let descriptor = |limit: &u32| rules::RateLimitDescriptor {
        key: "user".into(),
        rate_limit: Some(rules::RateLimitPolicy {
            unit: rules::RateLimitUnit::Hour.into(),
            requests_per_unit: *limit,
            ..rules::RateLimitPolicy::default()
        }),
        ..rules::RateLimitDescriptor::default()
    };
    let config = rules::RateLimitConfig {
        name: name.into(),
        domain: domain.into(),
        descriptors: per_hour.iter().map(descriptor).collect(),
    };
    Any {
        type_url: KIND.into(),
        value: config.encode_to_vec(),
    }
}

/// Sends these as the complete set of resources.
async fn say(down: &Down, version: &str, resources: Vec<Any>) {
    let response = DiscoveryResponse {
        version_info: version.into(),
        resources,
        type_url: KIND.into(),
        nonce: format!("nonce of {version}"),
        ..DiscoveryResponse::default()
    };
    down.send(Ok(response)).await.expect("sent");
}

/// Waits until a version is in force.
async fn accepted(desk: &Desk, version: &str) {
    let (ack, _) = desk.next().await;
    let nonce = format!("nonce of {version}");
    assert_eq!(
        (&*ack.version_info, &*ack.response_nonce),
        (version, &*nonce)
    );
    assert_eq!(ack.error_detail, None);
}

/// Waits for the first message of a stream, which has the version in force.
async fn greeted(desk: &Desk, version: &str) -> Down {
    let (hello, down) = desk.next().await;
    assert_eq!(hello.node.expect("a node").id, "node-7");
    assert_eq!((&*hello.type_url, &*hello.version_info), (KIND, version));
    assert!(hello.resource_names.is_empty() && hello.response_nonce.is_empty());
    down
}

/// How many requests of a user pass before one is refused, at most ten.
async fn admitted(server: &GrpcServer, user: &str) -> usize {
    let mut client = RateLimitServiceClient::new(server.channel().await);
    for count in 0..10 {
        let request = RateLimitRequest {
            domain: "shop".into(),
            descriptors: vec![RateLimitDescriptor {
                entries: vec![Entry {
                    key: "user".into(),
                    value: user.into(),
                }],
                ..RateLimitDescriptor::default()
            }],
            hits_addend: 1,
        };
        let answer = client.should_rate_limit(request).await.expect("an answer");
        if answer.get_ref().overall_code == i32::from(Code::OverLimit) {
            return count;
        }
    }
    10
}

fn page(server: &GrpcServer, path: &str) -> HttpReply {
    Wire::to(server.at()).get(path)
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_come_from_a_management_server_and_the_last_good_ones_stay() {
    let desk = Desk::open().await;
    let server = GrpcServer::following(&format!("xds://{}?node=node-7", desk.at));
    let down = greeted(&desk, "").await;
    let not_ready = page(&server, "/readyz");
    assert!(not_ready.status == 503 && not_ready.body.contains("management server"));

    // Good ones are in force when they are accepted.
    say(&down, "1", vec![config("r", "shop", &[2])]).await;
    accepted(&desk, "1").await;
    assert_eq!(admitted(&server, "a").await, 2);
    assert_eq!(page(&server, "/readyz").status, 200);

    // Bad ones are refused, with what is wrong.
    say(&down, "2", vec![config("twice", "shop", &[3, 4])]).await;
    let (nack, _) = desk.next().await;
    let named = (&*nack.version_info, &*nack.response_nonce);
    assert_eq!(named, ("1", "nonce of 2"));
    let why = nack.error_detail.expect("a reason");
    assert!(why.code == 3 && why.message.contains("resource `twice`"));
    assert_eq!(admitted(&server, "b").await, 2);
    assert!(page(&server, "/readyz").body.contains("reload failed"));

    // Reading everything again takes nothing away.
    server.reload();
    assert_eq!(admitted(&server, "c").await, 2);

    // A response of another type is ignored; the next good one is accepted.
    let other = DiscoveryResponse {
        type_url: "type.googleapis.com/envoy.config.cluster.v3.Cluster".into(),
        ..DiscoveryResponse::default()
    };
    down.send(Ok(other)).await.expect("sent");
    let both = vec![config("r", "shop", &[5]), config("s", "other", &[1])];
    say(&down, "3", both).await;
    accepted(&desk, "3").await;
    assert_eq!(admitted(&server, "d").await, 5);

    // A stream that ends is opened again, and the version in force is told.
    let moved = Err(Status::unavailable("moved"));
    down.send(moved).await.expect("sent");
    let down = greeted(&desk, "3").await;
    assert_eq!(admitted(&server, "e").await, 5);
    // Nothing per hour is a limit, no resource at all is none.
    say(&down, "4", vec![config("r", "shop", &[0])]).await;
    accepted(&desk, "4").await;
    assert_eq!(admitted(&server, "f").await, 0);
    say(&down, "5", vec![]).await;
    accepted(&desk, "5").await;
    assert_eq!(admitted(&server, "f").await, 10);
    let metrics = page(&server, "/metrics").body;
    for line in [
        "tollgate_xds_connected 1",
        "tollgate_xds_connects_total 2",
        "tollgate_xds_accepted_total 4",
        "tollgate_xds_refused_total 1",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_management_server_that_is_not_there_is_told_and_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr().expect("an address");
    drop(listener);
    let server = GrpcServer::following(&format!("xds://{at}"));
    assert_eq!(page(&server, "/readyz").status, 503);
    let began = Instant::now();
    while !page(&server, "/metrics")
        .body
        .contains("tollgate_xds_connected 0")
    {
        assert!(began.elapsed() < PATIENCE);
    }
    // Stopping does not wait for it.
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_management_server_is_followed_over_tls_by_those_who_believe_each_other() {
    let (papers, others) = (Papers::new(), Papers::new());
    let desk = Desk::secured(&papers).await;
    let place = format!("xdss://localhost:{}?node=node-7", desk.at.port());
    let rls = |authority: &Papers, certificate| RlsSettings {
        xds: Some(ClientTls {
            authority: authority.ca(),
            certificate,
        }),
        ..RlsSettings::default()
    };
    // A server is not followed if TLS fails on either side, and the reason is reported.
    for (stranger, why) in [
        (rls(&others, Some(papers.client())), "BadSignature"),
        (
            rls(&papers, None),
            "the management server is not followed: ",
        ),
    ] {
        let server = GrpcServer::following_by(&place, stranger);
        let began = Instant::now();
        while !page(&server, "/readyz").body.contains(why) {
            assert!(began.elapsed() < PATIENCE, "{:?}", page(&server, "/readyz"));
        }
        server.stop();
    }
    let server = GrpcServer::following_by(&place, rls(&papers, Some(papers.client())));
    let down = greeted(&desk, "").await;
    say(&down, "1", vec![config("r", "shop", &[2])]).await;
    accepted(&desk, "1").await;
    assert_eq!(admitted(&server, "a").await, 2);
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_envoy_refuses_by_rules_from_a_management_server() {
    let desk = Desk::open().await;
    let server = GrpcServer::following(&format!("xds://{}?node=node-7", desk.at));
    let down = greeted(&desk, "").await;
    let envoy = envoy("ratelimit.yaml", server.at(), &[PATIENT, BY_USER]);
    for (version, limit) in [("1", 2), ("2", 3)] {
        say(&down, version, vec![config("r", "web", &[limit])]).await;
        accepted(&desk, version).await;
        let user = format!("user {version}");
        for count in 0..4 {
            let wanted = if count < limit { 200 } else { 429 };
            let status = status(envoy.address, b"a.test", user.as_bytes());
            assert_eq!(status, wanted, "{user}: {count}");
        }
    }
}
