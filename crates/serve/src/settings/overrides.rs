//! Overrides by flags and the environment.
//!
//! Flags beat the environment, the environment beats the file, the file beats the defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use tollgate_contract::nearest;

use super::draft::{Draft, Files};
use super::{Settings, Tokens, setting};

/// Values from outside the file.
#[derive(Clone, Default)]
pub struct Overrides {
    said: BTreeMap<&'static str, Said>,
}

/// A text, and the variable or flag that gave it.
#[derive(Clone)]
struct Said {
    by: String,
    text: String,
}

impl fmt::Debug for Overrides {
    /// Keeps secrets out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.said.keys()).finish()
    }
}

/// An invalid value from outside the file, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverrideError {
    /// The variable or flag.
    pub name: String,
    pub what: String,
}

impl fmt::Display for OverrideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)
    }
}

impl std::error::Error for OverrideError {}

impl Overrides {
    /// The environment's values; `variable` looks one up.
    pub fn of_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, OverrideError> {
        let mut said = Self::default();
        for setting in setting::all().filter(|setting| !setting.variable.is_empty()) {
            // An empty variable of the cluster counts as unset, so that a template can always have it.
            let is_blank = |text: &str| text.is_empty() && setting.path.starts_with("cluster.");
            if let Some(text) = variable(setting.variable).filter(|text| !is_blank(text)) {
                said.say(setting.path, setting.variable, text)?;
            }
        }
        if said.text("tls.certificate").is_some() != said.text("tls.key").is_some()
            || (said.text("tls.client_ca").is_some() && said.text("tls.key").is_none())
        {
            return Err(OverrideError {
                name: "TOLLGATE_TLS_CERTIFICATE".to_owned(),
                what: "a certificate and its key (TOLLGATE_TLS_KEY) must be given together"
                    .to_owned(),
            });
        }
        // Our certificate goes with the authority we trust.
        for group in ["rls.xds", "upstream"] {
            if said.text(&format!("{group}.ca_file")).is_none() {
                said.forget(&format!("{group}.cert_file"));
                said.forget(&format!("{group}.key_file"));
            }
        }
        Ok(said)
    }

    /// Sets a value; `name` is the variable or flag.
    pub fn say(
        &mut self,
        path: &str,
        name: &str,
        text: impl Into<String>,
    ) -> Result<(), OverrideError> {
        let text = text.into();
        let wrong = |what: String| OverrideError {
            name: name.to_owned(),
            what,
        };
        let setting = setting::of(path).ok_or_else(|| wrong("no setting".to_owned()))?;
        setting.check(&text).map_err(wrong)?;
        let by = name.to_owned();
        self.said.insert(setting.path, Said { by, text });
        Ok(())
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.said.get(path).map(|said| said.text.as_str())
    }

    fn forget(&mut self, path: &str) {
        self.said.remove(path);
    }

    pub fn config(&self) -> Option<&Path> {
        self.text("config").map(Path::new)
    }

    /// These, and for unset values those of `below`. Settings that belong together come from one of them.
    #[must_use]
    pub fn over(self, mut below: Self) -> Self {
        for group in TOGETHER {
            let is_of = |path: &str| group.contains(&path);
            if self.said.keys().any(|path| is_of(path)) {
                below.said.retain(|path, _| !is_of(path));
            }
        }
        below.said.extend(self.said);
        below
    }

    /// Applies the overrides. A listener keeps its certificates if only its address is overridden.
    pub fn apply(self, settings: &mut Settings) -> Result<(), OverrideError> {
        let mut draft = Draft::of(std::mem::take(settings), PathBuf::new());
        let says = |group: &[&str]| group.iter().any(|path| self.said.contains_key(path));
        let [access, xds, upstream] = TOGETHER;
        if says(access) {
            draft.settings.tokens = Tokens::default();
        }
        if says(xds) {
            draft.xds = Files::default();
        }
        if says(upstream) {
            draft.upstream_files = Files::default();
        }
        for setting in setting::all() {
            if let Some(Said { by, text }) = self.said.get(setting.path) {
                let put = setting.put(&mut draft, text);
                put.map_err(|what| OverrideError {
                    name: by.clone(),
                    what,
                })?;
            }
        }
        *settings = draft.finish();
        Ok(())
    }
}

/// The variable that an unknown name was probably meant to be.
pub fn misspelt(name: &str) -> Option<&'static str> {
    let all = || setting::all().map(|setting| setting.variable);
    let is_ours = name.starts_with("TOLLGATE_") && !all().any(|known| known == name);
    is_ours.then(|| nearest(name, all())).flatten()
}

