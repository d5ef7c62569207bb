//! Any mix of commands in any pipeline gets one reply each, in order, wherever the keys are decided.
//!
//! Two real nodes count keys by every coordination. Each reply shows which command it answers: by a limit that only one
//! command names, by the limit of a contract, by a word that was sent.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use tollgate_cluster::FailureTiming;
use tollgate_limit::Span;
use tollgate_serve::owner::OwnerSettings;
use tollgate_serve::settings::{ClusterSettings, Keeping, Settings, StoreSettings, roster};

use crate::lease::{DEADLINE, pair, settings_of};

/// One contract for every coordination, each with a limit of its own, at the place of its number.
pub(crate) const MODES: [(&str, &str, i64); 10] = [
    ("local", "coordination: local", 1_000_001),
    ("owner", "coordination: owner", 1_000_002),
    ("store", "coordination: store", 1_000_003),
    ("lease", "coordination: lease", 1_000_004),
    ("ledger", "coordination: lease, recovery: ledger", 1_000_005),
    ("gossip", "coordination: gossip", 1_000_006),
    ("supply", "coordination: supply", 1_000_007),
    ("split", "coordination: split", 1_000_008),
    ("sync", "coordination: sync", 1_000_009),
    (
        "window",
        "coordination: lease, algorithm: fixed-window",
        1_000_010,
    ),
];
pub(crate) const USERS: u8 = 8;

fn contracts() -> String {
    let each = MODES.iter().map(|(name, how, limit)| {
        format!(
            "  - {{ id: {name}, match: {{ mode: {name} }}, key: [user], \
             policies: [{{ name: p, limit: {limit}, per: 1s, {how} }}] }}\n"
        )
    });
    format!("contracts:\n{}", each.collect::<String>())
}

pub(crate) fn settings(folder: &Path) -> Settings {
    let url = format!("sqlite://{}", folder.join("store.db").display());
    let store = StoreSettings {
        deadline: Duration::from_secs(10),
        ..StoreSettings::new(url.parse().unwrap())
    };
    Settings {
        keeping: Keeping {
            store: Some(store),
            ..Keeping::default()
        },
        // On a busy machine no node is declared dead, and an owner may take its time.
        cluster: Some(ClusterSettings {
            roster: Some(roster("a,b").unwrap()),
            owner: OwnerSettings {
                deadline: Duration::from_secs(10),
            },
            pace: FailureTiming {
                suspect: Span::from_nanos(3_600_000_000_000),
                ..FailureTiming::default()
            },
            ..ClusterSettings::default()
        }),
        ..settings_of(&contracts())
    }
}

/// A command: what it does, of which contract and user, and a number that no other has.
#[derive(Clone, Copy, Debug)]
struct Said {
    verb: u8,
    mode: usize,
    user: u8,
    number: u32,
}

