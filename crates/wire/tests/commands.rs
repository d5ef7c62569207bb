//! Every command and every way to get it wrong, typed as a person would.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use tollgate_wire::resp::{
    COMMANDS, CheckCommand, CheckKey, ClientCommand, Command, CommandError, Credentials, Dialect,
    Excerpt, HelloCommand, HelloReply, List, ParseStep, Parser, PeekReply, Settle, Throttle,
    Transaction, Version, Writer,
};

/// Hands what a line asks to `judge`.
#[track_caller]
fn decoded<R>(line: &str, judge: impl FnOnce(Result<Command<'_>, CommandError<'_>>) -> R) -> R {
    let mut parser = Parser::default();
    let line = format!("{line}\r\n");
    match parser.parse(line.as_bytes()) {
        Ok(ParseStep::Command { request, .. }) => judge(Command::decode(request)),
        other => panic!("{line}: {other:?}"),
    }
}

#[track_caller]
fn asks(line: &str, expected: Command<'_>) {
    decoded(line, |command| assert_eq!(command, Ok(expected), "{line}"));
}

#[track_caller]
fn refuses(line: &str, expected: CommandError<'_>) {
    decoded(line, |command| assert_eq!(command, Err(expected), "{line}"));
}

const CELL: Throttle<'_> = Throttle {
    dialect: Dialect::RedisCell,
    key: b"user:1",
    max_burst: 15,
    count: 30,
    period_secs: 60,
    cost: 1,
};

#[test]
fn throttle_commands_share_their_arguments() {
    asks("CL.THROTTLE user:1 15 30 60", Command::Throttle(CELL));
    asks("cl.throttle user:1 15 30 60 1", Command::Throttle(CELL));
    let peek = Throttle { cost: 0, ..CELL };
    asks("Cl.Throttle user:1 15 30 60 0", Command::Throttle(peek));
    let crab = Throttle {
        dialect: Dialect::Throttlecrab,
        cost: 7,
        ..CELL
    };
    asks("throttle user:1 15 30 60 7", Command::Throttle(crab));
    assert_eq!((CELL.limit(), crab.limit()), (16, 15));
}

#[test]
fn throttle_arguments_are_checked() {
    let small = |what, least| CommandError::TooSmall { what, least };
    let most = i64::MAX as u64 - 1;
    let large = CommandError::TooLarge {
        what: "max_burst",
        most,
    };
    let table = [
        ("CL.THROTTLE", CommandError::WrongArity("cl.throttle")),
        ("CL.THROTTLE k 1 2", CommandError::WrongArity("cl.throttle")),
        ("THROTTLE k 1 2 3 4 5", CommandError::WrongArity("throttle")),
        ("CL.THROTTLE k x 30 60", CommandError::NotAnInteger),
        ("CL.THROTTLE k 1 3.5 60", CommandError::NotAnInteger),
        ("CL.THROTTLE k 1 1 \"\"", CommandError::NotAnInteger),
        ("CL.THROTTLE k -1 1 1", small("max_burst", 0)),
        ("THROTTLE k 0 1 1", small("max_burst", 1)),
        ("CL.THROTTLE k 1 0 1", small("count", 1)),
        ("CL.THROTTLE k 1 1 0", small("period", 1)),
        ("CL.THROTTLE k 1 1 1 -1", small("quantity", 0)),
        ("CL.THROTTLE k 9223372036854775807 1 1", large),
        (
            "CL.THROTTLE k 9223372036854775808 1 1",
            CommandError::NotAnInteger,
        ),
    ];
    for (line, error) in table {
        refuses(line, error);
    }
}

