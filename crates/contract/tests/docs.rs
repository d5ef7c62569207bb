//! The reference of the contract file and the committed JSON schema say what the code does.

#![allow(
    clippy::expect_used,
    clippy::format_push_string,
    clippy::unwrap_used,
    reason = "a test says what it expects"
)]

use std::path::{Path, PathBuf};

use serde_json::Value;
use tollgate_contract::{Contracts, Coordination, Feature, FieldShape, PolicyField, json_schema};
use tollgate_limit::Algorithm;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

fn reference() -> String {
    std::fs::read_to_string(path("contract-file.md")).expect("the reference")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a switch for whoever runs the tests"
)]
fn is_update() -> bool {
    std::env::var_os("UPDATE_SCHEMA").is_some()
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    let (path, schema) = (path("contract.schema.json"), json_schema());
    if is_update() {
        std::fs::write(&path, &schema).expect("written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    assert!(
        parse(&committed) == parse(&schema),
        "docs/contract.schema.json is out of date; write it anew with\n\
         UPDATE_SCHEMA=1 cargo test -p tollgate-contract --test docs"
    );
}

/// A part of the reference that is made of the rows of modes, with the heading that it stands under.
struct Generated {
    under: &'static str,
    text: String,
}

impl Generated {
    const END: &str = "<!-- end of what the rows of modes say -->\n";

    /// The reference with this part as it should be.
    fn put_into(&self, reference: &str) -> String {
        let (before, rest) = reference.split_once(self.under).expect(self.under);
        let (_, after) = rest.split_once(Self::END).expect("an end");
        [before, self.under, &self.text, Self::END, after].concat()
    }
}

/// What each mode does, and which algorithms it counts.
fn modes() -> Generated {
    let mut text = "\n\n| name | how nodes agree |\n|---|---|\n".to_owned();
    for mode in Coordination::ALL {
        text += &format!("| `{}` | {} |\n", mode.name(), mode.about());
    }
    text += "\nA contract or an assignment that asks for what its mode does not do is refused, with what to do instead:\n\n";
    text += &format!("| | {} |\n", Coordination::NAMES.join(" | "));
    text += &format!("|{}\n", "---|".repeat(1 + Coordination::ALL.len()));
    for feature in Feature::all() {
        let does = |mode: Coordination| match mode.does(feature) {
            Ok(()) => "yes",
            Err(_) => "no",
        };
        let cells = Coordination::ALL.map(does).join(" | ");
        text += &format!("| {} | {cells} |\n", feature.name());
    }
    text += "\nWhat does not work beside algorithms, and why:\n\n";
    let others = Feature::all().filter(|feature| !matches!(feature, Feature::Algorithm(_)));
    for (feature, mode) in others.flat_map(|is| Coordination::ALL.map(|mode| (is, mode))) {
        if let Err(why) = mode.does(feature) {
            text += &format!("- {}: {why}.\n", feature.name());
        }
    }
    Generated {
        under: "### Coordination",
        text,
    }
}

/// The fields that only some mode has.
fn fields() -> Generated {
    let mut text =
        "\n\nSome fields say how a mode works, and mean something under that one only.\n"
            .to_owned();
    for mode in Coordination::ALL {
        let row = mode.row();
        let lines: Vec<String> = row.fields.iter().map(line).collect();
        if !lines.is_empty() {
            text += &format!(
                "\nHow {}, under `coordination: {}`:\n\n",
                row.how,
                mode.name()
            );
            text += "| field | default | meaning |\n|---|---|---|\n";
            text += &lines.concat();
        }
    }
    Generated {
        under: "### Fields of modes",
        text,
    }
}

fn line(field: &PolicyField) -> String {
    let absent = match field.shape {
        FieldShape::Choice(names) if field.absent.is_empty() => format!("`{}`", names[0]),
        _ => field.absent.to_owned(),
    };
    format!("| `{}` | {absent} | {} |\n", field.name, field.about)
}

#[test]
fn the_reference_says_of_modes_what_their_rows_say() {
    let text = reference();
    let right = fields().put_into(&modes().put_into(&text));
    if is_update() {
        std::fs::write(path("contract-file.md"), &right).expect("written");
        return;
    }
    assert!(
        right == text,
        "docs/contract-file.md is out of date; write it anew with\n\
         UPDATE_SCHEMA=1 cargo test -p tollgate-contract --test docs"
    );
}

#[test]
fn every_snippet_of_the_reference_is_a_good_file() {
    let text = reference();
    let snippets: Vec<&str> = text
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(snippets.len() >= 8, "{} snippets", snippets.len());
    for snippet in snippets {
        Contracts::parse_any(snippet).unwrap_or_else(|errors| panic!("{snippet}\n{errors}"));
    }
}

#[test]
fn the_reference_names_every_field() {
    let text = reference();
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let mut fields: Vec<&str> = Vec::new();
    for of in [
        "/properties",
        "/$defs/Contract/properties",
        "/$defs/Plan/properties",
        "/$defs/Policy/properties",
    ] {
        fields.extend(
            schema
                .pointer(of)
                .and_then(Value::as_object)
                .expect(of)
                .keys()
                .map(String::as_str),
        );
    }
    assert!(fields.len() >= 28, "{fields:?}");
    for field in fields {
        assert!(
            text.contains(&format!("| `{field}` |")),
            "the reference does not describe `{field}`"
        );
    }
}

#[test]
fn the_matrix_of_the_reference_is_the_one_of_the_code() {
    let text = reference();
    for algorithm in Algorithm::ALL {
        let start = format!("| {} |", algorithm.name());
        let row = text
            .lines()
            .find(|line| line.starts_with(&start))
            .expect("a row");
        let cells: Vec<bool> = row
            .trim_matches('|')
            .split('|')
            .skip(1)
            .map(|cell| cell.trim() == "yes")
            .collect();
        let allowed = Coordination::ALL.map(|coordination| coordination.allows(algorithm));
        assert_eq!(cells, allowed, "{row}");
    }
}

/// As much of JSON Schema as the schema uses; patterns and lengths are left out.
fn validates(root: &Value, schema: &Value, value: &Value) -> bool {
    let all = |name: &str, holds: &dyn Fn(&Value) -> bool| schema.get(name).is_none_or(holds);
    let is = |kind: &Value| match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_u64(),
        Some("boolean") => value.is_boolean(),
        other => panic!("the type {other:?}"),
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    all("$ref", &|name| {
        let name = name.as_str().unwrap().trim_start_matches('#');
        validates(root, root.pointer(name).expect(name), value)
    }) && all("type", &is)
        && all("anyOf", &|any| {
            any.as_array()
                .unwrap()
                .iter()
                .any(|one| validates(root, one, value))
        })
        && all("enum", &|names| names.as_array().unwrap().contains(value))
        && all("minimum", &|least| value.as_u64() >= least.as_u64())
        && all("maximum", &|most| value.as_u64() <= most.as_u64())
        && all("required", &|names| {
            names
                .as_array()
                .unwrap()
                .iter()
                .all(|n| value.get(n.as_str().unwrap()).is_some())
        })
        && all("items", &|item| {
            value
                .as_array()
                .unwrap()
                .iter()
                .all(|v| validates(root, item, v))
        })
        && value.as_object().is_none_or(|fields| {
            fields.iter().all(
                |(name, value)| match properties.and_then(|all| all.get(name)) {
                    Some(schema) => validates(root, schema, value),
                    None => match schema.get("additionalProperties") {
                        Some(Value::Bool(allowed)) => *allowed,
                        Some(other) => validates(root, other, value),
                        None => true,
                    },
                },
            )
        })
}

fn is_valid(json: &str) -> bool {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    validates(&schema, &schema, &serde_json::from_str(json).unwrap())
}

#[test]
fn the_schema_accepts_what_the_parser_accepts() {
    let sample = r#"{
        "plans": [{"id": "free", "policies": [{"name": "burst", "limit": 20, "per": "1s"}]}],
        "contracts": [
            {"id": "a", "match": {"plan": "free", "version": 2}, "key": ["user"], "coordination": "gossip",
             "plan": "free", "policies": [{"name": "burst", "burst": 40, "durable": true}]}
        ]}"#;
    Contracts::parse(sample).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(is_valid(sample));
    let named = r#"{"plans": {"free": {"policies": [{"name": "burst", "limit": 20, "per": "1s"}]}},
        "contracts": [{"id": "a", "plan": "free"}]}"#;
    Contracts::parse(named).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(is_valid(named));
}

#[test]
fn the_schema_refuses_what_the_parser_refuses() {
    for bad in [
        r#"{"contract": []}"#,
        r#"{"contracts": [{"id": "a", "polices": []}]}"#,
        r#"{"contracts": [{"id": "a", "policies": [{"limit": 1, "per": "1s"}]}]}"#,
        r#"{"contracts": [{"id": "a", "policies": [{"name": "p", "limit": 0, "per": "1s"}]}]}"#,
        r#"{"contracts": [{"id": "a", "policies": [{"name": "p", "limit": "1", "per": "1s"}]}]}"#,
        r#"{"contracts": [{"id": "a", "policies": [{"name": "p", "limit": 1, "per": "1s", "algorithm": "x"}]}]}"#,
        r#"{"contracts": [{"id": "a", "policies": [{"name": "p", "limit": 1, "per": "1s", "weight": 1}]}]}"#,
    ] {
        assert!(Contracts::parse(bad).is_err(), "{bad}");
        assert!(!is_valid(bad), "{bad}");
    }
}
