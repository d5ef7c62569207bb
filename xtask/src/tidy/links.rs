//! Markdown links to files of the repository must lead somewhere.
//!
//! External addresses and anchors within a page are not followed.

use std::path::Path;

use super::Finding;
use super::files::File;

pub(crate) fn check(root: &Path, file: &File) -> Vec<Finding> {
    let Some(text) = file.markdown() else {
        return Vec::new();
    };
    let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    for (line, target) in links(text) {
        let target = target.split('#').next().unwrap_or_default();
        let full = match target.strip_prefix('/') {
            Some(from_root) => root.join(from_root),
            None => root.join(folder).join(target),
        };
        if !full.exists() {
            let what = format!("link to {target} leads nowhere; mend or remove it");
            findings.push(Finding::new(&file.path, line, what));
        }
    }
    findings
}

/// Targets of links into the repository, with their lines; code blocks and code spans are skipped.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            let targets = inline_targets(&prose).chain(definition_target(&prose));
            let inner = targets.filter(|target| is_inner(target));
            found.extend(inner.map(|target| (index + 1, target.to_owned())));
        }
    }
    found
}

/// The targets of `[text](target "title")`.
fn inline_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|after| {
        let target = after.split_once(')')?.0;
        target
            .split_whitespace()
            .next()
            .map(|target| target.trim_matches(['<', '>']))
    })
}

fn definition_target(line: &str) -> Option<&str> {
    let (_, target) = line.strip_prefix('[')?.split_once("]: ")?;
    target.split_whitespace().next()
}

fn is_inner(target: &str) -> bool {
    !target.starts_with('#') && !target.contains("://") && !target.starts_with("mailto:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(text: &str, expected: &[&str]) {
        let targets: Vec<String> = links(text).into_iter().map(|(_, target)| target).collect();
        assert_eq!(targets, expected, "in {text:?}");
    }

    #[test]
    fn finds_links_in_text_and_in_definitions() {
        finds(
            "see [a](a.md) and ![b](img/b.svg \"title\")",
            &["a.md", "img/b.svg"],
        );
        finds("[a]: docs/a.md#part", &["docs/a.md#part"]);
        finds("[`code`](c.md)", &["c.md"]);
    }

    #[test]
    fn leaves_out_addresses_anchors_and_code() {
        finds(
            "[a](https://example.org) [b](#b) [c](mailto:c@example.org)",
            &[],
        );
        finds("`[a](a.md)`\n```text\n[b](b.md)\n```\n[c](c.md)", &["c.md"]);
    }

    #[test]
    fn a_link_is_taken_from_its_own_folder() {
        let root = &crate::root();
        assert!(
            check(
                root,
                &File::of("xtask/a.md", "[a](src/main.rs#x) [b](/xtask)")
            )
            .is_empty()
        );
        assert_eq!(
            check(root, &File::of("a.md", "\n[a](src/main.rs)"))[0].line,
            2
        );
    }
}
