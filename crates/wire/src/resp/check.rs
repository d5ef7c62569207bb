//! `TOLLGATE.CHECK`: one request against the contracts a server was given; and commands of the same form that do not
//! decide.
//!
//! ```text
//! TOLLGATE.CHECK [COST n] [CONTRACT id] [ID operation] KEY value
//! TOLLGATE.CHECK [COST n] [CONTRACT id] [ID operation] KEY name value [name value ...]
//! ```
//!
//! `TOLLGATE.CHARGE`, `TOLLGATE.REFUND`, `TOLLGATE.RESET` and `TOLLGATE.PEEK` take the same words.
//!
//! Options come first, each at most once and in any order. `KEY` ends them and takes the rest, so
//! that no entry can be mistaken for an option. A lone value is a bare key; otherwise names and
//! values alternate, in the order in which contracts see them. The reply is a map.

use super::error::CommandError;
use super::number::at_least;
use super::parse::Arguments;
use super::reply::Writer;

/// Arguments of `TOLLGATE.CHECK`, or of a command of the same form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckCommand<'a> {
    /// Tokens to take; one by default, and zero is a peek.
    pub cost: u64,
    /// The only contract to ask, instead of all that match the key.
    pub contract: Option<&'a [u8]>,
    /// The operation's id: the same id is charged once, however often it is sent.
    pub id: Option<&'a [u8]>,
    pub key: CheckKey<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckKey<'a> {
    /// One value without a name.
    Bare(&'a [u8]),
    /// Names and values, alternating; at least one pair.
    Pairs(Arguments<'a>),
}

impl<'a> CheckKey<'a> {
    /// The entries in order; a bare value has an empty name.
    pub fn pairs(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let (bare, mut pairs) = match self {
            Self::Bare(value) => (Some((&b""[..], value)), None),
            Self::Pairs(arguments) => (None, Some(arguments.iter())),
        };
        let rest = std::iter::from_fn(move || {
            let pairs = pairs.as_mut()?;
            Some((pairs.next()?, pairs.next()?))
        });
        bare.into_iter().chain(rest)
    }
}

impl<'a> CheckCommand<'a> {
    pub(super) fn decode(
        request: Arguments<'a>,
        name: &'static str,
    ) -> Result<Self, CommandError<'a>> {
        let mut arguments = request.tail(1).iter();
        if arguments.len() < 2 {
            return Err(CommandError::WrongArity(name));
        }
        let (mut cost, mut contract, mut id) = (None, None, None);
        while let Some(word) = arguments.next() {
            if word.eq_ignore_ascii_case(b"KEY") {
                return Ok(Self {
                    cost: cost.unwrap_or(1),
                    contract,
                    id,
                    key: entries(arguments.rest())?,
                });
            }
            let value = arguments.next().ok_or(CommandError::Syntax)?;
            let repeated = if word.eq_ignore_ascii_case(b"COST") {
                cost.replace(at_least(value, 0, "cost")?).is_some()
            } else if word.eq_ignore_ascii_case(b"CONTRACT") {
                contract.replace(value).is_some()
            } else if word.eq_ignore_ascii_case(b"ID") {
                id.replace(value).is_some()
            } else {
                return Err(CommandError::Syntax);
            };
            if repeated {
                return Err(CommandError::Syntax);
            }
        }
        Err(CommandError::Syntax)
    }
}

pub(super) fn entries(arguments: Arguments<'_>) -> Result<CheckKey<'_>, CommandError<'_>> {
    match arguments.len() {
        1 => arguments
            .get(0)
            .map(CheckKey::Bare)
            .ok_or(CommandError::Entries),
        count if count > 0 && count % 2 == 0 => Ok(CheckKey::Pairs(arguments)),
        _ => Err(CommandError::Entries),
    }
}

