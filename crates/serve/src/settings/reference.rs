//! Settings for other readers: the JSON schema of the file, the tables of the documentation, and a line of the log.
//!
//! Not here: which settings exist (`rows`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use tollgate_contract::file::DURATION_PATTERN;

use super::draft::Draft;
use super::file::{REQUIRED, in_file};
use super::setting::{Form, HUSHED, Setting, SettingKind};
use super::{Settings, setting};

impl Settings {
    /// The settings that differ from their defaults, as `name=value`. If a value may contain a secret or is long, only
    /// its name.
    pub fn told(&self) -> String {
        let default = Self::served_by_default();
        let mut usual = Draft::default();
        let mut draft = Draft::of(self.clone(), PathBuf::new());
        let mut different = BTreeMap::new();
        for setting in setting::all().filter(|setting| !HUSHED.contains(&setting.path)) {
            let value = setting.told(&mut draft).filter(|_| draft.has(setting.path));
            if let Some(value) = value
                && setting.told(&mut usual).as_ref() != Some(&value)
            {
                different.insert(setting.path, value);
            }
        }
        let mut told: Vec<String> = different
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        for group in default.differences(self) {
            let parts = group.split(", ");
            let is_told = |name: &str| told.iter().any(|word| word.starts_with(name));
            if !parts.clone().any(is_told) {
                told.push(format!("{group}=set"));
            }
        }
        told.join(" ")
    }
}

/// The JSON schema (draft 2020-12) of the server's file, indented, with a line end.
pub fn json_schema() -> String {
    let mut schema = section("", "Settings of a Tollgate server");
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("ServerFile");
    schema["properties"]["plans"] =
        json!({ "description": "Named sets of policies that contracts of this file follow." });
    format!("{schema:#}\n")
}

/// The fields of a section.
fn section(path: &str, about: &str) -> Value {
    let within = if path.is_empty() {
        String::new()
    } else {
        format!("{path}.")
    };
    let mut fields = serde_json::Map::new();
    for setting in in_file() {
        let Some(rest) = setting.path.strip_prefix(&within) else {
            continue;
        };
        match rest.split_once('.') {
            None => drop(fields.insert(rest.to_owned(), field(setting))),
            Some((name, _)) if !fields.contains_key(name) => {
                let value = section(
                    &format!("{within}{name}"),
                    &format!("such as {}", setting.help()),
                );
                fields.insert(name.to_owned(), value);
            }
            Some(_) => {}
        }
    }
    let required: Vec<_> = REQUIRED
        .iter()
        .filter(|(section, _)| *section == path)
        .map(|(_, name)| *name)
        .collect();
    json!({
        "type": "object",
        "description": sentence(about),
        "properties": fields,
        "required": required,
        "additionalProperties": false,
    })
}

fn sentence(about: &str) -> String {
    let mut letters = about.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

fn field(setting: &Setting) -> Value {
    let mut schema = match setting.kind {
        SettingKind::Whole(least, most, _) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        SettingKind::Size(..) => json!({ "type": ["string", "integer"] }),
        SettingKind::Length(..) => json!({ "type": "string", "pattern": DURATION_PATTERN }),
        SettingKind::Switch(["false", "true"], _) => json!({ "type": "boolean" }),
        SettingKind::Switch(..) | SettingKind::Choice(_) => json!({ "enum": setting.names() }),
        SettingKind::Path(_) | SettingKind::File(..) => json!({ "type": "string" }),
        SettingKind::Text(..) | SettingKind::Typed(_) | SettingKind::Name(..) => {
            json!({ "type": ["string", "integer"] })
        }
        SettingKind::List(most, _) => {
            json!({ "type": "array", "items": { "type": "string" }, "maxItems": most })
        }
        SettingKind::Form(form) => of_form(form),
    };
    schema["description"] = json!(sentence(&setting.help()));
    schema
}

fn of_form(form: Form) -> Value {
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    match form {
        Form::Http | Form::Resp | Form::Admin => {
            let file = json!({ "type": "string" });
            let listener = json!({ "anyOf": [{ "type": ["string", "integer"] }, {
                "type": "object",
                "properties": {
                    "at": { "type": ["string", "integer"] },
                    "mode": { "type": ["string", "integer"] },
                    "tls": {
                        "type": "object",
                        "properties": { "certificate": file, "key": file, "client_ca": file },
                        "required": ["certificate", "key"],
                        "additionalProperties": false,
                    },
                    "hosts": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["at"],
                "additionalProperties": false,
            }] });
            json!({ "anyOf": [listener, { "type": "array", "items": listener }] })
        }
        Form::Contracts => json!({ "anyOf": [{ "type": "string" }, { "type": "array" }] }),
        Form::Roster => json!({ "anyOf": [
            { "type": "array", "items": { "type": "string" } },
            { "type": "object", "additionalProperties": { "type": "integer", "minimum": 0 } },
        ] }),
        Form::Entries => texts,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn told(text: &str) -> String {
        Settings::parse(text, Path::new("/etc/tollgate.yaml"))
            .unwrap()
            .told()
    }

    #[test]
    fn only_what_is_not_as_it_comes_is_told() {
        assert_eq!(Settings::served_by_default().told(), "");
        assert_eq!(told("{}"), "config=/etc/tollgate.yaml");
        let text = "http: off\nlimits: { drain: 1500ms, body: 2MiB }\nauth: { hold_max: 9s }\n\
                    access: { unmatched: deny }";
        assert_eq!(
            told(text),
            "access.unmatched=deny config=/etc/tollgate.yaml http=off limits.body=2097152 limits.drain=1.5s auth=set"
        );
    }

    #[test]
    fn secrets_are_not_told() {
        let text = "access: { tokens: [a-secret-of-callers] }\nstore: { url: 'redis://:a-secret-of-redis@host:1' }\n\
                    database: { url: 'postgres://user:a-secret-of-sql@host/db' }\n\
                    telemetry: { otlp: 'http://user:a-secret-of-otlp@host:1' }";
        let told = told(text);
        assert!(!told.contains("a-secret"), "{told}");
        for part in [
            "access.tokens=1",
            "store.url=redis://",
            "database.url=postgres://",
            "telemetry.otlp=set",
        ] {
            assert!(told.contains(part), "no {part} in {told}");
        }
    }
}
