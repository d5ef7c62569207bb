//! Aligned tables with light rules.

use super::look::{Ink, TerminalStyle};

/// A cell: its text, and the ink it is written in.
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
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows under a header; every row has as many cells as the header.
pub(crate) struct ReportTable<'a> {
    pub(crate) header: &'a [(&'a str, Align)],
    pub(crate) rows: Vec<Vec<TableCell>>,
}

const GAP: &str = "  ";

impl ReportTable<'_> {
    pub(crate) fn write(&self, look: TerminalStyle, out: &mut String) {
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| self.width(column))
            .collect();
        let names: Vec<TableCell> = self
            .header
            .iter()
            .map(|(name, _)| cell(*name).ink(Ink::Dim))
            .collect();
        self.line(&names, &widths, look, out);
        let rule: Vec<TableCell> = widths
            .iter()
            .map(|width| cell("─".repeat(*width)).ink(Ink::Dim))
            .collect();
        self.line(&rule, &widths, look, out);
        for row in &self.rows {
            self.line(row, &widths, look, out);
        }
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widest = cells
            .map(|cell| cell.text.chars().count())
            .max()
            .unwrap_or(0);
        widest.max(self.header[column].0.chars().count())
    }

    fn line(&self, cells: &[TableCell], widths: &[usize], look: TerminalStyle, out: &mut String) {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.iter().zip(widths).zip(self.header) {
            let pad = " ".repeat(width.saturating_sub(cell.text.chars().count()));
            let text = look.paint(cell.ink, &cell.text);
            line.push_str(GAP);
            line.push_str(&match align {
                Align::Left => text + &pad,
                Align::Right => pad + &text,
            });
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// A column that may be left out: its name, its cells, and how gladly it is given up when there is no room.
pub(crate) struct RankedColumn {
    pub(crate) name: &'static str,
    pub(crate) align: Align,
    pub(crate) rank: u8,
    pub(crate) cells: Vec<TableCell>,
}

impl RankedColumn {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.text.chars().count());
        cells.max().unwrap_or(0).max(self.name.chars().count()) + GAP.len()
    }
}

/// Writes the columns that fit, of which those of rank 0 are never left out.
pub(crate) fn write_ranked(mut columns: Vec<RankedColumn>, look: TerminalStyle, out: &mut String) {
    while columns.iter().map(RankedColumn::width).sum::<usize>() > look.columns {
        let last = columns.iter().map(|column| column.rank).max().unwrap_or(0);
        if last == 0 {
            break;
        }
        columns.retain(|column| column.rank != last);
    }
    let header: Vec<_> = columns.iter().map(|own| (own.name, own.align)).collect();
    let count = columns.first().map_or(0, |column| column.cells.len());
    let mut cells: Vec<_> = columns
        .into_iter()
        .map(|own| own.cells.into_iter())
        .collect();
    let rows = (0..count).map(|_| cells.iter_mut().filter_map(Iterator::next).collect());
    ReportTable {
        rows: rows.collect(),
        header: &header,
    }
    .write(look, out);
}

/// Text from a trace, safe on a terminal: without control characters, and at most so long.
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

/// Whether a character could move the cursor or turn the direction of text.
fn is_wild(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_their_widest_cell() {
        let table = ReportTable {
            header: &[("key", Align::Left), ("denied", Align::Right)],
            rows: vec![
                vec![cell("användare"), cell("1")],
                vec![cell("b"), cell("12345678")],
            ],
        };
        let mut text = String::new();
        table.write(TerminalStyle::PLAIN, &mut text);
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
