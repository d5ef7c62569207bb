//! `tollgate usage export`: what identities used, day by day, from a running server.
//!
//! Reads page by page and writes as it reads, so memory does not depend on the amount.

pub(crate) mod options;

use std::io::{BufWriter, Write, stdout};

use serde::Deserialize;
use serde_json::Value;
use tollgate_stats::{CSV_HEAD, UsageRow, csv_line};

use crate::check::http::{ServerRequest, encoded};
use crate::failure::Failure;
use options::{ExportFormat, ExportOptions, UsageCommand};

pub(crate) fn run(command: &UsageCommand) -> Result<(), Failure> {
    let UsageCommand::Export(options) = command;
    let mut out = BufWriter::new(stdout().lock());
    export(options, &mut out)?;
    out.flush().map_err(Failure::output)
}

#[derive(Deserialize)]
struct Page {
    items: Vec<UsageRow>,
    next: Option<String>,
}

fn export(options: &ExportOptions, out: &mut impl Write) -> Result<(), Failure> {
    let mut text = match options.format {
        ExportFormat::Csv => CSV_HEAD.to_owned(),
        ExportFormat::Json => "[".to_owned(),
    };
    let mut separator = "\n";
    let mut after = None;
    loop {
        let page = page(options, after.as_deref())?;
        for row in &page.items {
            match options.format {
                ExportFormat::Csv => csv_line(row, &mut text),
                ExportFormat::Json => {
                    text.push_str(separator);
                    // Rows have text for names, so this cannot fail.
                    text.push_str(&serde_json::to_string(row).unwrap_or_default());
                    separator = ",\n";
                }
            }
        }
        out.write_all(text.as_bytes()).map_err(Failure::output)?;
        text.clear();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let end = match options.format {
        ExportFormat::Csv => "",
        ExportFormat::Json => "\n]\n",
    };
    out.write_all(end.as_bytes()).map_err(Failure::output)
}

fn page(options: &ExportOptions, after: Option<&str>) -> Result<Page, Failure> {
    let mut path = format!("/admin/v1/usage?limit={ROWS_AT_ONCE}");
    let given = [
        ("from", options.from.as_deref()),
        ("until", options.until.as_deref()),
        ("contract", options.contract.as_deref()),
        ("identity", options.identity.as_deref()),
        ("after", after),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            path.extend(["&", name, "=", &encoded(value)]);
        }
    }
    let server = &options.server;
    let reply = ServerRequest::get(server, &path, options.token.as_deref()).send();
    let reply = reply.map_err(|error| error.failure(server))?;
    if reply.status != 200 {
        let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let said = said["error"]["message"]
            .as_str()
            .unwrap_or("it did not say why");
        let text = format!("error: {server} refused (status {}): {said}", reply.status);
        return Err(match reply.status {
            401 | 403 => Failure::no_permission(text),
            400..500 => Failure::usage(text),
            _ => Failure::unavailable(text),
        });
    }
    serde_json::from_slice(&reply.body)
        .map_err(|_| Failure::protocol(format!("error: {server} answered with no usage")))
}

const ROWS_AT_ONCE: usize = 1_000;
