//! The documents that describe the whole: they name every crate, and the changelog has a section.

use std::collections::BTreeSet;

use super::Finding;
use super::files::File;

pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let crates = crate_folders(files);
    let named = |text: &str, folder: &str| text.lines().any(|line| names(line, folder));
    let in_table = |text: &str, folder: &str| {
        text.lines()
            .any(|line| line.trim_start().starts_with('|') && names(line, folder))
    };
    findings.extend(each_crate(
        files,
        "ARCHITECTURE.md",
        "the code map",
        &crates,
        named,
    ));
    findings.extend(each_crate(
        files,
        "README.md",
        "the table of crates",
        &crates,
        in_table,
    ));
    findings.extend(changelog(files));
    findings
}

/// Folders directly under `crates/` that hold a package.
fn crate_folders(files: &[File]) -> BTreeSet<&str> {
    let manifests = files
        .iter()
        .filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
    let folders = manifests.filter_map(|folder| folder.strip_prefix("crates/"));
    folders.filter(|folder| !folder.contains('/')).collect()
}

fn each_crate(
    files: &[File],
    document: &str,
    place: &str,
    crates: &BTreeSet<&str>,
    names_it: impl Fn(&str, &str) -> bool,
) -> Vec<Finding> {
    let Some(text) = text_of(files, document) else {
        return vec![Finding::new(document, 1, "missing; write it")];
    };
    let absent = crates.iter().filter(|folder| !names_it(text, folder));
    absent
        .map(|folder| {
            Finding::new(
                document,
                1,
                format!("crates/{folder} is not in {place}; add it"),
            )
        })
        .collect()
}

/// Whether the line names the crate by folder, by package, or by role as a code span.
fn names(line: &str, folder: &str) -> bool {
    let spellings = [
        format!("crates/{folder}"),
        format!("tollgate-{folder}"),
        folder.to_owned(),
    ];
    let is_name = |letter: char| letter.is_alphanumeric() || "-_/".contains(letter);
    line.split(|letter| !is_name(letter))
        .map(|word| word.trim_end_matches('/'))
        .any(|word| spellings[..2].iter().any(|spelling| spelling == word))
        || line.contains(&format!("`{}`", spellings[2]))
}

fn changelog(files: &[File]) -> Option<Finding> {
    let Some(text) = text_of(files, "CHANGELOG.md") else {
        return Some(Finding::new("CHANGELOG.md", 1, "missing; write it"));
    };
    let heads_a_section = |line: &str| {
        let title = line
            .strip_prefix("## ")
            .map(|title| title.trim_start_matches(['[', 'v']));
        title.is_some_and(|title| {
            title.starts_with("Unreleased")
                || title.starts_with(|first: char| first.is_ascii_digit())
        })
    };
    let what = "no section; add `## Unreleased`";
    (!text.lines().any(heads_a_section)).then(|| Finding::new("CHANGELOG.md", 1, what))
}

fn text_of<'a>(files: &'a [File], path: &str) -> Option<&'a str> {
    files.iter().find(|file| file.path == path)?.text.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house(readme: &str, architecture: &str, changelog: &str) -> Vec<File> {
        vec![
            File::of("crates/limit/Cargo.toml", ""),
            File::of("README.md", readme),
            File::of("ARCHITECTURE.md", architecture),
            File::of("CHANGELOG.md", changelog),
        ]
    }

    #[test]
    fn accepts_each_spelling_of_a_crate() {
        for name in [
            "`crates/limit`",
            "[`limit`](crates/limit/)",
            "tollgate-limit",
            "crates/limit/",
        ] {
            let files = house(&format!("| {name} | x |"), name, "## [Unreleased]\n");
            assert_eq!(check(&files), [], "{name}");
        }
    }

    #[test]
    fn the_readme_names_crates_in_a_table() {
        let found = check(&house("crates/limit", "crates/limit", "## 0.1.0"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "README.md");
    }

    #[test]
    fn a_longer_name_is_another_crate() {
        assert!(!names(
            "crates/limiter, tollgate-limit-extra and the limit",
            "limit"
        ));
    }

    #[test]
    fn the_changelog_needs_a_section() {
        assert_eq!(
            check(&house("| `limit` |", "`limit`", "# Changelog\n")).len(),
            1
        );
        assert_eq!(check(&house("| `limit` |", "`limit`", "## v0.1.0\n")), []);
    }

    #[test]
    fn missing_documents_are_found() {
        assert_eq!(check(&[]).len(), 3);
    }
}
