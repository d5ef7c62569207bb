//! Quotas of three real servers: data planes at nodes that do not own their key never admit a token too many, also when
//! the owner dies.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use envoy_types::pb::envoy::service::rate_limit_quota::v3 as rlqs;
use envoy_types::pb::envoy::r#type::v3::TokenBucket;
use envoy_types::pb::envoy::r#type::v3::rate_limit_strategy::Strategy;
use envoy_types::pb::google::protobuf::Duration as Span;
use http::uri::PathAndQuery;
use rlqs::rate_limit_quota_response::bucket_action::BucketAction as Kind;
use rlqs::rate_limit_quota_service_client::RateLimitQuotaServiceClient;
use rlqs::rate_limit_quota_usage_reports::BucketQuotaUsage;
use rlqs::{BucketId, RateLimitQuotaResponse, RateLimitQuotaUsageReports};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tollgate_node::Key;
use tollgate_serve::cluster::keys::KeyRing;
use tollgate_serve::engine::{Elsewhere, Scope};
use tollgate_serve::owner::OwnerSettings;
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{
    ClusterSettings, ContractSource, Join, Listener, QuotaLimits, RequestLimits, Runtime, Settings,
};
use tollgate_wire::native::{CheckRequest, CheckResponse, Entry};
use tonic::Streaming;
use tonic::client::Grpc;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

/// Nothing here takes as long unless it hangs.
const DEADLINE: Duration = Duration::from_secs(90);
const CONTRACTS: &str = "contracts:
  - {id: tenants, key: [tenant], policies: [{name: shared, limit: 200, per: 1s, burst: 200, coordination: lease}]}
";
const QUOTA: QuotaLimits = QuotaLimits {
    ttl_s: 5,
    delivery: Duration::from_secs(3),
    allows_unserved: false,
};
/// A time to live, the delivery time, and a second to the node that has the stream.
const HOLD: Duration = Duration::from_secs(9);

fn server(key_file: &Path, join: Option<SocketAddr>) -> Running {
    let join = join.map(|at| Join {
        host: at.ip().to_string(),
        port: at.port(),
    });
    let cluster = ClusterSettings {
        listen: "127.0.0.1:0".parse().unwrap(),
        key_file: Some(key_file.to_owned()),
        join: join.into_iter().collect(),
        owner: OwnerSettings {
            // A busy machine makes no difference.
            deadline: Duration::from_millis(500),
        },
        ..ClusterSettings::default()
    };
    let settings = Settings {
        http: vec![Listener::loopback()],
        contracts: ContractSource::Text(CONTRACTS.to_owned()),
        runtime: Runtime {
            threads: Some(1),
            ..Runtime::default()
        },
        limits: RequestLimits {
            quota: QUOTA,
            ..RequestLimits::default()
        },
        cluster: Some(cluster),
        ..Settings::default()
    };
    start(settings).unwrap()
}

fn trio(key_file: &Path) -> Vec<Running> {
    KeyRing::fresh().unwrap().create(key_file).unwrap();
    let first = server(key_file, None);
    let at = first.cluster();
    let servers = vec![first, server(key_file, at), server(key_file, at)];
    let begun = Instant::now();
    let sees_all = |server: &Running| {
        let members = server.shared().cluster.get().unwrap().members();
        members.alive.len() == 3 && members.me.is_some() && owner(&servers) < 3
    };
    while !servers.iter().all(sees_all) {
        assert!(begun.elapsed() < DEADLINE, "never three members");
        std::thread::sleep(Duration::from_millis(10));
    }
    servers
}

/// The only server that considers itself the owner of the key; the length if there is none.
fn owner(servers: &[Running]) -> usize {
    let owns = |server: &Running| {
        let node = server.shared().engine.node();
        let spots = node.within(Scope::Domain("shop")).unwrap();
        let spots = spots.spots(Key::Entries(&[("tenant", "a")]));
        server.shared().owner.get().unwrap().is_here(&node, &spots)
    };
    let each: Vec<bool> = servers.iter().map(owns).collect();
    let one = each.iter().filter(|owns| **owns).count() == 1;
    let place = each.iter().position(|owns| *owns && one);
    place.unwrap_or(servers.len())
}

