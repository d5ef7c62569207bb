//! Health and reflection through tonic: they stream, and are called rarely. Quotas stream through tonic too.
//!
//! Health is that of the whole server, for any of its services: `SERVING` while it is ready. A watcher gets one message
//! when the server stops, and its stream ends, so that it does not delay closing the connection.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tollgate_wire::{reflection, rlqs};
use tonic::Status;
use tonic::codegen::tokio_stream::Stream;
use tonic::service::Routes;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tower::ServiceExt as _;

use super::{BoxError, quota};
use crate::shared::Shared;

pub(super) async fn answer<B>(
    service: Service,
    request: Request<B>,
    shared: Arc<Shared>,
) -> Response<tonic::body::Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send + 'static,
{
    let limit = shared.settings.limits.body_bytes_max;
    let answered = match service {
        Service::Health => {
            let health = HealthServer::new(State(shared)).max_decoding_message_size(limit);
            health.oneshot(request).await
        }
        Service::Quota => Ok(quota::answer(request, shared).await),
        Service::Reflection => match reflection_routes() {
            Some(routes) => routes.clone().oneshot(request).await,
            None => Ok(Status::internal("reflection could not be built").into_http()),
        },
    };
    match answered {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    Health,
    Reflection,
    Quota,
}

impl Service {
    pub(super) fn of(path: &str) -> Option<Self> {
        match path.strip_prefix('/')?.split_once('/')?.0 {
            HEALTH => Some(Self::Health),
            rlqs::SERVICE => Some(Self::Quota),
            "grpc.reflection.v1.ServerReflection" | "grpc.reflection.v1alpha.ServerReflection" => {
                Some(Self::Reflection)
            }
            _ => None,
        }
    }
}

/// Built once: descriptors are the same for every server.
fn reflection_routes() -> Option<&'static Routes> {
    static ROUTES: OnceLock<Option<Routes>> = OnceLock::new();
    let build = || {
        let builder = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(reflection::FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let routes = Routes::new(builder().build_v1().ok()?);
        Some(
            routes
                .add_service(builder().build_v1alpha().ok()?)
                .prepare(),
        )
    };
    ROUTES.get_or_init(build).as_ref()
}

struct State(Arc<Shared>);

impl State {
    /// The state, if the service is one of ours; the empty name is the server.
    fn of(&self, service: &str) -> Result<HealthCheckResponse, Status> {
        let known = service.is_empty() || service == HEALTH;
        if known || reflection::SERVICES.contains(&service) {
            return Ok(told(&self.0));
        }
        Err(Status::not_found("there is no such service"))
    }
}

fn told(shared: &Shared) -> HealthCheckResponse {
    let status = if shared.state.is_ready() {
        ServingStatus::Serving
    } else {
        ServingStatus::NotServing
    };
    HealthCheckResponse {
        status: status.into(),
    }
}

#[tonic::async_trait]
impl Health for State {
    type WatchStream = Watch;

    async fn check(
        &self,
        request: tonic::Request<HealthCheckRequest>,
    ) -> Result<tonic::Response<HealthCheckResponse>, Status> {
        self.of(&request.get_ref().service)
            .map(tonic::Response::new)
    }

    async fn watch(
        &self,
        request: tonic::Request<HealthCheckRequest>,
    ) -> Result<tonic::Response<Watch>, Status> {
        self.of(&request.get_ref().service)?;
        let mut ticks = interval(WATCH_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(tonic::Response::new(Watch {
            shared: Arc::clone(&self.0),
            ticks,
            last: None,
        }))
    }
}

/// The state now, and at each change until the server stops.
struct Watch {
    shared: Arc<Shared>,
    ticks: Interval,
    last: Option<HealthCheckResponse>,
}

impl Stream for Watch {
    type Item = Result<HealthCheckResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let watch = self.get_mut();
        let not_serving = i32::from(ServingStatus::NotServing);
        if watch.last.is_some_and(|last| last.status == not_serving) {
            return Poll::Ready(None);
        }
        loop {
            ready!(watch.ticks.poll_tick(context));
            let now = told(&watch.shared);
            if watch.last != Some(now) {
                watch.last = Some(now);
                return Poll::Ready(Some(Ok(now)));
            }
        }
    }
}

const HEALTH: &str = "grpc.health.v1.Health";
/// How soon a watcher is notified of a change.
const WATCH_EVERY: Duration = Duration::from_millis(500);
