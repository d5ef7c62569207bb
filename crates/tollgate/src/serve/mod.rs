//! `tollgate serve`: puts settings together, starts the server, and listens to signals.
//!
//! Not here: serving (`tollgate-serve`).

pub mod options;
mod screen;
mod signals;

use std::io::Write;
use std::path::PathBuf;

use tollgate_serve::run::{self, Running};
use tollgate_serve::settings::{
    Address, ContractSource, HTTP_DEFAULT, Listener, RESP_DEFAULT, Settings,
};

use crate::failure::Failure;
use options::ServeOptions;

/// Serves until a signal says to stop.
pub fn run(options: &ServeOptions) -> Result<(), Failure> {
    let settings = settle(options);
    let signals = signals::Signals::catch()?;
    let running = run::start(settings).map_err(|error| Failure::start(&error))?;
    let text = screen::show(&running, options.format);
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::output)?;
    signals.obey(running)
}

fn settle(options: &ServeOptions) -> Settings {
    let tcp = |address| vec![Listener::plain(Address::Tcp(address))];
    let mut settings = Settings {
        http: tcp(HTTP_DEFAULT),
        resp: tcp(RESP_DEFAULT),
        data_dir: options.data_dir.clone(),
        ..Settings::default()
    };
    if options.no_http || !options.http.is_empty() {
        settings.http = options.http.iter().cloned().map(Listener::plain).collect();
    }
    if options.no_resp || !options.resp.is_empty() {
        settings.resp = options.resp.iter().cloned().map(Listener::plain).collect();
    }
    let file: Option<PathBuf> = options.contracts.clone();
    settings.contracts = file.map_or(ContractSource::None, ContractSource::File);
    settings
}
