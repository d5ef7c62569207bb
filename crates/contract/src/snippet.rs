//! The source line of a mistake, cut to a readable width, with a caret under it.
//!
//! What is shown came from a stranger's file: control characters never reach the terminal.

/// Where something stands: counted from 1, in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// Characters to underline; zero is one caret.
    pub width: u32,
}

/// A place and the text of its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snippet {
    pub(crate) line: u32,
    pub(crate) column: u32,
    source: Box<str>,
    carets: Box<str>,
}

impl Snippet {
    /// Cuts the line of `place` out of `text`.
    pub(crate) fn of(text: &str, place: Place) -> Self {
        let (line, column) = (place.line.max(1), place.column.max(1));
        let at = count(column) - 1;
        let source_line = line_of(text, line);
        let is_long = source_line.chars().nth(WIDTH_MAX).is_some();
        let first = if is_long {
            at.saturating_sub(LEAD_MAX)
        } else {
            0
        };
        let mut rest = source_line.chars().skip(first);
        let mut source: String = if first > 0 { CUT.into() } else { String::new() };
        let shown: String = rest.by_ref().take(WIDTH_MAX).map(printable).collect();
        source.push_str(shown.trim_end());
        if rest.next().is_some() {
            source.push_str(CUT);
        }
        let lead = at - first + if first > 0 { CUT.chars().count() } else { 0 };
        let room = source.chars().count().saturating_sub(lead).max(1);
        let carets = " ".repeat(lead) + &"^".repeat(count(place.width).clamp(1, room));
        Self {
            line,
            column,
            source: source.into(),
            carets: carets.into(),
        }
    }

    /// The source line under an arrow that points at `place`.
    pub(crate) fn under(&self, place: &str) -> String {
        let number = self.line.to_string();
        let pad = " ".repeat(number.len() + 1);
        let line = format!(" {number} | {}", self.source);
        format!(
            "{pad}--> {place}\n{pad} |\n{}\n{pad} | {}\n",
            line.trim_end(),
            self.carets
        )
    }
}

/// A name from the file as a message shows it: quoted, short, and without control characters.
pub fn quote(name: &str) -> String {
    let shown: String = name.chars().take(QUOTE_MAX).flat_map(escaped).collect();
    let cut = if name.chars().nth(QUOTE_MAX).is_some() {
        CUT
    } else {
        ""
    };
    format!("`{shown}{cut}`")
}

/// A message from elsewhere, kept to one line.
pub(crate) fn one_line(message: &str) -> String {
    message.chars().flat_map(escaped).collect()
}

/// Letters of every script stay as they are; what would not show is escaped.
fn escaped(letter: char) -> impl Iterator<Item = char> {
    let hidden = is_hidden(letter);
    let escape = hidden
        .then(|| letter.escape_unicode())
        .into_iter()
        .flatten();
    escape.chain((!hidden).then_some(letter))
}

fn printable(letter: char) -> char {
    match letter {
        '\t' => ' ',
        letter if is_hidden(letter) => char::REPLACEMENT_CHARACTER,
        letter => letter,
    }
}

/// Characters that move the cursor, end the line, or turn the direction of writing.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

/// The text of a line, counted from 1; lines end as they do in YAML.
fn line_of(text: &str, line: u32) -> &str {
    let mut rest = text;
    for _ in 1..line {
        let Some(end) = rest.find(['\n', '\r']) else {
            return "";
        };
        let width = if rest[end..].starts_with("\r\n") {
            2
        } else {
            1
        };
        rest = &rest[end + width..];
    }
    rest.split(['\n', '\r']).next().unwrap_or("")
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Characters shown of a long line, and how many of them before the caret.
const WIDTH_MAX: usize = 100;
const LEAD_MAX: usize = 60;
/// Characters shown of a long name.
const QUOTE_MAX: usize = 60;
const CUT: &str = "…";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_at_the_place() {
        let snippet = Snippet::of(
            "a: 1\nlimt: 20\n",
            Place {
                line: 2,
                column: 1,
                width: 4,
            },
        );
        assert_eq!(
            snippet.under("f:2:1"),
            "  --> f:2:1\n   |\n 2 | limt: 20\n   | ^^^^\n"
        );
    }

    #[test]
    fn cuts_a_long_line_around_the_caret() {
        let text = format!("{}{}", "a".repeat(500), "b".repeat(500));
        let snippet = Snippet::of(
            &text,
            Place {
                line: 1,
                column: 501,
                width: 900,
            },
        );
        assert!(snippet.source.starts_with("…aaa") && snippet.source.ends_with("bbb…"));
        assert!(snippet.carets.chars().count() <= WIDTH_MAX + 2);
        assert_eq!(snippet.carets.find('^'), Some(LEAD_MAX + 1));
    }

    #[test]
    fn a_place_past_the_end_still_shows() {
        let snippet = Snippet::of(
            "a",
            Place {
                line: 9,
                column: 7,
                width: 3,
            },
        );
        assert_eq!((&*snippet.source, &*snippet.carets), ("", "      ^"));
    }

    #[test]
    fn every_kind_of_line_end_counts() {
        assert_eq!(line_of("a\r\nb\rc\nd", 4), "d");
    }

    #[test]
    fn nothing_from_the_file_can_move_the_cursor() {
        assert_eq!(quote("a\u{1b}[2Jb"), "`a\\u{1b}[2Jb`");
        let snippet = Snippet::of(
            "a\u{1b}[2J\tb",
            Place {
                line: 1,
                column: 1,
                width: 1,
            },
        );
        assert_eq!(&*snippet.source, "a\u{fffd}[2J b");
    }
}
