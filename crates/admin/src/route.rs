//! Routes below `/admin/v1`: one table of paths, methods, roles, parameters and handlers.
//!
//! Unknown callers, and roles without the right, get only a refusal. Not here: the handlers
//! (`resource`).

use std::future::ready;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use http::header::SET_COOKIE;
use http::{Method, Request, Response};
use tollgate_catalogue::Kind;
use tollgate_catalogue_sql::Role;
use tollgate_serve::desk::{Knock, Visit};
use tollgate_serve::shared::Shared;

use crate::access::{self, Caller, ClientOrigin, origin, sessions};
use crate::admin::Office;
use crate::answer::Reply;
use crate::call::Call;
use crate::console;
use crate::fault::Fault;
use crate::page::{AFTER, LIMIT};
use crate::query::{Query, decoded};
use crate::resource::{
    document, history, identities, import, keys, objects, rollout, statistics, status, tail, tokens,
};

type Answering<'a> = Pin<Box<dyn Future<Output = Result<Reply, Fault>> + Send + 'a>>;
type Handler = for<'a> fn(&'a Call) -> Answering<'a>;

struct Route {
    method: Method,
    /// With names in braces for any text.
    path: String,
    role: Role,
    takes: &'static [&'static str],
    /// The kind of object that it is about, if any.
    kind: Option<Kind>,
    handler: Handler,
}

/// A route, for the description of the API.
#[derive(Clone, Debug)]
pub struct Described {
    pub method: Method,
    /// With names in braces for any text.
    pub path: String,
    /// The least role that may call it.
    pub role: Role,
    pub takes: &'static [&'static str],
}

/// Every route that needs a token.
pub fn described() -> impl Iterator<Item = Described> {
    ROUTES.iter().map(|route| Described {
        method: route.method.clone(),
        path: format!("{PREFIX}{}", route.path),
        role: route.role,
        takes: route.takes,
    })
}

pub(crate) async fn answer(office: Arc<Office>, visit: Visit) -> Response<Bytes> {
    let Some(shared) = office.server.upgrade() else {
        return Fault::unavailable("the server stops").answer().sent();
    };
    let path = visit.request.uri().path();
    let answered = match path.strip_prefix(PREFIX) {
        Some("/openapi.json") => document::openapi(visit.request.method()),
        Some(rest) => {
            let rest = rest.to_owned();
            managed(office, shared, visit, &rest).await
        }
        None => console::answer(office, shared, &visit).await,
    };
    answered.unwrap_or_else(Fault::answer).sent()
}

/// Whether to read the body: routes that need a caller are refused before it.
pub(crate) async fn knock(office: Arc<Office>, visit: Visit) -> Knock {
    let path = visit.request.uri().path();
    let is_managed = path.starts_with(PREFIX);
    if !is_managed && console::is_open(path) {
        return Knock::Unknown;
    }
    let headers = visit.request.headers();
    let client = ClientOrigin::of(&office, &visit.peer, headers);
    match access::caller(&office, headers, client).await {
        Ok(_) => Knock::Known,
        Err(fault) if is_managed => Knock::Refused(fault.answer().sent()),
        Err(fault) => Knock::Refused(console::refusal(&visit, fault).sent()),
    }
}

async fn managed(
    office: Arc<Office>,
    shared: Arc<Shared>,
    visit: Visit,
    path: &str,
) -> Result<Reply, Fault> {
    let Visit { request, peer } = visit;
    let client = ClientOrigin::of(&office, &peer, request.headers());
    let caller = access::caller(&office, request.headers(), client).await?;
    check_page(&office, &caller, &request)?;
    let renewed = caller.session.as_ref();
    let renewed = renewed.and_then(|session| sessions::renewed(&office, session, peer.is_sealed));
    let known = Authenticated {
        office,
        shared,
        caller,
        client,
    };
    let answer = self::known(known, request, path).await?;
    Ok(answer.lines(SET_COOKIE, renewed.as_deref()))
}

/// A caller with a valid token or session.
pub(crate) struct Authenticated {
    pub(crate) office: Arc<Office>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) caller: Caller,
    pub(crate) client: ClientOrigin,
}

/// Checks the role, then answers.
pub(crate) async fn known(
    known: Authenticated,
    request: Request<Bytes>,
    path: &str,
) -> Result<Reply, Fault> {
    let (route, names) = find(request.method(), path)?;
    let query = Query::read(request.uri().query().unwrap_or(""), route.takes)?;
    let Authenticated {
        office,
        shared,
        caller,
        client,
    } = known;
    let call = Call {
        office,
        shared,
        caller,
        kind: route.kind.unwrap_or(Kind::Contract),
        names,
        query,
        request,
        client,
    };
    let answered = match check_role(&call.caller, route.role) {
        Ok(()) => (route.handler)(&call).await,
        Err(fault) => Err(fault),
    };
    if let Err(fault) = &answered
        && is_change(call.request.method())
        && fault.status().is_client_error()
    {
        let what = format!("{} {}", route.method, route.path);
        call.audit(&what, call.name(), fault.code()).await;
    }
    answered
}

