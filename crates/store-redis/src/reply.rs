//! Answers of the scripts.

use redis::Value;
use tollgate_store::Failure;

use crate::head::{StoredHead, read_entry};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptStatus {
    Decided,
    /// Not decided by the script; the reply has the full state.
    Wide,
    /// The key's time is after the validity of the terms.
    Late,
}

/// What a script found and did.
#[derive(Debug)]
pub(crate) struct ScriptReply {
    pub(crate) status: ScriptStatus,
    /// The bytes of the head that was found; none for an unknown key.
    pub(crate) raw: Option<Vec<u8>>,
    /// By request.
    pub(crate) admitted: Vec<bool>,
    /// Entries of each list, oldest first: all of them, or the relevant ones.
    pub(crate) lists: Vec<Vec<(u64, u64)>>,
}

impl ScriptReply {
    /// Reads an answer.
    pub(crate) fn read(value: Value) -> Result<Self, Failure> {
        Self::parse(value).ok_or_else(|| Failure::Broken("a script's answer makes no sense".into()))
    }

    fn parse(value: Value) -> Option<Self> {
        let Value::Array(parts) = value else {
            return None;
        };
        let mut parts = parts.into_iter();
        let Value::Int(status) = parts.next()? else {
            return None;
        };
        let raw = match parts.next()? {
            Value::Nil => None,
            Value::BulkString(bytes) => Some(bytes),
            _ => return None,
        };
        let Value::BulkString(verdicts) = parts.next()? else {
            return None;
        };
        Some(Self {
            lists: parts.map(entries).collect::<Option<_>>()?,
            ..Self::of(u64::try_from(status).ok()?, raw, &verdicts)?
        })
    }

    /// An answer without lists.
    pub(crate) fn of(status: u64, raw: Option<Vec<u8>>, verdicts: &[u8]) -> Option<Self> {
        let status = match status {
            0 => ScriptStatus::Decided,
            1 => ScriptStatus::Wide,
            2 => ScriptStatus::Late,
            _ => return None,
        };
        Some(Self {
            status,
            raw,
            admitted: verdicts.iter().map(|verdict| *verdict == b'1').collect(),
            lists: Vec::new(),
        })
    }

    /// `None` for an unknown key.
    pub(crate) fn head(&self) -> Result<Option<StoredHead>, Failure> {
        let Some(raw) = &self.raw else {
            return Ok(None);
        };
        let broken = || Failure::Broken("what is kept for a key makes no sense".into());
        StoredHead::read(raw).map(Some).ok_or_else(broken)
    }
}

fn entries(value: Value) -> Option<Vec<(u64, u64)>> {
    let Value::Array(entries) = value else {
        return None;
    };
    let entries = entries.into_iter().map(|entry| match entry {
        Value::BulkString(bytes) => read_entry(&bytes),
        _ => None,
    });
    entries.collect()
}