/// Settings that come together from the highest source that has one of them: callers' tokens, and certificates.
const TOGETHER: [&[&str]; 3] = [
    &["access.token", "access.token_file"],
    &["rls.xds.ca_file", "rls.xds.cert_file", "rls.xds.key_file"],
    &[
        "upstream.ca_file",
        "upstream.cert_file",
        "upstream.key_file",
    ],
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::{Listener, Tls};

    fn environment(pairs: &[(&str, &str)]) -> Result<Overrides, OverrideError> {
        Overrides::of_environment(|name| {
            let pair = pairs.iter().find(|(key, _)| *key == name);
            pair.map(|(_, value)| (*value).to_owned())
        })
    }

    fn shown(listeners: &[Listener]) -> Vec<String> {
        listeners
            .iter()
            .map(|listener| listener.at.to_string())
            .collect()
    }

    #[test]
    fn flags_beat_the_environment_and_that_beats_the_file() {
        let mut settings = Settings::served_by_default();
        settings.data_dir = Some("of-file".into());
        let below = environment(&[
            ("TOLLGATE_HTTP", "127.0.0.1:1"),
            ("TOLLGATE_RESP", "off"),
            ("TOLLGATE_DATA_DIR", "of-environment"),
            ("TOLLGATE_MEMORY", "64MiB"),
        ]);
        let mut flags = Overrides::default();
        flags.say("http", "--http", "127.0.0.1:2").unwrap();
        flags.over(below.unwrap()).apply(&mut settings).unwrap();
        assert_eq!(shown(&settings.http), ["127.0.0.1:2"]);
        assert!(settings.resp.is_empty());
        assert_eq!(settings.data_dir, Some("of-environment".into()));
        assert_eq!(settings.node.bytes_max, 64 << 20);
    }

    #[test]
    fn the_management_api_keeps_its_listeners_where_only_the_others_move() {
        let mut settings = Settings::served_by_default();
        let apart = Listener::plain("127.0.0.1:9".parse().unwrap()).for_admin();
        settings.http.push(apart);
        let moved = environment(&[
            ("TOLLGATE_HTTP", "127.0.0.1:1"),
            ("TOLLGATE_SHUTDOWN_DELAY", "0s"),
        ]);
        moved.unwrap().apply(&mut settings).unwrap();
        assert_eq!(shown(&settings.http), ["127.0.0.1:1", "127.0.0.1:9"]);
        assert_eq!(settings.limits.shutdown_delay, Duration::ZERO);
        let moved = environment(&[("TOLLGATE_ADMIN_LISTEN", "127.0.0.1:8")]);
        moved.unwrap().apply(&mut settings).unwrap();
        assert_eq!(shown(&settings.http), ["127.0.0.1:1", "127.0.0.1:8"]);
        assert!(!settings.http[0].is_admin && settings.http[1].is_admin);
        assert!(environment(&[("TOLLGATE_SHUTDOWN_DELAY", "5")]).is_err());
    }

    #[test]
    fn a_bad_variable_is_named_and_a_secret_is_not() {
        let cases = [
            ("TOLLGATE_HTTP", "nowhere", "nowhere"),
            ("TOLLGATE_THREADS", "0", "from 1"),
            ("TOLLGATE_MEMORY", "1KiB", "1MiB"),
            ("TOLLGATE_RUNTIME", "fast", "per-core, shared"),
            ("TOLLGATE_TLS_KEY", "k", "together"),
        ];
        for (name, value, said) in cases {
            let error = environment(&[(name, value)]).unwrap_err().to_string();
            assert!(
                error.starts_with("TOLLGATE_") && error.contains(said),
                "{error}"
            );
        }
        let error = environment(&[("TOLLGATE_TOKEN", "se cret")]).unwrap_err();
        assert!(!error.to_string().contains("cret"), "{error}");
    }

    #[test]
    fn certificates_of_the_file_stay_when_only_the_address_changes() {
        let tls = Tls {
            certificate: "c".into(),
            key: "k".into(),
            client_ca: None,
        };
        let mut settings = Settings::served_by_default();
        settings.secure(&tls);
        let moved = environment(&[("TOLLGATE_HTTP", "127.0.0.1:1")]).unwrap();
        moved.apply(&mut settings).unwrap();
        assert_eq!(settings.http[0].tls, Some(tls));
    }

    #[test]
    fn a_misspelt_variable_is_noticed() {
        assert_eq!(misspelt("TOLLGATE_HTPP"), Some("TOLLGATE_HTTP"));
        assert_eq!(misspelt("TOLLGATE_HTTP"), None);
        assert_eq!(misspelt("TOLLGATE_SERVICE_HOST"), None);
        assert_eq!(misspelt("HTTP"), None);
    }
}
