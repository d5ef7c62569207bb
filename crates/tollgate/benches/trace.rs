//! How fast traces are read: `cargo bench -p tollgate --bench trace [-- RECORDS]`.
//!
//! Writes one file of each format to the temporary directory, reads it once to warm the page cache, and reports the
//! best of five readings.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use tollgate::trace::{TraceError, TraceFormat, TraceReader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let records = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(5_000_000);
    for (name, format) in [
        ("jsonl", TraceFormat::JsonLines),
        ("json", TraceFormat::JsonArray),
        ("csv", TraceFormat::Csv),
        ("clf", TraceFormat::Clf),
    ] {
        let path = write(name, format, records)?;
        read(&path, format)?;
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            let count = read(&path, format)?;
            assert_eq!(count, records, "every record is read");
            best = best.min(start.elapsed().as_secs_f64());
        }
        let bytes = std::fs::metadata(&path)?.len();
        #[allow(clippy::cast_precision_loss, reason = "for people to read")]
        let (rate, speed) = (records as f64 / best / 1e6, bytes as f64 / best / 1e6);
        println!("{name:6} {rate:6.1} M records/s  {speed:6.0} MB/s");
        std::fs::remove_file(&path)?;
    }
    Ok(())
}

fn read(path: &Path, format: TraceFormat) -> Result<u64, TraceError> {
    let mut reader = TraceReader::open(path, Some(format))?;
    let (mut count, mut sum) = (0, 0u64);
    while let Some(mut block) = reader.block()? {
        while let Some(record) = block.next() {
            let record = record?;
            count += 1;
            sum = sum.wrapping_add(record.time_ms ^ record.cost ^ record.entries.len() as u64);
        }
    }
    std::hint::black_box(sum);
    Ok(count)
}

fn write(name: &str, format: TraceFormat, records: u64) -> std::io::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("tollgate-bench-{}.{name}", std::process::id()));
    let mut file = BufWriter::new(File::create(&path)?);
    let mut line = String::new();
    file.write_all(match format {
        TraceFormat::JsonArray => b"[\n",
        TraceFormat::Csv => b"time,user,route,cost\n",
        TraceFormat::JsonLines | TraceFormat::Clf => b"",
    })?;
    for n in 0..records {
        line.clear();
        let (time, user, route) = (1_700_000_000_000 + n / 3, n * 7919 % 100_003, n * 31 % 17);
        let cost = 1 + n % 3;
        let _ = match format {
            TraceFormat::JsonLines | TraceFormat::JsonArray => write!(
                line,
                "{{\"time\":{time},\"user\":\"user-{user}\",\"route\":\"/v1/r{route}\",\"cost\":{cost}}}"
            ),
            TraceFormat::Csv => write!(line, "{time},user-{user},/v1/r{route},{cost}"),
            TraceFormat::Clf => write!(
                line,
                "10.0.{}.{} - user-{user} [14/Nov/2023:22:13:{:02} +0000] \"GET /v1/r{route}?q={n} HTTP/1.1\" 200 512 \"-\" \"curl/8\"",
                user / 256 % 256,
                user % 256,
                n % 60
            ),
        };
        let comma = format == TraceFormat::JsonArray && n + 1 < records;
        line.push_str(if comma { ",\n" } else { "\n" });
        file.write_all(line.as_bytes())?;
    }
    file.write_all(if format == TraceFormat::JsonArray {
        b"]\n"
    } else {
        b""
    })?;
    file.into_inner()?.sync_all()?;
    Ok(path)
}
