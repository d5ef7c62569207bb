//! A program of C, compiled as strictly as a compiler can, against both kinds of library.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Cargo has put this test, and with it both libraries.
fn libraries() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.parent().unwrap().to_owned()
}

/// Compiles and runs the program; gives what it printed.
#[track_caller]
fn run(language: &[&str], library: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.path().join("program");
    let compiled = Command::new("gcc")
        .args(language)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-I"])
        .arg(here.join("include"))
        .arg(here.join("tests/c/limiter.c"))
        .arg("-o")
        .arg(&program)
        .args(library)
        .args(["-lpthread", "-ldl", "-lm"])
        .current_dir(libraries())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{said}");
    let ran = Command::new(&program)
        .env("LD_LIBRARY_PATH", libraries())
        .output()
        .unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{printed}\n{said}");
    printed
}

const TABLE: &str = "\
ada cost 3: allow, 2 left of 5 (users/daily)
ada cost 3: deny, 2 left of 5 (users/daily)
ada cost 6: never, 2 left of 5 (users/daily)
bob cost 5: allow, 0 left of 5 (users/daily)
settled at 1: 4 left
";

#[test]
fn a_program_of_c99_links_the_shared_library() {
    let printed = run(&["-std=c99"], &["-L.", "-l:libtollgate.so"]);
    assert_eq!(printed, TABLE);
}

#[test]
fn the_same_program_links_the_static_library() {
    let printed = run(&["-std=c11"], &["-l:libtollgate.a", "-L.", "-lgcc_s"]);
    assert_eq!(printed, TABLE);
}
