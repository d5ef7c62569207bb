//! JSON lines: one object on each line, blank lines ignored.

use super::error::ParseFault;
use super::field::RecordLayout;
use super::json::{self, Trouble};
use super::step::{Step, TraceLine};

pub(super) fn step<'b>(text: &'b str, desk: &mut RecordLayout<'b>, at_end: bool) -> Step {
    let Some(line) = TraceLine::first(text, at_end) else {
        return Step::Short;
    };
    let took = line.took;
    let inside = line.text.trim_ascii_start();
    if inside.is_empty() {
        return Step::Blank(took);
    }
    let lead = line.text.len() - inside.len();
    let fault = match json::object(inside, desk) {
        Ok(object) => {
            let tail = inside[object.end..].trim_ascii_start();
            if tail.is_empty() {
                return Step::Record {
                    time_ms: object.time_ms,
                    cost: object.cost,
                    took,
                };
            }
            ParseFault::new(inside.len() - tail.len(), "text after the object")
                .hint("each line holds one object")
        }
        Err(Trouble::Full) => return Step::Full,
        Err(Trouble::Short) => {
            ParseFault::new(inside.len(), "the line ends before its object does")
                .hint("each object stands on one line; several lines need an array")
        }
        Err(Trouble::Fault(fault)) => fault,
    };
    Step::Bad {
        fault: fault.moved(lead),
        took,
    }
}

#[cfg(test)]
mod tests {
    use super::super::TraceFormat;
    use super::super::tests::{faults, read};

    #[test]
    fn lines_are_records_and_blank_lines_are_not() {
        let text =
            "\u{feff}{\"time\":1,\"user\":\"a\"}\r\n\n  \n {\"time\":2,\"cost\":5} \n{\"time\":3}";
        assert_eq!(
            read(TraceFormat::JsonLines, text),
            ["1: 1 1 user=a", "4: 2 5", "5: 3 1"]
        );
    }

    #[test]
    fn a_bad_line_names_its_place_and_the_next_is_read() {
        let text = "{\"time\":1}\n{\"time\":-2}\n{\"time\":3} x\n {\"time\"\n{\"time\":5}\n{\"ti";
        assert_eq!(read(TraceFormat::JsonLines, text), ["1: 1 1", "5: 5 1"]);
        let faults = faults(TraceFormat::JsonLines, text);
        assert_eq!(faults.len(), 4);
        assert!(
            faults[0].starts_with("line 2, column 9: the time \"-2\""),
            "{}",
            faults[0]
        );
        assert!(
            faults[1].starts_with("line 3, column 12: text after"),
            "{}",
            faults[1]
        );
        assert!(
            faults[2].starts_with("line 4, column 9: the line ends"),
            "{}",
            faults[2]
        );
        assert!(
            faults[3].starts_with("line 6, column 5: the line ends"),
            "{}",
            faults[3]
        );
    }
}
