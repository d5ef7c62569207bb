//! Properties of the request parser: how bytes are cut never matters, and no bytes do harm.

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate_wire::resp::{
    Command, CommandLimits, ParseStep, Parser, ProtocolError, Version, Writer,
};

/// Small, so that random input reaches every limit.
const LIMITS: CommandLimits = CommandLimits {
    arguments_max: 6,
    bulk_bytes_max: 24,
    command_bytes_max: 80,
    inline_bytes_max: 40,
};

type Commands = Vec<Vec<Vec<u8>>>;

/// What a connection's buffer goes through when bytes come in pieces of the given sizes.
fn run(input: &[u8], pieces: impl Iterator<Item = usize>) -> (Commands, Option<ProtocolError>) {
    let mut parser = Parser::new(LIMITS);
    let mut commands = Vec::new();
    let (mut buffer, mut rest) = (Vec::new(), input);
    for piece in pieces {
        let (now, later) = rest.split_at(piece.min(rest.len()));
        buffer.extend_from_slice(now);
        rest = later;
        loop {
            let consumed = match parser.parse(&buffer) {
                Ok(ParseStep::NeedMore) => break,
                Ok(ParseStep::Skip { consumed }) => consumed,
                Ok(ParseStep::Command { request, consumed }) => {
                    commands.push(request.iter().map(<[u8]>::to_vec).collect());
                    let mut replies = Vec::new();
                    let mut writer = Writer::new(&mut replies, Version::Resp3);
                    match Command::decode(request) {
                        Ok(Command::List(list)) => list.write(&mut writer),
                        Ok(command) => writer.simple(&format!("{command:?}")),
                        Err(error) => writer.error(&error),
                    }
                    consumed
                }
                Err(error) => return (commands, Some(error)),
            };
            assert!(consumed > 0 && consumed <= buffer.len());
            buffer.drain(..consumed);
        }
        assert!(
            buffer.len() <= LIMITS.waiting_bytes_max(),
            "waits with {} bytes",
            buffer.len()
        );
        if rest.is_empty() {
            break;
        }
    }
    (commands, None)
}

fn whole(input: &[u8]) -> (Commands, Option<ProtocolError>) {
    run(input, std::iter::once(input.len()))
}

/// One command as a client library writes it.
fn encoded(arguments: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, Version::Resp2);
    writer.array(arguments.len());
    for argument in arguments {
        writer.bulk(argument);
    }
    out
}

fn argument() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "CL.THROTTLE",
        "throttle",
        "TOLLGATE.CHECK",
        "KEY",
        "COST",
        "HELLO",
        "3",
        "AUTH",
        "COMMAND",
        "DOCS",
        "CLIENT",
        "SETINFO",
        "-1",
        "\"",
        "\r\n",
        "*1\r\n",
        "",
    ];
    prop_oneof![
        proptest::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        vec(any::<u8>(), 0..12),
    ]
}

fn command() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let fits = |arguments: &Vec<Vec<u8>>| encoded(arguments).len() <= LIMITS.command_bytes_max;
    vec(argument(), 1..=6).prop_filter("within the limits", fits)
}

/// Frames of the protocol in any order, some of them broken by hand.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        "[ -~]{0,44}(\r)?\n",
        "[a-z \"'\\\\x0-9]{0,20}\n",
        Just("*0\r\n".to_owned()),
        Just("*-3\r\n".to_owned()),
    ];
    let part = prop_oneof![
        4 => command().prop_map(|arguments| encoded(&arguments)),
        1 => line.prop_map(String::into_bytes),
        1 => vec(proptest::sample::select(b"*$0123456789-\r\n\"' x".to_vec()), 0..12),
    ];
    let changes = vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    (vec(part, 0..6), changes).prop_map(|(parts, changes)| {
        let mut bytes = parts.concat();
        for (index, byte) in changes {
            if !bytes.is_empty() {
                let at = index.index(bytes.len());
                bytes[at] = byte;
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(commands in vec(command(), 0..6)) {
        let input: Vec<u8> = commands.iter().flat_map(|command| encoded(command)).collect();
        prop_assert_eq!(whole(&input), (commands, None));
    }

    #[test]
    fn cutting_at_any_byte_changes_nothing(input in stream()) {
        let expected = whole(&input);
        for at in 0..=input.len() {
            let pieces = [at, input.len() - at].into_iter();
            prop_assert_eq!(&run(&input, pieces), &expected, "cut at {}", at);
        }
        prop_assert_eq!(run(&input, std::iter::repeat(1)), expected);
    }

    #[test]
    fn random_bytes_end_in_commands_or_a_typed_error(input in vec(any::<u8>(), 0..400)) {
        let expected = whole(&input);
        prop_assert_eq!(run(&input, std::iter::repeat(1)), expected);
    }
}
