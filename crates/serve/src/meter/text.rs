//! Prometheus' text format, version 0.0.4: families of samples, each with help and type.

use std::fmt::{Display, Write};

/// A text of families.
pub(crate) struct Text {
    text: String,
    family: String,
}

/// Policies that have series of their own.
pub(crate) const LABELS_MAX: usize = 64;

/// What kind of metric a family is.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Text {
    pub(crate) fn new() -> Self {
        Self {
            text: String::with_capacity(16 << 10),
            family: String::new(),
        }
    }

    /// Begins a family; its samples follow.
    pub(crate) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
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

    /// One sample of the family.
    pub(crate) fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.part("", labels, value);
    }

    /// One sample of a histogram: of its buckets, sum or count.
    pub(crate) fn part(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
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
    pub(crate) fn one(&mut self, name: &'static str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(&[], value);
    }

    pub(crate) fn finish(self) -> String {
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
        // Memory is all that a string needs.
        let _ = self.text.write_fmt(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_help_are_escaped() {
        let mut text = Text::new();
        text.family("a_total", Kind::Counter, "back\\slash\nline");
        text.sample(&[("l", "a\"b\\c\nd"), ("m", "é")], 3);
        let expected = "# HELP a_total back\\\\slash\\nline\n# TYPE a_total counter\n\
             a_total{l=\"a\\\"b\\\\c\\nd\",m=\"é\"} 3\n";
        assert_eq!(text.finish(), expected);
    }
}
