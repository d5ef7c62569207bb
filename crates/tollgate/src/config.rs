//! `tollgate config`: contract files and server files, checked and shown.

use std::io::{Write, stdout};
use std::path::Path;

use serde_json::{Map, Value, json};
use tollgate_admin::{KeyError, SigningKey};
use tollgate_contract::file::shown_nanos as length;
use tollgate_contract::{Contract, Contracts, NamedPolicy, TEXT_BYTES_MAX, Unmatched};
use tollgate_limit::{OnLimit, Period};
use tollgate_node::countable;
use tollgate_serve::settings::{
    CataloguePlace, ContractSource, Listener, ROSTER_MAX, Settings, is_server_file,
};
use tollgate_serve::supply::nodes_max;

use crate::cli::{CheckOptions, Format, SealCommand};
use crate::failure::Failure;

/// Reads a contract file, a descriptor file of envoyproxy/ratelimit, or a folder of such.
pub(crate) fn read(path: &Path) -> Result<Contracts, Failure> {
    if path.is_dir() {
        let folder = ContractSource::File(path.to_owned());
        return folder.read().map_err(|error| Failure::settings(&error));
    }
    let name = path.display().to_string();
    let bytes = read_bounded(path).map_err(|error| Failure::unreadable(path, &error))?;
    Contracts::parse_any_bytes(&bytes).map_err(|errors| Failure::config(errors.render(&name)))
}

/// A file's bytes, but no more than one beyond what a contract file may have.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(TEXT_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn check(options: &CheckOptions) -> Result<(), Failure> {
    let file = &options.file;
    let bytes = if file.is_dir() {
        Ok(Vec::new())
    } else {
        read_bounded(file)
    };
    let bytes = bytes.map_err(|error| Failure::unreadable(file, &error))?;
    if tollgate_contract::decode(&bytes).is_ok_and(is_server_file) {
        return check_server(options);
    }
    let contracts = read(file)?;
    // As nodes of a cluster would count them.
    countable(&contracts, false).map_err(|error| Failure::config(format!("error: {error}")))?;
    let text = match options.format {
        Format::Human => human(&contracts, &options.file),
        Format::Json => json(&contracts, &options.file),
    };
    stdout().write_all(text.as_bytes()).map_err(Failure::output)
}

/// Writes the key of sessions and links, a fresh one or another.
pub(crate) fn key(command: &SealCommand) -> Result<(), Failure> {
    let failed = |file: &Path, error: &KeyError| match error {
        KeyError::File(error) => Failure::file(file, error),
        error => Failure::usage(format!("error: {}: {error}", file.display())),
    };
    let (file, said) = match command {
        SealCommand::New(options) => {
            let made = SigningKey::draw().and_then(|key| key.create(&options.file));
            made.map_err(|error| failed(&options.file, &error))?;
            let said = "a fresh key; give the file to every server on the database, as `catalogue.key_file`";
            (&options.file, said)
        }
        SealCommand::Rotate(options) => {
            let file = &options.file;
            match SigningKey::read(file) {
                // One that others may have read is what another is made for.
                Ok(_) | Err(KeyError::Open(_)) => {}
                Err(KeyError::File(error)) => return Err(Failure::unreadable(file, &error)),
                Err(error) => return Err(failed(file, &error)),
            }
            let made = SigningKey::draw().and_then(|key| key.replace(file));
            made.map_err(|error| failed(file, &error))?;
            let said = "another key; every session and link ends within a second of a server having the file";
            (file, said)
        }
    };
    writeln!(stdout(), "{}: {said}", file.display()).map_err(Failure::output)
}

