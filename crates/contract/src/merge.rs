//! The fields given for a policy, and a plan's policies overridden by a contract's.

use crate::error::ErrorKind;
use crate::fields::Field;
use crate::nearest::unknown_field;
use crate::problems::{Problem, Problems};
use crate::raw::RawPolicy;
use crate::snippet::{Place, quote};
use crate::text::{Text, YamlNode};

/// The fields given for one policy, by whoever gave them.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// Where the policy begins.
    pub(crate) place: Place,
    fields: Vec<(Field, Text)>,
    /// Whether something was given that is no field, so that what is missing may be what was meant.
    pub(crate) has_unknown: bool,
}

impl Given {
    /// Sorts out fields that do not exist.
    pub(crate) fn of(raw: &YamlNode<RawPolicy>, problems: &mut Problems) -> Self {
        let mut fields = Vec::new();
        let mut has_unknown = false;
        for (name, value) in &raw.value.0.0 {
            if let Some(field) = Field::from_name(&name.value) {
                fields.push((field, value.clone()));
                continue;
            }
            has_unknown = true;
            if problems.is_hopeless() {
                break;
            }
            let what = unknown_field(&name.value, &Field::names());
            problems.add(Problem::new(ErrorKind::UnknownField, name.place, what));
        }
        Self {
            place: raw.place,
            fields,
            has_unknown,
        }
    }

    /// Fields that are known to exist.
    pub(crate) const fn new(place: Place, fields: Vec<(Field, Text)>) -> Self {
        Self {
            place,
            fields,
            has_unknown: false,
        }
    }

    pub(crate) fn fields(&self) -> &[(Field, Text)] {
        &self.fields
    }

    /// The same fields in the order of the table.
    pub(crate) fn sorted(&self) -> Self {
        let mut fields = self.fields.clone();
        fields.sort_by_key(|(field, _)| field.place());
        Self::new(self.place, fields)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Text> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(given, _)| given.row().name == name);
        found.map(|(_, text)| text)
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.get("name").map(|text| &*text.value)
    }

    /// Takes over the fields the other gives.
    fn override_with(&mut self, other: &Self) {
        self.place = other.place;
        self.has_unknown |= other.has_unknown;
        for (field, text) in &other.fields {
            self.fields.retain(|(given, _)| given != field);
            self.fields.push((*field, text.clone()));
        }
    }
}

/// Says which policies have the name of one before them.
pub(crate) fn check_names(policies: &[Given], problems: &mut Problems) {
    for (index, policy) in policies.iter().enumerate() {
        let name = policy.name();
        if name.is_some() && policies[..index].iter().any(|before| before.name() == name) {
            let place = policy.get("name").map_or(policy.place, |text| text.place);
            let what = format!(
                "there is already a policy named {}",
                quote(name.unwrap_or_default())
            );
            problems.add(Problem::new(ErrorKind::Duplicate, place, what));
        }
    }
}

/// The plan's policies in their order with the contract's laid over them, then what the contract adds.
pub(crate) fn overlaid(plan: &[Given], own: &[Given]) -> Vec<Given> {
    let mut merged = plan.to_vec();
    let added = laid_over(&mut merged, own);
    merged.extend(added.into_iter().cloned());
    merged
}

/// Lays policies over those of the same name; those that found none are left.
pub(crate) fn laid_over<'a>(under: &mut [Given], over: &'a [Given]) -> Vec<&'a Given> {
    let mut left = Vec::new();
    for policy in over {
        let of_same_name = under.iter_mut().find(|base| base.name() == policy.name());
        match of_same_name {
            Some(base) if policy.name().is_some() => base.override_with(policy),
            _ => left.push(policy),
        }
    }
    left
}
