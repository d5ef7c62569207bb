//! The precondition of a change: `If-Match` with a version, or `If-None-Match: *` for nothing.
//!
//! Not here: the order of changes, which the database decides.

use http::HeaderMap;
use http::header::{HeaderValue, IF_MATCH, IF_NONE_MATCH};
use tollgate_catalogue::Seen;
use tollgate_catalogue_sql::Error;

use crate::fault::Fault;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// No precondition.
    None,
    /// The object must not exist.
    Nothing,
    /// The object must exist.
    Any,
    /// One of these versions; a tag that is not a version matches nothing.
    OneOf(Vec<u64>),
}

impl Condition {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Fault> {
        let none = tags(headers, &IF_NONE_MATCH);
        let some = tags(headers, &IF_MATCH);
        match (some, none) {
            (Some(_), Some(_)) => Err(Fault::malformed(
                "say `If-Match` or `If-None-Match`, not both",
            )),
            (None, None) => Ok(Self::None),
            (None, Some(Tags::Any)) => Ok(Self::Nothing),
            (None, Some(Tags::Of(_))) => Err(Fault::malformed(
                "a change takes `If-None-Match: *` for what must not be there, or `If-Match` with its version",
            )),
            (Some(Tags::Any), None) => Ok(Self::Any),
            (Some(Tags::Of(versions)), None) => Ok(Self::OneOf(versions)),
        }
    }

    /// Applies it to an object of this version; `None` for one that does not exist.
    pub(crate) fn seen(&self, present: Option<u64>) -> Result<Seen, Fault> {
        let conflict = || Fault::from(Error::Conflict { present });
        match (self, present) {
            (Self::None | Self::Nothing, None) => Ok(Seen::Nothing),
            (Self::None, Some(version)) => Err(Fault::unseen(version)),
            (Self::Any, Some(version)) => Ok(Seen::Version(version)),
            (Self::OneOf(versions), Some(version)) if versions.contains(&version) => {
                Ok(Seen::Version(version))
            }
            (Self::Nothing | Self::Any | Self::OneOf(_), _) => Err(conflict()),
        }
    }
}

pub(crate) fn is_known(headers: &HeaderMap, version: u64) -> bool {
    match tags(headers, &IF_NONE_MATCH) {
        None => false,
        Some(Tags::Any) => true,
        Some(Tags::Of(versions)) => versions.contains(&version),
    }
}

enum Tags {
    Any,
    Of(Vec<u64>),
}

fn tags(headers: &HeaderMap, name: &http::HeaderName) -> Option<Tags> {
    let mut lines = headers.get_all(name).iter().peekable();
    lines.peek()?;
    let texts: Vec<&str> = lines
        .filter_map(|line: &HeaderValue| line.to_str().ok())
        .collect();
    if texts.iter().any(|text| text.trim() == "*") {
        return Some(Tags::Any);
    }
    let tags = texts.iter().flat_map(|text| text.split(','));
    let versions = tags.filter_map(|tag| {
        let tag = tag.trim().strip_prefix('"')?.strip_suffix('"')?;
        tag.parse().ok()
    });
    Some(Tags::Of(versions.take(TAGS_MAX).collect()))
}

/// The most versions in one field.
const TAGS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[(&'static str, &'static str)]) -> Result<Condition, Fault> {
        let line = |(name, value): &(&'static str, &'static str)| {
            (
                http::HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        Condition::of(&lines.iter().map(line).collect())
    }

    #[test]
    fn conditions_are_versions_anything_or_nothing() {
        let is = |lines: &[(&'static str, &'static str)]| said(lines).unwrap();
        assert_eq!(is(&[]), Condition::None);
        assert_eq!(is(&[("if-match", "\"3\"")]), Condition::OneOf(vec![3]));
        assert_eq!(
            is(&[("if-match", "\"3\", \"4\"")]),
            Condition::OneOf(vec![3, 4])
        );
        assert_eq!(is(&[("if-match", "*")]), Condition::Any);
        assert_eq!(is(&[("if-none-match", "*")]), Condition::Nothing);
        for none in ["3", "W/\"3\"", "\"x\"", "", "\"99999999999999999999\""] {
            assert_eq!(
                is(&[("if-match", none)]),
                Condition::OneOf(vec![]),
                "{none}"
            );
        }
        assert!(said(&[("if-none-match", "\"3\"")]).is_err());
        assert!(said(&[("if-match", "*"), ("if-none-match", "*")]).is_err());
    }

    #[test]
    fn whoever_did_not_look_is_told_to() {
        let seen =
            |condition: &Condition, present| condition.seen(present).map_err(|fault| fault.code());
        assert_eq!(seen(&Condition::None, None), Ok(Seen::Nothing));
        assert_eq!(
            seen(&Condition::None, Some(3)),
            Err("precondition_required")
        );
        assert_eq!(seen(&Condition::Nothing, Some(3)), Err("conflict"));
        assert_eq!(seen(&Condition::Any, Some(3)), Ok(Seen::Version(3)));
        assert_eq!(seen(&Condition::Any, None), Err("conflict"));
        let one = Condition::OneOf(vec![2, 3]);
        assert_eq!(seen(&one, Some(3)), Ok(Seen::Version(3)));
        assert_eq!(seen(&one, Some(4)), Err("conflict"));
        assert_eq!(seen(&one, None), Err("conflict"));
    }
}
