//! The server's file: from its text to valid settings, or all its errors.
//!
//! Paths in the file are relative to its folder. Not here: what a single setting may be (`kinds`), flags and the
//! environment (`overrides`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use tollgate_contract::file::{self, Few, Pairs, Place, Problem, Problems, Text, hint, quote};
use tollgate_contract::{Contracts, ErrorKind, decode};

use super::draft::Draft;
use super::forms::{RawContracts, RawListeners};
use super::roster::RawRoster;
use super::setting::{Form, Setting, SettingKind};
use super::{ContractSource, EntrySource, Listener, Settings, setting};
use crate::source::{self, SourceError};

impl Settings {
    pub fn read(path: &Path) -> Result<Self, SourceError> {
        let bytes = source::read(path)?;
        let name = path.display().to_string();
        let text = decode(&bytes).map_err(|errors| SourceError::Wrong(errors.render(&name)))?;
        Self::parse(text, path).map_err(SourceError::Wrong)
    }

    /// Settings from the text of the file at `path`; every error with its place.
    pub fn parse(text: &str, path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let typed: Typed = file::read(text).map_err(|errors| errors.render(&name))?;
        let mut check = SettingsCheck {
            folder: path.parent().unwrap_or(Path::new("")),
            path,
            problems: Problems::default(),
        };
        let settings = check.server(typed);
        if !check.problems.is_empty() {
            return Err(check.problems.into_errors(text).render(&name));
        }
        if matches!(settings.contracts, ContractSource::Within(_)) {
            Contracts::parse_within(text).map_err(|errors| errors.render(&name))?;
        }
        Ok(settings)
    }
}

/// The file's values as text.
#[derive(Default)]
struct Typed {
    /// By the names of settings.
    values: BTreeMap<&'static str, Value>,
    sections: Vec<Section>,
    unknown: Vec<Problem>,
}

enum Value {
    One(Text),
    Many(Vec<Text>),
    Named(Vec<(Text, Text)>),
    Listeners(RawListeners),
    Contracts(RawContracts),
    Roster(RawRoster),
}

/// Fields below a name.
struct Section {
    path: String,
    place: Place,
    /// Where the first of its fields is.
    first: Option<Place>,
}

impl<'de> Deserialize<'de> for Typed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut typed = Self::default();
        let within = String::new();
        let typed_in = &mut typed;
        deserializer.deserialize_map(Fields { within, typed_in })?;
        Ok(typed)
    }
}

/// Reads the fields within a section.
struct Fields<'t> {
    /// Its name followed by a dot, or empty at the top.
    within: String,
    typed_in: &'t mut Typed,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = Option<Place>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Option<Place>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut first = None;
        while let Some(name) = map.next_key::<Text>()? {
            first = first.or(Some(name.place));
            let path = format!("{}{}", self.within, name.value);
            let below = format!("{path}.");
            if let Some(setting) = setting::of(&path).filter(|setting| setting.is_in_file) {
                let value = map.next_value_seed(ValueOf(setting))?;
                self.typed_in.values.insert(setting.path, value);
            } else if in_file().any(|setting| setting.path.starts_with(&below)) {
                let typed_in = &mut *self.typed_in;
                let within = below;
                let first = map.next_value_seed(Fields { within, typed_in })?;
                let place = name.place;
                self.typed_in.sections.push(Section { path, place, first });
            } else {
                map.next_value::<IgnoredAny>()?;
                // Plans are beside contracts, whose reader reads them.
                if path != PLANS {
                    let near = hint(&name.value, &names(&self.within));
                    let what = format!("unknown field {}{near}", quote(&name.value));
                    let problem = Problem::new(ErrorKind::UnknownField, name.place, what);
                    self.typed_in.unknown.push(problem);
                }
            }
        }
        Ok(first)
    }
}

struct ValueOf(&'static Setting);

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Ok(match self.0.kind {
            SettingKind::List(..) => {
                Value::Many(Few::<Text, LIST_MAX>::deserialize(deserializer)?.0)
            }
            SettingKind::Form(Form::Http | Form::Resp | Form::Admin) => {
                Value::Listeners(Deserialize::deserialize(deserializer)?)
            }
            SettingKind::Form(Form::Contracts) => {
                Value::Contracts(Deserialize::deserialize(deserializer)?)
            }
            SettingKind::Form(Form::Roster) => {
                Value::Roster(Deserialize::deserialize(deserializer)?)
            }
            SettingKind::Form(Form::Entries) => {
                Value::Named(Pairs::<Text>::deserialize(deserializer)?.0)
            }
            _ => Value::One(Text::deserialize(deserializer)?),
        })
    }
}

