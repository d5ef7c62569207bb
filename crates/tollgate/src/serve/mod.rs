//! `tollgate serve`: combines settings, starts the server, and handles signals.
//!
//! Not here: serving (`tollgate-serve`).

pub(crate) mod desk;
mod home;
mod leash;
pub(crate) mod options;
mod screen;
pub(crate) mod signals;

use std::io::{IsTerminal, Write};

use tollgate_serve::run::{self, Running};
use tollgate_serve::settings::{
    CataloguePlace, CatalogueSettings, ContractSource, LogSettings, OverrideError, Overrides,
    Settings, misspelt,
};

use crate::failure::Failure;
use options::{ServeCommand, ServeOptions};
use screen::Screen;
use signals::Signals;

/// Serves until a stop signal.
pub(crate) fn run(command: &ServeCommand) -> Result<(), Failure> {
    let settings = settle(command, |name| std::env::var(name).ok())?;
    let options = &command.server;
    let warnings = warnings(&settings);
    let signals = prepare(options, &settings)?;
    let running = run::start_with(settings, desk::open).map_err(|error| Failure::start(&error))?;
    let (contracts, revision) = in_force(&running);
    tracing::info!(contracts, revision, "ready");
    tell(&warnings, &Screen::of(&running).show(options.format))?;
    signals.obey(running, || {})
}

/// How many contracts are in force, and the revision of the catalogue, if there is one.
fn in_force(running: &Running) -> (usize, Option<u64>) {
    let shared = running.shared();
    let live = shared.catalogue();
    let revision = live.database().map(|_| live.snapshot().revision);
    (shared.engine.node().contracts().len(), revision)
}

/// Before a server starts: logs, and signals that are caught from now on.
pub(crate) fn prepare(options: &ServeOptions, settings: &Settings) -> Result<Signals, Failure> {
    begin_logs(settings)?;
    let settings = settings.told();
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("BUILT_FROM"));
    tracing::info!(version, commit, settings, "Tollgate starts");
    let signals = Signals::catch()?;
    if options.ends_with_stdin {
        leash::tie()?;
    }
    Ok(signals)
}

pub(crate) fn tell(warnings: &[String], text: &str) -> Result<(), Failure> {
    for warning in warnings {
        // Nothing can be done if standard error is closed.
        let _ = writeln!(std::io::stderr(), "warning: {warning}");
    }
    let mut out = std::io::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Failure::output)
}

/// On a terminal without log settings, only what the operator did or must do, so that the screen stays short.
fn begin_logs(settings: &Settings) -> Result<(), Failure> {
    let mut logs = settings.telemetry.logs.clone();
    if logs == LogSettings::default() && std::io::stderr().is_terminal() {
        "warn,tollgate_serve::run=info,tollgate_gateway=info".clone_into(&mut logs.filter);
    }
    logs.start()
        .map_err(|error| Failure::usage(format!("error: {error}")))
}

