//! Envoy's rate limit quota service, asked by a client made of Envoy's own types, and by data planes that decide as
//! Envoy does.

mod plane;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use envoy_types::pb::envoy::service::rate_limit_quota::v3 as rlqs;
use envoy_types::pb::envoy::r#type::v3::TokenBucket;
use envoy_types::pb::envoy::r#type::v3::rate_limit_strategy::{BlanketRule, Strategy};
use envoy_types::pb::google::protobuf::Duration as Span;
use rlqs::rate_limit_quota_response::bucket_action::BucketAction as Kind;
use rlqs::rate_limit_quota_service_client::RateLimitQuotaServiceClient;
use rlqs::rate_limit_quota_usage_reports::BucketQuotaUsage;
use rlqs::{BucketId, RateLimitQuotaResponse, RateLimitQuotaUsageReports};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tollgate_parts::Wire;
use tollgate_serve::settings::{QuotaLimits, RequestLimits, Settings};
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

use crate::grpc::server::GrpcServer;
use plane::{Plane, asked, over};

pub(crate) const CONTRACTS: &str = "
contracts:
  - id: tenants
    key: [tenant]
    policies:
      - {name: shared, limit: 200, per: 1s, burst: 200, coordination: lease}
  - id: users
    key: [user]
    policies:
      - {name: alone, limit: 200, per: 1s}
  - id: both
    match: {kind: both}
    key: [job]
    policies:
      - {name: short, limit: 10, per: 1s, coordination: lease}
      - {name: long, limit: 100, per: 1m, coordination: lease}
";

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

fn server(ttl_s: u32, delivery: Duration) -> GrpcServer {
    assigning(QuotaLimits {
        ttl_s,
        delivery,
        ..QuotaLimits::default()
    })
}

fn assigning(quota: QuotaLimits) -> GrpcServer {
    let limits = RequestLimits {
        quota,
        ..RequestLimits::default()
    };
    let settings = Settings {
        limits,
        ..Settings::default()
    };
    GrpcServer::with(CONTRACTS, settings)
}

pub(crate) fn usage(
    entries: &[(&str, &str)],
    seconds: i64,
    allowed: u64,
    denied: u64,
) -> BucketQuotaUsage {
    let bucket = entries
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()));
    BucketQuotaUsage {
        bucket_id: Some(BucketId {
            bucket: bucket.collect::<HashMap<_, _>>(),
        }),
        time_elapsed: Some(Span { seconds, nanos: 0 }),
        num_requests_allowed: allowed,
        num_requests_denied: denied,
    }
}

fn reports(domain: &str, usages: Vec<BucketQuotaUsage>) -> RateLimitQuotaUsageReports {
    RateLimitQuotaUsageReports {
        domain: domain.into(),
        bucket_quota_usages: usages,
    }
}

/// The page of metrics.
fn metrics(server: &GrpcServer) -> String {
    Wire::to(server.at()).get("/metrics").body
}

pub(crate) struct QuotaStream {
    up: mpsc::Sender<RateLimitQuotaUsageReports>,
    pub(crate) down: Streaming<RateLimitQuotaResponse>,
}

impl QuotaStream {
    async fn open(server: &GrpcServer) -> Self {
        Self::over(server.channel().await).await
    }

    async fn over(channel: Channel) -> Self {
        let opened = Self::by(channel, None).await;
        opened.expect("a stream")
    }

    /// With a token, where there is one.
    pub(crate) async fn by(channel: Channel, token: Option<&str>) -> Result<Self, Status> {
        let mut client = RateLimitQuotaServiceClient::new(channel);
        let (up, reports) = mpsc::channel(16);
        let mut request = Request::new(ReceiverStream::new(reports));
        if let Some(token) = token {
            let shown = format!("Bearer {token}").parse().expect("a value");
            request.metadata_mut().insert("authorization", shown);
        }
        let down = client.stream_rate_limit_quotas(request).await?;
        let down = down.into_inner();
        Ok(Self { up, down })
    }

    pub(crate) async fn say(&self, usages: Vec<BucketQuotaUsage>) {
        self.up.send(reports("shop", usages)).await.expect("sent");
    }

    /// The next assignments with their buckets, ordered by entries.
    async fn all(&mut self) -> Result<Vec<(Vec<(String, String)>, QuotaAssignment)>, Status> {
        let message = timeout(PATIENCE, self.down.message()).await;
        let actions = message.expect("in time")?.expect("a message").bucket_action;
        let told = actions.into_iter().map(|action| {
            let bucket = action.bucket_id.expect("a bucket").bucket;
            let mut bucket: Vec<_> = bucket.into_iter().collect();
            bucket.sort_unstable();
            (bucket, said(action.bucket_action.expect("an action")))
        });
        let mut told: Vec<_> = told.collect();
        told.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(told)
    }

    /// The next assignment of the only bucket.
    pub(crate) async fn hear(&mut self) -> Result<QuotaAssignment, Status> {
        let [(_, said)] = <[_; 1]>::try_from(self.all().await?).expect("one action");
        Ok(said)
    }
}

