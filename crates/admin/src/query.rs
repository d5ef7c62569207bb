//! Decodes the query string and the segments of a path.

use crate::fault::Fault;

#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Refuses parameters that are not in `known`.
    pub(crate) fn read(text: &str, known: &[&str]) -> Result<Self, Fault> {
        let mut pairs = Vec::new();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let both = decoded(name, true).zip(decoded(value, true));
            let Some((name, value)) = both else {
                return Err(Fault::malformed(
                    "a parameter is no text: write bytes that are none as `%41`",
                ));
            };
            if !known.contains(&&*name) {
                return Err(Fault::unknown("parameter", &name, known.iter().copied()));
            }
            if pairs.len() >= PARAMETERS_MAX {
                return Err(Fault::malformed(format!(
                    "there are at most {PARAMETERS_MAX} parameters"
                )));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.0.iter().filter(move |(is, _)| is == name);
        pairs.map(|(_, value)| &**value)
    }

    /// Refuses a parameter that is given twice.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Fault> {
        let mut pairs = self.0.iter().filter(|(is, _)| is == name);
        let first = pairs.next().map(|(_, value)| &**value);
        if pairs.next().is_some() {
            return Err(Fault::malformed(format!("`{name}` may be given once")));
        }
        Ok(first)
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Fault> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        let what = || format!("`{name}` must be a whole number from 0 to {}", u64::MAX);
        number.map(Some).ok_or_else(|| Fault::malformed(what()))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, Fault> {
        match self.text(name)? {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(Fault::malformed(format!("`{name}` is `true` or `false`"))),
        }
    }
}

/// Percent-decodes; `None` if the result is not UTF-8, or has characters that no database
/// stores.
pub(crate) fn decoded(text: &str, plus_is_space: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                bytes.push(u8::try_from(high * 16 + low).ok()?);
            }
            b'+' if plus_is_space => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// The most parameters of a request.
const PARAMETERS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_decoded_or_refused() {
        let decode = |text| decoded(text, true);
        assert_eq!(decode("user%3D42+a%2fb").as_deref(), Some("user=42 a/b"));
        assert_eq!(decode("%c3%a4").as_deref(), Some("ä"));
        assert_eq!(decoded("a+b", false).as_deref(), Some("a+b"));
        for wrong in ["%", "%4", "%zz", "%ff", "%00", "%+1"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn parameters_are_known_given_once_and_of_their_kind() {
        let known = ["limit", "dry_run", "key"];
        let query = Query::read("limit=7&dry_run=true&key=a&key=b&", &known).unwrap();
        assert_eq!(query.number("limit").unwrap(), Some(7));
        assert!(query.flag("dry_run").unwrap());
        assert_eq!(query.all("key").collect::<Vec<_>>(), ["a", "b"]);
        assert!(query.text("key").is_err());
        let why = Query::read("limt=7", &known).unwrap_err();
        assert!(why.message().contains("`limit`"), "{}", why.message());
        for wrong in [
            "limit=",
            "limit=-1",
            "limit=+1",
            "limit=99999999999999999999",
            "limit=x",
        ] {
            assert!(
                Query::read(wrong, &known).unwrap().number("limit").is_err(),
                "{wrong}"
            );
        }
        assert!(Query::read("key=%00", &known).is_err());
    }
}
