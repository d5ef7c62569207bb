//! Commands of RESP: bytes in any portions are the same commands, and none reaches beyond its bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_wire::resp::{Command, CommandLimits, ParseStep, Parser, Version, Writer};

/// Everything that a connection would hear of these bytes, coming in portions of that size.
fn heard(bytes: &[u8], portion: usize) -> Vec<String> {
    let mut parser = Parser::new(CommandLimits::STANDARD);
    let (mut at, mut end, mut heard) = (0, 0, Vec::new());
    loop {
        let consumed = match parser.parse(&bytes[at..end]) {
            Ok(ParseStep::NeedMore) if end == bytes.len() => return heard,
            Ok(ParseStep::NeedMore) => {
                end = bytes.len().min(end + portion);
                continue;
            }
            Ok(ParseStep::Skip { consumed }) => consumed,
            Ok(ParseStep::Command { request, consumed }) => {
                heard.push(format!("{request:?}"));
                let mut out = Vec::new();
                match Command::decode(request) {
                    Ok(Command::List(list)) => {
                        list.write(&mut Writer::new(&mut out, Version::Resp3))
                    }
                    Ok(command) => heard.push(format!("{command:?}")),
                    Err(error) => Writer::new(&mut out, Version::Resp2).error(&error),
                }
                let lines = out.iter().filter(|byte| **byte == b'\n').count();
                assert!(!out.starts_with(b"-") || lines == 1, "an error is one line");
                consumed
            }
            Err(error) => {
                heard.push(error.to_string());
                return heard;
            }
        };
        assert!((1..=end - at).contains(&consumed));
        at += consumed;
    }
}

fuzz_target!(|bytes: &[u8]| {
    let whole = heard(bytes, usize::MAX / 2);
    let portion = usize::from(bytes.first().copied().unwrap_or(0) % 7) + 1;
    assert_eq!(heard(bytes, portion), whole);
});
