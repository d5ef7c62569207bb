//! The fields of a form as a browser sends them.

/// The most fields that are read; the rest is left out.
const FIELDS_MAX: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded`. Invalid input is kept as it stands and never refused here.
    pub fn parse(body: &str) -> Self {
        let pairs = body
            .split('&')
            .filter(|pair| !pair.is_empty())
            .take(FIELDS_MAX);
        let read = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        };
        Self(pairs.map(read).collect())
    }

    /// The first value of that name; empty if the field is missing.
    pub fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(is, _)| is == name);
        found.map_or("", |(_, value)| value)
    }

    /// Names and values as they were typed, without the CSRF value.
    pub fn typed(&self) -> Vec<(String, String)> {
        let typed = self.0.iter().filter(|(name, _)| name != "csrf");
        typed.cloned().collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(is, _)| is == name)
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Fields {
    fn from(pairs: [(&str, &str); N]) -> Self {
        Self(
            pairs
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        )
    }
}

impl FromIterator<(String, String)> for Fields {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(pairs: T) -> Self {
        Self(pairs.into_iter().collect())
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                bytes.push(digit(*high) << 4 | digit(*low));
                rest = after;
            }
            (byte, _) => bytes.push(*byte),
        }
    }
    // Browsers send line breaks as two characters.
    String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
}

fn digit(byte: u8) -> u8 {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_browsers_send() {
        let fields =
            Fields::parse("id=a%2Fb+c&note=%C5%A0%0D%0Ax&empty=&alone&bad=%4&worse=%zz&id=second");
        assert_eq!(fields.get("id"), "a/b c");
        assert_eq!(fields.get("note"), "Š\nx");
        assert_eq!((fields.get("bad"), fields.get("worse")), ("%4", "%zz"));
        assert!(fields.has("alone") && fields.has("empty") && !fields.has("none"));
        assert_eq!(Fields::parse(""), Fields::default());
    }
}