/// The reply to a check: the fields of `POST /v1/check`, with `allowed` as 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckReply<'a> {
    pub allowed: bool,
    /// Whether a contract matches the key.
    pub matched: bool,
    /// The policy that refuses longest, or that has the least left; none if no contract matches the key.
    pub policy: Option<&'a str>,
    pub limit: u64,
    /// The most tokens it can hold.
    pub capacity: u64,
    /// Whole tokens it has left.
    pub remaining: u64,
    /// Tokens below zero.
    pub debt: u64,
    /// Milliseconds until the same request could pass; none if it passed or waiting does not help.
    pub retry_after_ms: Option<u64>,
    /// Milliseconds until it is full, as for a new key.
    pub reset_after_ms: u64,
    /// Milliseconds a delayed request has to wait before it goes on.
    pub wait_ms: u64,
    /// Settles the real cost.
    pub receipt: Option<&'a str>,
    /// Whether `remaining` is only the part that is lent to a sidecar; written only if so.
    pub part: bool,
    /// All policies that refuse; written if there are several.
    pub violated: &'a [Violated<'a>],
}

/// One of several policies that refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violated<'a> {
    pub contract: &'a str,
    pub policy: &'a str,
    /// Whole tokens it has left.
    pub remaining: u64,
    /// Tokens below zero.
    pub debt: u64,
    /// Milliseconds until it would let the same request pass; none if waiting does not help.
    pub retry_after_ms: Option<u64>,
}

impl CheckReply<'_> {
    /// Writes the map; in RESP2 a list of names and values.
    pub fn write(&self, writer: &mut Writer<'_>) {
        let is_several = self.violated.len() > 1;
        writer.map(11 + usize::from(self.part) + usize::from(is_several));
        writer.bulk(b"allowed");
        writer.integer(i64::from(self.allowed));
        writer.bulk(b"matched");
        writer.integer(i64::from(self.matched));
        text(writer, "policy", self.policy);
        number(writer, "limit", Some(self.limit));
        number(writer, "capacity", Some(self.capacity));
        number(writer, "remaining", Some(self.remaining));
        number(writer, "debt", Some(self.debt));
        number(writer, "retry_after_ms", self.retry_after_ms);
        number(writer, "reset_after_ms", Some(self.reset_after_ms));
        number(writer, "wait_ms", Some(self.wait_ms));
        if self.part {
            number(writer, "part", Some(1));
        }
        if is_several {
            writer.bulk(b"violated");
            writer.array(self.violated.len());
            self.violated.iter().for_each(|one| one.write(writer));
        }
        text(writer, "receipt", self.receipt);
    }
}

impl Violated<'_> {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.map(5);
        text(writer, "contract", Some(self.contract));
        text(writer, "policy", Some(self.policy));
        number(writer, "remaining", Some(self.remaining));
        number(writer, "debt", Some(self.debt));
        number(writer, "retry_after_ms", self.retry_after_ms);
    }
}

pub(super) fn text(writer: &mut Writer<'_>, name: &str, value: Option<&str>) {
    writer.bulk(name.as_bytes());
    match value {
        Some(value) => writer.bulk(value.as_bytes()),
        None => writer.null(),
    }
}

/// Saturates at the largest RESP integer.
pub(super) fn number(writer: &mut Writer<'_>, name: &str, value: Option<u64>) {
    writer.bulk(name.as_bytes());
    match value {
        Some(value) => writer.integer(i64::try_from(value).unwrap_or(i64::MAX)),
        None => writer.null(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply::Version;
    use super::*;

    #[test]
    fn a_reply_is_a_map_with_eleven_names() {
        let reply = CheckReply {
            allowed: false,
            policy: Some("burst"),
            matched: true,
            limit: 20,
            capacity: 30,
            remaining: 0,
            debt: 7,
            retry_after_ms: Some(50),
            reset_after_ms: u64::MAX,
            wait_ms: 0,
            receipt: None,
            part: false,
            violated: &[],
        };
        let mut out = Vec::new();
        reply.write(&mut Writer::new(&mut out, Version::Resp3));
        let expected = "%11\r\n$7\r\nallowed\r\n:0\r\n$7\r\nmatched\r\n:1\r\n$6\r\npolicy\r\n$5\r\nburst\r\n$5\r\nlimit\r\n:20\r\n$8\r\ncapacity\r\n:30\r\n\
            $9\r\nremaining\r\n:0\r\n$4\r\ndebt\r\n:7\r\n$14\r\nretry_after_ms\r\n:50\r\n\
            $14\r\nreset_after_ms\r\n:9223372036854775807\r\n$7\r\nwait_ms\r\n:0\r\n\
            $7\r\nreceipt\r\n_\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