#[test]
fn checks_take_options_then_a_key() {
    let bare = CheckCommand {
        cost: 1,
        contract: None,
        id: None,
        key: CheckKey::Bare(b"user-42"),
    };
    asks("TOLLGATE.CHECK KEY user-42", Command::Check(bare));
    let line = "tollgate.check id op-1 cost 0 contract free key user 42 cost 7";
    decoded(line, |command| {
        let Ok(Command::Check(check)) = command else {
            panic!("{command:?}");
        };
        assert_eq!((check.cost, check.contract), (0, Some(&b"free"[..])));
        assert_eq!(check.id, Some(&b"op-1"[..]));
        let pairs: Vec<_> = check.key.pairs().collect();
        assert_eq!(pairs, [(&b"user"[..], &b"42"[..]), (b"cost", b"7")]);
    });
    let pairs: Vec<_> = bare.key.pairs().collect();
    assert_eq!(pairs, [(&b""[..], &b"user-42"[..])]);
}

#[test]
fn checks_refuse_what_is_not_in_their_grammar() {
    let cost = CommandError::TooSmall {
        what: "cost",
        least: 0,
    };
    let table = [
        (
            "TOLLGATE.CHECK KEY",
            CommandError::WrongArity("tollgate.check"),
        ),
        ("TOLLGATE.CHECK COST 1 KEY", CommandError::Entries),
        ("TOLLGATE.CHECK KEY a 1 b", CommandError::Entries),
        ("TOLLGATE.CHECK user 42", CommandError::Syntax),
        ("TOLLGATE.CHECK COST 1", CommandError::Syntax),
        ("TOLLGATE.CHECK COST 1 COST 1 KEY a", CommandError::Syntax),
        ("TOLLGATE.CHECK ID 1 CONTRACT", CommandError::Syntax),
        ("TOLLGATE.CHECK COST x KEY a", CommandError::NotAnInteger),
        ("TOLLGATE.CHECK COST -1 KEY a", cost),
    ];
    for (line, error) in table {
        refuses(line, error);
    }
}

#[test]
fn connections_are_set_up_as_client_libraries_do() {
    let auth = Credentials {
        user: Some(b"u"),
        password: b"p",
    };
    let full = HelloCommand {
        version: Some(Version::Resp3),
        credentials: Some(auth),
        name: Some(b"n"),
    };
    asks("HELLO", Command::Hello(HelloCommand::default()));
    asks("hello 3 auth u p setname n", Command::Hello(full));
    asks("HELLO 3 SETNAME n AUTH u p", Command::Hello(full));
    asks("AUTH u p", Command::Auth(auth));
    let default = Credentials { user: None, ..auth };
    asks("AUTH p", Command::Auth(default));
    asks("PING", Command::Ping(None));
    asks("ping x", Command::Ping(Some(b"x")));
    asks("ECHO x", Command::Echo(b"x"));
    asks("SELECT 0", Command::Select);
    asks("RESET", Command::Reset);
    asks("QUIT", Command::Quit);
    asks("multi", Command::Transaction(Transaction::Multi));
    asks("EXEC", Command::Transaction(Transaction::Exec));
    asks("DISCARD", Command::Transaction(Transaction::Discard));
    asks("WATCH a b", Command::Transaction(Transaction::Watch));
    asks("UNWATCH", Command::Transaction(Transaction::Unwatch));
    asks("COMMAND", Command::List(List::All));
    asks("COMMAND COUNT", Command::List(List::Count));
    asks("COMMAND LIST", Command::List(List::Names));
    asks("CLIENT ID", Command::Client(ClientCommand::Id));
    asks("CLIENT GETNAME", Command::Client(ClientCommand::GetName));
    asks(
        "CLIENT SETNAME a",
        Command::Client(ClientCommand::SetName(b"a")),
    );
    asks("CLIENT NO-EVICT on", Command::Client(ClientCommand::Hint));
    asks("CLIENT NO-TOUCH off", Command::Client(ClientCommand::Hint));
    let info = ClientCommand::SetInfo {
        attribute: b"lib-name",
        value: b"redis-py",
    };
    asks("client setinfo lib-name redis-py", Command::Client(info));
    decoded("INFO server", |command| {
        assert!(matches!(command, Ok(Command::Info(names)) if names.len() == 1));
    });
}

