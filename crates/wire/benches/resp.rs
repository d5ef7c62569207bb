//! What one RESP command costs a server beside the deciding: parsed, decoded and answered.
//!
//! Run with `cargo bench -p tollgate-wire`. It goes through a buffer of 64 pipelined commands again
//! and again, as a connection with a full pipeline would, and prints nanoseconds per command.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // A measuring tool reads clocks.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tollgate_wire::resp::{CheckReply, Command, ParseStep, Parser, ThrottleReply, Version, Writer};

const DEPTH: u32 = 64;
const ROUNDS: u32 = 100;
/// Short samples, of which the best was not interrupted.
const SAMPLES: u32 = 500;

fn main() {
    let throttle = |at| {
        vec![
            "CL.THROTTLE".into(),
            format!("user:{at}"),
            "15".into(),
            "30".into(),
            "60".into(),
            "1".into(),
        ]
    };
    let check = |at| {
        vec![
            "TOLLGATE.CHECK".into(),
            "KEY".into(),
            "user".into(),
            format!("{at}"),
            "plan".into(),
            "free".into(),
        ]
    };
    let ping = |_| vec!["PING".into()];
    measure("CL.THROTTLE", throttle);
    measure("TOLLGATE.CHECK", check);
    measure("PING", ping);
}

fn measure(name: &str, command: impl Fn(u32) -> Vec<String>) {
    let mut input = Vec::new();
    for at in 0..DEPTH {
        let arguments = command(at * 1_013);
        let mut writer = Writer::new(&mut input, Version::Resp2);
        writer.array(arguments.len());
        for argument in &arguments {
            writer.bulk(argument.as_bytes());
        }
    }
    let mut parser = Parser::default();
    let mut replies = Vec::new();
    let mut best = Duration::MAX;
    for _ in 0..SAMPLES {
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            replies.clear();
            pipeline(&mut parser, black_box(&input), &mut replies);
            black_box(&replies);
        }
        best = best.min(begin.elapsed());
    }
    let each = best / (DEPTH * ROUNDS);
    println!("{name:<16} {:>4} ns", each.as_nanos());
}

fn pipeline(parser: &mut Parser, input: &[u8], replies: &mut Vec<u8>) {
    let mut rest = input;
    while let Ok(ParseStep::Command { request, consumed }) = parser.parse(rest) {
        answer(
            Command::decode(request),
            &mut Writer::new(replies, Version::Resp2),
        );
        rest = &rest[consumed..];
    }
}

fn answer<E: std::fmt::Display>(command: Result<Command<'_>, E>, writer: &mut Writer<'_>) {
    match command {
        Ok(Command::Throttle(throttle)) => {
            let reply = ThrottleReply {
                allowed: true,
                remaining: black_box(14),
                retry_after: None,
                reset_after: Duration::from_millis(black_box(2_000)),
            };
            reply.write(&throttle, writer);
        }
        Ok(Command::Check(check)) => {
            let reply = CheckReply {
                allowed: true,
                matched: true,
                policy: Some("burst"),
                limit: 40,
                capacity: 40,
                remaining: black_box(check.cost),
                debt: 0,
                retry_after_ms: None,
                reset_after_ms: 50,
                wait_ms: 0,
                receipt: None,
                part: false,
                violated: &[],
            };
            reply.write(writer);
        }
        Ok(_) => writer.simple("PONG"),
        Err(error) => writer.error(&error),
    }
}
