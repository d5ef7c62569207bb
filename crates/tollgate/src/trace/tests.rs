//! Tests of the reader as a whole, and the helpers that the formats' tests share.

use std::io::Read;

use tollgate_kit::Dice;

use super::{Class, RECORD_BYTES_MAX, TraceError, TraceFormat, TraceReader};

/// Returns at most this many bytes at a time.
pub(super) struct Chopped {
    bytes: Vec<u8>,
    at: usize,
    len: usize,
}

impl Read for Chopped {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let count = rest.len().min(self.len).min(room.len());
        room[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

type Told = (Vec<String>, Vec<TraceError>);

fn drain(format: Option<TraceFormat>, bytes: &[u8], len: usize) -> Told {
    let input = Chopped {
        bytes: bytes.to_vec(),
        at: 0,
        len,
    };
    let mut reader = TraceReader::new(Box::new(input), format);
    let (mut records, mut faults) = (Vec::new(), Vec::new());
    loop {
        match reader.block() {
            Ok(None) => break,
            Err(error) => faults.push(error),
            Ok(Some(mut block)) => {
                while let Some(record) = block.next() {
                    match record {
                        Ok(record) => {
                            let entries = record.entries.iter();
                            let mut text = vec![format!(
                                "{}: {} {}",
                                record.line, record.time_ms, record.cost
                            )];
                            text.extend(entries.map(|(name, value)| format!("{name}={value}")));
                            records.push(text.join(" "));
                        }
                        Err(error) => faults.push(error),
                    }
                }
            }
        }
        assert!(
            faults.len() <= bytes.len() + 1,
            "the reader does not come to an end"
        );
    }
    (records, faults)
}

/// Reads in chunks of every size, which must not matter.
#[track_caller]
fn drain_all(format: Option<TraceFormat>, bytes: &[u8]) -> Told {
    let whole = drain(format, bytes, usize::MAX);
    for len in [1, 2, 3, 7, 16] {
        assert_eq!(drain(format, bytes, len), whole, "in chunks of {len}");
    }
    whole
}

/// The records of a trace as `line: time cost name=value`.
#[track_caller]
pub(super) fn read(format: TraceFormat, text: &str) -> Vec<String> {
    drain_all(Some(format), text.as_bytes()).0
}

#[track_caller]
pub(super) fn faults(format: TraceFormat, text: &str) -> Vec<String> {
    let (_, faults) = drain_all(Some(format), text.as_bytes());
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn the_format_is_found_without_being_told() {
    for (text, record) in [
        ("time,user\n1,a\n", "2: 1 1 user=a"),
        ("{\"time\":1,\"user\":\"a\"}", "1: 1 1 user=a"),
        ("[{\"time\":1,\"user\":\"a\"}]", "1: 1 1 user=a"),
        (
            "h - a [01/Jan/1970:00:00:00 +0000] \"GET / H\" 200 1",
            "1: 0 1 remote_address=h user=a method=GET path=/ status=200",
        ),
    ] {
        let (records, faults) = drain_all(None, text.as_bytes());
        assert_eq!(records, [record]);
        assert!(faults.is_empty(), "{faults:?}");
    }
}

#[test]
fn an_empty_trace_has_no_records_and_no_faults() {
    assert_eq!(drain_all(None, b""), (vec![], vec![]));
    assert_eq!(drain_all(None, b"  \n\n"), (vec![], vec![]));
}

#[test]
fn bytes_that_are_no_text_cost_only_their_record() {
    let (records, faults) = drain_all(
        Some(TraceFormat::JsonLines),
        b"{\"time\":1}\n{\"time\":2,\"a\":\"\xff\"}\n{\"time\":3}\n",
    );
    assert_eq!(records, ["1: 1 1", "3: 3 1"]);
    assert_eq!(
        (faults.len(), faults[0].line, faults[0].column),
        (1, 2, Some(16))
    );
    let (records, faults) = drain_all(
        Some(TraceFormat::JsonArray),
        b"[{\"time\":1,\"a\":\"\xc3\"},{\"time\":3}]",
    );
    assert_eq!(records, ["1: 3 1"]);
    assert_eq!(
        (faults.len(), faults[0].line, faults[0].column),
        (1, 1, Some(17))
    );
    let (records, faults) = drain_all(Some(TraceFormat::Csv), b"time,a\n1,\xf0\x9f\n2,b\n3,\x80");
    assert_eq!(records, ["3: 2 1 a=b"]);
    assert_eq!(faults.len(), 2);
    let (_, faults) = drain_all(Some(TraceFormat::Csv), b"time,\xff\n1,2\n");
    assert_eq!((faults.len(), faults[0].class), (1, Class::File));
}

#[test]
fn a_record_longer_than_the_limit_is_skipped_as_one() {
    let long = "x".repeat(RECORD_BYTES_MAX + 2);
    for (format, text, expected) in [
        (
            TraceFormat::JsonLines,
            format!("{{\"time\":1}}\n{{\"a\":\"{long}\"}}\n{{\"time\":3}}\n"),
            vec!["1: 1 1", "3: 3 1"],
        ),
        (
            TraceFormat::Csv,
            format!("time\n1\n{long}\n3\n"),
            vec!["2: 1 1", "4: 3 1"],
        ),
        (TraceFormat::Csv, format!("time,a\n1,\"{long}"), vec![]),
        (
            TraceFormat::JsonArray,
            format!("[{{\"time\":1}},{{\"a\":\"{long}\"}},{{\"time\":3}}]"),
            vec!["1: 1 1"],
        ),
    ] {
        let (records, faults) = drain(Some(format), text.as_bytes(), usize::MAX);
        assert_eq!(records, expected);
        assert_eq!(faults.len(), 1, "{format:?}");
        assert!(
            faults[0].what.contains("longer than 16 MiB"),
            "{}",
            faults[0]
        );
    }
}

#[test]
fn compressed_files_are_refused_with_advice() {
    let (_, faults) = drain(None, &[0x1f, 0x8b, 8, 0, 0xff], usize::MAX);
    assert!(faults[0].to_string().contains("zcat"), "{}", faults[0]);
}

#[test]
fn random_bytes_never_upset_the_reader() {
    const ALPHABET: &[u8] =
        b"{}[]\":,\\\"u0d8 \n\r\t-1eE.timecosnul\xff\xc3\xa9;GET[01/Jan/1970:00:00:00 +0000]";
    for seed in 1..400 {
        let mut dice = Dice::new(seed);
        let bytes: Vec<u8> = (0..dice.place(300))
            .map(|_| ALPHABET[dice.place(ALPHABET.len())])
            .collect();
        for format in [
            None,
            Some(TraceFormat::JsonLines),
            Some(TraceFormat::JsonArray),
            Some(TraceFormat::Csv),
            Some(TraceFormat::Clf),
        ] {
            drain_all(format, &bytes);
            let with_header = [b"time,a,\"b\"\n".as_slice(), &bytes].concat();
            drain_all(Some(TraceFormat::Csv), &with_header);
        }
    }
}

#[test]
fn records_cut_or_changed_anywhere_never_upset_the_reader() {
    let text = "[{\"time\":1,\"us\\u00e9r\":\"a\\\"b\"},\n{\"time\":2,\"cost\":7,\"x\":null}]\n";
    for (format, text) in [
        (TraceFormat::JsonArray, text.to_owned()),
        (
            TraceFormat::JsonLines,
            text.trim_matches(['[', ']', '\n']).replace("},", "}"),
        ),
        (
            TraceFormat::Csv,
            "time,a,cost\n1,\"b\"\"c\nd\",2\n3,,\n".to_owned(),
        ),
        (
            TraceFormat::Clf,
            "h - u [01/Jan/1970:00:00:00 +0000] \"GET /?a H\" 200 1 \"r\" \"a\\\"\"\n".to_owned(),
        ),
    ] {
        for at in 0..text.len() {
            drain_all(Some(format), &text.as_bytes()[..at]);
            for byte in *b"\"\\,{}[]\n\xff\0 9" {
                let mut changed = text.clone().into_bytes();
                changed[at] = byte;
                drain_all(Some(format), &changed);
            }
        }
    }
}

#[test]
fn what_was_written_is_read_back_in_every_format() {
    const LETTERS: [char; 16] = [
        'a', 'b', ' ', ',', '"', '\\', '\n', '\r', '\t', 'é', '😀', '\0', '/', '{', ']', '=',
    ];
    let mut dice = Dice::new(42);
    let mut word = move || -> String {
        (0..dice.place(9))
            .map(|_| LETTERS[dice.place(16)])
            .collect()
    };
    let rows: Vec<(String, String)> = (0..500).map(|_| (word(), word())).collect();
    let objects: Vec<String> = (0..)
        .zip(&rows)
        .map(|(n, (a, b))| {
            serde_json::json!({"time": n, "cost": n % 3, "a": a, "b": b}).to_string()
        })
        .collect();
    let double = |text: &str| text.replace('"', "\"\"");
    let table: Vec<String> = (0..)
        .zip(&rows)
        .map(|(n, (a, b))| format!("{n},{},\"{}\",\"{}\"\r\n", n % 3, double(a), double(b)))
        .collect();
    let expected: Vec<String> = (0..)
        .zip(&rows)
        .map(|(n, (a, b))| format!("{n} {} a={a} b={b}", n % 3))
        .collect();
    for (format, text) in [
        (TraceFormat::JsonLines, objects.join("\n")),
        (
            TraceFormat::JsonArray,
            format!("[{}]", objects.join(" ,\n")),
        ),
        (
            TraceFormat::Csv,
            format!("time,cost,a,b\n{}", table.concat()),
        ),
    ] {
        let records = read(format, &text);
        let records: Vec<&str> = records
            .iter()
            .filter_map(|record| Some(record.split_once(": ")?.1))
            .collect();
        assert_eq!(records, expected, "{format:?}");
    }
}

#[test]
fn a_block_left_early_is_taken_up_where_it_was_left() {
    let mut reader = TraceReader::new(Box::new(&b"time\n1\n2\n3\n"[..]), None);
    let mut times = Vec::new();
    while let Ok(Some(mut block)) = reader.block() {
        times.extend(
            block
                .next()
                .and_then(Result::ok)
                .map(|record| record.time_ms),
        );
    }
    assert_eq!(times, [1, 2, 3]);
}
