//! Sends files to a server: one document, all of a contract file, or many assignments.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Value, json};
use tollgate_catalogue::{Kind, documents};

use super::ask::{ServerAccess, encoded};
use crate::failure::Failure;

pub(super) struct How<'a> {
    /// Only show what would change.
    pub(super) dry_run: bool,
    /// The required current version; whatever is current if absent.
    pub(super) seen: Option<u64>,
    pub(super) reason: &'a str,
}

/// Puts the documents of a file: returns the server's answer to each.
pub(super) fn put(
    server: &ServerAccess<'_>,
    plural: &str,
    file: &Path,
    how: &How<'_>,
) -> Result<Value, Failure> {
    let (text, document) = read(file)?;
    let is_file = ["contracts", "plans"]
        .iter()
        .any(|name| document.get(name).is_some());
    let all = if is_file {
        let all = documents(&text)
            .map_err(|errors| Failure::config(errors.render(&file.display().to_string())))?;
        let place = |kind| {
            if kind == Kind::Plan {
                "plans"
            } else {
                "contracts"
            }
        };
        all.into_iter()
            .map(|(kind, id, document)| (place(kind), id, document))
            .collect()
    } else {
        vec![(plural, id_of(file, &document)?, document)]
    };
    let mut done = Vec::new();
    for (plural, id, document) in all {
        let at = format!("/{plural}/{}", encoded(&id));
        let seen = match how.seen {
            Some(seen) => seen,
            None => server.version(&at)?.unwrap_or(0),
        };
        let path = format!(
            "{at}?dry_run={}&reason={}",
            how.dry_run,
            encoded(how.reason)
        );
        done.push(server.send("PUT", &path, Some(&document), Some(seen))?);
    }
    Ok(done.into())
}

/// A file with one document: its id, and the document.
pub(super) fn one(file: &Path) -> Result<(String, Value), Failure> {
    let (_, document) = read(file)?;
    Ok((id_of(file, &document)?, document))
}

fn read(file: &Path) -> Result<(String, Value), Failure> {
    let mut text = String::new();
    let mut input = open(file)?;
    input
        .read_to_string(&mut text)
        .map_err(|error| Failure::unreadable(file, &error))?;
    let document = serde_saphyr::from_str(&text).map_err(|error| wrong(file, &error))?;
    Ok((text, document))
}

fn id_of(file: &Path, document: &Value) -> Result<String, Failure> {
    name(document).ok_or_else(|| wrong(file, &"it has no `id`"))
}

fn wrong(file: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::config(format!("error: {}: {why}", file.display()))
}

/// The id of a document; that of an assignment defaults to its identity and contract.
fn name(document: &Value) -> Option<String> {
    let text = |name| document.get(name).and_then(Value::as_str);
    let made = || {
        let identity = text("identity")?;
        Some(text("contract").map_or_else(
            || identity.to_owned(),
            |contract| format!("{identity}@{contract}"),
        ))
    };
    text("id").map(str::to_owned).or_else(made)
}

/// Sends assignments in batches: returns how many are new, and how many existed.
pub(super) fn import(
    server: &ServerAccess<'_>,
    file: &Path,
    reason: &str,
) -> Result<Value, Failure> {
    let unreadable = |error: &io::Error| Failure::unreadable(file, error);
    let path = format!("/assignments/import?reason={}", encoded(reason));
    let mut told = Told::default();
    let (mut batch, mut bytes, mut count) = (Vec::new(), 0, 0_usize);
    for line in open(file)?.lines() {
        let line = line.map_err(|error| unreadable(&error))?;
        if line.trim().is_empty() {
            continue;
        }
        count += 1;
        let document: Value = serde_json::from_str(&line).map_err(|error| {
            let name = file.display();
            Failure::config(format!("error: {name}: assignment {count}: {error}"))
        })?;
        bytes += line.len() + 1;
        batch.push(document);
        if batch.len() >= BATCH_MAX || bytes >= BATCH_BYTES_MAX {
            told.add(&server.send(
                "POST",
                &path,
                Some(&std::mem::take(&mut batch).into()),
                None,
            )?);
            bytes = 0;
        }
    }
    if !batch.is_empty() {
        told.add(&server.send("POST", &path, Some(&batch.into()), None)?);
    }
    Ok(json!({ "made": told.made, "same": told.same }))
}

#[derive(Default)]
struct Told {
    made: u64,
    same: u64,
}

impl Told {
    fn add(&mut self, done: &Value) {
        self.made += done["made"].as_u64().unwrap_or(0);
        self.same += done["same"].as_u64().unwrap_or(0);
    }
}

fn open(file: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let opened = File::open(file).map_err(|error| Failure::unreadable(file, &error))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// Assignments in one request.
const BATCH_MAX: usize = 1000;
/// Their bytes, at about half of the server's limit.
const BATCH_BYTES_MAX: usize = 500_000;
