//! Checks the admission logs of all nodes: did they together ever admit more than one bucket would have?
//!
//! `admissions --limit 10000 --per-ns 1000000000 --burst 1000 LOG...`: each file is one process', each line `steady-ns
//! key cost wait-ns`, as `tollgate serve --admission-log FOLDER` writes it. Exit code 0: nothing beyond the bucket, 1:
//! something, 64: bad usage, 65: a line that makes no sense. Shares no code with what it judges. Not here: utilisation
//! against anything but the limit.

mod judge;

use std::process::ExitCode;

use judge::{AdmissionLog, JudgedBucket, judge};

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(is_within) => ExitCode::from(u8::from(!is_within)),
        Err((code, what)) => {
            eprintln!("error: {what}");
            ExitCode::from(code)
        }
    }
}

fn run(mut words: impl Iterator<Item = String>) -> Result<bool, (u8, String)> {
    let usage = |what: &str| (64, format!("{what}\n{USAGE}"));
    let mut numbers = [0_u64, 1_000_000_000, 0];
    let mut files = Vec::new();
    while let Some(word) = words.next() {
        let place = ["--limit", "--per-ns", "--burst"]
            .iter()
            .position(|name| *name == word);
        let Some(place) = place else {
            files.push(word);
            continue;
        };
        let value = words.next().and_then(|value| value.parse().ok());
        numbers[place] = value.ok_or_else(|| usage(&format!("{word} needs a whole number")))?;
    }
    let [limit, per_ns, burst] = numbers;
    if limit == 0 || per_ns == 0 || burst == 0 || files.is_empty() {
        return Err(usage("a limit, a burst and at least one file are needed"));
    }
    let mut log = AdmissionLog::default();
    for file in &files {
        let text =
            std::fs::read_to_string(file).map_err(|error| (64, format!("{file}: {error}")))?;
        log.read(file, &text).map_err(|what| (65, what))?;
    }
    let bucket = JudgedBucket {
        limit,
        per_ns,
        burst,
    };
    let found = judge(bucket, &log);
    println!(
        "{} admissions of {} tokens in {} files, {} keys, {:.3} s: {} beyond the bucket, worst by {} tokens; {:.2} % of the limit",
        found.admissions,
        found.tokens,
        files.len(),
        found.keys,
        found.seconds(),
        found.violations,
        found.worst,
        100.0 * found.used(bucket),
    );
    Ok(found.violations == 0)
}

const USAGE: &str = "usage: admissions --limit TOKENS [--per-ns NANOSECONDS] --burst TOKENS LOG...";
