//! Topic filters: a topic's name with wildcards in it.

use core::fmt;

/// The most levels a filter may have here. The protocol has no bound; recursion over filters needs one.
pub const LEVELS_MAX: usize = 128;

/// A topic filter. `+` stands for one level, `#` at the end for any number of them, the level above included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicFilter {
    text: Box<str>,
    /// Where the part after `$share/GROUP/` begins.
    start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadFilter {
    Empty,
    Long,
    Deep,
    Nul,
    /// A `#` is not the whole last level.
    Hash,
    /// A `+` is not a whole level.
    Plus,
    /// `$share` without a group, or without a filter after it.
    Share,
}

impl TopicFilter {
    pub fn parse(text: &str) -> Result<Self, BadFilter> {
        if text.len() > usize::from(u16::MAX) {
            return Err(BadFilter::Long);
        }
        if text.contains('\0') {
            return Err(BadFilter::Nul);
        }
        let start = share(text)?;
        let filter = &text[start..];
        if filter.is_empty() {
            return Err(BadFilter::Empty);
        }
        let count = filter.split('/').count();
        if count > LEVELS_MAX {
            return Err(BadFilter::Deep);
        }
        for (at, level) in (1..).zip(filter.split('/')) {
            if level.contains('#') && (level != "#" || at != count) {
                return Err(BadFilter::Hash);
            }
            if level.contains('+') && level != "+" {
                return Err(BadFilter::Plus);
            }
        }
        Ok(Self {
            text: text.into(),
            start,
        })
    }

    pub fn matches(&self, topic: &str) -> bool {
        let mut names = topic.split('/');
        if is_hidden(topic) && self.levels().next().is_some_and(is_wildcard) {
            return false;
        }
        for level in self.levels() {
            if level == "#" {
                return true;
            }
            match names.next() {
                Some(name) if level == "+" || level == name => {}
                _ => return false,
            }
        }
        names.next().is_none()
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The group of a shared subscription.
    pub fn share(&self) -> Option<&str> {
        self.text.get(SHARE.len()..self.start.checked_sub(1)?)
    }

    /// Whether it matches one topic only.
    pub fn is_plain(&self) -> bool {
        !self.levels().any(is_wildcard)
    }

    pub(crate) fn levels(&self) -> impl Iterator<Item = &str> {
        self.text[self.start..].split('/')
    }
}

/// Whether only filters without a wildcard at the first level match a topic.
pub(crate) fn is_hidden(topic: &str) -> bool {
    topic.starts_with('$')
}

pub(crate) fn is_wildcard(level: &str) -> bool {
    level == "+" || level == "#"
}

/// Where a filter begins after its group.
fn share(text: &str) -> Result<usize, BadFilter> {
    if text == "$share" {
        return Err(BadFilter::Share);
    }
    let Some(rest) = text.strip_prefix(SHARE) else {
        return Ok(0);
    };
    let (group, filter) = rest.split_once('/').ok_or(BadFilter::Share)?;
    if group.is_empty() || group.contains(['+', '#']) || filter.is_empty() {
        return Err(BadFilter::Share);
    }
    Ok(text.len() - filter.len())
}

const SHARE: &str = "$share/";

impl fmt::Display for BadFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a topic filter has at least one character"),
            Self::Long => f.write_str("a topic filter has at most 65,535 bytes"),
            Self::Deep => write!(f, "a topic filter has at most {LEVELS_MAX} levels"),
            Self::Nul => f.write_str("a topic filter has no NUL"),
            Self::Hash => f.write_str("`#` stands alone in the last level of a topic filter"),
            Self::Plus => f.write_str("`+` stands alone in a level of a topic filter"),
            Self::Share => f.write_str("a shared filter is `$share/GROUP/FILTER`"),
        }
    }
}

impl std::error::Error for BadFilter {}
