//! `tollgate replay`: contracts over recorded traffic, offline.
//!
//! One node decides every request at its time in the trace, so the answers are those of a single exact node, regardless
//! of the contracts' coordination; or a store does, if one is given. Memory does not depend on the length of the trace.

mod store;

use std::fmt;
use std::io::{IsTerminal, Write, stdout};
use std::path::Path;
use std::sync::Arc;

use tollgate_contract::{Contract, Contracts, NamedPolicy};
use tollgate_limit::{Algorithm, Cost, Instant, OnLimit};
use tollgate_node::{Answer, Key, Node, RefusedBy};
use tollgate_stats::Offline;
use tollgate_table::Seed;

use crate::cli::{OutputFormat, ReplayOptions};
use crate::config;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::lines::JsonLinesWriter;
use crate::report::{
    Caption, PolicyLabel, ReplayOutcome, ReplayVerdict, Summary, TerminalStyle, html, human, json,
    write_whole,
};
use crate::trace::{TraceReader, TraceRecord};
use store::ReplayStore;

pub(crate) fn run(options: &ReplayOptions) -> Result<(), Failure> {
    let contracts = config::read(&options.contracts)?;
    let trace = name_of(&options.trace);
    let reader = TraceReader::open(&options.trace, options.input_format)
        .map_err(|error| Failure::trace(&trace, &error))?;
    let store = options.store.as_ref().map(ReplayStore::open).transpose()?;
    let replay = Replay::new(contracts, options, store)?;
    let summary = replay.run(reader, &trace, options)?;
    replay.show(&summary, &trace, options)
}

/// A node, and where in the list of all policies those of each contract begin.
struct Replay {
    node: Arc<Node>,
    store: Option<ReplayStore>,
    labels: Vec<PolicyLabel>,
    first_label: Vec<usize>,
    /// The only policy that delays, if there is just one.
    delayer: Option<usize>,
}

impl Replay {
    fn new(
        contracts: Contracts,
        options: &ReplayOptions,
        store: Option<ReplayStore>,
    ) -> Result<Self, Failure> {
        let mut labels = Vec::new();
        let mut first_label = Vec::new();
        let mut delayers = Vec::new();
        for contract in contracts.as_slice() {
            first_label.push(labels.len());
            let places = (labels.len()..).zip(&contract.policies);
            delayers.extend(
                places
                    .filter(|(_, policy)| delays(policy))
                    .map(|(place, _)| place),
            );
            labels.extend(contract.policies.iter().map(|policy| PolicyLabel {
                contract: contract.id.clone(),
                name: policy.name.clone(),
            }));
        }
        let offline = Offline {
            bytes_max: options.memory.saturating_mul(1 << 20),
        };
        let delayer = match *delayers {
            [only] => Some(only),
            _ => None,
        };
        let node = match &store {
            None => offline.node(contracts),
            // Isolates this run from what earlier runs left in the store.
            Some(_) => offline.seeded(contracts, drawn()?),
        };
        let node = Arc::new(node);
        store.as_ref().map_or(Ok(()), |store| store.wait(&node))?;
        Ok(Self {
            node,
            store,
            labels,
            first_label,
            delayer,
        })
    }

    fn run(
        &self,
        mut reader: TraceReader,
        trace: &str,
        options: &ReplayOptions,
    ) -> Result<Summary, Failure> {
        let mut summary = Summary::new(self.labels.clone());
        let per_request = options.format == OutputFormat::Jsonl;
        let mut lines = per_request.then(|| JsonLinesWriter::new(stdout().lock(), &self.labels));
        let mut progress = Progress::new(reader.size(), !(per_request && stdout().is_terminal()));
        let failed = |error| Failure::trace(trace, &error);
        while let Some(mut block) = reader.block().map_err(failed)? {
            while let Some(record) = block.next() {
                let record = match record {
                    Ok(record) => record,
                    Err(error) if options.lenient && error.can_skip() => {
                        summary.skip();
                        continue;
                    }
                    Err(error) => {
                        finish(lines)?;
                        return Err(failed(error));
                    }
                };
                self.decide(&record, &mut summary, lines.as_mut())?;
            }
            progress.tick(reader.bytes_read(), summary.total().requests);
        }
        finish(lines)?;
        Ok(summary)
    }

    #[inline]
    fn decide<W: Write>(
        &self,
        record: &TraceRecord<'_>,
        summary: &mut Summary,
        lines: Option<&mut JsonLinesWriter<W>>,
    ) -> Result<(), Failure> {
        // The reader refuses costs and times beyond these bounds.
        let cost = Cost::new(record.cost).unwrap_or(Cost::MAX);
        let now = Instant::from_millis(record.time_ms).unwrap_or_default();
        let key = Key::Entries(record.entries);
        let answer = match &self.store {
            None => self.node.check(key, cost, now),
            Some(store) => store.check(&self.node, key, cost, now)?,
        };
        let key = KeyText {
            contract: self.contract_of(&answer),
            entries: record.entries,
        };
        let outcome = ReplayOutcome {
            time_ms: record.time_ms,
            cost: record.cost,
            verdict: verdict_of(&answer),
            policy: self.policy_of(&answer),
            remaining: answer.contract.map(|_| answer.remaining),
            key: &key,
        };
        summary.add(&outcome);
        let added = lines.map_or(Ok(()), |lines| lines.add(&outcome));
        added.map_err(Failure::output)
    }

