//! Single values: whole numbers, switches, choices, names. Each check says what to write.

use crate::NAME_BYTES_MAX;
use crate::duration;
use crate::error::ErrorKind;
use crate::nearest::hint;
use crate::problems::Problem;
use crate::snippet::quote;
use crate::text::Text;

/// A whole number between the bounds.
pub fn whole(text: &Text, what: &str, least: u64, most: u64) -> Result<u64, Problem> {
    let wrong = |kind, why: String| Err(Problem::new(kind, text.place, why));
    let value: &str = &text.value;
    let typed = quote(value);
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        let why = format!("{}, from {least} to {most}", not_whole(value, what));
        return wrong(ErrorKind::BadValue, why);
    }
    if !text.plain {
        return wrong(
            ErrorKind::WrongType,
            format!("{what} is a number; write {value} without quotes"),
        );
    }
    if value.len() > 1 && value.starts_with('0') {
        return wrong(
            ErrorKind::BadValue,
            format!("{typed} begins with 0; write {what} without it"),
        );
    }
    match value.parse::<u64>() {
        Ok(number) if number < least => wrong(
            ErrorKind::BadValue,
            format!("{what} must be at least {least}"),
        ),
        Ok(number) if number <= most => Ok(number),
        _ => wrong(
            ErrorKind::BadValue,
            format!("{typed} is above the largest {what}, {most}"),
        ),
    }
}

fn not_whole(value: &str, what: &str) -> String {
    let typed = quote(value);
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    let only = |marks: &[char]| {
        value
            .chars()
            .all(|letter| letter.is_ascii_digit() || marks.contains(&letter))
    };
    if digits.is_empty() {
        format!("{typed} is not a number; {what} is a whole number")
    } else if value.starts_with('-') {
        format!("{typed} is negative; {what} is a whole number")
    } else if only(&['_', ',', '\'', ' ']) {
        format!("{typed} has separators; write {digits}: {what} is a whole number in plain digits")
    } else {
        format!("{typed} is not a whole number in plain digits; {what} is one")
    }
}

/// `true` or `false`.
pub fn switch(text: &Text, what: &str) -> Result<bool, Problem> {
    match (&*text.value, text.plain) {
        ("true", true) => Ok(true),
        ("false", true) => Ok(false),
        (value, plain) => {
            let why = match (value, plain) {
                ("true" | "false", false) => {
                    format!("{what} is a switch; write {value} without quotes")
                }
                _ => format!("{what} is true or false, not {}", quote(value)),
            };
            Err(Problem::new(ErrorKind::WrongType, text.place, why))
        }
    }
}

/// One of a few names; the answer is its position. The complaint begins with `unknown`.
pub fn choice(text: &Text, unknown: &str, valid: &[&str]) -> Result<usize, Problem> {
    let value: &str = &text.value;
    valid.iter().position(|name| *name == value).ok_or_else(|| {
        let why = format!("{unknown} {}{}", quote(value), hint(value, valid));
        Problem::new(ErrorKind::UnknownName, text.place, why)
    })
}

/// A length of time in nanoseconds; calendar words at their nominal length.
pub fn nanos(text: &Text) -> Result<u64, Problem> {
    nanos_of(&text.value).map_err(|why| Problem::new(ErrorKind::BadValue, text.place, why))
}

/// The same of a text that is in no file; what is wrong with it, otherwise.
pub fn nanos_of(text: &str) -> Result<u64, String> {
    duration::parse(text).map(|period| period.nanos())
}

/// An id, a name, or the key or value of an entry.
pub fn name(text: &Text, what: &str) -> Result<String, Problem> {
    let wrong = |kind, why: String| Err(Problem::new(kind, text.place, why));
    let value = &text.value;
    if value.is_empty() {
        return wrong(ErrorKind::Missing, format!("{what} is empty"));
    }
    if value.len() > NAME_BYTES_MAX {
        let why = format!(
            "{what} has {} bytes, more than {NAME_BYTES_MAX}",
            value.len()
        );
        return wrong(ErrorKind::TooLarge, why);
    }
    if value.chars().any(char::is_control) {
        let why = format!("{what} {} has a control character", quote(value));
        return wrong(ErrorKind::BadValue, why);
    }
    Ok(value.to_string())
}