impl Typed {
    /// The single text of a setting.
    fn text(&self, path: &str) -> Option<&Text> {
        match self.values.get(path) {
            Some(Value::One(text)) => Some(text),
            _ => None,
        }
    }

    fn has(&self, path: &str) -> bool {
        self.values.contains_key(path)
    }
}

/// Checks the values and collects errors.
pub(super) struct SettingsCheck<'a> {
    path: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) problems: Problems,
}

impl SettingsCheck<'_> {
    fn server(&mut self, mut typed: Typed) -> Settings {
        let settings = Settings {
            file: Some(self.path.to_owned()),
            ..Settings::served_by_default()
        };
        let mut draft = Draft::of(settings, self.folder.to_owned());
        for problem in std::mem::take(&mut typed.unknown) {
            self.problems.add(problem);
        }
        for section in &typed.sections {
            draft.begin(&section.path);
            self.is_whole(section, &typed);
        }
        self.fits(&typed);
        for setting in in_file() {
            match typed.values.remove(setting.path) {
                Some(Value::One(text)) => self.keep(setting.put_typed(&mut draft, &text)),
                Some(Value::Many(list)) => self.list(setting, &list, &mut draft),
                Some(Value::Named(pairs)) => self.entries(&pairs, &mut draft.settings),
                Some(Value::Listeners(raw)) => self.listen(setting, raw, &mut draft.settings),
                Some(Value::Contracts(RawContracts::File(name))) => {
                    // Any text names a source.
                    let _ = draft.put_form(Form::Contracts, &name);
                }
                Some(Value::Contracts(RawContracts::Here)) => {
                    draft.settings.contracts = ContractSource::Within(self.path.to_owned());
                }
                Some(Value::Roster(raw)) => {
                    let wrong = |(place, what)| Problem::new(ErrorKind::BadValue, place, what);
                    let roster = self.problems.keep(raw.check().map_err(wrong));
                    draft.cluster.value.roster = roster;
                }
                None => {}
            }
        }
        draft.finish()
    }

    /// Whether a section has its required fields.
    fn is_whole(&mut self, section: &Section, typed: &Typed) {
        let needed = REQUIRED
            .iter()
            .filter(|(path, _)| *path == section.path)
            .filter(|(path, name)| !typed.has(&format!("{path}.{name}")));
        for (_, name) in needed {
            let place = section.first.unwrap_or(section.place);
            let what = format!("the field `{name}` is missing");
            self.wrong(ErrorKind::Missing, place, what);
        }
        let is_catalogue = section.path == "catalogue";
        if is_catalogue && typed.has("catalogue.path") == typed.has("catalogue.url") {
            let what = "a catalogue has either a `path` or a `url`";
            self.wrong(ErrorKind::Conflict, section.place, what);
        }
    }

    /// Whether the values fit together.
    fn fits(&mut self, typed: &Typed) {
        if let (Some(hops), true) = (typed.text("proxies.hops"), typed.has("proxies.networks")) {
            let what = "`hops` and `networks` are two ways to say whom to trust; choose one";
            self.wrong(ErrorKind::Conflict, hops.place, what);
        }
        if let (Some(text), true) = (typed.text("catalogue.ca_file"), typed.has("catalogue.path")) {
            let what = "a file has no certificate; `ca_file` goes with `url`";
            self.wrong(ErrorKind::Conflict, text.place, what);
        }
        for section in ["store", "rls.xds"] {
            let of = |name: &str| typed.text(&format!("{section}.{name}"));
            if let (Some(text), None) | (None, Some(text)) = (of("cert_file"), of("key_file")) {
                let what = "cert_file and key_file go together";
                self.wrong(ErrorKind::Conflict, text.place, what);
            }
        }
        let url = typed.text("store.url");
        let url = url.and_then(|text| text.value.parse::<super::StoreUrl>().ok());
        if let Some(url) = url.filter(|url| !url.has_tls()) {
            for name in ["store.ca_file", "store.cert_file", "store.key_file"] {
                let Some(text) = typed.text(name) else {
                    continue;
                };
                let scheme = url.scheme();
                let what = format!("`{scheme}` speaks no TLS, so it has no use for this file");
                self.wrong(ErrorKind::Conflict, text.place, what);
            }
        }
    }

    fn list(&mut self, setting: &Setting, list: &[Text], draft: &mut Draft) {
        let SettingKind::List(most, _) = setting.kind else {
            return;
        };
        if let Some(text) = list.get(most) {
            let what = format!("more than the most allowed here, {most}");
            self.wrong(ErrorKind::TooLarge, text.place, what);
        }
        for text in list.iter().take(most) {
            self.keep(setting.put_typed(draft, text));
        }
    }

    fn listen(&mut self, setting: &Setting, raw: RawListeners, settings: &mut Settings) {
        let listeners = self.listeners(raw);
        match setting.kind {
            SettingKind::Form(Form::Http) => settings.http = listeners,
            SettingKind::Form(Form::Resp) => settings.resp = listeners,
            _ => {
                let apart = listeners.into_iter().map(Listener::for_admin);
                settings.http.extend(apart);
            }
        }
    }

    fn entries(&mut self, pairs: &[(Text, Text)], settings: &mut Settings) {
        for (name, source) in pairs {
            let read = match source.value.split_once(' ') {
                Some(("header", field)) => {
                    Ok(EntrySource::Header(field.trim().to_ascii_lowercase()))
                }
                Some(("query", field)) => Ok(EntrySource::Query(field.trim().to_owned())),
                Some(_) | None => {
                    let what = "an entry is read from `header NAME` or `query NAME`";
                    Err(Problem::new(ErrorKind::BadValue, source.place, what))
                }
            };
            let name = self.problems.keep(file::name(name, "the name of an entry"));
            if let (Some(name), Some(source)) = (name, self.problems.keep(read)) {
                settings.auth.entries.push((name, source));
            }
        }
    }

    fn keep(&mut self, result: Result<(), Problem>) {
        self.problems.keep(result);
    }

    fn wrong(&mut self, kind: ErrorKind, place: Place, what: impl Into<String>) {
        self.problems.add(Problem::new(kind, place, what));
    }
}

