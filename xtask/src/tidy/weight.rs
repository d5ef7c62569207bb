//! No build output and nothing heavy in git.

use super::Finding;
use super::files::File;

const SIZE_MAX: usize = 1 << 20;
const FOLDERS: &[&str] = &["target", "node_modules", "__pycache__"];
const ENDINGS: &[&str] = &[
    ".profraw",
    ".profdata",
    ".rlib",
    ".rmeta",
    ".o",
    ".a",
    ".so",
    ".exe",
    ".pyc",
    ".gcda",
];

pub(crate) fn check(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    if is_build_output(&file.path) {
        findings.push(Finding::new(
            &file.path,
            1,
            "build output; remove it and add it to .gitignore",
        ));
    }
    if file.size > SIZE_MAX {
        let what = format!(
            "{} bytes, limit {SIZE_MAX}; generate it when needed",
            file.size
        );
        findings.push(Finding::new(&file.path, 1, what));
    }
    findings
}

fn is_build_output(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.split('/').any(|part| FOLDERS.contains(&part))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name.starts_with("callgrind.out.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_build_output_in_any_folder() {
        for path in [
            "fuzz/target/x",
            "default.profraw",
            "bench/callgrind.out.7",
            "a/libx.so",
        ] {
            assert!(is_build_output(path), "{path}");
        }
        for path in [
            "docs/targets.md",
            "crates/table/src/so.rs",
            "fuzz/fuzz_targets/a.rs",
        ] {
            assert!(!is_build_output(path), "{path}");
        }
    }

    #[test]
    fn refuses_a_file_above_one_mebibyte() {
        let mut file = File::of("big.txt", "");
        file.size = SIZE_MAX;
        assert!(check(&file).is_empty());
        file.size += 1;
        assert_eq!(check(&file).len(), 1);
    }
}
