//! Flat JSON objects, as records of a trace. `serde_json` reads them; their meaning and the places of faults are here.
//!
//! Nested values are refused rather than skipped: nothing in a descriptor is nested. The parser stops at the end of the
//! object; the caller decides what may follow.

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{ParseFault, quote};
use super::field::{self, FieldRole, RecordLayout};

/// A record, and where its object ends in the text.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) time_ms: u64,
    pub(super) cost: u64,
    pub(super) end: usize,
}

/// Why there is no object.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The text stops before the object does.
    Short,
    /// The space for unescaped texts is used up.
    Full,
    Fault(ParseFault),
}

impl From<ParseFault> for Trouble {
    fn from(fault: ParseFault) -> Self {
        Self::Fault(fault)
    }
}

/// Reads the object at the front of `text`, which starts with its brace.
pub(super) fn object<'b>(text: &'b str, desk: &mut RecordLayout<'b>) -> Result<Object, Trouble> {
    match text.as_bytes().first() {
        None => return Err(Trouble::Short),
        Some(b'{') => {}
        Some(_) => return Err(unexpected(text, 0, "an object").into()),
    }
    let mut reading = Reading {
        text,
        desk,
        time: Seen::No,
        cost: Seen::No,
        trouble: None,
    };
    let mut json = serde_json::Deserializer::from_str(text);
    if let Err(error) = json.deserialize_map(&mut reading) {
        return Err(reading
            .trouble
            .take()
            .unwrap_or_else(|| trouble(text, &error)));
    }
    let Seen::Value(time_ms) = reading.time else {
        return Err(field::missing_time().into());
    };
    Ok(Object {
        time_ms,
        cost: reading.cost.value_or(1),
        end: json.into_iter::<IgnoredAny>().byte_offset(),
    })
}

/// What was read of an object so far.
struct Reading<'a, 'b> {
    text: &'b str,
    desk: &'a mut RecordLayout<'b>,
    time: Seen,
    cost: Seen,
    /// Why the reading stopped, unless by the grammar.
    trouble: Option<Trouble>,
}

impl<'b> Visitor<'b> for &mut Reading<'_, 'b> {
    type Value = ();

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("an object")
    }

    #[inline]
    fn visit_map<A: MapAccess<'b>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key_seed(Name(self.desk))? {
            let value: &'b RawValue = fields.next_value()?;
            let entered = name
                .ok_or(Trouble::Full)
                .and_then(|name| self.enter(name, value.get()));
            if let Err(trouble) = entered {
                self.trouble = Some(trouble);
                return Err(A::Error::custom("not a record"));
            }
        }
        Ok(())
    }
}

impl<'b> Reading<'_, 'b> {
    #[inline]
    fn enter(&mut self, name: &'b str, value: &'b str) -> Result<(), Trouble> {
        let value_at = self.place_of(value).unwrap_or(0);
        let told = match FieldRole::of(name) {
            FieldRole::Time => self.time.tell("time", value, field::time),
            FieldRole::Cost => self.cost.tell("cost", value, field::cost),
            FieldRole::Entry(entry) => {
                let meaning =
                    meaning(entry, value, self.desk).map_err(|trouble| match trouble {
                        Trouble::Fault(fault) => fault.moved(value_at).into(),
                        Trouble::Short | Trouble::Full => trouble,
                    })?;
                // A name with escapes is not literally in the text, but its value is.
                let name_at = self.place_of(name).map_or(value_at, |inside| inside - 1);
                let entered = self.desk.enter(entry, meaning);
                return entered.map_err(|what| ParseFault::new(name_at, what).into());
            }
        };
        told.map_err(|fault| fault.moved(value_at).into())
    }

    /// The offset of a part of the text; `None` for other texts.
    #[inline]
    fn place_of(&self, part: &str) -> Option<usize> {
        let place = part.as_ptr().addr().checked_sub(self.text.as_ptr().addr());
        place.filter(|place| *place < self.text.len())
    }
}

/// Reads a field's name; `None` if there is no room left to resolve its escapes.
struct Name<'a, 'b>(&'a mut RecordLayout<'b>);

impl<'b> DeserializeSeed<'b> for Name<'_, 'b> {
    type Value = Option<&'b str>;

    #[inline]
    fn deserialize<D: serde::Deserializer<'b>>(self, name: D) -> Result<Self::Value, D::Error> {
        name.deserialize_str(self)
    }
}

impl<'b> Visitor<'b> for Name<'_, 'b> {
    type Value = Option<&'b str>;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("a field's name")
    }

    #[inline]
    fn visit_borrowed_str<E>(self, name: &'b str) -> Result<Self::Value, E> {
        Ok(Some(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.spare.keep(name))
    }
}