/// The settings that the file may contain.
pub(super) fn in_file() -> impl Iterator<Item = &'static Setting> {
    setting::all().filter(|setting| setting.is_in_file)
}

/// The fields that a section may have; the empty name is the top.
fn names(within: &str) -> Vec<&'static str> {
    let below = in_file().filter_map(|setting| setting.path.strip_prefix(within));
    let mut names: Vec<_> = below.filter_map(|path| path.split('.').next()).collect();
    names.dedup();
    names
}

/// Whether a text is a server's file rather than a contract file.
pub fn is_server_file(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Top {
        contracts: Option<RawContracts>,
    }
    let fields: BTreeSet<_> = names("").into_iter().collect();
    let fields = || {
        let fields = fields.iter().copied();
        fields.filter(|name| !CONTRACT_FIELDS.contains(name))
    };
    let Ok(keys) = file::read::<Pairs<IgnoredAny>>(text) else {
        // Invalid YAML, so it is judged by how its lines begin.
        let mut names = text
            .lines()
            .filter_map(|line| Some(line.split_once(':')?.0));
        return names.any(|name| fields().any(|field| field == name));
    };
    let names = keys.0.iter().map(|(name, _)| &*name.value);
    let is_named = file::read::<Top>(text)
        .is_ok_and(|top| matches!(top.contracts, Some(RawContracts::File(_))));
    is_named
        || names
            .filter(|name| !CONTRACT_FIELDS.contains(name))
            .any(|name| tollgate_contract::nearest(name, fields()).is_some())
}

/// Fields of contract files and of descriptor files.
const CONTRACT_FIELDS: [&str; 5] = ["contracts", PLANS, "unmatched", "domain", "descriptors"];
const PLANS: &str = "plans";
/// Sections and their required fields.
pub(super) const REQUIRED: [(&str, &str); 6] = [
    ("tls", "certificate"),
    ("tls", "key"),
    ("admin", "listen"),
    ("store", "url"),
    ("database", "url"),
    ("rls.xds", "ca_file"),
];
/// Limit on the items of any list.
const LIST_MAX: usize = 1024;
