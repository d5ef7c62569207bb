//! Pages about the server itself: liveness, readiness, metrics, API.

use std::borrow::Cow;
use std::sync::LazyLock;

use http::StatusCode;
use serde::Deserialize;

use super::reply::{JSON, TEXT};
use super::{ReceivedRequest, Reply, request};
use crate::cluster::{self, Unforgettable};
use crate::engine::Turn;
use crate::meter::Exposition;

/// `GET /livez`: the process answers.
pub(super) fn livez(_turn: &Turn<'_>, _asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    reply.text(TEXT, b"ok\n");
}

/// `GET /readyz`: requests may be sent here.
pub(super) fn readyz(_turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    reply.line("cache-control", b"no-store");
    let state = &asked.shared.state;
    if !state.is_ready() {
        reply.set_status(StatusCode::SERVICE_UNAVAILABLE);
    }
    let first = if state.is_ready() {
        "ready\n"
    } else if state.is_leaving() {
        "not ready: the server was told to stop, and answers those who still come\n"
    } else if state.is_cut_off() {
        "not ready: the thread of the cluster is gone, this node counts alone\n"
    } else if state.is_awaiting() {
        "not ready: the management server has sent no contracts yet\n"
    } else if state.is_joining() {
        "not ready: learning from other nodes\n"
    } else {
        "not ready\n"
    };
    let lines = asked
        .shared
        .troubles()
        .into_iter()
        .map(|trouble| trouble + "\n");
    let text = lines.fold(first.to_owned(), |text, line| text + &line);
    reply.text(TEXT, text.as_bytes());
}

pub(super) fn metrics(_turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let engine = &asked.shared.engine;
    let mut text = Exposition::new();
    engine.meter().write(&mut text, engine);
    if asked.shared.cluster.get().is_some() {
        crate::meter::cluster(&mut text, &cluster::view(asked.shared));
    }
    // A server outside a cluster grants leases too.
    crate::meter::modes(&mut text, asked.shared);
    asked.shared.state.databases.render(&mut text);
    engine.tail().render(&mut text);
    asked.shared.quota.render(engine, &mut text);
    if let Some(xds) = asked.shared.xds.get() {
        xds.render(&mut text);
    }
    asked.shared.catalogue().render(&mut text);
    if let Some(owner) = asked.shared.owner.get() {
        owner.render(&mut text);
    }
    if let Some(statistics) = engine.statistics() {
        crate::meter::statistics(&mut text, &statistics.figures(), engine.now());
    }
    if let Some(annex) = asked.shared.annex.get() {
        annex.render(&mut text);
    }
    text.one("tollgate_unsent_bytes", asked.shared.state.unsent().bytes());
    reply.own(
        "text/plain; version=0.0.4; charset=utf-8",
        text.finish().into_bytes(),
    );
}

/// `GET /v1/top`: the busiest keys.
pub(super) fn top(_turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let engine = &asked.shared.engine;
    reply.line("cache-control", b"no-store");
    reply.json(&engine.meter().top(engine));
}

/// `GET /v1/cluster`: members and their costs.
pub(super) fn cluster(_turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    reply.line("cache-control", b"no-store");
    reply.json(&cluster::view(asked.shared));
}

/// `POST /v1/cluster/forget`: removes a dead node, here and at all members.
pub(super) fn forget(_turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    let Some(Named { name }) = request::read(asked, reply) else {
        return;
    };
    match cluster::forget(asked.shared, &name, asked.shared.engine.now()) {
        Ok(told) => reply.json(&serde_json::json!({ "forgotten": name, "told": told })),
        Err(why) => {
            let status = match why {
                Unforgettable::Unknown | Unforgettable::NoCluster => StatusCode::NOT_FOUND,
                Unforgettable::Alive | Unforgettable::Roster => StatusCode::CONFLICT,
            };
            reply.refuse(status, &why.to_string());
        }
    }
}

/// `GET /v1/gateway`: the state of the gateway in this server.
pub(super) fn gateway(_turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    reply.line("cache-control", b"no-store");
    let view = asked.shared.annex.get().map(|annex| annex.view());
    reply.json(&view.unwrap_or_default());
}

pub(super) fn openapi(_turn: &Turn<'_>, _asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    reply.fix(JSON, OPENAPI);
}

/// `GET /`: links to everything; to the console only if anyone can sign in.
pub(super) fn front(_turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    static PLAIN: LazyLock<String> = LazyLock::new(|| FRONT.replace(CONSOLE_PLACE, ""));
    static WITH_CONSOLE: LazyLock<String> =
        LazyLock::new(|| FRONT.replace(CONSOLE_PLACE, CONSOLE_LINK));
    let page = match asked.site.desk(asked.shared, "/console") {
        Some(desk) if desk.lets_in() => &WITH_CONSOLE,
        _ => &PLAIN,
    };
    reply.fix("text/html; charset=utf-8", page);
}

const OPENAPI: &str = include_str!("../../../../docs/openapi.json");
const FRONT: &str = include_str!("front.html");
/// The front page's line with the console.
const CONSOLE_PLACE: &str = "  <!-- console -->\n";
const CONSOLE_LINK: &str =
    "  <li><a href=\"/console\">console</a>: limits, who is refused and why</li>\n";
