//! Comma-separated values with a header row, as RFC 4180 has them.
//!
//! A field is quoted when its first character is a quote; quotes elsewhere are plain text. An empty field means
//! that the entry is absent, an empty field in quotes that it is empty.

use memchr::memchr;

use super::error::{ParseFault, quote};
use super::field::{self, FIELDS_MAX, FieldRole, RecordLayout};
use super::step::{RECORD_BYTES_MAX, Step, Took, TraceLine};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum CsvColumn {
    Time,
    Cost,
    Entry(String),
}

/// Reads the header row; `None` when it may go on beyond the text.
pub(super) fn header(
    text: &str,
    at_end: bool,
) -> Option<Result<(Vec<CsvColumn>, Took), ParseFault>> {
    let mut blank = Took { bytes: 0, lines: 0 };
    let line = loop {
        let line = TraceLine::first(&text[blank.bytes..], at_end)?;
        if !line.is_blank() {
            break line;
        }
        blank.bytes += line.took.bytes;
        blank.lines += line.took.lines;
        if line.took.bytes == 0 {
            let fault = ParseFault::new(0, "the header row is missing").hint(HEADER_HINT);
            return Some(Err(fault.fatal()));
        }
    };
    let took = Took {
        bytes: blank.bytes + line.took.bytes,
        lines: blank.lines + line.took.lines,
    };
    let columns = columns(line.text).map_err(|fault| fault.moved(blank.bytes).fatal());
    Some(columns.map(|columns| (columns, took)))
}

const HEADER_HINT: &str = "the first row names the columns, for example time,user,cost";

fn columns(line: &str) -> Result<Vec<CsvColumn>, ParseFault> {
    let mut room = vec![0; line.len()];
    let mut desk = RecordLayout::new(&mut room);
    let mut names: Vec<&str> = Vec::new();
    let mut at = 0;
    loop {
        let start = at;
        let field = match Field::at(line, start, true) {
            Ok(field) => field,
            Err(Stop::Fault(fault)) => return Err(fault),
            Err(Stop::Short) => return Err(ParseFault::new(start, "a quote that is never closed")),
        };
        let name = field.text(line, &mut desk).unwrap_or("").trim_ascii();
        if name.is_empty() {
            return Err(
                ParseFault::new(start, format!("column {} has no name", names.len() + 1))
                    .hint("name it, or remove the column"),
            );
        }
        if names
            .iter()
            .any(|known| FieldRole::of(known) == FieldRole::of(name))
        {
            return Err(ParseFault::new(
                start,
                format!("the column {} is there twice", quote(name)),
            ));
        }
        if names.len() == FIELDS_MAX {
            return Err(ParseFault::new(
                start,
                format!("there are more than {FIELDS_MAX} columns"),
            ));
        }
        names.push(name);
        if field.last {
            break;
        }
        at = field.next;
    }
    let columns: Vec<CsvColumn> = names.iter().map(|name| CsvColumn::of(name)).collect();
    if !columns.contains(&CsvColumn::Time) {
        let fault = ParseFault::new(0, "no column is named time");
        return Err(fault.hint(if line.contains([';', '\t']) {
            COMMA_HINT
        } else {
            HEADER_HINT
        }));
    }
    Ok(columns)
}

const COMMA_HINT: &str = "fields are separated by commas, not by semicolons or tabs";

impl CsvColumn {
    fn of(name: &str) -> Self {
        match FieldRole::of(name) {
            FieldRole::Time => Self::Time,
            FieldRole::Cost => Self::Cost,
            FieldRole::Entry(name) => Self::Entry(name.to_owned()),
        }
    }
}

/// Reads the row at the front of `text`; `quotes` says whether there is any quote in it.
#[inline]
pub(super) fn step<'b>(
    text: &'b str,
    columns: &'b [CsvColumn],
    desk: &mut RecordLayout<'b>,
    quotes: bool,
    at_end: bool,
) -> Step {
    let Some(line) = TraceLine::first(text, at_end) else {
        return Step::Short;
    };
    let took = line.took;
    if line.text.is_empty() {
        return Step::Blank(took);
    }
    if quotes && memchr(b'"', line.text.as_bytes()).is_some() {
        return quoted(text, columns, desk, at_end);
    }
    match plain(line.text, columns, desk) {
        Ok((time_ms, cost)) => Step::Record {
            time_ms,
            cost,
            took,
        },
        Err(_) if line.is_blank() => Step::Blank(took),
        Err(fault) => Step::Bad { fault, took },
    }
}

