//! A data plane that decides by its quotas as Envoy does, and how many of its admissions one bucket would have refused.

use std::time::{Duration, Instant};

use envoy_types::pb::envoy::r#type::v3::TokenBucket;
use tokio::time::timeout;
use tollgate_wire::native::{CheckRequest, CheckResponse, Entry};

use super::{QuotaAssignment, QuotaStream, said, usage};
use crate::grpc::server::GrpcServer;

/// How many of these admissions the bucket that was cut into quotas would have refused. What the server admitted itself
/// is known up to `late` after it did, for which a full bucket may have lost as much.
pub(super) fn over(mut admitted: Vec<Instant>, late: Duration) -> usize {
    admitted.sort_unstable();
    let depth = 200.0 + 200.0 * late.as_secs_f64();
    let (mut level, mut before) = (depth, admitted.first().copied());
    let mut over = 0;
    for at in admitted {
        let gained = before.map_or(0.0, |before| {
            at.duration_since(before).as_secs_f64() * 200.0
        });
        level = f64::min(level + gained, depth) - 1.0;
        before = Some(at);
        // Nothing but the rounding of floats.
        over += usize::from(level < -1e-6);
    }
    over
}

/// Whether a request to the server passes, and how long that took.
pub(super) async fn asked(server: &GrpcServer) -> (bool, Duration) {
    let began = Instant::now();
    let request = CheckRequest {
        entries: vec![Entry {
            key: "tenant".into(),
            value: "a".into(),
        }],
        ..CheckRequest::default()
    };
    let answer = server.call("/tollgate.v1.Tollgate/Check", request).await;
    let answer: CheckResponse = answer.expect("an answer");
    (answer.allowed, began.elapsed())
}

/// A data plane with one bucket, as Envoy's.
pub(super) struct Plane {
    pub(super) link: QuotaStream,
    used: Option<(TokenBucket, f64, Instant, Instant)>,
    pub(super) counts: (u64, u64),
    pub(super) largest: u32,
}

impl Plane {
    pub(super) async fn subscribe(server: &GrpcServer) -> Self {
        let link = QuotaStream::open(server).await;
        link.say(vec![usage(&[("tenant", "a")], 0, 0, 1)]).await;
        Self {
            link,
            used: None,
            counts: (0, 0),
            largest: 0,
        }
    }

    fn take(&mut self, said: &QuotaAssignment, now: Instant) {
        match said {
            QuotaAssignment::Bucket(bucket, ttl) => {
                assert_eq!(bucket.fill_interval.expect("an interval").nanos, 0);
                let same = self.used.filter(|(used, ..)| used == bucket);
                let level = same.map_or(f64::from(bucket.max_tokens), |(_, level, ..)| level);
                let at = same.map_or(now, |(_, _, at, _)| at);
                self.used = Some((*bucket, level, at, now + *ttl));
                let fill = bucket.tokens_per_fill.expect("a rate").value;
                self.largest = self.largest.max(fill);
            }
            _ => self.used = None,
        }
    }

    pub(super) fn check(&mut self, now: Instant) -> bool {
        self.used = self.used.filter(|(.., until)| now < *until);
        if let Some((bucket, level, at, _)) = &mut self.used {
            let interval = bucket.fill_interval.expect("an interval").seconds;
            let interval = f64::from(i32::try_from(interval).expect("short"));
            let fill = f64::from(bucket.tokens_per_fill.expect("a rate").value);
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

    /// Receives pending messages without waiting.
    pub(super) async fn listen(&mut self) {
        while let Ok(message) = timeout(Duration::from_millis(1), self.link.down.message()).await {
            let message = message.expect("open").expect("a message");
            for action in message.bucket_action {
                let said = said(action.bucket_action.expect("an action"));
                self.take(&said, Instant::now());
            }
        }
    }
}