/// A value as a descriptor entry; `None` if it is null. The fault's place is relative to the value.
#[inline]
fn meaning<'b>(
    name: &str,
    value: &'b str,
    desk: &mut RecordLayout<'b>,
) -> Result<Option<&'b str>, Trouble> {
    match kind(value) {
        "text" => {
            let inside = &value[1..value.len() - 1];
            if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
                return Ok(Some(inside));
            }
            let text: String =
                serde_json::from_str(value).map_err(|error| trouble(value, &error))?;
            desk.spare.keep(&text).map(Some).ok_or(Trouble::Full)
        }
        "null" => Ok(None),
        "a number" if !value.contains(['.', 'e', 'E']) => Ok(Some(value)),
        kind => {
            let kind = if kind == "a number" {
                "a fraction"
            } else {
                kind
            };
            let what = format!("the field {} is {kind}", quote(name));
            let fault = ParseFault::new(0, what);
            Err(fault.hint("fields are text, whole numbers or null").into())
        }
    }
}

/// The kind of a value, by its first byte.
#[inline]
fn kind(value: &str) -> &'static str {
    match value.as_bytes().first() {
        Some(b'"') => "text",
        Some(b'n') => "null",
        Some(b't') => "true",
        Some(b'f') => "false",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        _ => "a number",
    }
}

/// A syntax error, in our words if those of `serde_json` name its own types.
#[cold]
fn trouble(text: &str, error: &serde_json::Error) -> Trouble {
    const EXPECTED: [(&str, &str); 5] = [
        ("expected `:`", "a colon"),
        ("expected `,`", "a comma or the end of the object"),
        ("trailing comma", "a field's name in quotes"),
        ("key must be", "a field's name in quotes"),
        ("expected", "a value"),
    ];
    if error.is_eof() {
        return Trouble::Short;
    }
    let lines = text.split_inclusive('\n').take(error.line() - 1);
    let at = (lines.map(str::len).sum::<usize>() + error.column()).saturating_sub(1);
    let words = error.to_string();
    if words.starts_with("control character") {
        let mut rest = text.bytes().skip(at);
        let ahead = rest.position(|byte| byte < b' ').unwrap_or(0);
        let fault = ParseFault::new(at + ahead, "a control character inside a string");
        return fault.hint("write it as an escape, for example \\n").into();
    }
    let before = &text.as_bytes()[..at.min(text.len())];
    if words.starts_with("invalid number") {
        let inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let start = before.len() - before.iter().rev().take_while(|byte| inside(byte)).count();
        let number = &text[start..];
        let number = &number[..number.bytes().take_while(inside).count()];
        if start + number.len() == text.len() {
            return Trouble::Short;
        }
        return ParseFault::new(start, format!("{} is not a number", quote(number))).into();
    }
    let expected = EXPECTED
        .iter()
        .find(|(theirs, _)| words.starts_with(theirs));
    if let Some((_, wanted)) = expected {
        let word = before.iter().rev();
        let word = word.take_while(|byte| byte.is_ascii_alphabetic());
        return unexpected(text, at - word.count(), wanted).into();
    }
    let escape = memchr::memrchr(b'\\', before).unwrap_or(at);
    let what = match words.split(" at line").next() {
        Some(what) if !what.ends_with("hex escape") => what,
        _ => "half of a surrogate pair",
    };
    ParseFault::new(escape, what).into()
}

#[cold]
fn unexpected(text: &str, at: usize, wanted: &str) -> ParseFault {
    let found = text.get(at..).and_then(|rest| rest.chars().next());
    let found = found.map_or(String::new(), |found| quote(&found.to_string()));
    ParseFault::new(at, format!("expected {wanted}, found {found}"))
}

/// A number that may be given at most once.
enum Seen {
    No,
    Null,
    Value(u64),
}

impl Seen {
    #[inline]
    fn tell(
        &mut self,
        name: &str,
        value: &str,
        read: fn(&str) -> Result<u64, ParseFault>,
    ) -> Result<(), ParseFault> {
        if !matches!(self, Self::No) {
            let what = format!("the field \"{name}\" is there twice");
            return Err(ParseFault::new(0, what));
        }
        *self = match kind(value) {
            "null" => Self::Null,
            "a number" => Self::Value(read(value)?),
            kind => {
                let what = format!("the {name} is {kind}, not a number");
                return Err(ParseFault::new(0, what));
            }
        };
        Ok(())
    }

    fn value_or(self, other: u64) -> u64 {
        match self {
            Self::Value(value) => value,
            Self::No | Self::Null => other,
        }
    }
}

/// Where the value at the front of `text` ends, judged by quotes and brackets alone; `None` if not in this text.
///
/// Finds the way back after a fault inside an array.
pub(super) fn end_of_element(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at)?,
            b'{' | b'[' => depth += 1,
            b',' if depth == 0 => return Some(at),
            b'}' | b']' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(at),
            },
            _ => {}
        }
        at += 1;
    }
    None
}