/// Reads a line that has no quotes.
#[inline]
fn plain<'b>(
    line: &'b str,
    columns: &'b [CsvColumn],
    desk: &mut RecordLayout<'b>,
) -> Result<(u64, u64), ParseFault> {
    let bytes = line.as_bytes();
    let mut row = Row {
        time_ms: 0,
        cost: 1,
    };
    let mut start = 0;
    for column in columns {
        let Some(rest) = bytes.get(start..) else {
            return Err(miscounted(line, columns));
        };
        let len = rest
            .iter()
            .position(|byte| *byte == b',')
            .unwrap_or(rest.len());
        let field = &line[start..start + len];
        row.set(column, (len > 0).then_some(field), desk)
            .map_err(|fault| fault.moved(start))?;
        start += len + 1;
    }
    if start <= bytes.len() {
        return Err(miscounted(line, columns));
    }
    Ok((row.time_ms, row.cost))
}

#[cold]
fn miscounted(line: &str, columns: &[CsvColumn]) -> ParseFault {
    wrong_count(
        memchr::memchr_iter(b',', line.as_bytes()).count() + 1,
        columns.len(),
    )
}

#[cold]
fn wrong_count(found: usize, wanted: usize) -> ParseFault {
    let fields = if found == 1 { "field" } else { "fields" };
    ParseFault::new(
        0,
        format!("{found} {fields}, but the header names {wanted} columns"),
    )
}

struct Row {
    time_ms: u64,
    cost: u64,
}

impl Row {
    #[inline]
    fn set<'b>(
        &mut self,
        column: &'b CsvColumn,
        value: Option<&'b str>,
        desk: &mut RecordLayout<'b>,
    ) -> Result<(), ParseFault> {
        match (column, value) {
            (CsvColumn::Time, Some(text)) => self.time_ms = field::time(text.trim_ascii())?,
            (CsvColumn::Time, None) => return Err(field::missing_time()),
            (CsvColumn::Cost, Some(text)) => self.cost = field::cost(text.trim_ascii())?,
            (CsvColumn::Entry(name), Some(text)) => desk.entries.push((name, text)),
            (CsvColumn::Cost | CsvColumn::Entry(_), None) => {}
        }
        Ok(())
    }
}

/// Reads a row that has quotes, and may therefore span lines.
///
/// After a fault the next row is looked for on the next line: a stray quote costs one line, not the file.
fn quoted<'b>(
    text: &'b str,
    columns: &'b [CsvColumn],
    desk: &mut RecordLayout<'b>,
    at_end: bool,
) -> Step {
    let next_line = memchr(b'\n', text.as_bytes()).map_or(text.len(), |end| end + 1);
    let bad = |fault| Step::Bad {
        fault,
        took: Took::all(&text[..next_line]),
    };
    let mut row = Row {
        time_ms: 0,
        cost: 1,
    };
    let (mut at, mut count) = (0, 0);
    loop {
        let start = at;
        let field = match Field::at(text, start, at_end) {
            Ok(field) => field,
            Err(Stop::Short) if at_end && text.len() <= RECORD_BYTES_MAX => {
                return bad(ParseFault::new(start, "a quote that is never closed"));
            }
            Err(Stop::Short) => return Step::Short,
            Err(Stop::Fault(fault)) => return bad(fault),
        };
        if let Some(column) = columns.get(count) {
            let Some(value) = field.text(text, desk) else {
                return Step::Full;
            };
            let value = (field.quoted || !value.is_empty()).then_some(value);
            if let Err(fault) = row.set(column, value, desk) {
                return bad(fault.moved(start));
            }
        }
        count += 1;
        at = field.next;
        if field.last {
            break;
        }
    }
    if count != columns.len() {
        return bad(wrong_count(count, columns.len()));
    }
    Step::Record {
        time_ms: row.time_ms,
        cost: row.cost,
        took: Took::all(&text[..at]),
    }
}

enum Stop {
    Short,
    Fault(ParseFault),
}

/// One field of a row, as it stands in the text.
struct Field {
    start: usize,
    end: usize,
    quoted: bool,
    /// Whether the row ends with it.
    last: bool,
    /// Where the next field or the next row starts.
    next: usize,
}

impl Field {
    fn at(text: &str, start: usize, at_end: bool) -> Result<Self, Stop> {
        let bytes = text.as_bytes();
        let is_quoted = bytes.get(start) == Some(&b'"');
        let (inside, end) = if is_quoted {
            (start + 1, closing_quote(bytes, start + 1, at_end)?)
        } else {
            let rest = &bytes[start..];
            (
                start,
                start + memchr::memchr2(b',', b'\n', rest).unwrap_or(rest.len()),
            )
        };
        let after = end + usize::from(is_quoted);
        let (last, next) = match bytes.get(after..).unwrap_or(&[]) {
            [b',', ..] => (false, after + 1),
            [b'\n', ..] => (true, after + 1),
            [b'\r', b'\n', ..] => (true, after + 2),
            [] | [b'\r'] if at_end => (true, bytes.len()),
            [] | [b'\r'] => return Err(Stop::Short),
            _ => {
                return Err(Stop::Fault(
                    ParseFault::new(after, "text after a closing quote")
                        .hint("write a quote inside quotes twice"),
                ));
            }
        };
        // The carriage return of an unquoted last field belongs to the line's end.
        let end = if last && !is_quoted && bytes[inside..end].ends_with(b"\r") {
            end - 1
        } else {
            end
        };
        Ok(Self {
            start: inside,
            end,
            quoted: is_quoted,
            last,
            next,
        })
    }

