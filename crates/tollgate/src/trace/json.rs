//! Flat JSON objects, as records of a trace.
//!
//! Nested values are refused rather than skipped: nothing in a descriptor is nested. The parser stops at the end
//! of the object; who calls it decides what may follow.

use super::error::{Fault, quote};
use super::field::{self, Desk, Role};
use super::unescape;

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
    /// The room for unescaped texts is used up.
    Full,
    Fault(Fault),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Reads the object at the front of `text`, which starts with its brace.
pub(super) fn object<'b>(text: &'b str, desk: &mut Desk<'b>) -> Result<Object, Trouble> {
    let mut cursor = Cursor { text, at: 0 };
    let (mut time, mut cost) = (Seen::No, Seen::No);
    cursor.expect(b'{', "an object")?;
    cursor.space();
    if cursor.peek()? == b'}' {
        cursor.at += 1;
    } else {
        loop {
            let at = cursor.at;
            let name = cursor.string(desk, "a field's name in quotes")?;
            cursor.space();
            cursor.expect(b':', "a colon")?;
            cursor.space();
            let value_at = cursor.at;
            let value = cursor.value(desk)?;
            let told = match Role::of(name) {
                Role::Time => time.tell("time", value, field::time),
                Role::Cost => cost.tell("cost", value, field::cost),
                Role::Entry(name) => {
                    desk.enter(
                        name,
                        value.text(name).map_err(|fault| fault.moved(value_at))?,
                    )
                    .map_err(|what| Fault::new(at, what))?;
                    Ok(())
                }
            };
            told.map_err(|fault| fault.moved(value_at))?;
            cursor.space();
            match cursor.peek()? {
                b',' => cursor.at += 1,
                b'}' => {
                    cursor.at += 1;
                    break;
                }
                _ => return Err(cursor.unexpected("a comma or the end of the object").into()),
            }
            cursor.space();
        }
    }
    let Seen::Value(time_ms) = time else {
        return Err(field::missing_time().into());
    };
    Ok(Object {
        time_ms,
        cost: cost.value_or(1),
        end: cursor.at,
    })
}

/// Where the value at the front of `text` ends, judged by quotes and brackets alone; `None` when not in this text.
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

/// A number that may be given at most once.
enum Seen {
    No,
    Null,
    Value(u64),
}

