//! Parses filters of decisions.

use std::fmt;

use serde::Serialize;
use tollgate_contract::{Contracts, nearest};
use tollgate_node::Key;

use super::TailedDecision;
use crate::meter::Judgement;

/// A decision is shown if it fits all fields that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DecisionFilter {
    contract: Option<String>,
    /// With these entries.
    key: Vec<(String, String)>,
    /// With a verdict of this name.
    verdict: Option<String>,
}

/// Why a filter is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterError {
    /// An unknown parameter: its name, and the nearest known one.
    Parameter(String, Option<&'static str>),
    /// A repeated parameter.
    Twice(&'static str),
    /// There are too many entries.
    TooMany,
    /// It is no entry.
    Key(String),
    /// An unknown verdict, and the nearest known one.
    Verdict(String, Option<&'static str>),
    /// An unknown contract, and the nearest known one.
    Contract(String, Option<String>),
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = |near: Option<&str>| {
            near.map_or_else(String::new, |near| format!(" Did you mean `{near}`?"))
        };
        match self {
            Self::Parameter(name, near) => write!(
                f,
                "There is no parameter `{name}`, only {}.{}",
                PARAMETERS.join(", "),
                hint(*near)
            ),
            Self::Twice(name) => write!(f, "`{name}` may be given once."),
            Self::TooMany => write!(f, "`key` may be given {ENTRIES_MAX} times."),
            Self::Key(text) => write!(
                f,
                "`{text}` is no entry of a key: write `key=user=42`, a name, `=` and a value of at most {BYTES_MAX} bytes."
            ),
            Self::Verdict(text, near) => write!(
                f,
                "`{text}` is no verdict, as are {}.{}",
                VERDICTS.map(|(word, _)| word).join(", "),
                hint(*near)
            ),
            Self::Contract(id, near) => {
                write!(f, "No contract has the id `{id}`.{}", hint(near.as_deref()))
            }
        }
    }
}

impl std::error::Error for FilterError {}

impl DecisionFilter {
    /// Parses parameters, checked by the contracts in force.
    pub fn read<N: AsRef<str>, V: AsRef<str>>(
        parameters: impl IntoIterator<Item = (N, V)>,
        contracts: &Contracts,
    ) -> Result<Self, FilterError> {
        let mut filter = Self::default();
        for (name, value) in parameters {
            let value = value.as_ref();
            match name.as_ref() {
                "contract" => once(
                    &mut filter.contract,
                    "contract",
                    contract(value, contracts)?,
                )?,
                "verdict" => once(&mut filter.verdict, "verdict", verdict(value)?)?,
                "key" if filter.key.len() >= ENTRIES_MAX => return Err(FilterError::TooMany),
                "key" => filter.key.push(entry(value)?),
                name => {
                    let near = nearest(name, PARAMETERS.into_iter());
                    return Err(FilterError::Parameter(shown(name), near));
                }
            }
        }
        Ok(filter)
    }

    pub(super) fn admits(&self, seen: &TailedDecision<'_>) -> bool {
        let is_of = |id: &String| seen.contracts.contains(&id.as_str());
        let has = |word: &String| judgements(word).contains(&seen.judgement);
        self.verdict.as_ref().is_none_or(has) && self.contract.as_ref().is_none_or(is_of) && {
            self.key.iter()
        }
        .all(|(name, value)| has_entry(seen.key, name, value))
    }
}

fn once(place: &mut Option<String>, name: &'static str, value: String) -> Result<(), FilterError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(FilterError::Twice(name)),
    }
}

fn contract(id: &str, contracts: &Contracts) -> Result<String, FilterError> {
    if contracts.position(id).is_some() || id == DESCRIBED {
        return Ok(id.to_owned());
    }
    let all = contracts.as_slice().iter().map(|contract| &*contract.id);
    let near = nearest(id, all).map(str::to_owned);
    Err(FilterError::Contract(shown(id), near))
}

fn verdict(word: &str) -> Result<String, FilterError> {
    if VERDICTS.iter().any(|(is, _)| *is == word) {
        return Ok(word.to_owned());
    }
    let near = nearest(word, VERDICTS.into_iter().map(|(word, _)| word));
    Err(FilterError::Verdict(shown(word), near))
}