async fn channel(server: &Running) -> Channel {
    let at = server.http().unwrap();
    let endpoint = Endpoint::from_shared(format!("http://{at}")).unwrap();
    endpoint.connect().await.unwrap()
}

/// A data plane with one bucket, as Envoy's.
struct Plane {
    channel: Channel,
    up: mpsc::Sender<RateLimitQuotaUsageReports>,
    down: Streaming<RateLimitQuotaResponse>,
    used: Option<(TokenBucket, f64, Instant, Instant)>,
    counts: (u64, u64),
    /// When it was assigned buckets.
    assigned: Vec<Instant>,
}

impl Plane {
    async fn subscribe(channel: Channel) -> Self {
        let (up, down) = Self::stream(&channel).await;
        Self {
            channel,
            up,
            down,
            used: None,
            counts: (0, 1),
            assigned: Vec::new(),
        }
    }

    async fn stream(
        channel: &Channel,
    ) -> (
        mpsc::Sender<RateLimitQuotaUsageReports>,
        Streaming<RateLimitQuotaResponse>,
    ) {
        let mut client = RateLimitQuotaServiceClient::new(channel.clone());
        let (up, reports) = mpsc::channel(16);
        let down = client.stream_rate_limit_quotas(ReceiverStream::new(reports));
        (up, down.await.unwrap().into_inner())
    }

    async fn report(&mut self) {
        let (allowed, denied) = std::mem::take(&mut self.counts);
        let bucket = HashMap::from([("tenant".to_owned(), "a".to_owned())]);
        let usage = BucketQuotaUsage {
            bucket_id: Some(BucketId { bucket }),
            time_elapsed: Some(Span::default()),
            num_requests_allowed: allowed,
            num_requests_denied: denied,
        };
        let reports = RateLimitQuotaUsageReports {
            domain: "shop".into(),
            bucket_quota_usages: vec![usage],
        };
        // A stream that has ended is reopened when that is noticed.
        let _ = self.up.send(reports).await;
    }

    /// Receives pending messages without waiting.
    async fn listen(&mut self) {
        while let Ok(message) = timeout(Duration::from_millis(1), self.down.message()).await {
            let Ok(Some(message)) = message else {
                (self.up, self.down) = Self::stream(&self.channel).await;
                continue;
            };
            for action in message.bucket_action {
                self.take(action.bucket_action.unwrap(), Instant::now());
            }
        }
    }

    fn take(&mut self, action: Kind, now: Instant) {
        let Kind::QuotaAssignmentAction(assigned) = action else {
            panic!("nothing is abandoned here")
        };
        let ttl = assigned.assignment_time_to_live.unwrap().seconds;
        let ttl = Duration::from_secs(ttl.try_into().unwrap());
        let Some(Strategy::TokenBucket(bucket)) = assigned.rate_limit_strategy.unwrap().strategy
        else {
            self.used = None;
            return;
        };
        self.used = self.used.filter(|(.., until)| now < *until);
        let same = self.used.filter(|(used, ..)| *used == bucket);
        let level = same.map_or(f64::from(bucket.max_tokens), |(_, level, ..)| level);
        let at = same.map_or(now, |(_, _, at, _)| at);
        self.used = Some((bucket, level, at, now + ttl));
        self.assigned.push(now);
    }

    fn check(&mut self, now: Instant) -> bool {
        self.used = self.used.filter(|(.., until)| now < *until);
        if let Some((bucket, level, at, _)) = &mut self.used {
            let interval = bucket.fill_interval.unwrap().seconds;
            let interval = f64::from(i32::try_from(interval).unwrap());
            let fill = f64::from(bucket.tokens_per_fill.unwrap().value);
            let gained = now.duration_since(*at).as_secs_f64() * fill / interval;
            *level = (*level + gained).min(f64::from(bucket.max_tokens));
            *at = now;
            if *level >= 1.0 {
                *level -= 1.0;
                self.counts.0 += 1;
                return true;
            }
        }
        self.counts.1 += 1;
        false
    }
}

/// Everything that is admitted, by data planes and by nodes that are asked.
struct World {
    planes: Vec<Plane>,
    asks: Channel,
    admitted: Vec<Instant>,
    by_nodes: usize,
    late: Duration,
    reported: Instant,
}