fn said(action: Kind) -> QuotaAssignment {
    let Kind::QuotaAssignmentAction(assigned) = action else {
        return QuotaAssignment::Abandon;
    };
    let ttl = assigned.assignment_time_to_live.expect("a time to live");
    assert_eq!(ttl.nanos, 0, "Envoy reads whole seconds");
    let ttl = Duration::from_secs(ttl.seconds.try_into().expect("not negative"));
    let strategy = assigned.rate_limit_strategy.expect("a strategy");
    match strategy.strategy.expect("a strategy") {
        Strategy::TokenBucket(bucket) => QuotaAssignment::Bucket(bucket, ttl),
        Strategy::BlanketRule(rule) if rule == i32::from(BlanketRule::AllowAll) => {
            QuotaAssignment::AllowAll
        }
        Strategy::BlanketRule(_) => QuotaAssignment::DenyAll,
        Strategy::RequestsPerTimeUnit(_) => panic!("Envoy does not know it"),
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum QuotaAssignment {
    Bucket(TokenBucket, Duration),
    AllowAll,
    DenyAll,
    Abandon,
}

#[tokio::test]
async fn data_planes_share_one_bucket_and_never_admit_a_token_too_many() {
    let server = server(3, Duration::from_secs(2));
    let mut planes = [
        Plane::subscribe(&server).await,
        Plane::subscribe(&server).await,
    ];
    let (mut admitted, mut late, mut direct) = (Vec::new(), Duration::ZERO, 0);
    let began = Instant::now();
    let mut reported = began;
    while began.elapsed() < Duration::from_secs(10) {
        for plane in &mut planes {
            plane.listen().await;
            for _ in 0..5 {
                let now = Instant::now();
                if plane.check(now) {
                    admitted.push(now);
                }
            }
        }
        let (passes, took) = asked(&server).await;
        late = late.max(took);
        if passes {
            direct += 1;
            admitted.push(Instant::now());
        }
        if reported.elapsed() > Duration::from_millis(200) {
            reported = Instant::now();
            for plane in &mut planes {
                let (allowed, denied) = std::mem::take(&mut plane.counts);
                plane
                    .link
                    .say(vec![usage(&[("tenant", "a")], 0, allowed, denied)])
                    .await;
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let rates = (planes[0].largest, planes[1].largest);
    let all = admitted.len();
    println!("{all} admitted, {direct} of them by the server, rates {rates:?}, late {late:?}");
    assert_eq!(over(admitted, late), 0);
    assert!(all > 100 && direct > 10, "{all}, {direct}");
    // They began with a token or two, and grew with what they asked for.
    assert!(planes.iter().any(|plane| plane.largest > 20));
    let body = metrics(&server);
    for line in [
        "tollgate_quota_streams 2",
        "tollgate_quota_planes 2",
        "tollgate_quota_keys 1",
    ] {
        assert!(body.contains(line), "{line}: {body}");
    }
    server.stop();
}

#[tokio::test]
async fn what_nobody_uses_is_abandoned() {
    let server = server(1, Duration::from_millis(200));
    let mut link = QuotaStream::open(&server).await;
    link.say(vec![usage(&[("tenant", "a")], 0, 0, 1)]).await;
    let mut has_bucket = false;
    loop {
        match link.hear().await.expect("open") {
            QuotaAssignment::DenyAll => assert!(!has_bucket, "nothing took it away"),
            QuotaAssignment::Bucket(bucket, ttl) => {
                assert!(bucket.max_tokens >= 1);
                assert_eq!(ttl, Duration::from_secs(1));
                has_bucket = true;
            }
            QuotaAssignment::Abandon => break,
            QuotaAssignment::AllowAll => panic!("it is limited"),
        }
    }
    assert!(
        has_bucket,
        "once nothing of before can be in use it is assigned something"
    );
    // The next request subscribes again.
    link.say(vec![usage(&[("tenant", "a")], 0, 0, 1)]).await;
    assert!(matches!(
        link.hear().await.expect("open"),
        QuotaAssignment::Bucket(..) | QuotaAssignment::DenyAll
    ));
}

#[tokio::test]
async fn nothing_is_assigned_unless_it_is_switched_on() {
    let server = GrpcServer::start(CONTRACTS);
    let mut client = RateLimitQuotaServiceClient::new(server.channel().await);
    let (_up, reports) = mpsc::channel(1);
    let refused = client.stream_rate_limit_quotas(ReceiverStream::new(reports));
    let refused = refused.await.expect_err("refused");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("quota_ttl"));
}

#[tokio::test]
async fn a_bucket_that_cannot_be_served_costs_no_other_bucket_anything() {
    let long = "x".repeat(5_000);
    for (allows_unserved, answer) in [
        (false, QuotaAssignment::DenyAll),
        (true, QuotaAssignment::AllowAll),
    ] {
        let (ttl_s, delivery) = (10, Duration::from_secs(5));
        let server = assigning(QuotaLimits {
            ttl_s,
            delivery,
            allows_unserved,
        });
        let mut link = QuotaStream::open(&server).await;
        let unserved: [(&[(&str, &str)], i64); 5] = [
            (&[], 1),
            (&[("job", "1"), ("kind", "both")], 1),
            (&[("planet", &long)], 1),
            (&[("planet", "late")], -1),
            (&[("user", "1")], 1),
        ];
        for _ in 0..2 {
            let mut usages = vec![usage(&[("planet", "x")], 1, 1, 0)];
            for (entries, seconds) in unserved {
                usages.push(usage(entries, seconds, 1, 0));
            }
            link.say(usages).await;
            let told = link.all().await.expect("open");
            assert_eq!(told.len(), 6, "{told:?}");
            for (bucket, said) in told {
                let is_free = bucket == [("planet".to_owned(), "x".to_owned())];
                let wanted = if is_free {
                    &QuotaAssignment::AllowAll
                } else {
                    &answer
                };
                assert_eq!(said, *wanted, "{bucket:?}");
            }
        }
        let body = metrics(&server);
        assert!(body.contains("tollgate_quota_unserved_total 10"), "{body}");
    }
}

#[tokio::test]
async fn buckets_beyond_those_of_a_stream_are_refused_by_themselves() {
    let server = server(600, Duration::from_secs(5));
    let mut link = QuotaStream::open(&server).await;
    let tenant = |nth: u32| usage(&[("tenant", &nth.to_string())], 0, 0, 1);
    link.say((0..5_000).map(tenant).collect()).await;
    link.say((5_000..=10_000).map(tenant).collect()).await;
    let last = vec![("tenant".to_owned(), "10000".to_owned())];
    assert_eq!(
        link.all().await.expect("open"),
        [(last, QuotaAssignment::DenyAll)]
    );
    link.say(vec![usage(&[("planet", "x")], 1, 1, 0)]).await;
    assert_eq!(link.hear().await.expect("open"), QuotaAssignment::AllowAll);
}

#[tokio::test]
async fn messages_that_make_no_sense_end_the_stream() {
    let server = server(10, Duration::from_secs(5));
    let good = || usage(&[("planet", "x")], 1, 1, 0);
    for (is_second, domain) in [(false, ""), (true, "b")] {
        let mut link = QuotaStream::open(&server).await;
        if is_second {
            link.say(vec![good()]).await;
            assert_eq!(link.hear().await.expect("open"), QuotaAssignment::AllowAll);
        }
        let wrong = reports(domain, vec![good()]);
        link.up.send(wrong).await.expect("sent");
        let refused = link.hear().await.expect_err("refused");
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    }
    // A domain that is named again, as Envoy does, is fine; and so is a report of nothing.
    let mut link = QuotaStream::open(&server).await;
    for _ in 0..2 {
        for usages in [vec![], vec![good()]] {
            link.up.send(reports("a", usages)).await.expect("sent");
        }
        assert_eq!(link.hear().await.expect("open"), QuotaAssignment::AllowAll);
    }
}

#[tokio::test]
async fn a_stream_ends_when_the_server_stops() {
    let server = server(10, Duration::from_secs(5));
    let mut link = QuotaStream::open(&server).await;
    link.say(vec![usage(&[("planet", "x")], 0, 0, 1)]).await;
    assert_eq!(link.hear().await.expect("open"), QuotaAssignment::AllowAll);
    let stopping = tokio::task::spawn_blocking(move || server.stop());
    let ended = loop {
        match timeout(PATIENCE, link.down.message())
            .await
            .expect("in time")
        {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it says why"),
            Err(status) => break status,
        }
    };
    assert_eq!(ended.code(), Code::Unavailable);
    stopping.await.expect("stopped");
}

/// A connection to the server that goes silent on demand, without closing.
async fn through(server: &GrpcServer) -> (Channel, oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (at, to) = (listener.local_addr().expect("an address"), server.at());
    let (stall, stalled) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let (mut near, _) = listener.accept().await.expect("a connection");
        let mut far = tokio::net::TcpStream::connect(to).await.expect("a server");
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
            _ = stalled => std::future::pending::<()>().await,
        }
    });
    let endpoint = Endpoint::from_shared(format!("http://{at}")).expect("an endpoint");
    (endpoint.connect().await.expect("a connection"), stall)
}

#[tokio::test]
async fn a_stream_on_which_nothing_arrives_is_closed() {
    let server = server(10, Duration::from_secs(2));
    let (channel, stall) = through(&server).await;
    let mut link = QuotaStream::over(channel).await;
    let entries = [("tenant", "a"), ("planet", "x")];
    let usages = entries.map(|entry| usage(&[entry], 0, 0, 1));
    link.say(usages.into()).await;
    assert_eq!(link.hear().await.expect("open"), QuotaAssignment::AllowAll);
    assert!(metrics(&server).contains("tollgate_quota_streams 1"));
    stall.send(()).expect("told");
    let began = Instant::now();
    while !metrics(&server).contains("tollgate_quota_streams 0") {
        assert!(began.elapsed() < PATIENCE, "nobody noticed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