fn entry(text: &str) -> Result<(String, String), FilterError> {
    let entry = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let entry = entry.filter(|_| text.len() <= BYTES_MAX);
    entry
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| FilterError::Key(shown(text)))
}

/// A bare key fits any entry with its value: a contract names it.
fn has_entry(key: Key<'_>, name: &str, value: &str) -> bool {
    match key {
        Key::Entries(entries) => entries.contains(&(name, value)),
        Key::Text(text) => text == value.as_bytes(),
        Key::Word(word) => word.to_string() == value,
    }
}

fn judgements(word: &str) -> &'static [Judgement] {
    let found = VERDICTS.iter().find(|(is, _)| *is == word);
    found.map_or(&[], |(_, judgements)| judgements)
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}

const PARAMETERS: [&str; 3] = ["contract", "key", "verdict"];
/// Names of verdicts, and what they stand for.
const VERDICTS: [(&str, &[Judgement]); 7] = {
    use Judgement::{Allowed, Delayed, Denied, Failed, ShadowDenied};
    [
        ("admitted", &[Allowed, Delayed, ShadowDenied]),
        ("refused", &[Denied]),
        (Allowed.name(), &[Allowed]),
        (Delayed.name(), &[Delayed]),
        (Denied.name(), &[Denied]),
        (ShadowDenied.name(), &[ShadowDenied]),
        (Failed.name(), &[Failed]),
    ]
};
/// The contract name for requests that describe their policy themselves.
pub(crate) const DESCRIBED: &str = "(described)";
/// Limit on the entries of a filter.
const ENTRIES_MAX: usize = 8;
/// The longest entry.
const BYTES_MAX: usize = 4 << 10;
/// Characters of invalid input in an error.
const SHOWN_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use tollgate_limit::Instant;

    use super::*;

    fn contracts() -> Contracts {
        let text =
            "contracts: [{ id: users, key: [user], policies: [{ name: p, limit: 1, per: 1s }] }]";
        Contracts::parse(text).unwrap()
    }

    fn read(parameters: &[(&str, &str)]) -> Result<DecisionFilter, String> {
        let read = DecisionFilter::read(parameters.iter().copied(), &contracts());
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn garbage_is_refused_with_what_was_probably_meant() {
        let long = "x=".to_owned() + &"y".repeat(BYTES_MAX);
        let nine = [("key", "a=1"); 9];
        for (parameters, said) in [
            (&[("contrat", "users")][..], "Did you mean `contract`?"),
            (&[("contract", "user")], "Did you mean `users`?"),
            (&[("verdict", "refuse")], "Did you mean `refused`?"),
            (&[("verdict", "\0\u{7f}")], "is no verdict"),
            (&[("key", "user")], "is no entry"),
            (&[("key", "=42")], "is no entry"),
            (&[("key", &long)], "is no entry"),
            (&[("verdict", "deny"), ("verdict", "deny")], "once"),
            (&nine, "8 times"),
        ] {
            let error = read(parameters).unwrap_err();
            assert!(error.contains(said), "{parameters:?}: {error}");
            assert!(error.len() < 300, "{error}");
        }
    }

    #[test]
    fn a_decision_is_shown_where_it_fits_all_that_is_said() {
        let entries = [("user", "42"), ("plan", "free")];
        let seen = |judgement| TailedDecision {
            key: Key::Entries(&entries),
            judgement,
            contracts: &["users"],
            now: Instant::default(),
        };
        let admits = |parameters: &[(&str, &str)], judgement| {
            read(parameters).unwrap().admits(&seen(judgement))
        };
        assert!(admits(&[], Judgement::Failed));
        assert!(admits(
            &[("key", "user=42"), ("verdict", "refused")],
            Judgement::Denied
        ));
        assert!(!admits(
            &[("key", "user=42"), ("verdict", "refused")],
            Judgement::Allowed
        ));
        assert!(!admits(&[("key", "user=4")], Judgement::Denied));
        assert!(!admits(
            &[("key", "user=42"), ("key", "plan=pro")],
            Judgement::Denied
        ));
        assert!(admits(&[("verdict", "admitted")], Judgement::ShadowDenied));
        assert!(admits(&[("contract", "users")], Judgement::Delayed));
        assert!(!admits(&[("contract", "(described)")], Judgement::Delayed));
    }
}