/// Changes by a session must come from a page of this server.
fn check_page(office: &Office, caller: &Caller, request: &Request<Bytes>) -> Result<(), Fault> {
    let session = caller.session.as_ref();
    let Some(session) = session.filter(|_| is_change(request.method())) else {
        return Ok(());
    };
    origin::check(request)?;
    let shown = request.headers().get(sessions::CSRF_LINE);
    let shown = shown.and_then(|line| line.to_str().ok());
    sessions::check_csrf(office, session, shown)
}

pub(crate) fn is_change(method: &Method) -> bool {
    *method != Method::GET && *method != Method::HEAD
}

fn check_role(caller: &Caller, needed: Role) -> Result<(), Fault> {
    if caller.role >= needed {
        return Ok(());
    }
    let (is, needed) = (caller.role.name(), needed.name());
    Err(Fault::forbidden(format!(
        "this needs the role `{needed}`, and `{}` has `{is}`",
        caller.name
    )))
}

/// The route of a path and a method, and the values of its braces.
fn find(method: &Method, path: &str) -> Result<(&'static Route, Vec<String>), Fault> {
    let method = if *method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    let mut allowed = Vec::new();
    for route in ROUTES.iter() {
        let Some(names) = fits(&route.path, path) else {
            continue;
        };
        if route.method == *method {
            return Ok((route, names));
        }
        allowed.push(route.method.as_str());
    }
    if !allowed.is_empty() {
        return Err(Fault::wrong_method(&allowed.join(", ")));
    }
    let known = ROUTES.iter().map(|route| route.path.as_str());
    let path: String = path.chars().take(SHOWN_MAX).collect();
    let near = tollgate_contract::nearest(&path, known);
    let hint = near.map_or_else(String::new, |near| {
        format!("; did you mean `{PREFIX}{near}`?")
    });
    Err(Fault::not_found(format!(
        "there is nothing at `{PREFIX}{path}`{hint}"
    )))
}

/// The values of a route's braces; `None` if the path does not match.
fn fits(route: &str, path: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut parts = path.split('/');
    for wanted in route.split('/') {
        let part = parts.next()?;
        if wanted.starts_with('{') {
            names.push(decoded(part, false).filter(|name| !name.is_empty())?);
        } else if wanted != part {
            return None;
        }
    }
    parts.next().is_none().then_some(names)
}

pub(crate) const PREFIX: &str = "/admin/v1";
/// The most letters of a path that are repeated in messages.
const SHOWN_MAX: usize = 100;

