//! A contract or a plan as the fields of a form.

use serde_json::{Map, Value};
use tollgate_contract::ENTRIES_MAX;
use tollgate_limit::POLICIES_MAX;

use super::fields::Fields;
use super::policy::PolicyDraft;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DraftKind {
    #[default]
    Contract,
    Plan,
}

impl DraftKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Plan => "plan",
        }
    }

    /// The fields that are single words, besides the id.
    pub(super) const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Contract => &["plan", "coordination", "headers"],
            Self::Plan => &["follows"],
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub kind: DraftKind,
    pub id: String,
    pub words: Vec<(&'static str, String)>,
    /// Entries that must be present, with their values.
    pub matches: Vec<(String, String)>,
    /// Entries that identify the counter.
    pub key: Vec<String>,
    pub policies: Vec<PolicyDraft>,
}

impl Draft {
    /// Begins with one policy.
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

    /// Applies the button that adds or removes a policy.
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

    /// `None` for a document that the form cannot represent in full.
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
        // Fields that the form does not know are missing here.
        (draft.document() == *document).then_some(draft)
    }

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

    /// Empty where the field is unset.
    pub fn word(&self, name: &str) -> &str {
        let found = self.words.iter().find(|(is, _)| *is == name);
        found.map_or("", |(_, value)| value)
    }

    /// Takes the rollout mode of the policy from the saved document.
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
