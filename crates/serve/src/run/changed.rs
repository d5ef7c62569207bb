//! Which contracts a load changes, for the log.

use std::collections::BTreeMap;

use tollgate_contract::{Contract, Contracts};

use crate::catalogue::Origin;

/// Ids of contracts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changed<'a> {
    added: Vec<&'a str>,
    altered: Vec<&'a str>,
    removed: Vec<&'a str>,
    all: usize,
}

impl<'a> Changed<'a> {
    pub(super) fn between(before: &'a Contracts, after: &'a Contracts) -> Self {
        let by_id = |contracts: &'a Contracts| -> BTreeMap<&'a str, &'a Contract> {
            let each = contracts.as_slice().iter();
            each.map(|contract| (contract.id.as_str(), contract))
                .collect()
        };
        let (before, after) = (by_id(before), by_id(after));
        let mut changed = Self {
            all: after.len(),
            ..Self::default()
        };
        for (id, contract) in &after {
            match before.get(id) {
                None => changed.added.push(id),
                Some(old) if !is_same(old, contract) => changed.altered.push(id),
                Some(_) => {}
            }
        }
        let gone = before.keys().filter(|id| !after.contains_key(*id));
        changed.removed.extend(gone.copied());
        changed
    }

    /// A description; `None` without changes.
    pub(super) fn sentence(&self) -> Option<String> {
        let kinds = [
            ("added", &self.added),
            ("changed", &self.altered),
            ("removed", &self.removed),
        ];
        let parts = kinds.map(|(what, ids)| list(ids).map(|ids| format!("{what} {ids}")));
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Logs it with the author.
    pub(super) fn log(&self, Origin { by, revision }: &Origin) {
        let [added, changed, removed] = [&self.added, &self.altered, &self.removed].map(list);
        let (contracts, revision) = (self.all, *revision);
        if added.is_none() && changed.is_none() && removed.is_none() {
            tracing::info!(
                by,
                revision,
                contracts,
                "contracts were read again; none of them changed"
            );
        } else {
            tracing::info!(
                by,
                revision,
                contracts,
                added,
                changed,
                removed,
                "other contracts are in force"
            );
        }
    }
}

fn is_same(old: &Contract, new: &Contract) -> bool {
    old.matches == new.matches
        && old.key == new.key
        && old.headers == new.headers
        && old.plan == new.plan
        && old.policies == new.policies
}

/// The first ids of a list; `None` if empty.
fn list(ids: &Vec<&str>) -> Option<String> {
    let shown = ids.get(..SHOWN_MAX).unwrap_or(ids).join(", ");
    match ids.len() {
        0 => None,
        count if count > SHOWN_MAX => Some(format!("{shown} and {} more", count - SHOWN_MAX)),
        _ => Some(shown),
    }
}

/// Ids per kind in one line.
const SHOWN_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_was_added_changed_and_removed() {
        let read = |text: &str| Contracts::parse(&format!("contracts: [{text}]")).unwrap();
        let contract = |id: &str, limit: u32| {
            format!(
                "{{ id: {id}, key: [user], policies: [{{ name: p, limit: {limit}, per: 1s }}] }},"
            )
        };
        let before = read(&(contract("a", 1) + &contract("b", 1) + &contract("c", 1)));
        let after = read(&(contract("c", 1) + &contract("d", 1) + &contract("b", 2)));
        let changed = Changed::between(&before, &after);
        assert_eq!(changed.added, ["d"]);
        assert_eq!(changed.altered, ["b"]);
        assert_eq!(changed.removed, ["a"]);
        let many = vec!["x"; 25];
        assert!(list(&many).is_some_and(|text| text.ends_with("x and 5 more")));
    }
}