fn end_of_string(bytes: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(text: &str) -> (u64, u64, String) {
        let mut room = vec![0; text.len()];
        let mut desk = RecordLayout::new(&mut room);
        let object = object(text, &mut desk).unwrap();
        assert_eq!(&text[object.end - 1..object.end], "}");
        let entries: Vec<String> = desk
            .entries
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        (object.time_ms, object.cost, entries.join(" "))
    }

    #[track_caller]
    fn refused(text: &str, at: usize, part: &str) {
        let mut room = vec![0; text.len()];
        match object(text, &mut RecordLayout::new(&mut room)) {
            Err(Trouble::Fault(fault)) => {
                assert!(fault.what.contains(part), "{text}: {}", fault.what);
                assert_eq!(fault.at, at, "{text}: {}", fault.what);
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_record_has_a_time_a_cost_and_entries() {
        assert_eq!(
            read(r#"{"time":5,"user":"ana","cost":3}"#),
            (5, 3, "user=ana".into())
        );
        assert_eq!(
            read("{ \"route\" : \"/a\" ,\t\"user_id\":7, \"time\" : 0 } tail"),
            (0, 1, "route=/a user=7".into())
        );
        assert_eq!(
            read(r#"{"time":1,"cost":null,"plan":null}"#),
            (1, 1, String::new())
        );
    }

    #[test]
    fn escapes_are_resolved_in_names_and_values() {
        assert_eq!(
            read(r#"{"time":1,"a\"\\\/\b\f\n\r\t":"\u00e9\ud83d\ude00\u0000x"}"#),
            (1, 1, "a\"\\/\u{8}\u{c}\n\r\t=é😀\0x".into())
        );
        assert_eq!(read(r#"{"ti\u006de":9}"#), (9, 1, String::new()));
    }

    #[test]
    fn what_a_record_cannot_be_is_refused_at_its_place() {
        refused(r#"{"user":"ana"}"#, 0, "time is missing");
        refused("{}", 0, "time is missing");
        refused(r#"{"time":null}"#, 0, "time is missing");
        refused(r#"{"time":-5}"#, 8, "before 1970");
        refused(r#"{"time":1.5}"#, 8, "not a whole number");
        refused(r#"{"time":"1"}"#, 8, "is text, not a number");
        refused(r#"{"time":1,"time":2}"#, 17, "twice");
        refused(r#"{"time":1,"user":"a","user_id":"b"}"#, 21, "twice");
        refused(r#"{"time":1,"a":true}"#, 14, "is true");
        refused(r#"{"time":1,"a":[1]}"#, 14, "is an array");
        refused(r#"{"time":1,"a":{}}"#, 14, "is an object");
        refused(r#"{"time":1,"a":0.5}"#, 14, "is a fraction");
        refused(r#"{"time":1,"cost":9223372036854775808}"#, 17, "larger");
        refused(r#"{"time":1,}"#, 10, "expected a field's name");
        refused(r#"{"time" 1}"#, 8, "expected a colon");
        refused(r#"{"time":01}"#, 8, "not a number");
        refused(r#"{"time":nope}"#, 8, "expected a value");
        refused("{\"time\":1,\"a\":\"b\tc\"}", 16, "control character");
        refused(r#"{"time":1,"a":"\ud800"}"#, 15, "surrogate");
        refused(r#"{"time":1,"a":"\x"}"#, 15, "escape");
        refused("[1]", 0, "expected an object");
    }

    #[test]
    fn an_object_cut_anywhere_is_short() {
        let text = r#"{"time": 12 ,"user":"a\u00e9b", "plan":null }"#;
        for end in 0..text.len() {
            let mut room = vec![0; text.len()];
            let result = object(&text[..end], &mut RecordLayout::new(&mut room));
            assert!(matches!(result, Err(Trouble::Short)), "{end}: {result:?}");
        }
    }

    #[test]
    fn the_end_of_an_element_is_found_past_quotes_and_brackets() {
        assert_eq!(end_of_element(r#"{"a":"},\"]"} , 1"#), Some(14));
        assert_eq!(end_of_element("[1,[2]]]"), Some(7));
        assert_eq!(end_of_element("x y ]"), Some(4));
        assert_eq!(end_of_element(r#"{"a":"#), None);
        assert_eq!(end_of_element(r#""abc\"#), None);
    }

    #[test]
    fn numbers_follow_the_grammar() {
        let refusal = |number: &str| {
            let text = format!("{{\"time\":1,\"a\":{number}}}");
            match object(&text, &mut RecordLayout::new(&mut [])) {
                Err(Trouble::Fault(fault)) => Some(fault.what.clone()),
                _ => None,
            }
        };
        for whole in ["0", "-0", "12"] {
            assert_eq!(refusal(whole), None, "{whole}");
        }
        for fraction in ["1.5", "1e5", "1.5E-3", "-2e+9"] {
            let what = refusal(fraction).unwrap();
            assert!(what.contains("is a fraction"), "{fraction}: {what}");
        }
        for bad in [
            "", "-", "01", "1.", ".5", "1e", "1e+", "--1", "1-2", "+1", "01.5",
        ] {
            let what = refusal(bad).unwrap();
            assert!(!what.contains("is a fraction"), "{bad}: {what}");
        }
    }
}