impl Seen {
    fn tell(
        &mut self,
        name: &str,
        value: Value<'_>,
        read: fn(&[u8]) -> Result<u64, Fault>,
    ) -> Result<(), Fault> {
        if !matches!(self, Self::No) {
            return Err(Fault::new(
                0,
                format!("the field \"{name}\" is there twice"),
            ));
        }
        *self = match value {
            Value::Null => Self::Null,
            Value::Number(digits) => Self::Value(read(digits.as_bytes())?),
            Value::Text(_) | Value::Other(_) => {
                let what = format!("the {name} is {}, not a number", value.kind());
                return Err(Fault::new(0, what));
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

#[derive(Clone, Copy)]
enum Value<'b> {
    Text(&'b str),
    /// A number as it is written.
    Number(&'b str),
    Null,
    /// Anything a record has no use for, by the name of its kind.
    Other(&'static str),
}

impl<'b> Value<'b> {
    fn kind(self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Number(_) => "a number",
            Self::Null => "null",
            Self::Other(kind) => kind,
        }
    }

    /// The value as a descriptor entry; `None` when it is null.
    fn text(self, name: &str) -> Result<Option<&'b str>, Fault> {
        let kind = match self {
            Self::Text(text) => return Ok(Some(text)),
            Self::Number(number) if !number.contains(['.', 'e', 'E']) => return Ok(Some(number)),
            Self::Null => return Ok(None),
            Self::Number(_) => "a fraction",
            Self::Other(kind) => kind,
        };
        Err(
            Fault::new(0, format!("the field {} is {kind}", quote(name)))
                .hint("fields are text, whole numbers or null"),
        )
    }
}

struct Cursor<'b> {
    text: &'b str,
    at: usize,
}

impl<'b> Cursor<'b> {
    #[inline]
    fn peek(&self) -> Result<u8, Trouble> {
        self.text
            .as_bytes()
            .get(self.at)
            .copied()
            .ok_or(Trouble::Short)
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.as_bytes().get(self.at) {
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8, name: &str) -> Result<(), Trouble> {
        if self.peek()? != byte {
            return Err(self.unexpected(name).into());
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    fn unexpected(&self, wanted: &str) -> Fault {
        let rest = self.text.get(self.at..).unwrap_or("");
        let found = rest
            .chars()
            .next()
            .map_or(String::new(), |found| quote(&found.to_string()));
        Fault::new(self.at, format!("expected {wanted}, found {found}"))
    }

    /// Reads a string; `wanted` says what it should be, should it not be there.
    #[inline]
    fn string(&mut self, desk: &mut Desk<'b>, wanted: &str) -> Result<&'b str, Trouble> {
        self.expect(b'"', wanted)?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        let stop = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < b' ';
        let end = start + bytes[start..].iter().position(stop).ok_or(Trouble::Short)?;
        self.at = end + 1;
        match bytes[end] {
            b'"' => Ok(&self.text[start..end]),
            b'\\' => self.escaped(start, desk),
            _ => {
                self.at = end;
                Err(Fault::new(end, "a control character inside a string")
                    .hint("write it as an escape, for example \\n")
                    .into())
            }
        }
    }

    #[cold]
    fn escaped(&mut self, start: usize, desk: &mut Desk<'b>) -> Result<&'b str, Trouble> {
        let quote = start - 1;
        let end = end_of_string(self.text.as_bytes(), quote).ok_or(Trouble::Short)?;
        let raw = &self.text[start..end];
        unescape::check(raw).map_err(|fault| fault.moved(start))?;
        self.at = end + 1;
        desk.spare
            .keep(raw.len(), |room| unescape::write(raw, room))
            .ok_or(Trouble::Full)
    }

    #[inline]
    fn value(&mut self, desk: &mut Desk<'b>) -> Result<Value<'b>, Trouble> {
        match self.peek()? {
            b'"' => Ok(Value::Text(self.string(desk, "text")?)),
            b'-' | b'0'..=b'9' => self.number(),
            b'n' => self.word("null", Value::Null),
            b't' => self.word("true", Value::Other("true")),
            b'f' => self.word("false", Value::Other("false")),
            b'{' => Ok(Value::Other("an object")),
            b'[' => Ok(Value::Other("an array")),
            _ => Err(self.unexpected("a value").into()),
        }
    }

    #[cold]
    fn word(&mut self, word: &str, value: Value<'b>) -> Result<Value<'b>, Trouble> {
        let rest = &self.text[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else if word.starts_with(rest) {
            Err(Trouble::Short)
        } else {
            Err(self.unexpected("a value").into())
        }
    }

    #[inline]
    fn number(&mut self) -> Result<Value<'b>, Trouble> {
        let rest = &self.text[self.at..];
        let inside = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let len = rest
            .bytes()
            .position(|byte| !inside(&byte))
            .ok_or(Trouble::Short)?;
        let number = &rest[..len];
        if !is_number(number.as_bytes()) {
            return Err(Fault::new(self.at, format!("{} is not a number", quote(number))).into());
        }
        self.at += len;
        Ok(Value::Number(number))
    }
}

/// Whether the text is a number by JSON's grammar.
#[inline]
fn is_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let digits = count_digits(text);
    if digits == text.len() && digits > 0 {
        return digits == 1 || text[0] != b'0';
    }
    let leading_zero = digits > 1 && text[0] == b'0';
    digits > 0 && !leading_zero && is_tail(&text[digits..])
}

/// Whether the text is a fraction, an exponent, or both.
#[cold]
fn is_tail(text: &[u8]) -> bool {
    let rest = match text.strip_prefix(b".") {
        Some(rest) if count_digits(rest) == 0 => return false,
        Some(rest) => &rest[count_digits(rest)..],
        None => text,
    };
    match rest.strip_prefix(b"e").or(rest.strip_prefix(b"E")) {
        Some(rest) => {
            let rest = rest
                .strip_prefix(b"+")
                .or(rest.strip_prefix(b"-"))
                .unwrap_or(rest);
            !rest.is_empty() && count_digits(rest) == rest.len()
        }
        None => rest.is_empty(),
    }
}

fn count_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(text: &str) -> (u64, u64, String) {
        let mut room = vec![0; text.len()];
        let mut desk = Desk::new(&mut room);
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
        match object(text, &mut Desk::new(&mut room)) {
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
            let result = object(&text[..end], &mut Desk::new(&mut room));
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
        for good in ["0", "-0", "12", "1.5", "1e5", "1.5E-3", "-2e+9"] {
            assert!(is_number(good.as_bytes()), "{good}");
        }
        for bad in [
            "", "-", "01", "1.", ".5", "1e", "1e+", "--1", "1-2", "+1", "01.5",
        ] {
            assert!(!is_number(bad.as_bytes()), "{bad}");
        }
    }
}