#[test]
fn set_up_refuses_as_redis_does() {
    let subcommand = |command, name| CommandError::UnknownSubcommand {
        command,
        subcommand: Excerpt(name),
    };
    let table = [
        ("GET a", CommandError::UnknownCommand(Excerpt(b"GET"))),
        ("\"\"", CommandError::UnknownCommand(Excerpt(b""))),
        ("HELLO 4", CommandError::UnsupportedVersion),
        ("HELLO x", CommandError::VersionNotAnInteger),
        ("HELLO 3 AUTH u", CommandError::Syntax),
        ("HELLO 3 SETNAME", CommandError::Syntax),
        ("HELLO 3 SETNAME 'a b'", CommandError::ClientName),
        ("HELLO 3 WHAT", CommandError::Syntax),
        ("AUTH", CommandError::WrongArity("auth")),
        ("AUTH a b c", CommandError::WrongArity("auth")),
        ("PING a b", CommandError::WrongArity("ping")),
        ("ECHO", CommandError::WrongArity("echo")),
        ("ECHO a b", CommandError::WrongArity("echo")),
        ("SELECT", CommandError::WrongArity("select")),
        ("SELECT 1", CommandError::NoSuchDatabase),
        ("SELECT x", CommandError::NotAnInteger),
        ("EXEC now", CommandError::WrongArity("exec")),
        ("WATCH", CommandError::WrongArity("watch")),
        ("RESET now", CommandError::WrongArity("reset")),
        ("COMMAND WHAT", subcommand("COMMAND", b"WHAT")),
        ("COMMAND COUNT x", CommandError::WrongArity("command|count")),
        ("COMMAND LIST x", CommandError::Syntax),
        ("CLIENT", CommandError::WrongArity("client")),
        ("CLIENT KILL", subcommand("CLIENT", b"KILL")),
        ("CLIENT ID x", CommandError::WrongArity("client|id")),
        ("CLIENT SETNAME", CommandError::WrongArity("client|setname")),
        ("CLIENT SETNAME 'a b'", CommandError::ClientName),
        ("CLIENT SETINFO x y", CommandError::Syntax),
        ("CLIENT SETINFO LIB-VER 'a b'", CommandError::ClientName),
        ("CLIENT NO-EVICT maybe", CommandError::Syntax),
    ];
    for (line, error) in table {
        refuses(line, error);
    }
}

#[test]
fn passwords_are_not_shown() {
    decoded("HELLO 2 AUTH alice s3cret", |command| {
        let shown = format!("{command:?}");
        assert!(
            shown.contains("alice") && !shown.contains("s3cret"),
            "{shown}"
        );
    });
}

#[track_caller]
fn listed(line: &str, version: Version) -> String {
    let mut out = Vec::new();
    decoded(line, |command| match command {
        Ok(Command::List(list)) => list.write(&mut Writer::new(&mut out, version)),
        other => panic!("{other:?}"),
    });
    String::from_utf8(out).unwrap()
}

#[test]
fn commands_describe_themselves() {
    assert_eq!(listed("COMMAND COUNT", Version::Resp2), ":24\r\n");
    let described = "*2\r\n*10\r\n$8\r\nthrottle\r\n:-5\r\n*1\r\n+fast\r\n:1\r\n:1\r\n:1\r\n\
        *0\r\n*0\r\n*0\r\n*0\r\n_\r\n";
    assert_eq!(
        listed("COMMAND INFO Throttle get", Version::Resp3),
        described
    );
    let docs = "%1\r\n$4\r\nping\r\n%3\r\n$7\r\nsummary\r\n$29\r\nReturns PONG, or the message.\r\n\
        $5\r\nsince\r\n$5\r\n0.1.0\r\n$5\r\ngroup\r\n$10\r\nconnection\r\n";
    assert_eq!(listed("COMMAND DOCS PING get", Version::Resp3), docs);
    assert!(listed("COMMAND", Version::Resp2).starts_with("*24\r\n*10\r\n$4\r\nauth\r\n"));
    assert!(listed("COMMAND DOCS", Version::Resp2).starts_with("*48\r\n"));
    assert!(listed("COMMAND LIST", Version::Resp2).starts_with("*24\r\n$4\r\nauth\r\n"));
}