type Row = (Method, &'static str, Role, &'static [&'static str], Handler);

/// Routes of every kind of object.
static OF_A_KIND: [Row; 8] = [
    (
        Method::GET,
        "",
        Role::Viewer,
        &[AFTER, LIMIT, "prefix", "plan", "contract", "identity"],
        |call| Box::pin(objects::list(call)),
    ),
    (Method::GET, "/{id}", Role::Viewer, &["compiled"], |call| {
        Box::pin(objects::get(call))
    }),
    (
        Method::PUT,
        "/{id}",
        Role::Admin,
        &["reason", "dry_run"],
        |call| Box::pin(objects::put(call)),
    ),
    (Method::DELETE, "/{id}", Role::Admin, &["reason"], |call| {
        Box::pin(objects::delete(call))
    }),
    (
        Method::GET,
        "/{id}/history",
        Role::Viewer,
        &[AFTER, LIMIT],
        |call| Box::pin(history::list(call)),
    ),
    (
        Method::GET,
        "/{id}/diff",
        Role::Viewer,
        &["from", "to"],
        |call| Box::pin(history::diff(call)),
    ),
    (
        Method::POST,
        "/{id}/rollback",
        Role::Admin,
        &["reason"],
        |call| Box::pin(history::rollback(call)),
    ),
    (
        Method::POST,
        "/{id}/try",
        Role::Operator,
        &["minutes"],
        |call| Box::pin(statistics::attempt(call)),
    ),
];

static OTHERS: [Row; 22] = [
    (
        Method::POST,
        "/contracts/{id}/rollout",
        Role::Admin,
        &["reason", "dry_run"],
        |call| Box::pin(rollout::rollout(call)),
    ),
    (
        Method::POST,
        "/assignments/import",
        Role::Admin,
        &["reason"],
        |call| Box::pin(import::import(call)),
    ),
    (
        Method::POST,
        "/identities/{identity}/link",
        Role::Operator,
        &[],
        |call| Box::pin(identities::link(call)),
    ),
    (
        Method::GET,
        "/keys/explain",
        Role::Viewer,
        &["key", "cost", "contract"],
        |call| Box::pin(keys::explain(call)),
    ),
    (
        Method::POST,
        "/keys/reset",
        Role::Operator,
        &["reason"],
        |call| Box::pin(keys::reset(call)),
    ),
    (
        Method::POST,
        "/keys/charge",
        Role::Operator,
        &["reason"],
        |call| Box::pin(keys::charge(call)),
    ),
    (
        Method::POST,
        "/keys/refund",
        Role::Operator,
        &["reason"],
        |call| Box::pin(keys::refund(call)),
    ),
    (Method::GET, "/tokens", Role::Admin, &[], |call| {
        Box::pin(tokens::list(call))
    }),
    (Method::POST, "/tokens", Role::Admin, &[], |call| {
        Box::pin(tokens::create(call))
    }),
    (Method::DELETE, "/tokens/{id}", Role::Admin, &[], |call| {
        Box::pin(tokens::revoke(call))
    }),
    (
        Method::GET,
        "/changes",
        Role::Viewer,
        &[AFTER, LIMIT],
        |call| Box::pin(history::changes(call)),
    ),
    (
        Method::GET,
        "/audit",
        Role::Viewer,
        &[AFTER, LIMIT],
        |call| Box::pin(status::audit(call)),
    ),
    (Method::GET, "/whoami", Role::Viewer, &[], |call| {
        Box::pin(ready(status::whoami(call)))
    }),
    (Method::GET, "/status", Role::Viewer, &[], |call| {
        Box::pin(ready(Ok(status::status(call))))
    }),
    (Method::GET, "/cluster", Role::Viewer, &[], |call| {
        Box::pin(ready(Ok(status::cluster(call))))
    }),
    (Method::GET, "/now", Role::Viewer, &[], |call| {
        Box::pin(ready(Ok(status::top(call))))
    }),
    (
        Method::GET,
        "/usage",
        Role::Viewer,
        &[
            AFTER, LIMIT, "from", "until", "contract", "identity", "format",
        ],
        |call| Box::pin(statistics::usage(call)),
    ),
    (
        Method::GET,
        "/series",
        Role::Viewer,
        &["from", "until", "step", "contract", "identity"],
        |call| Box::pin(statistics::series(call)),
    ),
    (
        Method::GET,
        "/top",
        Role::Viewer,
        &[LIMIT, "by", "window", "contract"],
        |call| Box::pin(statistics::top(call)),
    ),
    (Method::GET, "/load", Role::Viewer, &[], |call| {
        Box::pin(statistics::load(call))
    }),
    (
        Method::GET,
        "/recent",
        Role::Viewer,
        &[LIMIT, "contract", "key"],
        |call| Box::pin(ready(statistics::recent(call))),
    ),
    (
        Method::GET,
        "/tail",
        Role::Viewer,
        tail::PARAMETERS,
        |call| Box::pin(ready(tail::tail(call))),
    ),
];

static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let route = |prefix: &str, row: &Row, kind| Route {
        method: row.0.clone(),
        path: format!("{prefix}{}", row.1),
        // Support staff may change the plan of a customer.
        role: match kind {
            Some(Kind::Assignment | Kind::Ban) => row.2.min(Role::Operator),
            _ => row.2,
        },
        takes: row.3,
        kind,
        handler: row.4,
    };
    let others = OTHERS.iter().map(|row| route("", row, None));
    let kinds = KINDS
        .iter()
        .flat_map(|(prefix, kind)| OF_A_KIND.iter().map(|row| route(prefix, row, Some(*kind))));
    // Paths without names come first: `import` is not an assignment.
    others.chain(kinds).collect()
});

const KINDS: [(&str, Kind); 4] = [
    ("/contracts", Kind::Contract),
    ("/plans", Kind::Plan),
    ("/assignments", Kind::Assignment),
    ("/bans", Kind::Ban),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_fit_with_names_decoded() {
        assert_eq!(fits("/a/{id}/b", "/a/x%2Fy/b"), Some(vec!["x/y".into()]));
        assert_eq!(fits("/a", "/a"), Some(vec![]));
        for path in [
            "/a", "/a/", "/a//b", "/a/x", "/a/x/b/c", "/a/%00/b", "/a/%/b",
        ] {
            assert_eq!(fits("/a/{id}/b", path), None, "{path}");
        }
    }

    #[test]
    fn no_two_routes_are_one() {
        let mut all: Vec<String> = described()
            .map(|route| format!("{} {}", route.method, route.path))
            .collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
