//! The description of the interface: the served file is the committed one, and it has exactly the routes that exist.

use std::collections::BTreeSet;

use serde_json::Value;
use tollgate_admin::described;

use crate::kit::{ApiRefusal, Server};

const COMMITTED: &str = include_str!("../../../../docs/admin-openapi.json");

fn document() -> Value {
    serde_json::from_str(COMMITTED).unwrap()
}

#[test]
fn the_committed_document_is_served_to_everybody() {
    let server = Server::start();
    let answer = server.ask("GET", "/openapi.json").by_nobody().send();
    assert_eq!(answer.status, 200);
    assert!(answer.body == COMMITTED);
    server
        .ask("POST", "/openapi.json")
        .by_nobody()
        .send()
        .refuses(405, "method_not_allowed");
}

#[test]
fn every_route_is_described_with_its_role_and_parameters() {
    let document = document();
    let mut open: BTreeSet<String> = BTreeSet::from(["get /admin/v1/openapi.json".to_owned()]);
    for route in described() {
        let method = route.method.as_str().to_ascii_lowercase();
        let operation = &document["paths"][&route.path][&method];
        let what = format!("{method} {}", route.path);
        assert!(operation.is_object(), "{what} is not described");
        let words = operation["description"].as_str().unwrap();
        let role = format!("`{}`", route.role.name());
        assert!(
            words.contains(&role) || words.contains("Any role."),
            "{what}"
        );
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            assert!(route.takes.contains(&name), "{what} takes no {name}");
        }
        open.insert(what);
    }
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| format!("{method} {path}"))
    });
    assert_eq!(all.collect::<BTreeSet<_>>(), open);
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(value: &Value, root: &Value) {
        if let Some(to) = value.get("$ref").and_then(Value::as_str) {
            assert!(root.pointer(to.trim_start_matches('#')).is_some(), "{to}");
        }
        match value {
            Value::Object(members) => members.values().for_each(|value| walk(value, root)),
            Value::Array(items) => items.iter().for_each(|value| walk(value, root)),
            _ => {}
        }
    }
    let document = document();
    walk(&document, &document);
}
