//! Processes whose wall clock is wrong, or is set while they run: by libfaketime (Debian's package `faketime`).
//!
//! What measures time runs on, as it does on a machine whose clock is set.

use std::path::Path;
use std::process::Command;

/// The library that fakes clocks, as the loader knows it; a reason where there is none that works.
pub(crate) fn library() -> Result<String, String> {
    let run = |command: &mut Command| {
        let output = command.output();
        let output = output.map_err(|error| format!("{command:?}: {error}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let mut tells = Command::new("faketime");
    let path = run(tells.args(["-m", "-f", "+0s", "sh", "-c", "echo $LD_PRELOAD"]))?;
    let mut date = Command::new("date");
    date.env("LD_PRELOAD", &path).env("FAKETIME", "+36500d");
    match run(date.arg("+%Y"))?.parse::<u32>() {
        Ok(2100..) => Ok(path),
        _ => Err(format!("{path:?} fakes no clock")),
    }
}

/// What is set in the environment of a process whose clock a file tells.
pub(crate) fn under(library: &str, file: &Path) -> [String; 4] {
    std::fs::write(file, "+0s").unwrap();
    [
        format!("LD_PRELOAD={library}"),
        format!("FAKETIME_TIMESTAMP_FILE={}", file.display()),
        "FAKETIME_NO_CACHE=1".to_owned(),
        "FAKETIME_DONT_FAKE_MONOTONIC=1".to_owned(),
    ]
}

/// Sets the clock of such a process, by seconds from the right time.
pub(crate) fn set(file: &Path, offset: i64) {
    let next = file.with_extension("next");
    std::fs::write(&next, format!("{offset:+}s")).unwrap();
    std::fs::rename(next, file).unwrap();
}
