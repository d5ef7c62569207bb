//! Listeners of the server's file: addresses, host names, and certificates.
//!
//! Not here: what an address is (`address`), and opening anything.

use tollgate_contract::ErrorKind;
use tollgate_contract::file::{self, Problem, Text, YamlNode, quote};

use super::address::parse_mode;
use super::file::SettingsCheck;
use super::forms::{RawListener, RawListenerBody, RawListeners, RawTls};
use super::{ListenAddress, Listener, Tls};

impl SettingsCheck<'_> {
    pub(super) fn listeners(&mut self, raw: RawListeners) -> Vec<Listener> {
        match raw {
            RawListeners::Off => Vec::new(),
            RawListeners::Some(list) => {
                let listeners = list.into_iter().filter_map(|raw| self.listener(raw));
                listeners.collect()
            }
        }
    }

    fn listener(&mut self, raw: YamlNode<RawListener>) -> Option<Listener> {
        match raw.value {
            RawListener::Address(text) => {
                let at = self.address(&text, raw.place)?;
                Some(Listener::plain(at))
            }
            RawListener::Full(RawListenerBody {
                at,
                mode,
                tls,
                hosts,
            }) => {
                let mut address = self.address(&at.value, at.place)?;
                if let Some(text) = mode {
                    self.mode(&text, &mut address);
                }
                let hosts = hosts.map(|hosts| hosts.0).unwrap_or_default();
                Some(Listener {
                    tls: tls.map(|tls| self.tls(&tls)),
                    hosts: hosts.iter().filter_map(|text| self.host(text)).collect(),
                    ..Listener::plain(address)
                })
            }
        }
    }

    fn host(&mut self, text: &Text) -> Option<String> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        if !text.value.is_empty() && text.value.bytes().all(is_name) {
            return Some(text.value.to_string());
        }
        let what = format!(
            "{} is no name of a host; write for example tollgate.example",
            quote(&text.value)
        );
        self.problems
            .add(Problem::new(ErrorKind::BadValue, text.place, what));
        None
    }

    fn address(&mut self, text: &str, place: file::Place) -> Option<ListenAddress> {
        let wrong = |error: super::AddressError| {
            Problem::new(ErrorKind::BadValue, place, error.to_string())
        };
        let address = self
            .problems
            .keep(text.parse::<ListenAddress>().map_err(wrong))?;
        Some(match address {
            ListenAddress::Unix { path, mode } => ListenAddress::Unix {
                path: self.folder.join(path),
                mode,
            },
            tcp @ ListenAddress::Tcp(_) => tcp,
        })
    }

    fn mode(&mut self, text: &Text, address: &mut ListenAddress) {
        match (parse_mode(&text.value), address) {
            (Ok(given), ListenAddress::Unix { mode, .. }) => *mode = given,
            (Ok(_), ListenAddress::Tcp(_)) => {
                let what = "only a Unix socket has a mode";
                self.problems
                    .add(Problem::new(ErrorKind::Conflict, text.place, what));
            }
            (Err(error), _) => {
                let what = error.to_string();
                self.problems
                    .add(Problem::new(ErrorKind::BadValue, text.place, what));
            }
        }
    }

    fn tls(&self, raw: &RawTls) -> Tls {
        let under = |text: &Text| self.folder.join(&*text.value);
        Tls {
            certificate: under(&raw.certificate),
            key: under(&raw.key),
            client_ca: raw.client_ca.as_ref().map(under),
        }
    }
}