/// The same for a server's file, with the contracts it names.
fn check_server(options: &CheckOptions) -> Result<(), Failure> {
    let settings = Settings::read(&options.file).map_err(|error| Failure::settings(&error))?;
    // As a server with this file would count them.
    let contracts = tollgate_serve::run::contracts(&settings);
    let (contracts, by_owner) = contracts.map_err(|error| Failure::start(&error))?;
    let is_imported =
        contracts.envoy().is_some() || matches!(settings.contracts, ContractSource::Xds(_));
    let at = |listeners: &[Listener]| -> Vec<String> {
        listeners
            .iter()
            .map(|listener| listener.at.to_string())
            .collect()
    };
    let listeners = settings.http.iter().cloned();
    let (admin, http): (Vec<_>, Vec<_>) = listeners.partition(|listener| listener.is_admin);
    let (http, admin, resp) = (at(&http), at(&admin), at(&settings.resp));
    let catalogue = settings.keeping.catalogue.as_ref().map(|it| &it.at);
    let file = settings.contracts.file().filter(|_| catalogue.is_some());
    let mut notes = shallow(&contracts);
    notes.extend(settings.rls_note(is_imported));
    notes.extend(settings.unmatched_note());
    notes.extend(file.and_then(|file| unread(file, catalogue)));
    let text = match options.format {
        Format::Human => {
            let shown = |list: &[String]| match list {
                [] => "off".to_owned(),
                list => list.join(", "),
            };
            let what = plural(contracts.len(), "contract");
            let name = options.file.display();
            let small = by_owner.iter().map(ToString::to_string);
            let notes = small.chain(notes).map(|note| format!("\nnote: {note}\n"));
            let notes: String = notes.collect();
            let apart = if admin.is_empty() {
                String::new()
            } else {
                format!("admin {}\n", shown(&admin))
            };
            format!(
                "{name}: settings and {what}, all good\n\nhttp  {}\n{apart}resp  {}\n{notes}",
                shown(&http),
                shown(&resp)
            )
        }
        Format::Json => {
            let line = json!({ "http": http, "admin": admin, "resp": resp, "contracts": contracts.len(), "by_owner": by_owner, "notes": notes });
            format!("{line}\n")
        }
    };
    stdout().write_all(text.as_bytes()).map_err(Failure::output)
}

/// Prints the JSON Schema of contract files, or of server files.
pub(crate) fn schema(server: bool) -> Result<(), Failure> {
    let schema = if server {
        tollgate_serve::settings::json_schema()
    } else {
        tollgate_contract::json_schema()
    };
    writeln!(stdout(), "{}", schema.trim_end()).map_err(Failure::output)
}

/// One block per contract, one line per policy.
fn human(contracts: &Contracts, file: &Path) -> String {
    let shown = contracts.as_slice().iter().take(SHOWN_MAX);
    let policies: usize = contracts.as_slice().iter().map(|c| c.policies.len()).sum();
    let mut lines = vec![format!(
        "{}: {} and {}, all good",
        file.display(),
        plural(contracts.len(), "contract"),
        plural(policies, "policy")
    )];
    for contract in shown {
        lines.push(format!("\n{}  {}", contract.id, who(contract)));
        let policy = |policy: &NamedPolicy| format!("  {:<12} {}", policy.name, sentence(policy));
        lines.extend(contract.policies.iter().map(policy));
    }
    if contracts.len() > SHOWN_MAX {
        lines.push(format!("\nand {} more", contracts.len() - SHOWN_MAX));
    }
    lines.extend(
        notes(contracts, file)
            .iter()
            .map(|note| format!("\nnote: {note}")),
    );
    lines.join("\n") + "\n"
}

/// What is worth a word about a contract file that is right.
fn notes(contracts: &Contracts, file: &Path) -> Vec<String> {
    let unmatched = contracts
        .unmatched()
        .filter(|said| *said != Unmatched::default());
    let unmatched = unmatched.map(|said| {
        format!(
            "`unmatched: {0}` holds where a server reads this file with `--contracts`; a catalogue, as `tollgate serve` makes one, does not keep \
             it: say `access: {{ unmatched: {0} }}` in the server's file",
            said.name()
        )
    });
    let notes = shallow(contracts).into_iter().chain(unread(file, None));
    notes.chain(unmatched).collect()
}

/// That a catalogue has the contracts, so that a server reads this file once and never again. Without settings it is
/// the one that a server makes in its folder.
fn unread(file: &Path, catalogue: Option<&CataloguePlace>) -> Option<String> {
    let beside = || CataloguePlace::File(file.with_file_name("catalogue.db"));
    let place = catalogue.cloned().unwrap_or_else(beside);
    if matches!(&place, CataloguePlace::File(path) if !path.exists()) {
        return None;
    }
    Some(format!(
        "{} is read while the catalogue {place} is empty, and not any more: put what you edit there with `tollgate contract put`, or \
         let this file count with `tollgate serve --contracts`",
        file.display()
    ))
}

