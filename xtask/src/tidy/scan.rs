//! Rust source to tokens, as far as measuring needs it.
//!
//! Two steps: `mask` blanks comments and literals without moving anything, and `tokens` splits the
//! rest into words and single punctuation marks. There is deliberately no syntax tree here.

/// A word or one punctuation mark, and its line counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

/// Replaces comments and the insides of literals by spaces; length and line breaks stay.
///
/// A raw identifier such as `r#fn` becomes `r_fn`, so that it is not taken for a keyword.
pub(crate) fn mask(source: &str) -> String {
    let mut masker = Masker {
        rest: source,
        out: String::with_capacity(source.len()),
    };
    while let Some(first) = masker.rest.chars().next() {
        masker.step(first);
    }
    masker.out
}

/// Splits masked source.
pub(crate) fn tokens(masked: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for (index, line) in masked.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let word = word_length(rest);
            let (text, after) = rest.split_at(if word > 0 { word } else { first.len_utf8() });
            found.push(Token {
                text,
                line: index + 1,
            });
            rest = after.trim_start();
        }
    }
    found
}

struct Masker<'a> {
    rest: &'a str,
    out: String,
}

impl Masker<'_> {
    fn step(&mut self, first: char) {
        if self.rest.starts_with("//") {
            self.blank(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.blank(block_comment_length(self.rest));
        } else if first == '"' {
            self.blank(string_length(self.rest));
        } else if first == '\'' {
            self.quote();
        } else if is_word(first) {
            self.word();
        } else {
            self.copy(first.len_utf8());
        }
    }

    /// A word; some words open a raw string or a raw identifier.
    fn word(&mut self) {
        let (word, after) = self.rest.split_at(word_length(self.rest));
        let hashes = after.len() - after.trim_start_matches('#').len();
        let opens_raw = matches!(word, "r" | "br" | "cr");
        if opens_raw && after[hashes..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            let body = word.len() + hashes + 1;
            let end = self.rest[body..].find(&close);
            self.blank(end.map_or(self.rest.len(), |at| body + at + close.len()));
        } else if word == "r" && hashes == 1 {
            self.out.push_str("r_");
            self.rest = &after[1..];
        } else {
            self.copy(word.len());
        }
    }

    /// A character literal is blanked; the quote of a lifetime or label is kept.
    fn quote(&mut self) {
        let mut inside = self.rest[1..].chars();
        let length = match (inside.next(), inside.next()) {
            (Some('\\'), Some(escaped)) => {
                let body = 2 + escaped.len_utf8();
                self.rest[body..].find('\'').map_or(1, |at| body + at + 1)
            }
            (Some(only), Some('\'')) => 2 + only.len_utf8(),
            _ => return self.copy(1),
        };
        self.blank(length);
    }

    fn copy(&mut self, length: usize) {
        let (head, rest) = self.rest.split_at(length);
        self.out.push_str(head);
        self.rest = rest;
    }

    fn blank(&mut self, length: usize) {
        let (head, rest) = self.rest.split_at(length);
        self.out.extend(
            head.bytes()
                .map(|byte| if byte == b'\n' { '\n' } else { ' ' }),
        );
        self.rest = rest;
    }
}

/// The length of the block comment that opens `text`; block comments nest.
fn block_comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += 1;
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of the string literal that opens `text`, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn word_length(text: &str) -> usize {
    text.find(|letter| !is_word(letter)).unwrap_or(text.len())
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the text after masking, with runs of spaces shown as one.
    #[track_caller]
    fn leaves(source: &str, expected: &str) {
        let masked = mask(source);
        assert_eq!(masked.len(), source.len(), "length moved: {masked:?}");
        assert_eq!(masked.matches('\n').count(), source.matches('\n').count());
        let words: Vec<&str> = masked.split_whitespace().collect();
        assert_eq!(words.join(" "), expected, "in {source:?}");
    }

    #[test]
    fn blanks_comments_to_the_end_of_the_line() {
        leaves("a // { fn \"\n b //! '\n c", "a b c");
    }

    #[test]
    fn block_comments_nest() {
        leaves("a /* { /* } */ fn \" */ b /**/ c", "a b c");
        leaves("a /*/ still inside */ b", "a b");
    }

    #[test]
    fn blanks_strings_with_escapes_and_line_breaks() {
        leaves(r#"a "{ \" fn // \\" b"#, "a b");
        leaves("a \"one \\\n two }\" b", "a b");
        leaves(r#"a b"{\"" c"}" d"#, "a b c d");
    }

    #[test]
    fn raw_strings_end_at_their_own_hashes() {
        leaves(r###"a r#"{ " \"# b r##"}"# fn "## c"###, "a b c");
        leaves(r##"a r"\" b br#"""# c cr"{" d"##, "a b c d");
    }

    #[test]
    fn a_word_that_ends_in_r_opens_no_raw_string() {
        leaves(r#"bar"x" ; b"#, "bar ; b");
    }

    #[test]
    fn raw_identifiers_are_not_keywords() {
        leaves("r#fn r#struct", "r_fn r_struct");
    }

    #[test]
    fn tells_characters_from_lifetimes() {
        leaves("'{' b'}' '\\'' '\\\\' '\"' '\\u{7d}' 'é' x", "b x");
        leaves(
            "<'a, 'b> &'static str 'outer: loop",
            "<'a, 'b> &'static str 'outer: loop",
        );
        leaves("f::<'a>('{', &'a x)", "f::<'a>( , &'a x)");
    }

    #[test]
    fn unfinished_literals_run_to_the_end() {
        leaves("a \"b { ", "a");
        leaves("a r#\"b\" ", "a");
        leaves("a /* b /* c */ ", "a");
    }

    #[test]
    fn tokens_carry_their_lines() {
        let found: Vec<(&str, usize)> = tokens("fn a()\n\n -> é_1;")
            .iter()
            .map(|token| (token.text, token.line))
            .collect();
        let expected = [
            ("fn", 1),
            ("a", 1),
            ("(", 1),
            (")", 1),
            ("-", 3),
            (">", 3),
            ("é_1", 3),
        ];
        assert_eq!(found[..7], expected);
        assert_eq!(found[7], (";", 3));
    }
}
