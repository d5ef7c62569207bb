//! The style of text on a terminal: colours with fixed meanings, and the width.

use std::io::IsTerminal;

use super::Meaning;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalStyle {
    pub colour: bool,
    /// Width limit of running text in columns.
    pub width: usize,
    /// Width limit of a table in columns, beyond which it leaves some out; unlimited for a file.
    pub columns: usize,
}

/// A reason to set text apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Bold,
    Dim,
    Meaning(Meaning),
}

/// The width of pages and files, and of terminals with unknown width.
const WIDTH_DEFAULT: usize = 96;
const WIDTH_MIN: usize = 60;
const WIDTH_MAX: usize = 140;

impl TerminalStyle {
    /// Plain text of the default width, as for a file.
    pub(crate) const PLAIN: Self = Self {
        colour: false,
        width: WIDTH_DEFAULT,
        columns: usize::MAX,
    };

    /// The style of standard output: coloured on a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    pub(crate) fn of_stdout() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self::PLAIN;
        }
        let told = terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
        Self::of_terminal(told, |name| std::env::var(name).ok())
    }

    /// The style by the environment; `COLUMNS` overrides the terminal's width.
    fn of_terminal(told: Option<usize>, variable: impl Fn(&str) -> Option<String>) -> Self {
        let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = variable("TERM").is_some_and(|value| value == "dumb");
        let asked = variable("COLUMNS").and_then(|value| value.parse().ok());
        Self {
            colour: !no_color && !dumb,
            ..Self::PLAIN
        }
        .with_width(asked.or(told).unwrap_or(WIDTH_DEFAULT))
    }

    /// The same style for a terminal of that width.
    #[must_use]
    pub(crate) fn with_width(self, columns: usize) -> Self {
        Self {
            width: columns.clamp(WIDTH_MIN, WIDTH_MAX),
            columns: columns.max(WIDTH_MIN),
            ..self
        }
    }

    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            _ if !self.colour || text.is_empty() => return text.to_owned(),
            Ink::Plain => return text.to_owned(),
            Ink::Bold => "1",
            Ink::Dim | Ink::Meaning(Meaning::Unmatched) => "38;5;245",
            Ink::Meaning(Meaning::Allowed) => "38;5;37",
            Ink::Meaning(Meaning::Delayed) => "38;5;135",
            Ink::Meaning(Meaning::Denied) => "38;5;202",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

impl Meaning {
    /// The glyph of a meaning, so that it is recognizable without colours.
    pub(crate) fn glyph(self) -> char {
        match self {
            Self::Unmatched => '·',
            Self::Allowed => '░',
            Self::Delayed => '▒',
            Self::Denied => '█',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(variables: &[(&str, &str)]) -> TerminalStyle {
        TerminalStyle::of_terminal(Some(120), |name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn colours_need_a_terminal_that_wants_them() {
        assert!(look(&[("NO_COLOR", ""), ("TERM", "xterm")]).colour);
        assert!(!look(&[("NO_COLOR", "1")]).colour);
        assert!(!look(&[("TERM", "dumb")]).colour);
        assert_eq!(TerminalStyle::PLAIN.paint(Ink::Bold, "x"), "x");
    }

    #[test]
    fn the_width_stays_within_reason() {
        assert_eq!(look(&[("COLUMNS", "100")]).width, 100);
        assert_eq!(look(&[("COLUMNS", "7")]).width, WIDTH_MIN);
        assert_eq!(look(&[("COLUMNS", "4000")]).width, WIDTH_MAX);
        assert_eq!(look(&[("COLUMNS", "4000")]).columns, 4000);
        assert_eq!((look(&[]).width, look(&[]).columns), (120, 120));
    }
}