/// Policies that nodes synchronise too seldom to reach their limits.
fn shallow(contracts: &Contracts) -> Vec<String> {
    let mut notes = Vec::new();
    for contract in contracts.as_slice() {
        let policies = contract.policies.iter();
        for policy in policies
            .filter(|policy| policy.is_shallow())
            .take(SHOWN_MAX)
        {
            let (id, name) = (&contract.id, &policy.name);
            let interval = length(policy.interval_ns());
            notes.push(format!(
                "contract `{id}`, policy `{name}`: more comes back in {interval} than the burst holds, so that the limit is not reached; \
                 give it more `burst` or a shorter `interval`"
            ));
        }
    }
    notes.truncate(SHOWN_MAX);
    notes
}

/// Whom a contract binds, and by what it counts them.
fn who(contract: &Contract) -> String {
    let matches: Vec<_> = contract
        .matches
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let whom = if matches.is_empty() {
        "everybody".to_owned()
    } else {
        matches.join(", ")
    };
    match contract.key.as_slice() {
        [] => format!("{whom}, one counter for all"),
        key => format!("{whom}, a counter for each {}", key.join(" + ")),
    }
}

fn sentence(policy: &NamedPolicy) -> String {
    let config = policy.policy.config();
    let mut parts = vec![
        format!("{} per {}", config.limit, period(&config.period)),
        config.algorithm.name().to_owned(),
    ];
    parts.extend(config.burst.map(|burst| format!("burst {burst}")));
    if let OnLimit::Delay { max_wait_ns } = config.on_limit {
        let bound = max_wait_ns.map_or_else(String::new, |ns| format!(" up to {}", length(ns)));
        parts.push(format!("delay{bound}"));
    }
    match config.enforce_percent {
        100 => {}
        0 => parts.push("shadow".to_owned()),
        percent => parts.push(format!("enforced for {percent} % of keys")),
    }
    parts.push(policy.coordination.name().to_owned());
    let among = nodes_max(policy).ok();
    let among = among.filter(|_| policy.coordination.is_divided());
    // A roster is no larger than that.
    let among = among.filter(|nodes| *nodes < ROSTER_MAX as u64);
    parts.extend(among.map(|nodes| format!("by owners among more than {nodes} nodes")));
    parts.join(" · ")
}

fn period(period: &Period) -> String {
    match period {
        Period::Fixed(nanos) => length(*nanos),
        Period::Calendar(calendar) => calendar.name().to_owned(),
    }
}

fn plural(count: usize, word: &str) -> String {
    match (count, word.strip_suffix('y')) {
        (1, _) => format!("1 {word}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {word}s"),
    }
}

fn json(contracts: &Contracts, file: &Path) -> String {
    let contract = |contract: &Contract| {
        let policies: Vec<_> = contract.policies.iter().map(policy_json).collect();
        let matches: Map<_, _> = contract
            .matches
            .iter()
            .map(|(key, value)| (key.clone(), value.clone().into()))
            .collect();
        json!({ "id": contract.id, "match": matches, "key": contract.key, "policies": policies })
    };
    let all: Vec<_> = contracts.as_slice().iter().map(contract).collect();
    let notes = notes(contracts, file);
    format!(
        "{}\n",
        json!({ "valid": true, "contracts": all, "notes": notes })
    )
}

fn policy_json(policy: &NamedPolicy) -> Value {
    let config = policy.policy.config();
    json!({
        "name": policy.name,
        "limit": config.limit,
        "per": period(&config.period),
        "algorithm": config.algorithm.name(),
        "burst": config.burst,
        "enforce_percent": config.enforce_percent,
        "coordination": policy.coordination.name(),
        "durable": policy.durable,
    })
}

/// Contracts shown to a person.
const SHOWN_MAX: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_in_the_largest_unit_that_divides_them() {
        assert_eq!(length(90_000_000_000), "90s");
        assert_eq!(length(86_400_000_000_000 * 30), "30d");
        assert_eq!(length(1_500_000), "1500us");
    }

    #[test]
    fn what_is_synchronised_too_seldom_is_noted() {
        let text = "contracts: [{ id: a, coordination: sync, policies: [
            { name: deep, limit: 1000, per: 1s },
            { name: flat, limit: 1000, per: 1s, burst: 99 }] }]";
        let notes = shallow(&Contracts::parse(text).unwrap());
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("policy `flat`") && notes[0].contains("100ms"));
    }

    #[test]
    fn words_have_plurals() {
        assert_eq!(plural(1, "policy"), "1 policy");
        assert_eq!(plural(2, "policy"), "2 policies");
        assert_eq!(plural(0, "contract"), "0 contracts");
    }
}
