//! A policy as the fields of a form: every field as text, empty where it is unset.

use core::fmt::Display;
use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tollgate_contract::{Contracts, FieldShape, PolicyField};
use tollgate_limit::PolicyConfig;

use super::fields::Fields;
use crate::part::{BindingMode, Chip};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyDraft(BTreeMap<&'static str, String>);

impl PolicyDraft {
    pub fn names() -> impl Iterator<Item = &'static str> {
        PolicyField::all().iter().map(|field| field.name)
    }

    /// Empty where nothing was typed.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        if let Some(name) = Self::names().find(|known| *known == name) {
            self.0.insert(name, value.to_string());
        }
        self
    }

    /// `None` where all of its fields are missing.
    pub(super) fn from_fields(fields: &Fields, number: usize) -> Option<Self> {
        let mut is_there = false;
        let mut draft = Self::default();
        for name in Self::names() {
            let field = format!("policy.{number}.{name}");
            is_there |= fields.has(&field);
            let value = fields.get(&field);
            if !value.is_empty() {
                draft.0.insert(name, value.to_owned());
            }
        }
        is_there.then_some(draft)
    }

    /// `None` for a policy that a form cannot represent.
    pub(super) fn from_document(document: &Value) -> Option<Self> {
        let mut draft = Self::default();
        for (name, value) in document.as_object()? {
            let name = Self::names().find(|known| known == name)?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(switch) => switch.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            draft.0.insert(name, text);
        }
        Some(draft)
    }

    /// Text that is not a number stays text; the check of the document reports it.
    pub fn document(&self) -> Value {
        let value = |name: &str, text: &String| {
            let typed = match PolicyField::named(name).map(|field| field.shape) {
                Some(FieldShape::Whole(..)) => text.parse::<u64>().ok().map(Value::from),
                Some(FieldShape::Switch) => text.parse::<bool>().ok().map(Value::from),
                _ => None,
            };
            typed.unwrap_or_else(|| Value::from(text.clone()))
        };
        let said = self.0.iter().filter(|(_, text)| !text.is_empty());
        Value::Object(
            said.map(|(name, text)| ((*name).to_owned(), value(name, text)))
                .collect::<Map<_, _>>(),
        )
    }

    pub fn is_empty(&self) -> bool {
        self.0.values().all(String::is_empty)
    }

    /// `None` while the policy is invalid.
    pub(crate) fn config(&self) -> Option<PolicyConfig> {
        // Names and coordination do not change the picture.
        let mut counted = self.clone();
        counted.0.retain(|name, _| {
            *name != "coordination"
                && PolicyField::named(name).is_none_or(|field| field.mode().is_none())
        });
        counted.0.insert("name", "shown".to_owned());
        let document = serde_json::json!({ "contracts": [{ "id": "shown", "policies": [counted.document()] }] });
        let contracts = Contracts::parse(&document.to_string()).ok()?;
        let contract = contracts.get(0)?;
        let policy = contract.policies.first()?;
        Some(policy.policy.config().clone())
    }
}

pub fn chip(policy: &Value) -> Chip {
    let text = |name: &str| match policy.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number
            .as_u64()
            .map_or_else(|| number.to_string(), crate::number::whole),
        _ => String::new(),
    };
    let per = text("per");
    let unit = per
        .strip_prefix('1')
        .filter(|unit| unit.chars().all(char::is_alphabetic) && !unit.is_empty());
    let mut words = match (text("limit"), unit.unwrap_or(&per)) {
        (limit, "") => limit,
        (limit, unit) if limit.is_empty() => format!("per {unit}"),
        (limit, unit) => format!("{limit} / {unit}"),
    };
    if policy.get("burst").is_some() {
        words = format!("{words} · burst {}", text("burst"));
    }
    let percent = policy.get("enforce_percent").and_then(Value::as_u64);
    Chip {
        name: text("name"),
        text: words,
        mode: match (policy.get("mode").and_then(Value::as_str), percent) {
            (Some("shadow"), _) | (_, Some(0)) => BindingMode::Shadow,
            (_, Some(percent @ 1..=99)) => {
                BindingMode::Percent(u8::try_from(percent).unwrap_or(99))
            }
            _ => BindingMode::Enforce,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn says_a_policy_in_a_few_words() {
        let said = |policy: Value| chip(&policy).text.replace('\u{202f}', " ");
        assert_eq!(
            said(json!({ "limit": 20, "per": "1s", "burst": 40 })),
            "20 / s · burst 40"
        );
        assert_eq!(
            said(json!({ "limit": 100_000, "per": "month" })),
            "100 000 / month"
        );
        assert_eq!(said(json!({ "limit": 5, "per": "1m30s" })), "5 / 1m30s");
        assert_eq!(said(json!({ "limit": 5 })), "5");
        assert_eq!(said(json!({ "per": "1h" })), "per h");
        assert_eq!(said(json!({})), "");
        assert_eq!(
            chip(&json!({ "enforce_percent": 10 })).mode,
            BindingMode::Percent(10)
        );
        assert_eq!(chip(&json!({ "mode": "shadow" })).mode, BindingMode::Shadow);
    }

    #[test]
    fn pictures_only_what_makes_sense() {
        let draft = PolicyDraft::default()
            .with("limit", 20)
            .with("per", "1s")
            .with("coordination", "supply");
        assert_eq!(draft.config().map(|config| config.limit), Some(20));
        assert!(draft.with("burst", "many").config().is_none());
    }
}