impl World {
    /// A little time, with more load than the limit.
    async fn step(&mut self) {
        for plane in &mut self.planes {
            plane.listen().await;
            for _ in 0..5 {
                let now = Instant::now();
                if plane.check(now) {
                    self.admitted.push(now);
                }
            }
        }
        let began = Instant::now();
        if self.asked().await {
            self.by_nodes += 1;
            self.admitted.push(Instant::now());
            self.late = self.late.max(began.elapsed());
        }
        if self.reported.elapsed() > Duration::from_millis(200) {
            self.reported = Instant::now();
            for plane in &mut self.planes {
                plane.report().await;
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    /// Whether a request that asks a node passes.
    async fn asked(&self) -> bool {
        let request = CheckRequest {
            entries: vec![Entry {
                key: "tenant".into(),
                value: "a".into(),
            }],
            ..CheckRequest::default()
        };
        let mut grpc = Grpc::new(self.asks.clone());
        grpc.ready().await.unwrap();
        let path = PathAndQuery::from_static("/tollgate.v1.Tollgate/Check");
        let codec = ProstCodec::<CheckRequest, CheckResponse>::default();
        let answer = grpc.unary(tonic::Request::new(request), path, codec).await;
        answer.unwrap().into_inner().allowed
    }

    /// Goes on until every data plane was assigned a bucket so often after that instant.
    async fn run(&mut self, count: usize, after: Instant) {
        let begun = Instant::now();
        let is_done = |plane: &Plane| {
            let since = plane.assigned.iter().filter(|at| **at > after);
            since.count() >= count
        };
        while !self.planes.iter().all(is_done) {
            assert!(begun.elapsed() < DEADLINE, "nobody assigns anything");
            self.step().await;
        }
    }

    /// How many of these admissions one bucket would have refused. What a node admitted is known up to `late` after it
    /// did, for which a full bucket may have lost as much.
    fn over(&mut self) -> usize {
        self.admitted.sort_unstable();
        let depth = 200.0 + 200.0 * self.late.as_secs_f64();
        let (mut level, mut before) = (depth, self.admitted.first().copied());
        let mut over = 0;
        for at in self.admitted.iter().copied() {
            let since = before.map_or(Duration::ZERO, |before| at - before);
            level = f64::min(level + since.as_secs_f64() * 200.0, depth) - 1.0;
            before = Some(at);
            // Nothing but the rounding of floats.
            over += usize::from(level < -1e-6);
        }
        over
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_planes_at_other_nodes_share_the_bucket_of_the_owner_and_of_its_successor() {
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("cluster.key");
    let begun = Instant::now();
    let mut servers = tokio::task::spawn_blocking(move || trio(&key_file))
        .await
        .unwrap();
    let lends = servers.remove(owner(&servers));
    let mut planes = Vec::new();
    for server in &servers {
        planes.push(Plane::subscribe(channel(server).await).await);
    }
    let mut world = World {
        planes,
        asks: channel(&servers[0]).await,
        admitted: Vec::new(),
        by_nodes: 0,
        late: Duration::ZERO,
        reported: begun,
    };
    world.run(8, begun).await;
    let stand = |server: &Running| server.shared().engine.node().quota_stand();
    assert_eq!(stand(&lends).planes, 2, "the owner has them all");
    assert!(servers.iter().all(|server| stand(server).planes == 0));
    let before = world.admitted.len();
    // It dies without a goodbye. What it assigned may be in use for as long as it lives.
    tokio::task::spawn_blocking(move || drop(lends))
        .await
        .unwrap();
    let died = Instant::now();
    world.run(8, died + Duration::from_secs(1)).await;
    let all = world.admitted.len();
    let first = world.planes.iter().flat_map(|plane| &plane.assigned);
    let first = first.filter(|at| **at > died + Duration::from_secs(1));
    let silence = *first.min().unwrap() - died;
    let (by_nodes, late) = (world.by_nodes, world.late);
    println!(
        "{before} admitted, then {}; {by_nodes} by nodes; silent for {silence:?}, late {late:?}",
        all - before
    );
    assert_eq!(world.over(), 0);
    assert!(before > 200 && all - before > 200, "{before}, {all}");
    assert!(silence > HOLD, "{silence:?}");
    let planes: u64 = servers.iter().map(|server| stand(server).planes).sum();
    assert_eq!(planes, 2, "the successor has them all");
}