#[test]
fn hello_is_answered_in_the_version_it_asked_for() {
    let reply = HelloReply {
        server_version: "0.1.0",
        connection: 5,
    };
    for (version, start, proto) in [
        (
            Version::Resp2,
            "*14\r\n$6\r\nserver\r\n$8\r\ntollgate\r\n",
            "proto\r\n:2\r\n",
        ),
        (
            Version::Resp3,
            "%7\r\n$6\r\nserver\r\n$8\r\ntollgate\r\n",
            "proto\r\n:3\r\n",
        ),
    ] {
        let mut out = Vec::new();
        reply.write(&mut Writer::new(&mut out, version));
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with(start) && text.contains(proto), "{text}");
    }
}

#[test]
fn the_list_of_commands_is_what_is_understood() {
    for about in COMMANDS {
        let unknown = |command: Result<Command<'_>, CommandError<'_>>| {
            matches!(command, Err(CommandError::UnknownCommand(_)))
        };
        assert!(!decoded(about.name, unknown), "{}", about.name);
    }
    assert!(COMMANDS.is_sorted_by_key(|about| about.name));
}

#[test]
fn commands_that_do_not_decide_take_the_words_of_a_check() {
    let check = CheckCommand {
        cost: 3,
        contract: Some(b"api"),
        id: None,
        key: CheckKey::Bare(b"ada"),
    };
    for (name, command) in [
        ("CHARGE", Command::Charge(check)),
        ("refund", Command::Refund(check)),
        ("Reset", Command::Forget(check)),
        ("PEEK", Command::Peek(check)),
    ] {
        let line = format!("TOLLGATE.{name} COST 3 CONTRACT api KEY ada");
        asks(&line, command);
    }
    refuses("TOLLGATE.PEEK", CommandError::WrongArity("tollgate.peek"));
    let unknown = CommandError::UnknownCommand(Excerpt(b"TOLLGATE.x"));
    refuses("TOLLGATE.x", unknown);
}

#[test]
fn a_settlement_has_a_receipt_and_a_cost() {
    let settle = Settle {
        receipt: b"r",
        cost: 7,
        id: None,
    };
    asks("TOLLGATE.SETTLE r 7", Command::Settle(settle));
    let id = Some(&b"op"[..]);
    let once = Command::Settle(Settle { id, ..settle });
    asks("tollgate.settle r 7 id op", once);
    let arity = CommandError::WrongArity("tollgate.settle");
    refuses("TOLLGATE.SETTLE r", arity);
    for line in ["r 7 op", "r 7 ID", "r 7 ID op more"] {
        refuses(&format!("TOLLGATE.SETTLE {line}"), CommandError::Syntax);
    }
    refuses("TOLLGATE.SETTLE r x", CommandError::NotAnInteger);
}

#[test]
fn a_policy_that_is_peeked_at_is_a_map_with_ten_names() {
    let reply = PeekReply {
        contract: "api",
        policy: "rate",
        limit: 9,
        capacity: 12,
        remaining: 2,
        debt: 0,
        allowed: true,
        retry_after_ms: None,
        wait_ms: 0,
        reset_after_ms: 7,
    };
    let mut out = Vec::new();
    reply.write(&mut Writer::new(&mut out, Version::Resp3));
    let expected = "%10\r\n$8\r\ncontract\r\n$3\r\napi\r\n$6\r\npolicy\r\n$4\r\nrate\r\n$5\r\nlimit\r\n:9\r\n\
        $8\r\ncapacity\r\n:12\r\n$9\r\nremaining\r\n:2\r\n$4\r\ndebt\r\n:0\r\n$7\r\nallowed\r\n:1\r\n$14\r\nretry_after_ms\r\n_\r\n\
        $7\r\nwait_ms\r\n:0\r\n$14\r\nreset_after_ms\r\n:7\r\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