    /// The contract that refused, or the one with the least left.
    fn contract_of(&self, answer: &Answer) -> Option<&Contract> {
        self.node.contracts().get(answer.contract?)
    }

    /// The policy that refused or, if only one could, delayed.
    fn policy_of(&self, answer: &Answer) -> Option<usize> {
        match answer.refused_by {
            Some(RefusedBy::Policy { contract, policy }) => {
                Some(self.first_label.get(contract)? + policy)
            }
            Some(_) => None,
            None => self.delayer,
        }
    }

    fn show(&self, summary: &Summary, trace: &str, options: &ReplayOptions) -> Result<(), Failure> {
        let contracts = name_of(&options.contracts);
        let caption = Caption {
            trace,
            contracts: &contracts,
        };
        if let Some(path) = &options.html {
            let page = html::page(summary, caption);
            write_whole(path, page.as_bytes()).map_err(|error| Failure::file(path, &error))?;
        }
        let text = match options.format {
            OutputFormat::Human => {
                human::report(summary, caption, TerminalStyle::of_stdout()).into_bytes()
            }
            OutputFormat::Json => json::report(summary),
            OutputFormat::Jsonl => Vec::new(),
        };
        stdout().write_all(&text).map_err(Failure::output)?;
        self.warn(summary, options)
    }

    /// Prints caveats on standard error.
    fn warn(&self, summary: &Summary, options: &ReplayOptions) -> Result<(), Failure> {
        let mut notes = Vec::new();
        let evicted = self.node.counters().evicted_live;
        if evicted > 0 {
            notes.push(format!(
                "{evicted} keys were forgotten before they were fresh, as --memory {} was not enough: answers are \
                 too generous; give it more",
                options.memory
            ));
        }
        if summary.skipped() > 0 {
            notes.push(match summary.skipped() {
                1 => "1 bad record was skipped".to_owned(),
                several => format!("{several} bad records were skipped"),
            });
        }
        if let Some(policy) = self.coordinated().filter(|_| self.store.is_none()) {
            notes.push(format!("{policy} is decided here as on a single node"));
        }
        let mut out = std::io::stderr().lock();
        let mut told = notes.iter().map(|note| writeln!(out, "note: {note}"));
        told.try_for_each(|told| told).map_err(Failure::output)
    }

    /// Some policy with a coordination, and which.
    fn coordinated(&self) -> Option<String> {
        let each = self
            .node
            .contracts()
            .as_slice()
            .iter()
            .flat_map(|contract| {
                contract
                    .policies
                    .iter()
                    .map(move |policy| (&contract.id, policy))
            });
        let mut asking = each.filter(|(_, policy)| policy.coordination.name() != "local");
        asking.next().map(|(contract, policy)| {
            format!(
                "coordination `{}` of {contract}/{}",
                policy.coordination.name(),
                policy.name
            )
        })
    }
}

fn drawn() -> Result<Seed, Failure> {
    let drawn = (getrandom::u64(), getrandom::u64());
    let (Ok(a), Ok(b)) = drawn else {
        return Err(Failure::unavailable("error: no randomness to be had"));
    };
    Ok(Seed::new([a, b]))
}

/// The key as people read it: the entries a contract counts by.
struct KeyText<'a> {
    contract: Option<&'a Contract>,
    entries: &'a [(&'a str, &'a str)],
}

impl fmt::Display for KeyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |name: &str| {
            self.contract
                .is_none_or(|c| c.key.iter().any(|key| key == name))
        };
        let mut separator = "";
        for (name, value) in self.entries.iter().filter(|(name, _)| counted(name)) {
            // Piece by piece, without a format string: every denial is written.
            [separator, name, "=", value]
                .iter()
                .try_for_each(|piece| f.write_str(piece))?;
            separator = ",";
        }
        if separator.is_empty() {
            f.write_str("*")
        } else {
            Ok(())
        }
    }
}

/// Whether a policy can make requests wait.
fn delays(policy: &NamedPolicy) -> bool {
    let config = policy.policy.config();
    config.algorithm == Algorithm::LeakyBucket || config.on_limit != OnLimit::Deny
}

fn verdict_of(answer: &Answer) -> ReplayVerdict {
    use tollgate_limit::Verdict as Decided;
    match answer.verdict {
        Decided::Allow if answer.contract.is_none() => ReplayVerdict::Unmatched,
        Decided::Allow => ReplayVerdict::Allowed,
        Decided::Delay { wait } => ReplayVerdict::Delayed {
            wait_ns: wait.as_nanos(),
        },
        Decided::Deny { retry_after } => ReplayVerdict::Denied {
            retry_after_ns: Some(retry_after.as_nanos()),
        },
        Decided::Never => ReplayVerdict::Denied {
            retry_after_ns: None,
        },
    }
}

fn finish<W: Write>(lines: Option<JsonLinesWriter<W>>) -> Result<(), Failure> {
    match lines {
        None => Ok(()),
        Some(lines) => lines
            .finish()
            .and_then(|mut out| out.flush())
            .map_err(Failure::output),
    }
}

/// A file's name in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}
