//! A JSON array of objects, read element by element.
//!
//! After a fault the next element is found by brackets and quotes alone; a quote that is missing can therefore
//! swallow the elements up to the next one.

use super::error::ParseFault;
use super::field::RecordLayout;
use super::json::{self, Trouble};
use super::step::{Step, Took};

/// The parser's place in the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ArrayPosition {
    /// Before the opening bracket.
    #[default]
    Before,
    /// After the opening bracket: an element or the end.
    Open,
    /// After an element: a comma or the end.
    After,
    /// After a comma: an element.
    Comma,
    /// After the closing bracket: nothing.
    Closed,
}

pub(super) fn step<'b>(
    text: &'b str,
    place: &mut ArrayPosition,
    desk: &mut RecordLayout<'b>,
    at_end: bool,
) -> Step {
    let start = text.len() - text.trim_ascii_start().len();
    if start > 0 {
        return Step::Blank(Took::all(&text[..start]));
    }
    let next = text.as_bytes().first().copied();
    let mark = Took { bytes: 1, lines: 0 };
    match (*place, next) {
        (ArrayPosition::Closed, None) => Step::Blank(Took::all(text)),
        (_, None) if !at_end => Step::Short,
        (_, None) => {
            *place = ArrayPosition::Closed;
            let fault = ParseFault::new(0, "the array has no end").hint("the file may be cut off");
            Step::Bad {
                fault: fault.fatal(),
                took: Took::all(text),
            }
        }
        (ArrayPosition::Before, Some(b'[')) => {
            *place = ArrayPosition::Open;
            Step::Blank(mark)
        }
        (ArrayPosition::Before, Some(_)) => {
            misplaced(text, "expected an array, which starts with [")
        }
        (ArrayPosition::Open | ArrayPosition::After, Some(b']')) => {
            *place = ArrayPosition::Closed;
            Step::Blank(mark)
        }
        (ArrayPosition::After, Some(b',')) => {
            *place = ArrayPosition::Comma;
            Step::Blank(mark)
        }
        (ArrayPosition::After, Some(_)) => lost(
            text,
            place,
            ParseFault::new(0, "expected a comma or ]"),
            at_end,
        ),
        (ArrayPosition::Open | ArrayPosition::Comma, Some(_)) => element(text, place, desk, at_end),
        (ArrayPosition::Closed, Some(_)) => misplaced(text, "text after the end of the array"),
    }
}

fn element<'b>(
    text: &'b str,
    place: &mut ArrayPosition,
    desk: &mut RecordLayout<'b>,
    at_end: bool,
) -> Step {
    match json::object(text, desk) {
        Ok(object) => {
            *place = ArrayPosition::After;
            let took = Took::all(&text[..object.end]);
            Step::Record {
                time_ms: object.time_ms,
                cost: object.cost,
                took,
            }
        }
        Err(Trouble::Full) => Step::Full,
        Err(Trouble::Short) if !at_end => Step::Short,
        Err(Trouble::Short) => {
            *place = ArrayPosition::Closed;
            let fault = ParseFault::new(0, "the file ends inside this object");
            Step::Bad {
                fault: fault.hint("the file may be cut off").fatal(),
                took: Took::all(text),
            }
        }
        Err(Trouble::Fault(fault)) => lost(text, place, fault, at_end),
    }
}

/// Reports a fault and goes on after the element it is in.
#[cold]
fn lost(text: &str, place: &mut ArrayPosition, fault: ParseFault, at_end: bool) -> Step {
    match json::end_of_element(text) {
        // A surplus closing brace would otherwise stop the search in front of itself for ever.
        Some(end) if text.as_bytes()[end] == b'}' => {
            *place = ArrayPosition::After;
            Step::Bad {
                fault,
                took: Took::all(&text[..=end]),
            }
        }
        Some(end) => {
            *place = ArrayPosition::After;
            Step::Bad {
                fault,
                took: Took::all(&text[..end]),
            }
        }
        None if !at_end => Step::Short,
        None => {
            *place = ArrayPosition::Closed;
            Step::Bad {
                fault: fault.fatal(),
                took: Took::all(text),
            }
        }
    }
}

#[cold]
fn misplaced(text: &str, what: &str) -> Step {
    Step::Bad {
        fault: ParseFault::new(0, what).fatal(),
        took: Took::all(text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::TraceFormat;
    use super::super::tests::{faults, read};

    #[test]
    fn elements_are_records_wherever_the_lines_break() {
        let text = "\n[ {\"time\":1,\n\"user\":\"a\"},{\"time\":2}\n,\n{\"time\":3}\n]\n";
        assert_eq!(
            read(TraceFormat::JsonArray, text),
            ["2: 1 1 user=a", "3: 2 1", "5: 3 1"]
        );
        assert_eq!(read(TraceFormat::JsonArray, "[]"), [""; 0]);
        assert_eq!(read(TraceFormat::JsonArray, " [ ] "), [""; 0]);
    }

    #[test]
    fn a_bad_element_names_its_place_and_the_next_is_read() {
        let text = "[{\"time\":1},\n {\"time\":1,\"a\":{\"b\":[1,\"]}\"]}}, {\"time\":2},7,\"x,y\",{\"time\":3}]";
        assert_eq!(
            read(TraceFormat::JsonArray, text),
            ["1: 1 1", "2: 2 1", "2: 3 1"]
        );
        let faults = faults(TraceFormat::JsonArray, text);
        assert_eq!(faults.len(), 3);
        assert!(
            faults[0].starts_with("line 2, column 16: the field \"a\" is an object"),
            "{}",
            faults[0]
        );
        assert!(
            faults[1].starts_with("line 2, column 44: expected an object, found \"7\""),
            "{}",
            faults[1]
        );
    }

    #[test]
    fn missing_and_extra_punctuation_is_named() {
        for (text, part) in [
            ("[{\"time\":1} {\"time\":2}]", "expected a comma"),
            ("[{\"time\":1},]", "expected an object"),
            ("[,{\"time\":1}]", "expected an object"),
            ("[{\"time\":1}", "no end"),
            ("[{\"time\":1},{\"ti", "ends inside"),
            ("[{\"time\":1}] 5", "after the end"),
            ("[{\"time\":1}}, {\"time\":2}]", "expected a comma"),
            ("{\"time\":1}", "expected an array"),
            ("", "no end"),
        ] {
            let faults = faults(TraceFormat::JsonArray, text);
            assert_eq!(faults.len(), 1, "{text}: {faults:?}");
            assert!(faults[0].contains(part), "{text}: {}", faults[0]);
        }
    }
}
