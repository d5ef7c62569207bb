//! Topic names.

/// Not empty, no wildcard, no NUL, at most 65,535 bytes.
pub fn is_topic(text: &str) -> bool {
    let bytes = 1..=usize::from(u16::MAX);
    bytes.contains(&text.len()) && !text.contains(['+', '#', '\0'])
}
