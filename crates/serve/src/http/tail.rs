//! `GET /v1/tail`: decisions as they are made, one JSON object a line, without an end.
//!
//! Not here: sending lines (`lean::follow`).

use http::StatusCode;
use serde_json::json;
use tollgate_wire::v1;

use super::{ReceivedRequest, Reply};
use crate::access::{self, Operation, Pass};
use crate::auth::query::pairs;
use crate::cluster;
use crate::engine::Turn;
use crate::shared::Shared;
use crate::tail::{DecisionFilter, TailLine, WATCHERS_MAX, Watching};

pub(crate) struct TailResponse {
    watching: Watching,
    /// The caller's authorization, which may end.
    pass: Pass,
    told: u64,
}

pub(super) fn tail(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    reply.line("cache-control", b"no-store");
    let filter = DecisionFilter::read(pairs(asked.query.as_bytes()), turn.node().contracts());
    let filter = match filter {
        Ok(filter) => filter,
        Err(error) => return reply.refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let callers = &asked.shared.callers;
    let mut pass = Pass::new(callers, asked.peer);
    let shown = asked.line("authorization").map(access::shown);
    // An unauthorized caller was refused before.
    let _ = pass.show(callers, shown, |_| None);
    match asked.shared.engine.tail().watch(filter) {
        Some(watching) => reply.watch(TailResponse {
            watching,
            pass,
            told: 0,
        }),
        None => reply.shed(&format!("{WATCHERS_MAX} watch already, which is the most.")),
    }
}

impl TailResponse {
    /// The first line: which node shows what.
    pub(super) fn greeting(&self, shared: &Shared) -> String {
        let node = cluster::view(shared).me.map(|me| me.name);
        let watching = json!({ "node": node, "filter": self.watching.filter() });
        line(&json!({ "watching": watching }))
    }

    pub(super) async fn next(&mut self) -> Option<TailLine> {
        self.watching.next().await
    }

    /// This decision and all that are ready, as lines.
    pub(super) fn lines(&mut self, first: &TailLine, out: &mut Vec<u8>) {
        out.extend_from_slice(line(first).as_bytes());
        while out.len() < LINES_BYTES_MAX
            && let Some(next) = self.watching.try_next()
        {
            out.extend_from_slice(line(&next).as_bytes());
        }
    }

    /// The periodic line: how many decisions were dropped. An error is the last line.
    pub(super) fn beat(&mut self, shared: &Shared, is_due: bool) -> Result<Option<String>, String> {
        let scopes = self.pass.scopes(&shared.callers);
        if scopes.is_none_or(|scopes| Operation::Tail.is_within(scopes).is_err()) {
            return Err(line(&json!({ "end": "the token opens this no more" })));
        }
        if !shared.state.is_ready() && shared.state.is_leaving() {
            return Err(line(&json!({ "end": "the server was told to stop" })));
        }
        let dropped = self.watching.dropped();
        let is_news = std::mem::replace(&mut self.told, dropped) != dropped;
        Ok((is_news || is_due).then(|| line(&json!({ "dropped": dropped }))))
    }
}

fn line(value: &impl serde::Serialize) -> String {
    let mut out = Vec::new();
    // It has text for names, so this cannot fail.
    let _ = v1::encode(value, &mut out);
    out.push(b'\n');
    String::from_utf8(out).unwrap_or_default()
}

pub(super) const LINES: &str = "application/x-ndjson";
/// Bytes sent at once.
const LINES_BYTES_MAX: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_such_that_every_reader_of_json_holds_them() {
        let (limit, debt) = (u64::MAX, 1 << 54);
        let told = line(&TailLine {
            limit,
            debt,
            ..TailLine::default()
        });
        let most = 9_007_199_254_740_992_u64;
        assert!(told.contains(&format!("\"limit\":{most},")), "{told}");
        assert!(told.contains(&format!("\"debt\":{most},")), "{told}");
    }
}
