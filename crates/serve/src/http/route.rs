//! The table of paths and handlers.
//!
//! Not here: how a request arrived (`lean`, `http2`), and the answers themselves.

use http::StatusCode;

use super::{
    ReceivedRequest, Reply, auth, check, compat, explain, json, pages, request, supply, tail,
    writes,
};
use crate::access::{self, AccessGrant, Denied, Operation};
use crate::engine::{RequestSender, Turn};
use crate::meter::{Door, Event};
use crate::shared::{Peer, Shared};
use crate::traces::TraceSpan;

type Handler = fn(&Turn<'_>, &ReceivedRequest<'_>, &mut Reply);

pub(super) struct Route {
    path: &'static str,
    takes: Takes,
    /// The operation a token must allow if tokens are set; `None` if no token is needed.
    asks: Option<Operation>,
    handler: Handler,
}

#[derive(Clone, Copy)]
enum Takes {
    /// `POST`, with a body.
    Post,
    /// `GET`, and `HEAD` with only the head of the answer.
    Get,
    /// Any method; it is that of the client's request that a proxy asks about.
    Any,
}

impl Takes {
    fn allows(self, method: &str) -> bool {
        match self {
            Self::Post => method == "POST",
            Self::Get => matches!(method, "GET" | "HEAD"),
            Self::Any => true,
        }
    }

    const fn names(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Get => "GET, HEAD",
            Self::Any => "*",
        }
    }
}

impl Route {
    /// Whether it reads bodies.
    pub(super) const fn reads(&self) -> bool {
        !matches!(self.takes, Takes::Get)
    }
}

/// Answers a request, or starts to.
pub(super) fn answer(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    if let Some((route, sender)) = admitted(asked, reply) {
        turn.sent_by(sender);
        (route.handler)(turn, asked, reply);
    }
}

/// The handler and the caller, by the head alone; on `None`, `reply` says why.
pub(super) fn admitted(
    asked: &ReceivedRequest<'_>,
    reply: &mut Reply,
) -> Option<(&'static Route, RequestSender)> {
    let route = find(asked.path).filter(|route| route.asks.is_none() || !asked.site.is_desk());
    let Some(route) = route else {
        nothing_there(asked, reply);
        return None;
    };
    if !route.takes.allows(asked.method) {
        wrong_method(route, asked, reply);
        return None;
    }
    let sender = match route.asks {
        Some(operation) => may(operation, asked, reply)?,
        None => RequestSender::NOBODY,
    };
    Some((route, sender))
}

/// The span of a request, if tracing is on.
pub(super) fn span<'s>(shared: &'s Shared, asked: &ReceivedRequest<'_>) -> Option<TraceSpan<'s>> {
    let mut span = shared.engine.meter().span(
        || format!("HTTP {}", asked.method),
        || asked.line("traceparent"),
    )?;
    let path: String = asked.path.chars().take(SPAN_PATH_MAX).collect();
    span.text("url.path", path);
    Some(span)
}

/// Ends the span of a request.
pub(super) fn end(span: Option<TraceSpan<'_>>, reply: &Reply) {
    if let Some(mut span) = span {
        span.number("http.response.status_code", reply.status().as_u16().into());
    }
}

/// Whether a path is so frequent that a sample of its decisions is traced instead.
pub(super) fn is_busy(path: &str) -> bool {
    matches!(path, "/v1/check" | auth::PATH)
}

/// Whether a path's answer is endless.
pub(super) fn is_endless(path: &str) -> bool {
    path == TAIL
}

fn find(path: &str) -> Option<&'static Route> {
    let at = |path: &str| ROUTES.iter().find(|route| route.path == path);
    // Paths below this one are those of other servers.
    let mirrored = || auth::mirrored(path).and_then(|_| at(auth::PATH));
    let mode = || supply::asked_mode(path).map(|_| &MODE);
    at(path).or_else(mirrored).or_else(mode)
}

/// The caller, if authorized; otherwise `reply` says why.
pub(super) fn may(
    operation: Operation,
    asked: &ReceivedRequest<'_>,
    reply: &mut Reply,
) -> Option<RequestSender> {
    let ReceivedRequest { shared, peer, .. } = asked;
    if !shared.callers.are_asked() {
        return Some(RequestSender::ANYONE);
    }
    let from = |peer: &Peer| {
        let proxies = &shared.settings.client_address;
        let mut lines: smallvec::SmallVec<[&[u8]; 4]> = smallvec::SmallVec::new();
        asked
            .lines
            .each(proxies.header.name(), |line| lines.push(line));
        access::client(proxies, peer, lines.into_iter())
    };
    let shown = asked.line("authorization").map(access::shown);
    let admitted = shared.callers.admit(peer, shown.as_ref(), from);
    let within = |grant: AccessGrant| operation.is_within(grant.scopes()).map(|()| grant.sender());
    let allowed = admitted.and_then(within);
    allowed
        .inspect_err(|denied| refuse(*denied, asked, reply))
        .ok()
}