    /// The field's value; `None` if there is no room left to unescape doubled quotes.
    fn text<'b>(&self, text: &'b str, desk: &mut RecordLayout<'b>) -> Option<&'b str> {
        let raw = &text[self.start..self.end];
        if !self.quoted || memchr(b'"', raw.as_bytes()).is_none() {
            return Some(raw);
        }
        desk.spare.keep(&raw.replace("\"\"", "\""))
    }
}

/// The place of the quote that closes a field which was opened before `from`.
fn closing_quote(bytes: &[u8], from: usize, at_end: bool) -> Result<usize, Stop> {
    let mut at = from;
    loop {
        at += memchr(b'"', &bytes[at..]).ok_or(Stop::Short)?;
        match bytes.get(at + 1) {
            Some(b'"') => at += 2,
            None if !at_end => return Err(Stop::Short),
            _ => return Ok(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TraceFormat;
    use super::super::tests::{faults, read};

    #[test]
    fn the_header_names_the_entries() {
        assert_eq!(
            read(
                TraceFormat::Csv,
                "\u{feff}time,user_id,route,cost\r\n5,ana,/a,3\r\n6,,\"\",\r\n7,b c,d,0"
            ),
            [
                "2: 5 3 user=ana route=/a",
                "3: 6 1 route=",
                "4: 7 0 user=b c route=d"
            ]
        );
        assert_eq!(
            read(TraceFormat::Csv, "\n\n user , time \nx, 9 \n"),
            ["4: 9 1 user=x"]
        );
        assert_eq!(
            read(TraceFormat::Csv, "time\n1\n\n2\n  \n"),
            ["2: 1 1", "4: 2 1"]
        );
    }

    #[test]
    fn quoted_fields_may_hold_commas_quotes_and_lines() {
        assert_eq!(
            read(
                TraceFormat::Csv,
                "\"time\",\"the \"\"user\"\"\",b\n\"1\",\"a,\"\"b\"\"\nc\",\"\"\"\"\r\n2,x\"y,\"z\"\n"
            ),
            [
                "2: 1 1 the \"user\"=a,\"b\"\nc b=\"",
                "4: 2 1 the \"user\"=x\"y b=z"
            ]
        );
    }

    #[test]
    fn a_bad_row_names_its_place_and_the_next_is_read() {
        let text = "time,user\n1,a\nx,b\n2\n3,c,d\n-4,e\n5,\"f\"g\n6,\"h\n7,i\n";
        assert_eq!(
            read(TraceFormat::Csv, text),
            ["2: 1 1 user=a", "9: 7 1 user=i"]
        );
        let faults = faults(TraceFormat::Csv, text);
        assert_eq!(faults.len(), 6, "{faults:?}");
        for (fault, start) in faults.iter().zip([
            "line 3, column 1: the time \"x\" is not a number",
            "line 4, column 1: 1 field, but the header names 2",
            "line 5, column 1: 3 fields, but the header names 2",
            "line 6, column 1: the time \"-4\" is before 1970",
            "line 7, column 6: text after a closing quote",
            "line 8, column 3: a quote that is never closed",
        ]) {
            assert!(fault.starts_with(start), "{fault}");
        }
    }

    #[test]
    fn a_header_that_cannot_be_used_ends_the_reading() {
        for (text, part) in [
            ("", "header row is missing"),
            ("\n \n", "header row is missing"),
            ("1,2,3\n4,5,6\n", "no column is named time"),
            ("time;user\n1;a\n", "separated by commas"),
            ("time,,user\n1,2,3\n", "column 2 has no name"),
            ("time,user,\n1,2,3\n", "column 3 has no name"),
            ("time,user,user_id\n1,2,3\n", "twice"),
            ("time,\"user\n1,2\n", "never closed"),
        ] {
            let faults = faults(TraceFormat::Csv, text);
            assert_eq!(faults.len(), 1, "{text:?}: {faults:?}");
            assert!(faults[0].contains(part), "{text:?}: {}", faults[0]);
        }
    }

    #[test]
    fn a_stray_quote_costs_one_line() {
        let text = "time,user\n1,\"a\n2,b\n3,\"c\n4,d\n";
        assert_eq!(
            read(TraceFormat::Csv, text),
            ["3: 2 1 user=b", "5: 4 1 user=d"]
        );
        assert_eq!(faults(TraceFormat::Csv, text).len(), 2);
    }
}
