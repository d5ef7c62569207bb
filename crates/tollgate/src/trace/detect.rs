//! Which format a trace has, by its name and its first bytes.

use clap::ValueEnum;

use super::clf;
use super::error::{Class, TraceError};

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// One JSON object per line
    #[value(name = "jsonl")]
    JsonLines,
    /// A JSON array of objects
    #[value(name = "json")]
    JsonArray,
    /// Comma-separated values with a header row
    Csv,
    /// Common or combined access log
    Clf,
}

impl TraceFormat {
    /// By the name's extension and the first bytes.
    ///
    /// JSON is recognised by its bracket whatever the file is called, except `.csv`, where a first field may well start
    /// with one. An access log is recognised by its first line under any other name.
    pub(super) fn detect(extension: Option<&str>, head: &[u8]) -> Self {
        let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
        let extension = extension.map(str::to_ascii_lowercase);
        match (extension.as_deref(), first) {
            (Some("csv"), _) => Self::Csv,
            (_, Some(b'[')) => Self::JsonArray,
            (_, Some(b'{')) => Self::JsonLines,
            (Some("log"), _) => Self::Clf,
            (Some("jsonl" | "ndjson" | "json"), _) | (_, None) => Self::JsonLines,
            (_, Some(_)) if starts_like_log(head) => Self::Clf,
            (_, Some(_)) => Self::Csv,
        }
    }
}

fn starts_like_log(head: &[u8]) -> bool {
    let line = head
        .trim_ascii_start()
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or(&[]);
    std::str::from_utf8(line).is_ok_and(clf::is_likely)
}

/// Refuses binary files, and says what they are.
pub(super) fn refuse_binary(head: &[u8]) -> Result<(), TraceError> {
    let (what, hint) = match head {
        [0x1f, 0x8b, ..] => (
            "the trace is compressed with gzip",
            "pipe it: zcat FILE | tollgate replay --trace - …",
        ),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => (
            "the trace is compressed with zstd",
            "pipe it: zstdcat FILE | tollgate replay --trace - …",
        ),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => (
            "the trace is UTF-16",
            "convert it to UTF-8, for example with iconv",
        ),
        _ => return Ok(()),
    };
    Err(TraceError {
        class: Class::File,
        line: 1,
        column: None,
        what: what.to_owned(),
        hint: Some(hint),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_and_the_extension_decide() {
        let log = b"h - - [01/Jan/1970:00:00:00 +0000] \"GET / H\" 200 1\n";
        for (extension, head, format) in [
            (None, &b" \n[{"[..], TraceFormat::JsonArray),
            (None, b"{", TraceFormat::JsonLines),
            (None, b"time,user\n", TraceFormat::Csv),
            (None, log, TraceFormat::Clf),
            (None, b"", TraceFormat::JsonLines),
            (Some("log"), b"{\"time\":1}", TraceFormat::JsonLines),
            (Some("LOG"), b"whatever", TraceFormat::Clf),
            (Some("1"), log, TraceFormat::Clf),
            (Some("csv"), b"[a],time\n", TraceFormat::Csv),
            (Some("csv"), b"", TraceFormat::Csv),
            (Some("json"), b"[", TraceFormat::JsonArray),
            (Some("json"), b"{", TraceFormat::JsonLines),
        ] {
            assert_eq!(
                TraceFormat::detect(extension, head),
                format,
                "{extension:?}"
            );
        }
    }

    #[test]
    fn compressed_and_wide_files_are_named() {
        assert!(refuse_binary(&[0x1f, 0x8b, 8]).is_err());
        assert!(refuse_binary(&[0xff, 0xfe, b'{', 0]).is_err());
        assert!(refuse_binary(b"{").is_ok());
    }
}