/// Flags over the environment over the file over the defaults.
fn settle(
    command: &ServeCommand,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Settings, Failure> {
    let said = said(&command.server, &variable)?;
    let said = command.beside.put(said).map_err(wrong)?;
    let is_bare = said.config().is_none();
    let mut settings = read(&said)?.unwrap_or_else(Settings::served_by_default);
    said.apply(&mut settings).map_err(wrong)?;
    if settings.keeping.upstream.is_some() {
        // It keeps nothing: its nodes count everything.
        beside(&settings)?;
    } else if is_bare {
        at_home(&mut settings, &variable)?;
    }
    Ok(settings)
}

/// Refuses a sidecar without contracts: it would pass everything without asking its nodes.
fn beside(settings: &Settings) -> Result<(), Failure> {
    let has_none = settings.contracts == ContractSource::None;
    if has_none && settings.keeping.catalogue.is_none() {
        let what = "error: a sidecar needs the contracts of its nodes to know which keys they bind; say --contracts FILE";
        return Err(Failure::usage(what));
    }
    Ok(())
}

/// The values of flags and the environment.
pub(crate) fn said(
    options: &ServeOptions,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Overrides, Failure> {
    let environment = Overrides::of_environment(&variable);
    Ok(options.overrides()?.over(environment.map_err(wrong)?))
}

/// An invalid flag or variable.
#[expect(clippy::needless_pass_by_value, reason = "what `map_err` gives")]
pub(crate) fn wrong(error: OverrideError) -> Failure {
    Failure::usage(format!("error: {error}"))
}

/// The settings of the file, if one is named.
pub(crate) fn read(said: &Overrides) -> Result<Option<Settings>, Failure> {
    let read = said.config().map(Settings::read);
    read.transpose().map_err(|error| Failure::settings(&error))
}

/// Without a file of settings: data in the platform's folder, and there, unless another is named, a catalogue
/// initialized with a sample of contracts.
fn at_home(
    settings: &mut Settings,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), Failure> {
    let folder = match settings.data_dir.take() {
        Some(folder) => folder,
        None => home::folder(variable)?,
    };
    home::make(&folder)?;
    let catalogue = &mut settings.keeping.catalogue;
    if settings.contracts == ContractSource::None && catalogue.is_none() {
        settings.contracts = ContractSource::File(home::contracts(&folder)?);
        let place = CataloguePlace::File(folder.join("catalogue.db"));
        *catalogue = Some(CatalogueSettings::new(place));
    }
    settings.data_dir = Some(folder);
    Ok(())
}

/// Settings that are valid but probably not intended.
pub(crate) fn warnings(settings: &Settings) -> Vec<String> {
    let open = settings.open_to_all().map(|listener| {
        format!(
            "{} can be reached from other machines and asks nobody for a credential; set TOLLGATE_TOKEN_FILE, or \
             `access` in the file",
            listener.at
        )
    });
    let misspelt = std::env::vars_os().filter_map(|(name, _)| {
        let name = name.to_str()?.to_owned();
        let meant = misspelt(&name)?;
        Some(format!(
            "the variable {name} means nothing here; did you mean {meant}?"
        ))
    });
    let has_none = settings.contracts == ContractSource::None;
    let nothing = (has_none && settings.keeping.catalogue.is_none())
        .then(|| "there are no contracts, so nothing is limited; say --contracts FILE".to_owned());
    open.chain(misspelt).chain(nothing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        serve: ServeCommand,
    }

    #[test]
    fn a_sidecar_needs_contracts_and_keeps_nothing() {
        let settled = |words: &[&str]| {
            let line = ["serve", "--sidecar", "--upstream", "127.0.0.1:1"];
            let line = <Line as clap::Parser>::parse_from(line.iter().chain(words));
            settle(&line.serve, |_| None)
        };
        assert!(settled(&[]).is_err());
        let settings = settled(&["--contracts", "mine.yaml"]).unwrap();
        assert_eq!(settings.data_dir, None);
        assert_eq!(settings.keeping.catalogue, None);
        let settings = settled(&["--contracts", "mine.yaml", "--data-dir", "here"]).unwrap();
        assert_eq!(settings.data_dir, Some("here".into()));
    }

    #[test]
    fn only_who_names_no_contracts_gets_a_sample() {
        let home = tempfile::tempdir().unwrap();
        let settled = |change: &dyn Fn(&mut Settings)| {
            let mut settings = Settings {
                data_dir: Some(home.path().join("data")),
                ..Settings::served_by_default()
            };
            change(&mut settings);
            at_home(&mut settings, |_| None).unwrap();
            (settings.contracts, settings.keeping.catalogue)
        };
        let place = CataloguePlace::File("live.db".into());
        let named = CatalogueSettings::new(place);
        let live = settled(&|settings| settings.keeping.catalogue = Some(named.clone()));
        assert_eq!(live, (ContractSource::None, Some(named.clone())));
        let file = ContractSource::File("mine.yaml".into());
        let gitops = settled(&|settings| settings.contracts = file.clone());
        assert_eq!(gitops, (file.clone(), None));
        assert!(!home.path().join("data/contracts.yaml").exists());
        let (sample, catalogue) = settled(&|_| {});
        let sample_at = home.path().join("data/contracts.yaml");
        assert_eq!(sample, ContractSource::File(sample_at));
        assert!(catalogue.is_some_and(|catalogue| catalogue != named));
    }
}
