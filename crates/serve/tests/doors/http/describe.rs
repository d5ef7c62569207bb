//! The description of the interface: what is served is what is committed, and it is whole.

use serde_json::Value;

use crate::http::kit::HttpServer;

const COMMITTED: &str = include_str!("../../../../../docs/openapi.json");

fn document() -> Value {
    serde_json::from_str(COMMITTED).expect("JSON")
}

#[test]
fn the_committed_document_is_served() {
    let server = HttpServer::start();
    assert_eq!(server.curl("/openapi.json", &[]), COMMITTED);
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(value: &Value, root: &Value) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(to)) = members.get("$ref") {
                    let to = to.strip_prefix('#').expect("a reference within");
                    assert!(root.pointer(to).is_some(), "{to}");
                }
                members.values().for_each(|value| walk(value, root));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, root)),
            _ => {}
        }
    }
    let document = document();
    walk(&document, &document);
}

#[test]
fn every_described_path_takes_exactly_the_described_methods() {
    let server = HttpServer::start();
    let mut client = server.connect();
    let document = document();
    let paths = document["paths"].as_object().expect("paths");
    for (path, methods) in paths {
        for method in ["get", "post", "put", "delete", "patch"] {
            let name = method.to_ascii_uppercase();
            client.send(
                format!("{name} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
                    .as_bytes(),
            );
            let status = client.reply().status;
            let is_described = methods.get(method).is_some();
            assert_ne!(status, 404, "{method} {path}");
            assert_eq!(status != 405, is_described, "{method} {path}");
        }
    }
}

#[test]
fn examples_are_answered_as_described() {
    let server = HttpServer::start();
    let document = document();
    let paths = document["paths"].as_object().expect("paths");
    for (path, methods) in paths {
        let content = &methods["post"]["requestBody"]["content"]["application/json"];
        let schema = content["schema"]["$ref"].as_str();
        let schema = schema.and_then(|to| document.pointer(to.trim_start_matches('#')));
        let named = content["examples"].as_object().into_iter().flatten();
        let mut examples: Vec<&Value> = named.map(|(_, example)| &example["value"]).collect();
        examples.extend(
            schema
                .and_then(|schema| schema["examples"].as_array())
                .into_iter()
                .flatten(),
        );
        for example in examples {
            let answer = server.post(path, &example.to_string());
            let described = &methods["post"]["responses"][answer.status.to_string()];
            assert!(described.is_object(), "{path} {example} {}", answer.status);
            assert!(
                matches!(answer.status, 200 | 404),
                "{path} {example} {}",
                answer.body
            );
        }
    }
}
