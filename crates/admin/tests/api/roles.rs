//! Rights: every route of the table, by every role and without a token.

use tollgate_admin::described;
use tollgate_catalogue_sql::Role;

use crate::kit::{ApiRefusal, Server};

#[test]
fn every_route_asks_for_its_role() {
    let server = Server::start();
    server.furnish();
    let secrets = Role::ALL.map(|role| (role, server.token(role.name()).1));
    let mut changes = 0;
    for route in described() {
        let path = route
            .path
            .replace("{id}", "nothing")
            .replace("{identity}", "user=1");
        let method = route.method.as_str();
        let ask = || server.ask(method, "").at(&path);
        ask().by_nobody().send().refuses(401, "unauthorized");
        for (role, secret) in &secrets {
            let answer = ask().by(secret).send();
            let is_refused = answer.status == 403;
            assert_eq!(
                is_refused,
                *role < route.role,
                "{method} {path} by {role:?}: {}",
                answer.body
            );
            assert!(answer.status < 500, "{method} {path}: {}", answer.body);
            assert_eq!(answer.field("cache-control"), Some("no-store"));
            assert_eq!(answer.field("x-content-type-options"), Some("nosniff"));
        }
        // A viewer changes nothing, whatever it is.
        if method != "GET" {
            changes += 1;
            assert!(route.role > Role::Viewer, "{method} {path}");
        }
    }
    assert!(changes >= 15, "{changes}");
}

#[test]
fn other_methods_and_other_paths_are_told_as_such() {
    let server = Server::start();
    let wrong = server.ask("PATCH", "/contracts").send();
    wrong.refuses(405, "method_not_allowed");
    assert_eq!(wrong.field("allow"), Some("GET"));
    let near = server.get("/contrcts");
    near.refuses(404, "not_found");
    assert!(
        near.message().contains("/admin/v1/contracts"),
        "{}",
        near.body
    );
    // Without a token, unknown routes look like known ones.
    server
        .ask("GET", "/contrcts")
        .by_nobody()
        .send()
        .refuses(401, "unauthorized");
    let head = server.ask("HEAD", "/contracts").send();
    assert_eq!((head.status, &*head.body), (200, ""));
}