/// What the reply must be.
#[derive(Clone, Debug)]
enum Want {
    /// No reply.
    Nothing,
    Is(RespReply),
    /// An error with this in it.
    Error(String),
    /// A decision by the contract with this limit.
    Limit(i64),
    /// A list of how policies stand, of which the first has this limit.
    Stands(i64),
    /// Five numbers, of which the second is this.
    Throttled(i64),
    Bytes,
    Number,
    /// A list of so many items.
    Items(usize),
    /// What the commands of a transaction are answered.
    All(Vec<Want>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RespReply {
    Nothing,
    Text(String),
    Error(String),
    Number(i64),
    List(Vec<RespReply>),
}

fn said() -> impl Strategy<Value = Said> {
    let verb = prop_oneof![3 => 0..14_u8, 2 => 14..VERBS];
    (verb, 0..MODES.len(), 0..USERS, 0..1_000_000_u32).prop_map(|(verb, mode, user, number)| Said {
        verb,
        mode,
        user,
        number,
    })
}

/// As many verbs as there are below: those that ask, those that talk, and those that are wrong.
const VERBS: u8 = ASKS + TALKS + WRONGS + CONTROLS;
const ASKS: u8 = 16;
const TALKS: u8 = 16;
const WRONGS: u8 = 13;
/// Those that begin and end transactions.
const CONTROLS: u8 = 8;

/// The commands since `MULTI`: what each is to be answered, and whether one was refused.
type Open = Option<(Vec<Want>, bool)>;

impl Said {
    /// The words of the command, and what the reply to it must be.
    fn words(self, receipts: &[String]) -> (String, Want) {
        match self.verb {
            verb if verb < ASKS => self.asks(verb, receipts),
            verb if verb < ASKS + TALKS => self.talks(verb - ASKS),
            verb if verb < ASKS + TALKS + WRONGS => self.is_wrong(verb - ASKS - TALKS),
            verb => {
                let words = [
                    "MULTI", "MULTI", "MULTI", "EXEC", "EXEC", "EXEC", "DISCARD", "UNWATCH",
                ];
                let word = words[usize::from(verb - ASKS - TALKS - WRONGS)];
                (word.to_owned(), Want::Is(RespReply::Text("OK".to_owned())))
            }
        }
    }

    /// What is said to a command at once, and what comes of it for the transaction that is open.
    fn at_once(self, line: &str, want: Want, open: &mut Open) -> Want {
        let error = |why: &str| Want::Error(why.to_owned());
        let Some((wants, is_spoilt)) = open else {
            return match line {
                "MULTI" => {
                    *open = Some((Vec::new(), false));
                    want
                }
                "EXEC" | "DISCARD" => Want::Error(format!("{line} without MULTI")),
                _ => want,
            };
        };
        match line {
            "" => return want,
            "MULTI" => return error("nested"),
            "EXEC" => {
                let all = Want::All(std::mem::take(wants));
                let done = if *is_spoilt { error("EXECABORT") } else { all };
                *open = None;
                return done;
            }
            "DISCARD" | "RESET" => {
                *open = None;
                return want;
            }
            _ => {}
        }
        let is_large = ["HELLO", "COMMAND", "INFO", "AUTH"];
        let refused = if is_large.iter().any(|word| line.starts_with(word)) {
            error("not allowed inside a transaction")
        } else if self.is_senseless() {
            want
        } else {
            wants.push(want);
            return Want::Is(RespReply::Text("QUEUED".to_owned()));
        };
        *is_spoilt = true;
        refused
    }

    /// Whether a command is refused by its words alone.
    fn is_senseless(self) -> bool {
        let wrong = self.verb.checked_sub(ASKS + TALKS);
        wrong.is_some_and(|wrong| [0, 1, 3, 4, 7, 8, 10, 12].contains(&wrong))
    }

    fn key(self) -> String {
        format!("KEY mode {} user u{}", MODES[self.mode].0, self.user)
    }

    fn asks(self, verb: u8, receipts: &[String]) -> (String, Want) {
        let Self { user, number, .. } = self;
        let (contract, _, limit) = MODES[self.mode];
        let key = self.key();
        let one = Want::Is(RespReply::Number(1));
        match verb {
            0..=2 => (format!("TOLLGATE.LEASE ! {key}"), Want::Bytes),
            // A bare key is bound by none of the contracts.
            3 => (format!("TOLLGATE.LEASE ! KEY {user}"), Want::Bytes),
            4 | 5 => (format!("TOLLGATE.CHECK {key}"), Want::Limit(limit)),
            6 => (format!("tollgate.check COST 0 {key}"), Want::Limit(limit)),
            7 => {
                let line = format!(
                    "TOLLGATE.CHECK CONTRACT {contract} ID {contract}{user}-{number} {key}"
                );
                (line, Want::Limit(limit))
            }
            8 => (format!("TOLLGATE.CHARGE COST 2 {key}"), one),
            9 => (
                format!("TOLLGATE.REFUND ID back-{contract}{user}-{number} {key}"),
                one,
            ),
            10 => (format!("TOLLGATE.RESET {key}"), one),
            11 | 12 => (format!("TOLLGATE.PEEK {key}"), Want::Stands(limit)),
            13 => {
                let receipt = &receipts[number as usize % receipts.len()];
                (format!("TOLLGATE.SETTLE {receipt} 0"), one)
            }
            14 => {
                let line = format!("CL.THROTTLE u{user} {number} 30 60 1");
                (line, Want::Throttled(i64::from(number) + 1))
            }
            _ => {
                let line = format!("THROTTLE u{user} {number} 30 60");
                (line, Want::Throttled(i64::from(number)))
            }
        }
    }

    fn talks(self, verb: u8) -> (String, Want) {
        let number = self.number;
        let text = |text: &str| Want::Is(RespReply::Text(text.to_owned()));
        match verb {
            0..=2 => (format!("ECHO e{number}"), text(&format!("e{number}"))),
            3 => ("PING".to_owned(), text("PONG")),
            4 => (format!("PING p{number}"), text(&format!("p{number}"))),
            5 => (String::new(), Want::Nothing),
            6 => ("HELLO 2".to_owned(), Want::Items(14)),
            7 => ("HELLO 3".to_owned(), Want::Items(14)),
            8 => ("RESET".to_owned(), text("RESET")),
            9 => ("SELECT 0".to_owned(), text("OK")),
            10 => ("COMMAND COUNT".to_owned(), Want::Is(RespReply::Number(24))),
            11 => ("COMMAND INFO ping no".to_owned(), Want::Items(2)),
            12 => ("INFO server".to_owned(), Want::Bytes),
            13 => ("CLIENT ID".to_owned(), Want::Number),
            14 => (format!("CLIENT SETNAME n{number}"), text("OK")),
            _ => ("CLIENT SETINFO LIB-NAME x".to_owned(), text("OK")),
        }
    }

    /// What is wrong is said in its turn.
    fn is_wrong(self, verb: u8) -> (String, Want) {
        let (key, number) = (self.key(), self.number);
        let (line, why) = match verb {
            0 => (format!("NO-{number}"), format!("NO-{number}")),
            1 => (format!("SELECT {}", number + 1), "DB index".to_owned()),
            2 => (format!("AUTH a{number}"), "any password".to_owned()),
            3 => ("TOLLGATE.LEASE !".to_owned(), "tollgate.lease".to_owned()),
            4 => ("TOLLGATE.LEASE ! KY x".to_owned(), "syntax".to_owned()),
            5 => (format!("TOLLGATE.LEASE bad {key}"), String::new()),
            6 => {
                let line = format!("TOLLGATE.CHECK CONTRACT c{number} {key}");
                (line, format!("c{number}"))
            }
            7 => (format!("TOLLGATE.CHECK COST x {key}"), "integer".to_owned()),
            8 => (format!("TOLLGATE.PEEK {key} odd"), String::new()),
            9 => (format!("TOLLGATE.SETTLE r{number} 1"), String::new()),
            10 => ("CL.THROTTLE u 1 2".to_owned(), "cl.throttle".to_owned()),
            11 => (
                "TOLLGATE.CHECK CONTRACT @ KEY x".to_owned(),
                "UTF-8".to_owned(),
            ),
            _ => ("TOLLGATE.CHARGE".to_owned(), "tollgate.charge".to_owned()),
        };
        (line, Want::Error(why))
    }

    fn write(self, line: &str, out: &mut Vec<u8>) {
        let words = line.split(' ').filter(|word| !word.is_empty());
        if self.number.is_multiple_of(4) {
            let typed = line.replace('!', r#""!\x00""#).replace('@', r#""\xff""#);
            out.extend(typed.bytes().chain(*b"\r\n"));
            return;
        }
        out.extend(format!("*{}\r\n", words.clone().count()).bytes());
        for word in words {
            let word: &[u8] = match word {
                "!" => b"!\0",
                "@" => b"\xff",
                word => word.as_bytes(),
            };
            out.extend(format!("${}\r\n", word.len()).bytes());
            out.extend(word.iter().chain(b"\r\n"));
        }
    }
}

/// A client that reads replies of either version, and drops what is pushed.
pub(crate) struct RespClient(pub(crate) BufReader<TcpStream>);

impl RespClient {
    pub(crate) fn of(at: SocketAddr) -> Self {
        let stream = TcpStream::connect(at).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        Self(BufReader::new(stream))
    }

    pub(crate) fn next(&mut self) -> std::io::Result<RespReply> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let line = line.trim_end();
        let rest = line.get(1..).unwrap_or_default();
        let count = || rest.parse::<usize>();
        Ok(match line.bytes().next() {
            Some(b'+') => RespReply::Text(rest.to_owned()),
            Some(b'-') => RespReply::Error(rest.to_owned()),
            Some(b':') => RespReply::Number(rest.parse().unwrap()),
            Some(b'_') => RespReply::Nothing,
            Some(b'$') if rest == "-1" => RespReply::Nothing,
            Some(b'$') => {
                let mut bytes = vec![0; count().unwrap() + 2];
                self.0.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                RespReply::Text(String::from_utf8_lossy(&bytes).into_owned())
            }
            Some(kind @ (b'*' | b'%' | b'>')) => {
                let items = count().unwrap() * if kind == b'%' { 2 } else { 1 };
                let items = (0..items).map(|_| self.next());
                let items = items.collect::<Result<_, _>>()?;
                if kind == b'>' {
                    return self.next();
                }
                RespReply::List(items)
            }
            _ => return Err(std::io::Error::other(format!("no reply: {line:?}"))),
        })
    }
}

impl RespReply {
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        let Self::List(items) = self else {
            return None;
        };
        let mut pairs = items.chunks_exact(2);
        let pair = pairs.find(|pair| pair[0] == Self::Text(name.to_owned()));
        pair.map(|pair| &pair[1])
    }
}

impl Want {
    fn is_met(&self, reply: &RespReply) -> bool {
        match (self, reply) {
            (Self::Is(value), reply) => value == reply,
            (Self::Error(why), RespReply::Error(said)) => said.contains(&**why),
            (Self::Limit(limit), reply) => reply.field("limit") == Some(&RespReply::Number(*limit)),
            (Self::Stands(limit), RespReply::List(each)) => {
                each.len() == 1 && each[0].field("limit") == Some(&RespReply::Number(*limit))
            }
            (Self::Throttled(limit), RespReply::List(five)) => {
                five.len() == 5 && five[1] == RespReply::Number(*limit)
            }
            (Self::Bytes, RespReply::Text(_)) | (Self::Number, RespReply::Number(_)) => true,
            (Self::Items(count), RespReply::List(items)) => items.len() == *count,
            (Self::All(wants), RespReply::List(items)) => {
                let mut pairs = wants.iter().zip(items);
                wants.len() == items.len() && pairs.all(|(want, item)| want.is_met(item))
            }
            _ => false,
        }
    }
}

/// Receipts of a server, one for each user and contract.
fn receipts(at: SocketAddr) -> Vec<String> {
    let mut client = RespClient::of(at);
    let mut receipts = Vec::new();
    for (mode, _, _) in MODES {
        for user in 0..USERS {
            let line = format!("TOLLGATE.CHECK KEY mode {mode} user u{user}\r\n");
            client.0.get_mut().write_all(line.as_bytes()).unwrap();
            let reply = client.next().unwrap();
            if let Some(RespReply::Text(receipt)) = reply.field("receipt") {
                receipts.push(receipt.clone());
            }
        }
    }
    receipts
}

/// Writes in portions of these sizes, over and over.
pub(crate) fn send(mut stream: TcpStream, bytes: &[u8], portions: &[usize]) {
    let (mut sizes, mut rest) = (portions.iter().cycle(), bytes);
    while let Some(size) = sizes.next().filter(|_| !rest.is_empty()) {
        let (now, later) = rest.split_at(rest.len().min(*size));
        rest = later;
        // The test may have given up a connection whose replies are wrong.
        if stream.write_all(now).is_err() {
            return;
        }
    }
}

/// Sends all commands in portions of these sizes, and looks at every reply.
fn converse(
    at: SocketAddr,
    said: &[Said],
    portions: &[usize],
    receipts: &[String],
) -> Result<(), TestCaseError> {
    let mut client = RespClient::of(at);
    let (mut bytes, mut wants) = (Vec::new(), Vec::new());
    let mut open = None;
    for one in said {
        let (line, want) = one.words(receipts);
        let want = one.at_once(&line, want, &mut open);
        one.write(&line, &mut bytes);
        if !matches!(want, Want::Nothing) {
            wants.push((line, want));
        }
    }
    bytes.extend(b"QUIT\r\n");
    wants.push((
        "QUIT".to_owned(),
        Want::Is(RespReply::Text("OK".to_owned())),
    ));
    let stream = client.0.get_ref().try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| send(stream, &bytes, portions));
        for (line, want) in &wants {
            let reply = client.next();
            let is_met = reply.as_ref().is_ok_and(|reply| want.is_met(reply));
            prop_assert!(is_met, "{} wants {:?}, got {:?}", line, want, reply);
        }
        let mut rest = Vec::new();
        let _ = client.0.read_to_end(&mut rest);
        prop_assert!(rest.is_empty(), "{} behind the last", rest.escape_ascii());
        Ok(())
    })
}

#[test]
fn any_mix_of_commands_in_any_pipeline_gets_one_reply_each_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let servers = pair(&settings(folder.path()), folder.path());
    let sides = servers.each_ref().map(|server| {
        let at = server.resp().unwrap();
        (at, receipts(at))
    });
    let strategy = (
        // Now and then there are many, and all of them in one read.
        prop_oneof![
            49 => prop::collection::vec(said(), 1..120),
            1 => prop::collection::vec(said(), 1_000),
        ],
        prop::collection::vec(prop_oneof![4 => 1..4_000_usize, 1 => Just(1 << 16)], 1..8),
        any::<bool>(),
    );
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(&strategy, |(said, portions, side)| {
        let (at, receipts) = &sides[usize::from(side)];
        converse(*at, &said, &portions, receipts)
    });
    if let Err(TestError::Fail(why, (said, portions, side))) = &run {
        let receipts = &sides[usize::from(*side)].1;
        let lines: Vec<String> = said.iter().map(|one| one.words(receipts).0).collect();
        panic!("{why}\nin portions of {portions:?}:\n{}", lines.join("\n"));
    }
    run.unwrap();
}

const CASES: u32 = 1_000;
