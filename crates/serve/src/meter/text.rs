//! Prometheus' text format, version 0.0.4: families of samples, each with help and type.
//!
//! Names, types and labels of families are only in the table of docs/metrics.md.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::LazyLock;

#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
    family: String,
}

/// Policies with series of their own.
pub(crate) const LABELS_MAX: usize = 64;

/// Types and help of families, by name.
static FAMILIES: LazyLock<BTreeMap<&str, (&str, &str)>> =
    LazyLock::new(|| TABLE.lines().filter_map(row).collect());

/// A row of the table: the name as code, type, labels, help.
fn row(line: &str) -> Option<(&str, (&str, &str))> {
    let cells = line.strip_prefix("| `")?.strip_suffix(" |")?;
    let (name, cells) = cells.split_once("` | ")?;
    let (kind, cells) = cells.split_once(" | ")?;
    let (_labels, help) = cells.split_once(" | ")?;
    Some((name, (kind, help)))
}

impl Exposition {
    /// A text without families.
    pub fn new() -> Self {
        Self {
            text: String::with_capacity(16 << 10),
            family: String::new(),
        }
    }

    /// Starts a family of the table; its samples follow.
    pub fn family(&mut self, name: &str) {
        let known = FAMILIES.get(name);
        debug_assert!(known.is_some(), "docs/metrics.md has no row of {name}");
        let (kind, help) = known.copied().unwrap_or(("untyped", ""));
        self.family_as(name, kind, help);
    }

    /// Starts a family that a mode describes.
    pub(crate) fn family_as(&mut self, name: &str, kind: &str, help: &str) {
        name.clone_into(&mut self.family);
        self.write(format_args!("# HELP {name} "));
        for character in help.chars() {
            match character {
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                other => self.text.push(other),
            }
        }
        self.write(format_args!("\n# TYPE {name} {kind}\n"));
    }

    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.part("", labels, value);
    }

    /// One sample of a histogram or summary: of its buckets, sum or count.
    pub fn part(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(&self.family);
        self.text.push_str(suffix);
        for (place, (name, text)) in labels.iter().enumerate() {
            let open = if place == 0 { '{' } else { ',' };
            self.write(format_args!("{open}{name}=\""));
            self.escaped(text);
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        self.write(format_args!(" {value}\n"));
    }

    /// A family of one sample without labels.
    pub fn one(&mut self, name: &str, value: impl Display) {
        self.family(name);
        self.sample(&[], value);
    }

    pub fn each<'l, V: Display>(
        &mut self,
        name: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'l str, V)>,
    ) {
        self.family(name);
        for (of, value) in values {
            self.sample(&[(label, of)], value);
        }
    }

    pub fn finish(self) -> String {
        self.text
    }

    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '\\' => self.text.push_str("\\\\"),
                '"' => self.text.push_str("\\\""),
                '\n' => self.text.push_str("\\n"),
                other => self.text.push(other),
            }
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }
}

const TABLE: &str = include_str!("../../../../docs/metrics.md");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_help_are_escaped() {
        let mut text = Exposition::new();
        text.family_as("a_total", "counter", "back\\slash\nline");
        text.sample(&[("l", "a\"b\\c\nd"), ("m", "é")], 3);
        let expected = "# HELP a_total back\\\\slash\\nline\n# TYPE a_total counter\n\
             a_total{l=\"a\\\"b\\\\c\\nd\",m=\"é\"} 3\n";
        assert_eq!(text.finish(), expected);
    }

    #[test]
    fn every_row_of_the_table_is_a_family_of_a_known_type() {
        let rows = TABLE.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(FAMILIES.len(), rows);
        for (name, (kind, help)) in &*FAMILIES {
            let kinds = ["counter", "gauge", "histogram", "summary"];
            assert!(kinds.contains(kind) && help.ends_with('.'), "{name}");
            assert_eq!(
                name.ends_with("_total"),
                *kind == "counter" && !name.starts_with("ratelimit_"),
                "{name}"
            );
        }
    }
}
