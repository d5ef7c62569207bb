//! An assignment as the fields of a form: which identity is on which plan, from when until when.

use serde_json::{Map, Value};
use tollgate_limit::POLICIES_MAX;

use super::fields::Fields;
use super::policy::PolicyDraft;
use crate::html::{Element, Html, el};
use crate::part::{field, select};

/// The fields that are words, in the order of the form.
const WORDS: [&str; 8] = [
    "id", "identity", "contract", "plan", "from", "until", "then", "note",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssignmentDraft {
    words: Vec<(&'static str, String)>,
    /// Policies that differ from those of the plan.
    pub overrides: Vec<PolicyDraft>,
}

impl AssignmentDraft {
    pub fn from_fields(fields: &Fields) -> Self {
        let words = WORDS.map(|name| (name, fields.get(name).to_owned()));
        let overrides = (0..=POLICIES_MAX).filter_map(|i| PolicyDraft::from_fields(fields, i));
        Self {
            words: words
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .collect(),
            overrides: overrides.filter(|policy| !policy.is_empty()).collect(),
        }
    }

    /// `None` for a document that the form cannot represent in full.
    pub fn from_document(document: &Value) -> Option<Self> {
        let text = |name: &'static str| {
            document
                .get(name)
                .and_then(Value::as_str)
                .map(|value| (name, value.to_owned()))
        };
        let overrides = document.get("overrides").and_then(Value::as_array);
        let overrides: Option<Vec<PolicyDraft>> = overrides
            .into_iter()
            .flatten()
            .map(PolicyDraft::from_document)
            .collect();
        let draft = Self {
            words: WORDS.into_iter().filter_map(text).collect(),
            overrides: overrides?,
        };
        (draft.document() == *document).then_some(draft)
    }

    pub fn document(&self) -> Value {
        let words = self
            .words
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::from(value.clone())));
        let mut map: Map<String, Value> = words.collect();
        if !self.overrides.is_empty() {
            let overrides: Vec<Value> = self.overrides.iter().map(PolicyDraft::document).collect();
            map.insert("overrides".to_owned(), overrides.into());
        }
        Value::Object(map)
    }

    /// Empty where the field is unset.
    pub fn word(&self, name: &str) -> &str {
        let found = self.words.iter().find(|(is, _)| *is == name);
        found.map_or("", |(_, value)| value)
    }
}

pub fn assignment_form(draft: &AssignmentDraft, plans: &[String], contracts: &[String]) -> Html {
    let choices = |first: &'static str, names: &[String]| -> Vec<(String, String)> {
        [(String::new(), first.to_owned())]
            .into_iter()
            .chain(names.iter().map(|name| (name.clone(), name.clone())))
            .collect()
    };
    let choice = |label: &'static str,
                  name: &'static str,
                  first: &'static str,
                  names: &[String]|
     -> Element {
        let choices = choices(first, names);
        let options: Vec<(&str, &str)> = choices
            .iter()
            .map(|(name, words)| (&**name, &**words))
            .collect();
        select(Some(label), name, draft.word(name), &options)
    };
    let overrides = draft.overrides.iter().enumerate().flat_map(|(i, policy)| {
        let carried = PolicyDraft::names().filter(|name| !policy.get(name).is_empty());
        carried.map(move |name| {
            el("input")
                .attr("type", "hidden")
                .attr("name", format!("policy.{i}.{name}"))
                .attr("value", policy.get(name))
        })
    });
    el("div")
        .class("fields")
        .with(choice("Plan", "plan", "the contract's", plans))
        .with(choice(
            "Only in the contract",
            "contract",
            "every contract",
            contracts,
        ))
        .with(field(
            "From (UTC), as 2026-12-31T23:00",
            "from",
            draft.word("from"),
        ))
        .with(field(
            "Until (UTC), as 2026-12-31T23:00",
            "until",
            draft.word("until"),
        ))
        .with(choice("Afterwards", "then", "the contract's plan", plans))
        .with(field("Note", "note", draft.word("note")))
        .each(overrides)
        .into()
}
