//! Descriptor files put together to one text, and which of its lines are of which file.

use std::borrow::Cow;

use crate::error::ContractErrors;

/// The text of one file, or of several.
pub(super) struct DescriptorTexts<'a> {
    pub(super) text: Cow<'a, str>,
    /// The line before the first of each file, and its name; none where the text is that of one file.
    files: Vec<(u32, &'a str)>,
}

impl<'a> DescriptorTexts<'a> {
    pub(super) const fn one(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            files: Vec::new(),
        }
    }

    /// The texts of files by their names.
    pub(super) fn of(files: &'a [(String, String)]) -> Self {
        let (mut whole, mut before, mut places) = (String::new(), 0, Vec::new());
        for (name, text) in files {
            let text = text.strip_prefix('\u{FEFF}').unwrap_or(text).trim_end();
            before += 1;
            places.push((before, &**name));
            whole.push_str("---\n");
            whole.push_str(text);
            whole.push('\n');
            before += u32::try_from(text.split('\n').count()).unwrap_or(u32::MAX);
        }
        Self {
            text: whole.into(),
            files: places,
        }
    }

    /// The file that a line is of, and its number there.
    fn place(&self, line: u32) -> (Option<&'a str>, u32) {
        let file = self.files.iter().rev().find(|(before, _)| *before < line);
        file.map_or((None, line), |(before, name)| (Some(name), line - before))
    }

    /// A line in words.
    pub(super) fn told(&self, line: u32) -> String {
        match self.place(line) {
            (Some(name), line) => format!("line {line} of {name}"),
            (None, line) => format!("line {line}"),
        }
    }

    /// The same mistakes, each in its file.
    pub(super) fn located(&self, mut errors: ContractErrors) -> ContractErrors {
        for error in &mut errors.errors {
            let (file, line) = self.place(error.snippet.line);
            error.file = file.map(Into::into);
            error.snippet.line = line;
        }
        errors
    }
}
