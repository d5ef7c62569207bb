//! The header that is committed is the one that the sources make.
//!
//! `cargo xtask header` writes it.

use std::path::{Path, PathBuf};

use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style,
};

/// Files with something that callers see.
const SOURCES: [&str; 8] = [
    "code", "key", "answer", "limiter", "open", "connect", "ask", "spend",
];

const TOP: &str = "/* libtollgate: decides, for any key, whether a request may pass, must wait, or is refused.
 *
 * Any number of threads may use one limiter. Every function that can fail returns a code, and `tollgate_last_error` says in
 * words what to do. Pointers may be null only where this says so; null elsewhere is `TOLLGATE_CODE_NULL`, never a crash.
 *
 * Made by `cargo xtask header` from the sources; do not edit. */";

/// What the sources can say in no other way: the generator does not know the largest size.
const SIZES: &str = "\n/*\n The length of a text that ends with a NUL byte.\n */
#define TOLLGATE_NUL_TERMINATED SIZE_MAX";

/// Names in Rust and in C.
const NAMES: [(&str, &str); 11] = [
    ("Code", "tollgate_code"),
    ("Text", "tollgate_text"),
    ("KeyEntry", "tollgate_entry"),
    ("Key", "tollgate_key"),
    ("Verdict", "tollgate_verdict"),
    ("Answer", "tollgate_answer"),
    ("Path", "tollgate_path"),
    ("Options", "tollgate_options"),
    ("ClientOptions", "tollgate_client_options"),
    ("Limiter", "tollgate_limiter"),
    ("Receipt", "tollgate_receipt"),
];

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include/tollgate.h")
}

fn config() -> Config {
    let names = NAMES.map(|(rust, c)| (rust.to_owned(), c.to_owned()));
    Config {
        language: Language::C,
        style: Style::Both,
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"]
            .map(str::to_owned)
            .into(),
        after_includes: Some(SIZES.to_owned()),
        header: Some(TOP.to_owned()),
        include_guard: Some("TOLLGATE_H".to_owned()),
        cpp_compat: true,
        line_length: 120,
        documentation_style: DocumentationStyle::C,
        usize_is_size_t: true,
        export: ExportConfig {
            rename: names.into_iter().collect(),
            ..ExportConfig::default()
        },
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        ..Config::default()
    }
}

fn generate() -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut builder = Builder::new().with_config(config());
    for name in SOURCES {
        builder = builder.with_src(sources.join(name).with_extension("rs"));
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    text.replace("# Safety\n\n ", "Safety: ")
}

#[test]
fn the_header_is_what_the_sources_make() {
    let committed = std::fs::read_to_string(path()).unwrap_or_default();
    assert!(
        committed == generate(),
        "include/tollgate.h is not what the sources make: run `cargo xtask header`"
    );
}

#[test]
#[ignore = "writes the header; `cargo xtask header` runs it"]
fn write() {
    std::fs::write(path(), generate()).unwrap();
}
