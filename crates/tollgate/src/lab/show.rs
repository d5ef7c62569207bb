//! Reports as they come: to standard output in the requested format, and to a folder of pages.
//!
//! Not here: the formats.

use std::io::{Write, stdout};
use std::sync::{Mutex, PoisonError};

use tollgate_lab::Report;

use super::options::OutputOptions;
use super::{html, human, json};
use crate::cli::OutputFormat;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{TerminalStyle, write_whole};

pub(super) struct Show<'a> {
    options: &'a OutputOptions,
    /// Whether objects are elements of an array.
    is_array: bool,
    shown: Vec<html::IndexEntry>,
}

impl<'a> Show<'a> {
    /// Makes the folder of pages first, so that hours of work do not end at a wrong path.
    pub(super) fn new(options: &'a OutputOptions, is_several: bool) -> Result<Self, Failure> {
        if let Some(folder) = &options.html {
            std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
        }
        Ok(Self {
            options,
            is_array: is_several && options.format == OutputFormat::Json,
            shown: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, report: &Report) -> Result<(), Failure> {
        if let Some(folder) = &self.options.html {
            let path = folder.join(html::file_name(&report.experiment));
            let page = html::page(report);
            write_whole(&path, page.as_bytes()).map_err(|error| Failure::file(&path, &error))?;
        }
        self.print(report)?;
        self.shown.push(html::IndexEntry::of(report));
        Ok(())
    }

    fn print(&self, report: &Report) -> Result<(), Failure> {
        let per_seed = self.options.per_seed;
        let first = self.shown.is_empty();
        let text = match self.options.format {
            OutputFormat::Human => {
                let gap = if first { "" } else { "\n" };
                format!(
                    "{gap}{}",
                    human::report(report, per_seed, TerminalStyle::of_stdout())
                )
            }
            OutputFormat::Json => {
                let before = match (self.is_array, first) {
                    (false, _) => "",
                    (true, true) => "[",
                    (true, false) => ",\n",
                };
                format!("{before}{}", json::report(report, per_seed))
            }
            OutputFormat::Jsonl => json::lines(report, per_seed),
        };
        put(&text)
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        if self.options.format == OutputFormat::Json {
            put(if self.is_array { "]\n" } else { "\n" })?;
        }
        let Some(folder) = &self.options.html else {
            return Ok(());
        };
        let path = folder.join("index.html");
        let page = html::index(&self.shown);
        write_whole(&path, page.as_bytes()).map_err(|error| Failure::file(&path, &error))?;
        let note = format!(
            "wrote {} and {} beside it\n",
            path.display(),
            pages(self.shown.len())
        );
        // A closed standard error must not stop the run.
        let _ = std::io::stderr().write_all(note.as_bytes());
        Ok(())
    }
}

fn pages(count: usize) -> String {
    match count {
        1 => "1 page".to_owned(),
        several => format!("{several} pages"),
    }
}

fn put(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::output)
}

/// A progress bar that many threads can update.
pub(super) struct ProgressMeter {
    name: String,
    bar: Mutex<Progress>,
}

impl ProgressMeter {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            bar: Mutex::new(Progress::new(None, true)),
        }
    }

    pub(super) fn tick(&self, done: u64, of: u64) {
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        bar.runs(&self.name, done, of);
    }
}

pub(super) fn threads(options: &OutputOptions) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let asked = options
        .threads
        .and_then(|threads| usize::try_from(threads).ok());
    asked.unwrap_or_else(cores)
}
