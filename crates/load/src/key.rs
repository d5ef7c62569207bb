//! Keys as people write them, `user=42,plan=free` or a bare value, and templates of such keys.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyParts {
    /// One value without a name.
    Bare(String),
    /// Names and values, in order.
    Entries(Vec<(String, String)>),
}

/// Why a text is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySyntaxError {
    Empty,
    /// A part between commas has no `=`, though another has.
    NoName(String),
    /// A name comes twice.
    Twice(String),
    /// A template has no `{}`, or more than one.
    Hole(usize),
}

impl fmt::Display for KeySyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the key is empty"),
            Self::NoName(part) => write!(f, "`{part}` has no name; write name=value,name=value"),
            Self::Twice(name) => write!(f, "`{name}` comes twice in the key"),
            Self::Hole(count) => {
                write!(f, "a key template has one {{}} for the number, not {count}")
            }
        }
    }
}

impl std::error::Error for KeySyntaxError {}

/// Parses a key. A text without `=` is a bare value, commas included.
pub fn parts(text: &str) -> Result<KeyParts, KeySyntaxError> {
    if text.is_empty() {
        return Err(KeySyntaxError::Empty);
    }
    if !text.contains('=') {
        return Ok(KeyParts::Bare(text.to_owned()));
    }
    let mut entries: Vec<(String, String)> = Vec::new();
    for part in text.split(',') {
        let no_name = || KeySyntaxError::NoName(part.to_owned());
        let (name, value) = part.split_once('=').ok_or_else(no_name)?;
        if name.is_empty() {
            return Err(no_name());
        }
        if entries.iter().any(|(other, _)| other == name) {
            return Err(KeySyntaxError::Twice(name.to_owned()));
        }
        entries.push((name.to_owned(), value.to_owned()));
    }
    Ok(KeyParts::Entries(entries))
}

/// A key with a `{}` where a number goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTemplate {
    text: String,
}

impl KeyTemplate {
    pub fn new(text: impl Into<String>) -> Result<Self, KeySyntaxError> {
        let text = text.into();
        match text.matches("{}").count() {
            1 => parts(&text).map(|_| Self { text }),
            count => Err(KeySyntaxError::Hole(count)),
        }
    }

    /// The key with this text for its number.
    pub fn with(&self, number: &str) -> String {
        self.text.replace("{}", number)
    }

    /// The same, in parts.
    pub(crate) fn parts_with(&self, number: &str) -> KeyParts {
        let text = self.with(number);
        parts(&text).unwrap_or(KeyParts::Bare(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_bare_or_has_names() {
        let entries = |list: &[(&str, &str)]| {
            let owned = list
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Ok(KeyParts::Entries(owned.collect()))
        };
        assert_eq!(parts("a,b"), Ok(KeyParts::Bare("a,b".to_owned())));
        assert_eq!(parts("user=42"), entries(&[("user", "42")]));
        assert_eq!(
            parts("user=a=b,plan="),
            entries(&[("user", "a=b"), ("plan", "")])
        );
    }

    #[test]
    fn broken_keys_are_refused() {
        assert_eq!(parts(""), Err(KeySyntaxError::Empty));
        assert_eq!(parts("a=1,b"), Err(KeySyntaxError::NoName("b".to_owned())));
        assert_eq!(parts("=1"), Err(KeySyntaxError::NoName("=1".to_owned())));
        assert_eq!(parts("a=1,a=2"), Err(KeySyntaxError::Twice("a".to_owned())));
        assert_eq!(KeyTemplate::new("user"), Err(KeySyntaxError::Hole(0)));
        assert_eq!(KeyTemplate::new("{}{}"), Err(KeySyntaxError::Hole(2)));
    }
}
