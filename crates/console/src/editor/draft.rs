//! A contract or a plan as a form has it.

use serde_json::{Map, Value};
use tollgate_contract::ENTRIES_MAX;
use tollgate_limit::POLICIES_MAX;

use super::fields::Fields;
use super::policy::PolicyDraft;

/// What is edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DraftKind {
    /// A contract.
    #[default]
    Contract,
    /// A plan.
    Plan,
}

impl DraftKind {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Plan => "plan",
        }
    }

    /// The fields that are single words, beside the id.
    pub(super) const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Contract => &["plan", "coordination", "headers"],
            Self::Plan => &["follows"],
        }
    }
}

/// A contract or a plan as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// Which of the two.
    pub kind: DraftKind,
    /// Its id.
    pub id: String,
    /// Single words: the plan, the coordination and so on.
    pub words: Vec<(&'static str, String)>,
    /// Entries that must be present, with their values.
    pub matches: Vec<(String, String)>,
    /// Entries that identify the counter.
    pub key: Vec<String>,
    /// The policies.
    pub policies: Vec<PolicyDraft>,
}

impl Draft {
    /// A new one, with a policy to begin with.
    pub fn new(kind: DraftKind) -> Self {
        let first = PolicyDraft::default()
            .with("name", "burst")
            .with("limit", 20)
            .with("per", "1s");
        Self {
            kind,
            policies: vec![first],
            ..Self::default()
        }
    }

    /// What a form says; a button that adds or takes away a policy has done so.
    pub fn from_fields(kind: DraftKind, fields: &Fields) -> Self {
        let matches = (0..=ENTRIES_MAX).map(|i| {
            let part = |name: &str| fields.get(&format!("match.{i}.{name}")).to_owned();
            (part("name"), part("value"))
        });
        let key = (0..=ENTRIES_MAX).map(|i| fields.get(&format!("key.{i}")).to_owned());
        let policies = (0..=POLICIES_MAX).filter_map(|i| PolicyDraft::from_fields(fields, i));
        let mut draft = Self {
            kind,
            id: fields.get("id").to_owned(),
            words: kind
                .words()
                .iter()
                .map(|word| (*word, fields.get(word).to_owned()))
                .filter(|(_, value)| !value.is_empty())
                .collect(),
            matches: matches.filter(|(name, _)| !name.is_empty()).collect(),
            key: key.filter(|name| !name.is_empty()).collect(),
            policies: policies.collect(),
        };
        draft.press(fields.get("do"));
        draft
    }

    /// What a document says; nothing for one that a form cannot say whole.
    pub fn from_document(kind: DraftKind, document: &Value) -> Option<Self> {
        let text = |name: &str| {
            document
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let list = |name: &str| {
            document
                .get(name)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let pairs = document
            .get("match")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let policies: Option<Vec<PolicyDraft>> = list("policies")
            .iter()
            .map(PolicyDraft::from_document)
            .collect();
        let draft = Self {
            kind,
            id: text("id"),
            words: kind
                .words()
                .iter()
                .map(|word| (*word, text(word)))
                .filter(|(_, value)| !value.is_empty())
                .collect(),
            matches: pairs
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
                .collect(),
            key: list("key")
                .iter()
                .map(|name| name.as_str().unwrap_or_default().to_owned())
                .collect(),
            policies: policies?,
        };
        // Whatever was not understood is missing now.
        (draft.document() == *document).then_some(draft)
    }

    /// The document that it says.
    pub fn document(&self) -> Value {
        let mut map = Map::new();
        map.insert("id".to_owned(), self.id.clone().into());
        for (name, value) in &self.words {
            map.insert((*name).to_owned(), value.clone().into());
        }
        if !self.matches.is_empty() {
            let pairs = self
                .matches
                .iter()
                .map(|(name, value)| (name.clone(), Value::from(value.clone())));
            map.insert("match".to_owned(), Value::Object(pairs.collect()));
        }
        if !self.key.is_empty() {
            map.insert("key".to_owned(), self.key.clone().into());
        }
        let policies: Vec<Value> = self
            .policies
            .iter()
            .filter(|policy| !policy.is_empty())
            .map(PolicyDraft::document)
            .collect();
        if !policies.is_empty() {
            map.insert("policies".to_owned(), policies.into());
        }
        Value::Object(map)
    }

    /// The value of a word; empty where it is not said.
    pub fn word(&self, name: &str) -> &str {
        let found = self.words.iter().find(|(is, _)| *is == name);
        found.map_or("", |(_, value)| value)
    }

    /// The same with how a policy binds as a saved one says it.
    #[must_use]
    pub fn rolled_out(mut self, policy: &str, saved: &Value) -> Self {
        let said = |name: &str| match saved.get(name) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        for draft in &mut self.policies {
            if draft.get("name") == policy {
                for name in ["mode", "enforce_percent"] {
                    *draft = std::mem::take(draft).with(name, said(name));
                }
            }
        }
        self
    }

    fn press(&mut self, button: &str) {
        if button == "add-policy" && self.policies.len() < POLICIES_MAX {
            self.policies.push(PolicyDraft::default());
        }
        let number = button
            .strip_prefix("remove-policy-")
            .and_then(|number| number.parse::<usize>().ok());
        if let Some(number) = number.filter(|number| *number < self.policies.len()) {
            self.policies.remove(number);
        }
    }
}
