//! Aligned tables with light rules.

use super::look::{Ink, TerminalStyle};

pub(crate) struct TableCell {
    text: String,
    ink: Ink,
}

pub(crate) fn cell(text: impl Into<String>) -> TableCell {
    TableCell {
        text: text.into(),
        ink: Ink::Plain,
    }
}

impl TableCell {
    pub(crate) fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

const GAP: &str = "  ";

/// Writes rows under a header. A column whose name begins with `>`, as in a format string, is right-aligned.
pub(crate) fn write_table(
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<TableCell>>,
    look: TerminalStyle,
    out: &mut String,
) {
    let rows: Vec<Vec<TableCell>> = rows.into_iter().collect();
    let names = header.iter().map(|name| name.trim_start_matches('>'));
    let names: Vec<TableCell> = names.map(|name| cell(name).ink(Ink::Dim)).collect();
    let width = |column: usize| {
        let cells = rows
            .iter()
            .chain([&names])
            .filter_map(|row| row.get(column));
        cells.map(TableCell::width).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let rule = widths
        .iter()
        .map(|width| cell("─".repeat(*width)).ink(Ink::Dim));
    for row in [&names, &rule.collect()].into_iter().chain(&rows) {
        let mut line = String::new();
        for ((cell, width), name) in row.iter().zip(&widths).zip(header) {
            let pad = " ".repeat(width.saturating_sub(cell.width()));
            let text = look.paint(cell.ink, &cell.text);
            line.push_str(GAP);
            line.push_str(&if name.starts_with('>') {
                pad + &text
            } else {
                text + &pad
            });
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// A column that may be left out: its name, its rank (lower ranks are kept longer), and its cells.
pub(crate) struct RankedColumn {
    pub(crate) name: String,
    pub(crate) rank: u8,
    pub(crate) cells: Vec<TableCell>,
}

impl RankedColumn {
    fn width(&self) -> usize {
        let name = self.name.trim_start_matches('>').chars().count();
        let widest = self.cells.iter().map(TableCell::width).max();
        widest.unwrap_or(0).max(name) + GAP.len()
    }
}

/// Writes the columns that fit; those of rank 0 are never left out.
pub(crate) fn write_ranked(mut columns: Vec<RankedColumn>, look: TerminalStyle, out: &mut String) {
    while columns.iter().map(RankedColumn::width).sum::<usize>() > look.columns {
        let last = columns.iter().map(|column| column.rank).max().unwrap_or(0);
        if last == 0 {
            break;
        }
        columns.retain(|column| column.rank != last);
    }
    let (names, cells): (Vec<String>, Vec<_>) = columns
        .into_iter()
        .map(|column| (column.name, column.cells.into_iter()))
        .unzip();
    let mut cells = cells;
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    let count = cells.first().map_or(0, ExactSizeIterator::len);
    let rows = (0..count).map(|_| cells.iter_mut().filter_map(Iterator::next).collect());
    write_table(&header, rows, look, out);
}

/// Text from a trace, safe on a terminal: without control characters, and of limited length.
pub(crate) fn tame(text: &str, len_max: usize) -> String {
    let mut tame = String::new();
    let mut len = 0;
    for letter in text.chars() {
        let piece = if is_wild(letter) {
            letter.escape_unicode().to_string()
        } else {
            letter.to_string()
        };
        len += piece.chars().count();
        if len > len_max {
            let keep = tame.chars().count().min(len_max.saturating_sub(1));
            return tame.chars().take(keep).chain(['…']).collect();
        }
        tame.push_str(&piece);
    }
    tame
}

/// Whether a character could move the cursor or change the direction of text.
fn is_wild(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_their_widest_cell() {
        let rows = [
            vec![cell("användare"), cell("1")],
            vec![cell("b"), cell("12345678")],
        ];
        let mut text = String::new();
        write_table(&["key", ">denied"], rows, TerminalStyle::PLAIN, &mut text);
        assert_eq!(
            text,
            "  key          denied\n  ─────────  ────────\n  användare         1\n  b          12345678\n"
        );
    }

    #[test]
    fn text_from_a_trace_cannot_move_the_cursor() {
        assert_eq!(tame("a\u{1b}[2J\u{202e}b", 40), "a\\u{1b}[2J\\u{202e}b");
        assert_eq!(tame("abcdef", 4), "abc…");
        assert_eq!(tame("abcd", 4), "abcd");
    }
}