/// Answers a request with a host name that is not the server's.
#[cold]
pub(super) fn misdirected(asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let meter = asked.shared.engine.meter();
    meter.count(Event::Malformed(Door::Http));
    let detail = "Only this machine reaches this listener, so that it answers to names of this machine: `localhost`, an \
                  address of it, or one of `hosts` of the listener in the server's file.";
    reply.refuse(StatusCode::MISDIRECTED_REQUEST, detail);
}

#[cold]
fn refuse(denied: Denied, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let meter = asked.shared.engine.meter();
    let (event, status) = match denied {
        Denied::Scope(_) => (Event::Forbidden(Door::Http), StatusCode::FORBIDDEN),
        Denied::Missing | Denied::Wrong => {
            (Event::Unauthorized(Door::Http), StatusCode::UNAUTHORIZED)
        }
        Denied::Guessing(seconds) => {
            reply.number("retry-after", seconds);
            (
                Event::Unauthorized(Door::Http),
                StatusCode::TOO_MANY_REQUESTS,
            )
        }
    };
    meter.count(event);
    if status == StatusCode::UNAUTHORIZED {
        reply.line("www-authenticate", b"Bearer realm=\"tollgate\"");
    }
    reply.refuse(status, &denied.to_string());
}

#[cold]
fn wrong_method(route: &Route, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let (path, names) = (route.path, route.takes.names());
    reply.line("allow", names.as_bytes());
    let method = request::shown(asked.method);
    let detail = format!("`{path}` takes {names}, not {method}.");
    reply.refuse(StatusCode::METHOD_NOT_ALLOWED, &detail);
}

#[cold]
fn nothing_there(asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let path = asked.path.strip_suffix('/').unwrap_or(asked.path);
    let routes = ROUTES.iter().map(|route| route.path);
    let modes: Vec<String> = supply::paths().collect();
    let near = tollgate_contract::nearest(path, routes.chain(modes.iter().map(|path| &**path)));
    let shown = request::shown(asked.path);
    let detail = match near {
        _ if asked.site.is_desk() => {
            format!("There is nothing at `{shown}`. This listener is for the management API.")
        }
        Some(near) => format!("There is nothing at `{shown}`. Did you mean `{near}`?"),
        None => format!("There is nothing at `{shown}`. `/openapi.json` lists what there is."),
    };
    reply.refuse(StatusCode::NOT_FOUND, &detail);
}

const fn post(path: &'static str, asks: Operation, handler: Handler) -> Route {
    Route {
        path,
        takes: Takes::Post,
        asks: Some(asks),
        handler,
    }
}

const fn get(path: &'static str, asks: Operation, handler: Handler) -> Route {
    Route {
        path,
        takes: Takes::Get,
        asks: Some(asks),
        handler,
    }
}

const fn open(path: &'static str, handler: Handler) -> Route {
    Route {
        path,
        takes: Takes::Get,
        asks: None,
        handler,
    }
}

/// The header field with the applied `on_failure` if the node that decides about the key was unreachable.
pub(crate) const FALLBACK: &str = "tollgate-fallback";
const TAIL: &str = "/v1/tail";
/// Characters of a path in a span.
const SPAN_PATH_MAX: usize = 128;
static MODE: Route = get("/v1/cluster/…", Operation::Cluster, supply::stand);
/// The other paths, the busiest first.
static ROUTES: &[Route] = &[
    post("/v1/check", Operation::Check, check::check),
    Route {
        path: auth::PATH,
        takes: Takes::Any,
        asks: Some(Operation::Check),
        handler: auth::auth,
    },
    post("/json", Operation::Check, json::json),
    post("/throttle", Operation::Check, compat::throttle),
    post(
        "/v1/GetRateLimits",
        Operation::Check,
        compat::get_rate_limits,
    ),
    post("/v1/settle", Operation::Settle, writes::settle),
    post("/v1/reserve", Operation::Reserve, check::reserve),
    post("/v1/commit", Operation::Settle, writes::commit),
    post("/v1/cancel", Operation::Settle, writes::cancel),
    post("/v1/charge", Operation::Charge, writes::charge),
    post("/v1/refund", Operation::Refund, writes::refund),
    post("/v1/peek", Operation::Peek, check::peek),
    post("/v1/explain", Operation::Explain, explain::explain),
    get("/v1/top", Operation::Top, pages::top),
    get(TAIL, Operation::Tail, tail::tail),
    get("/v1/cluster", Operation::Cluster, pages::cluster),
    post("/v1/cluster/forget", Operation::Forget, pages::forget),
    get("/v1/gateway", Operation::Gateway, pages::gateway),
    open("/healthcheck", json::healthcheck),
    open("/health", json::healthcheck),
    open("/v1/HealthCheck", compat::health_check),
    open("/v1/LiveCheck", compat::live_check),
    open("/livez", pages::livez),
    open("/readyz", pages::readyz),
    get("/metrics", Operation::Metrics, pages::metrics),
    open("/openapi.json", pages::openapi),
    open("/", pages::front),
];
