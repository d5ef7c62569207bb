//! Values with `*` in them, each standing for any characters or none.

/// A pattern, cut at its stars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wildcard {
    first: Box<str>,
    middle: Box<[Box<str>]>,
    last: Box<str>,
}

impl Wildcard {
    /// The pattern, if there is a star in it.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        let (first, rest) = pattern.split_once('*')?;
        let (middle, last) = rest
            .rsplit_once('*')
            .map_or((None, rest), |(m, last)| (Some(m), last));
        let middle = middle
            .into_iter()
            .flat_map(|parts| parts.split('*'))
            .map(Into::into);
        Some(Self {
            first: first.into(),
            middle: middle.collect(),
            last: last.into(),
        })
    }

    pub(super) fn matches(&self, value: &str) -> bool {
        let Some(rest) = value.strip_prefix(&*self.first) else {
            return false;
        };
        let Some(mut rest) = rest.strip_suffix(&*self.last) else {
            return false;
        };
        for part in &self.middle {
            let Some(at) = rest.find(&**part) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn matches(pattern: &str, yes: &[&str], no: &[&str]) {
        let wildcard = Wildcard::of(pattern).unwrap();
        for (values, expected) in [(yes, true), (no, false)] {
            for value in values {
                assert_eq!(wildcard.matches(value), expected, "{pattern} {value}");
            }
        }
    }

    #[test]
    fn a_star_is_any_characters_or_none() {
        matches("*", &["", "a", "*"], &[]);
        matches("foo*", &["foo", "foobar", "foo*"], &["fo", "xfoo"]);
        matches("*foo", &["foo", "xfoo"], &["foox"]);
        matches("a*a", &["aa", "aba"], &["a"]);
        matches("a*b*c", &["abc", "axbxc", "abbc"], &["ac", "acb", "bc"]);
        matches("a**c", &["ac", "abc"], &["a"]);
        assert_eq!(Wildcard::of("plain"), None);
    }
}
