//! Requests that take time: their body arrives in parts or is large, or another handler than the engine answers.
//!
//! What the head alone decides is answered before the body is awaited, so that only authorized callers wait here. Not
//! here: how a request arrived (`lean`, `http2`), and paths and answers (`route`).

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{Request, Response, StatusCode};
use http_body::Body;

use super::collect::{self, Uncollected};
use super::site::ListenerSite;
use super::{HeaderLines, ReceivedRequest, Reply, route};
use crate::desk::{self, AdminApi, Knock, Visit};
use crate::meter::{Door, Event};
use crate::settings::RequestLimits;
use crate::shared::{Caller, PlaceCounter};

/// Answers with the returned response, or else with `reply`.
pub(super) async fn answer<B>(
    caller: &Caller,
    site: &ListenerSite,
    request: Request<B>,
    reply: &mut Reply,
) -> Option<Response<Bytes>>
where
    B: Body<Data = Bytes>,
{
    let (head, body) = request.into_parts();
    let shared = &*caller.shared;
    let path = head.uri.path();
    let asked = ReceivedRequest {
        shared,
        site,
        peer: caller.peer,
        method: head.method.as_str(),
        path,
        query: head.uri.query().unwrap_or(""),
        lines: HeaderLines::Map(&head.headers),
        body: &[],
    };
    if site.is_foreign(asked.line(HOST.as_str()), path) {
        route::misdirected(&asked, reply);
        return None;
    }
    if let Some(desk) = site.desk(shared, path) {
        return at_desk(desk, caller, Request::from_parts(head, body), reply).await;
    }
    let (route, _) = route::admitted(&asked, reply)?;
    let body = if route.reads() {
        let room = Room {
            limits: &shared.settings.limits,
            places: shared.state.places(),
        };
        read(caller, &head, body, room, reply).await?
    } else {
        Bytes::new()
    };
    decide(
        &ReceivedRequest {
            body: &body,
            ..asked
        },
        reply,
    )
    .await;
    None
}

/// Decides a whole request, and waits until it is decided and the hold has passed.
async fn decide(asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let engine = &asked.shared.engine;
    let began = tokio::time::Instant::now();
    let span = route::span(asked.shared, asked);
    route::answer(&engine.turn(), asked, reply);
    if let Some(later) = reply.take_later() {
        *reply = later.wait(engine).await;
    }
    route::end(span, reply);
    engine.meter().served(Door::Http, 1, began.elapsed());
    if !reply.hold().is_zero() {
        tokio::time::sleep(reply.hold()).await;
    }
}

/// Forwards to the admin API; without a response, `reply` says why.
async fn at_desk<B>(
    desk: &Arc<dyn AdminApi>,
    caller: &Caller,
    request: Request<B>,
    reply: &mut Reply,
) -> Option<Response<Bytes>>
where
    B: Body<Data = Bytes>,
{
    let peer = caller.peer;
    let limits = RequestLimits {
        body_bytes_max: desk::BODY_BYTES_MAX,
        ..caller.shared.settings.limits
    };
    let (head, body) = request.into_parts();
    let state = &caller.shared.state;
    let mut places = state.visitor_places();
    if !body.is_end_stream() {
        let request = Request::from_parts(head.clone(), Bytes::new());
        match desk.knock(Visit { request, peer }).await {
            Knock::Known => places = state.desk_places(),
            Knock::Unknown => {}
            Knock::Refused(response) => return Some(response),
        }
    }
    let limits = &limits;
    let body = read(caller, &head, body, Room { limits, places }, reply).await?;
    let request = Request::from_parts(head, body);
    Some(desk.answer(Visit { request, peer }).await)
}

/// Limits on reading a body.
#[derive(Clone, Copy)]
struct Room<'a> {
    limits: &'a RequestLimits,
    places: &'a PlaceCounter,
}

/// The body of a request; without one, `reply` says why.
async fn read<B>(
    caller: &Caller,
    head: &http::request::Parts,
    body: B,
    room: Room<'_>,
    reply: &mut Reply,
) -> Option<Bytes>
where
    B: Body<Data = Bytes>,
{
    let Room { limits, places } = room;
    if body.is_end_stream() {
        return Some(Bytes::new());
    }
    let told = head.headers.get(CONTENT_LENGTH);
    let told = told.and_then(|told| told.to_str().ok()?.parse().ok());
    let mut reading = pin!(collect::collect(told, body, limits));
    let mut first = Poll::Pending;
    if std::ptr::eq(places, caller.shared.state.visitor_places()) {
        // A sign-in whose body has arrived needs no slot, so that clients which never send theirs cannot block it.
        first = poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await;
    }
    let collected = match first {
        Poll::Ready(collected) => collected,
        Poll::Pending => {
            let Some(_places) = caller.enter(places) else {
                caller.count(Event::Shed(Door::Http));
                reply.shed("Too many requests wait for their bodies.");
                return None;
            };
            reading.await
        }
    };
    match collected {
        Ok(body) => Some(body),
        Err(uncollected) => {
            refuse(uncollected, caller, limits, reply);
            None
        }
    }
}

#[cold]
fn refuse(uncollected: Uncollected, caller: &Caller, limits: &RequestLimits, reply: &mut Reply) {
    match uncollected {
        Uncollected::TooLarge => {
            caller.count(Event::Malformed(Door::Http));
            let max = limits.body_bytes_max;
            let detail = format!("A body may have at most {max} bytes.");
            reply.refuse(StatusCode::PAYLOAD_TOO_LARGE, &detail);
        }
        Uncollected::TooSlow => {
            caller.count(Event::TimedOut(Door::Http));
            let detail = "The body came too slowly.";
            reply.refuse(StatusCode::REQUEST_TIMEOUT, detail);
        }
        Uncollected::TooMuch => {
            caller.count(Event::Shed(Door::Http));
            reply.shed("Too many bodies are being read.");
        }
        Uncollected::Broken => {
            caller.count(Event::Malformed(Door::Http));
            reply.refuse(StatusCode::BAD_REQUEST, "The body could not be read.");
        }
    }
}
