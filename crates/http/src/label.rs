//! Names of policies as header fields and JSON can carry them: printable ASCII, whatever a contract file has.

use crate::value::FieldValue;

/// A policy's name, with the contract's if two share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label<'c> {
    contract: Option<&'c str>,
    name: &'c str,
}

impl<'c> Label<'c> {
    pub(crate) const fn short(name: &'c str) -> Self {
        Self {
            contract: None,
            name,
        }
    }

    pub(crate) const fn full(contract: &'c str, name: &'c str) -> Self {
        Self {
            contract: Some(contract),
            name,
        }
    }

    /// The name between quotes, as structured fields and JSON both write it.
    pub(crate) fn quote(self, out: &mut FieldValue) {
        out.put(b"\"");
        if let Some(contract) = self.contract {
            escape(contract, out);
            out.put(b"/");
        }
        escape(self.name, out);
        out.put(b"\"");
    }

    /// Without quotes.
    pub(crate) fn printable(self) -> String {
        let name = printable(self.name);
        match self.contract {
            Some(contract) => format!("{}/{name}", printable(contract)),
            None => name,
        }
    }
}

/// A name in printable ASCII; every other byte becomes `%` and two digits.
fn printable(name: &str) -> String {
    let each = name.bytes().flat_map(|byte| {
        let (text, length) = spelled(byte);
        text.into_iter().take(length)
    });
    each.map(char::from).collect()
}

fn escape(name: &str, out: &mut FieldValue) {
    // Nearly every name is plain, and copied at once.
    let is_plain = |byte: &u8| matches!(byte, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~');
    if name.as_bytes().iter().all(is_plain) {
        return out.put(name.as_bytes());
    }
    for byte in name.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.put(b"\\");
        }
        let (text, length) = spelled(byte);
        out.put(text.get(..length).unwrap_or_default());
    }
}

/// A byte of a name in printable ASCII, and how many letters that is.
fn spelled(byte: u8) -> ([u8; 3], usize) {
    if matches!(byte, b' '..=b'~') {
        return ([byte, 0, 0], 1);
    }
    let [high, low] = [byte >> 4, byte & 15].map(|digit| HEX[usize::from(digit)]);
    ([b'%', high, low], 3)
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_printable() {
        assert_eq!(printable("per minute"), "per minute");
        assert_eq!(printable("čas\n\u{7f}"), "%C4%8Das%0A%7F");
        assert_eq!(printable("a\"b\\c"), "a\"b\\c");
    }

    #[test]
    fn quotes_in_names_are_escaped() {
        let mut out = FieldValue::new();
        Label::full("é", "a\"b\\c\r").quote(&mut out);
        assert_eq!(out.as_bytes(), br#""%C3%A9/a\"b\\c%0D""#);
    }
}
