//! `tollgate contract try` and `plan try`: the effect of a change on past requests, before it is made.

use serde_json::{Value, json};

use super::ask::{ServerAccess, encoded};
use super::options::TryOptions;
use super::{put, show};
use crate::failure::Failure;
use crate::replay::name_of;
use crate::report::TerminalStyle;
use crate::report::table::{cell, write_table};
use crate::trace::TraceReader;

/// Has a server simulate a document.
pub(super) fn attempt(
    server: &ServerAccess<'_>,
    plural: &str,
    options: &TryOptions,
) -> Result<Value, Failure> {
    let (id, document) = put::one(&options.file)?;
    let at = format!("/{plural}/{}/try", encoded(&id));
    let Some(trace) = &options.trace else {
        let path = format!("{at}?minutes={}", options.minutes);
        return server.send("POST", &path, Some(&document), None);
    };
    let name = name_of(trace);
    let failed = |error| Failure::trace(&name, &error);
    let mut reader = TraceReader::open(trace, options.input_format).map_err(failed)?;
    let mut lines = document.to_string().into_bytes();
    let mut left_out = 0_u64;
    while let Some(mut block) = reader.block().map_err(failed)? {
        while let Some(record) = block.next() {
            let record = record.map_err(failed)?;
            let mut line = json!({ "time": record.time_ms, "cost": record.cost });
            for (name, value) in record.entries {
                line[*name] = json!(value);
            }
            let line = line.to_string();
            if left_out > 0 || lines.len() + line.len() + 1 > BODY_BYTES_MAX {
                left_out += 1;
                continue;
            }
            lines.push(b'\n');
            lines.extend_from_slice(line.as_bytes());
        }
    }
    let mut tried = server.send_lines(&at, &lines)?;
    tried["left_out"] = left_out.into();
    Ok(tried)
}

/// The differences, in words and tables.
pub(super) fn shown(tried: &Value) -> String {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let share = match count(&tried["one_in"]) {
        0 | 1 => String::new(),
        many => format!(", those of one in {many} keys"),
    };
    let left_out = match count(&tried["left_out"]) {
        0 => String::new(),
        many => format!("{many} at the end of the trace did not fit and were left out\n"),
    };
    let mut out = format!(
        "{} requests were tried{share}\n{left_out}",
        count(&tried["requests"])
    );
    if tried["is_cut"] == true {
        out.push_str("there were more than are tried at once\n");
    }
    out.push('\n');
    out.push_str(&sums(&tried["sums"]));
    let changed = tried["changed"].as_array().map_or(&[][..], Vec::as_slice);
    if !changed.is_empty() {
        let many = count(&tried["changed_keys"]);
        out.extend(["\nIt matters to ", &many.to_string(), " keys:\n\n"]);
        let columns = [
            ("key", "/key"),
            ("denied", "/denied_before"),
            ("would be", "/denied_after"),
            ("delayed", "/delayed_before"),
            ("would be", "/delayed_after"),
        ];
        out.push_str(&show::table(
            changed.get(..KEYS_MAX).unwrap_or(changed),
            &columns,
        ));
    }
    out
}

fn sums(sums: &Value) -> String {
    let header = ["requests", ">in force", ">with the change"];
    let row = |name: &str| {
        let of = |when: &str| show::text(sums.get(format!("{name}_{when}")));
        vec![cell(name), cell(of("before")), cell(of("after"))]
    };
    let mut out = String::new();
    write_table(
        &header,
        ["allowed", "delayed", "denied"].map(row),
        TerminalStyle::of_stdout(),
        &mut out,
    );
    out
}

/// As much as a server takes at once, with room for its head.
const BODY_BYTES_MAX: usize = 1_000_000;
/// Limit on listed keys.
const KEYS_MAX: usize = 20;
