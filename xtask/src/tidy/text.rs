//! Text that must not be in the repository, and the module doc that must.

use super::Finding;
use super::files::File;
use super::scan::mask;

/// Paths that exist on one machine only. Split in two, so that this file does not contain them.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
];
/// The longest line of a comment, in characters.
const COMMENT_MAX: usize = 120;
const UNFINISHED_WORD: &str = concat!("FIX", "ME");
const UNFINISHED_MACROS: &[&str] = &["todo!", "unimplemented!", "dbg!"];

pub(crate) fn check(file: &File) -> Vec<Finding> {
    let Some(text) = file.text.as_deref() else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let complaints = complaints_of_line(line);
        findings.extend(complaints.map(|what| Finding::new(&file.path, index + 1, what)));
    }
    if let Some(source) = file.rust() {
        findings.extend(long_comments(&file.path, source));
        findings.extend(unfinished_code(&file.path, source));
        findings.extend(debug_text(&file.path, source));
        if !source.starts_with("//!") {
            let what = "no module doc; open with `//!`: what the file is for and what is not here";
            findings.push(Finding::new(&file.path, 1, what));
        }
    }
    findings
}

fn complaints_of_line(line: &str) -> impl Iterator<Item = String> {
    let path = MACHINE_PATHS.iter().find(|path| names_path(line, path));
    let path =
        path.map(|path| format!("machine path {path}; use a path from the repository's root"));
    let unfinished = line
        .contains(UNFINISHED_WORD)
        .then(|| format!("{UNFINISHED_WORD}; finish it, or open an issue and say what is absent"));
    let trailing = line
        .ends_with([' ', '\t', '\r'])
        .then(|| "trailing white space; remove it".to_owned());
    [path, unfinished, trailing].into_iter().flatten()
}

/// Whether `line` has `path` as the start of an absolute path, not inside a longer path or address.
fn names_path(line: &str, path: &str) -> bool {
    let continues = |before: &str| {
        before.ends_with(|last: char| last.is_alphanumeric() || "._-/*}>)~".contains(last))
    };
    line.match_indices(path)
        .any(|(at, _)| !continues(&line[..at]))
}

/// Needed because rustfmt does not wrap comments.
fn long_comments(path: &str, source: &str) -> Vec<Finding> {
    let is_long =
        |line: &str| line.trim_start().starts_with("//") && line.chars().count() > COMMENT_MAX;
    let long = source.lines().enumerate().filter(|(_, line)| is_long(line));
    let what = format!("a comment line of more than {COMMENT_MAX} characters; wrap it");
    long.map(|(index, _)| Finding::new(path, index + 1, what.as_str()))
        .collect()
}

fn unfinished_code(path: &str, source: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in mask(source).lines().enumerate() {
        for name in UNFINISHED_MACROS.iter().filter(|name| calls(line, name)) {
            findings.push(Finding::new(
                path,
                index + 1,
                format!("`{name}` left behind; write the code"),
            ));
        }
    }
    findings
}

/// Log fields in Rust's debug format: `?field` of the macros of `tracing`.
fn debug_text(path: &str, source: &str) -> Vec<Finding> {
    let masked = mask(source);
    let lines = masked.lines().enumerate();
    let shown = lines.filter(|(_, line)| {
        let mut marks = line.match_indices('?');
        marks.any(|(at, _)| {
            let before = line[..at].trim_end_matches(' ');
            let is_field = line[at + 1..].starts_with(|next: char| next.is_ascii_lowercase());
            is_field && (before.is_empty() || before.ends_with(['(', ',', '=']))
        })
    });
    let what = "a log shows Rust's debug text; write what people read, as a number or with `%`";
    shown
        .map(|(index, _)| Finding::new(path, index + 1, what))
        .collect()
}

fn calls(line: &str, name: &str) -> bool {
    let longer =
        |before: &str| before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
    line.match_indices(name).any(|(at, _)| !longer(&line[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(path: &str, text: &str, expected: &[usize]) {
        let lines: Vec<usize> = check(&File::of(path, text))
            .iter()
            .map(|found| found.line)
            .collect();
        assert_eq!(lines, expected, "in {text:?}");
    }

    #[test]
    fn a_comment_ends_at_its_limit() {
        let comment = |letters: usize| format!("//! {}\n", "é".repeat(letters));
        finds("a.rs", &comment(COMMENT_MAX - 4), &[]);
        finds("a.rs", &comment(COMMENT_MAX - 3), &[1]);
    }

    #[test]
    fn finds_machine_paths_but_not_parts_of_others() {
        let path = MACHINE_PATHS[0];
        finds("a.md", &format!("ok\nsee {path}x"), &[2]);
        finds("a.md", &format!("\"{path}x\""), &[1]);
        finds(
            "a.md",
            &format!("https://example.org{path}x and src{path}"),
            &[],
        );
    }

    #[test]
    fn finds_trailing_white_space() {
        finds("a.toml", "a\nb \n\tc\nd\t\n\n", &[2, 4]);
    }

    #[test]
    fn finds_unfinished_code_outside_of_literals_only() {
        finds("a.rs", "//! A.\nfn a() { todo!() }\n", &[2]);
        finds(
            "a.rs",
            "//! A.\nfn a() { \"todo!\"; not_todo!() } // dbg!\n",
            &[],
        );
        finds("a.md", UNFINISHED_WORD, &[1]);
    }

    #[test]
    fn finds_debug_text_in_logs() {
        let text = "//! A.\nfn a() -> T {\n    info!(?kept, \"x\");\n    warn!(\n        why = ?error,\n    );\n    \
                    b::<dyn ?Sized>(c()?, \"(?x\")?\n}\n";
        finds("a.rs", text, &[3, 5]);
    }

    #[test]
    fn every_rust_file_opens_with_its_purpose() {
        finds("a.rs", "use b;\n", &[1]);
        finds("a.rs", "//! A.\nuse b;\n", &[]);
    }
}
