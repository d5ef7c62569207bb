//! Lays out text in columns: the first and the last to the left, figures to the right.

use std::fmt::{Display, Formatter, Result};

pub(crate) struct TextTable {
    title: String,
    head: Vec<String>,
    lines: Vec<Vec<String>>,
    left_last: bool,
}

impl TextTable {
    /// Starts a table; every line must have as many cells as `head`.
    pub(crate) fn new(title: impl Into<String>, head: &[&str]) -> Self {
        let head = head.iter().map(|&cell| cell.to_owned()).collect();
        Self {
            title: title.into(),
            head,
            lines: Vec::new(),
            left_last: false,
        }
    }

    /// Sets the last column to the left too, for words.
    pub(crate) fn words_last(mut self) -> Self {
        self.left_last = true;
        self
    }

    pub(crate) fn push(&mut self, line: Vec<String>) {
        debug_assert_eq!(line.len(), self.head.len());
        self.lines.push(line);
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self
                .lines
                .iter()
                .chain([&self.head])
                .filter_map(|line| line.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        (0..self.head.len()).map(width).collect()
    }

    fn write_line(&self, f: &mut Formatter<'_>, line: &[String], widths: &[usize]) -> Result {
        let mut text = String::new();
        for (column, (cell, &width)) in line.iter().zip(widths).enumerate() {
            let left = column == 0 || (self.left_last && column + 1 == line.len());
            let gap = if column == 0 { "" } else { "  " };
            let cell = if left {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            };
            text.push_str(gap);
            text.push_str(&cell);
        }
        writeln!(f, "{}", text.trim_end())
    }
}

impl Display for TextTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let widths = self.widths();
        let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1));
        writeln!(f, "\n{}\n{rule}", self.title)?;
        self.write_line(f, &self.head, &widths)?;
        writeln!(f, "{rule}")?;
        for line in &self.lines {
            self.write_line(f, line, &widths)?;
        }
        writeln!(f, "{rule}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_to_the_right_under_their_head() {
        let mut table = TextTable::new("t", &["who", "ns"]);
        table.push(vec!["a".into(), "1.0".into()]);
        assert_eq!(
            table.to_string(),
            "\nt\n────────\nwho   ns\n────────\na    1.0\n────────\n"
        );
    }
}
