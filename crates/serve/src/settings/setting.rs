//! Settings: each is a row in docs/settings.md with its place in the file, flag, variable, default, and description.
//! From these rows come the fields of the file, flags, variables, help texts, the JSON schema, and the log line.
//!
//! Not here: what each may hold (`kinds`), and what several make together (`draft`).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use tollgate_contract::ErrorKind;
use tollgate_contract::file::{Problem, Text, choice, nanos_of, quote, shown_nanos, switch, whole};

use super::draft::Draft;
use super::slot::{Items, NamedSlot, SettingSlot, Typed};
use super::{kinds, size};

/// A row of the table in docs/settings.md.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name: the fields of the file that lead to it, joined by dots.
    pub(super) path: &'static str,
    /// What it may hold, and where that goes.
    pub(super) kind: SettingKind,
    /// Its description, in Markdown.
    about: &'static str,
    /// Its variable; empty if it has none.
    pub(super) variable: &'static str,
    /// Its flag without the dashes, and its value's name; empty if it has none.
    flag: (&'static str, &'static str),
    /// Whether the file may contain it.
    pub(super) is_in_file: bool,
    /// Whether lists of settings show it.
    is_shown: bool,
}

/// In the order of the table.
static ALL: LazyLock<Vec<Setting>> = LazyLock::new(|| TABLE.lines().filter_map(row).collect());

/// In the order in which lists show them.
pub(super) fn all() -> impl Iterator<Item = &'static Setting> {
    ALL.iter()
}

pub(super) fn of(path: &str) -> Option<&'static Setting> {
    all().find(|setting| setting.path == path)
}

/// The settings with flags.
pub fn flags() -> impl Iterator<Item = &'static Setting> {
    all().filter(|setting| setting.flag_name().is_some())
}

/// A row of the table: the name (as code if it is a field of the file), flag, variable, default, and description. A row
/// in a comment is of a setting that lists do not show.
fn row(line: &'static str) -> Option<Setting> {
    let shown = line.trim_start_matches("<!-- ").trim_end_matches(" -->");
    let cells = shown.strip_prefix("| ")?.strip_suffix(" |")?;
    let mut cells = cells.splitn(5, " | ");
    let [name, flag, variable, _usual, about] = std::array::from_fn(|_| cells.next());
    let path = plain(name?);
    let flag = plain(flag?.trim_end_matches('…'));
    let flag = flag
        .strip_prefix("--")
        .and_then(|flag| flag.split_once(' '));
    Some(Setting {
        path,
        kind: kinds::kind(path)?,
        about: about?,
        variable: plain(variable?),
        flag: flag.unwrap_or_default(),
        is_in_file: path.len() < name?.len(),
        is_shown: line.len() == shown.len(),
    })
}

/// A cell without the marks of code.
fn plain(cell: &str) -> &str {
    cell.trim().trim_matches('`')
}

/// What a setting may hold, and where in a draft it goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum SettingKind {
    /// A whole number between bounds.
    Whole(u64, u64, DraftField<dyn SettingSlot<u64>>),
    /// A number of bytes between bounds.
    Size(u64, u64, DraftField<dyn SettingSlot<u64>>),
    /// A duration of at least this many nanoseconds.
    Length(u64, DraftField<dyn SettingSlot<Duration>>),
    /// One of two names, for no and for yes.
    Switch([&'static str; 2], DraftField<dyn SettingSlot<bool>>),
    /// One of some names.
    Choice(DraftField<dyn NamedSlot>),
    /// A path; in the file, relative to it.
    Path(DraftField<Option<PathBuf>>),
    /// The same, of a file that is checked if the server's file names it.
    File(fn(&Path) -> Result<(), String>, DraftField<Option<PathBuf>>),
    /// A text of a type of its own.
    Typed(DraftField<dyn Typed>),
    /// A text that a function accepts.
    Name(
        fn(&str) -> Result<String, String>,
        DraftField<Option<String>>,
    ),
    /// A text with a parser of its own, shown as it is in force.
    Text(ReadSetting, fn(&Draft) -> Option<String>),
    /// Several texts, up to a limit.
    List(usize, DraftField<dyn Items>),
    /// Several forms in the file.
    Form(Form),
}

/// The place of a value in a draft.
pub(super) type DraftField<T> = fn(&mut Draft) -> &mut T;
/// Reads a text into a draft; the error says what is wrong with it.
pub(super) type ReadSetting = fn(&mut Draft, &str) -> Result<(), String>;

/// A setting with several forms in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Listeners of HTTP and gRPC.
    Http,
    Resp,
    /// Listeners of the admin API alone.
    Admin,
    Contracts,
    /// Nodes among which rates are divided.
    Roster,
    /// Entries that are read from requests that proxies ask about.
    Entries,
}

impl Setting {
    /// Its name in the file: the fields that lead to it, joined by dots.
    pub const fn path(&self) -> &'static str {
        self.path
    }

    /// Its flag without the dashes.
    pub fn flag_name(&self) -> Option<&'static str> {
        Some(self.flag.0).filter(|flag| !flag.is_empty())
    }

    /// The name of the flag's value.
    pub const fn value_name(&self) -> &'static str {
        self.flag.1
    }

    /// Whether lists of settings show it.
    pub const fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Whether its flag may be repeated.
    pub const fn takes_many(&self) -> bool {
        matches!(
            self.kind,
            SettingKind::List(..) | SettingKind::Form(Form::Http | Form::Resp | Form::Admin)
        )
    }

    /// The permitted names; empty if it takes other values.
    pub fn names(&self) -> Vec<&'static str> {
        match self.kind {
            SettingKind::Choice(at) => at(&mut Draft::default()).names().to_vec(),
            SettingKind::Switch(names, _) => names.to_vec(),
            _ => Vec::new(),
        }
    }

    /// Its description and default.
    pub fn help(&self) -> String {
        let about = self.about.split(": [").next().unwrap_or(self.about);
        match self.usual() {
            Some(value) => format!("{about}; {value} where absent"),
            None => about.to_owned(),
        }
    }

    /// Whether a text from outside the file is valid.
    pub fn check(&self, text: &str) -> Result<(), String> {
        self.put(&mut Draft::default(), text)
    }

    /// The last part of its name.
    pub(super) fn name(&self) -> &'static str {
        self.path
            .rsplit_once('.')
            .map_or(self.path, |(_, name)| name)
    }

    /// Reads a text from outside the file.
    pub(super) fn put(&self, draft: &mut Draft, text: &str) -> Result<(), String> {
        match self.kind {
            SettingKind::Whole(least, most, at) => {
                let number = text.parse::<u64>().ok();
                let number = number.filter(|number| (least..=most).contains(number));
                let wrong = || format!("must be a whole number from {least} to {most}");
                at(draft).put(number.ok_or_else(wrong)?);
            }
            SettingKind::Size(least, most, at) => {
                at(draft).put(size::within(text, self.name(), least..=most)?);
            }
            SettingKind::Length(least, at) => at(draft).put(length(text, least)?),
            SettingKind::Switch(names, at) => at(draft).put(place(&names, text)? == 1),
            SettingKind::Choice(at) => {
                let slot = at(draft);
                slot.choose(place(slot.names(), text)?);
            }
            SettingKind::Path(at) | SettingKind::File(_, at) => {
                let path = draft.folder.join(text);
                *at(draft) = Some(path);
            }
            SettingKind::Typed(at) => at(draft).read(text)?,
            SettingKind::Name(check, at) => *at(draft) = Some(check(text)?),
            SettingKind::Text(read, _) => read(draft, text)?,
            SettingKind::List(most, at) => {
                at(draft).clear();
                let parts = text.split(',').map(str::trim);
                for (place, part) in parts.filter(|part| !part.is_empty()).enumerate() {
                    if place == most {
                        return Err(format!("at most {most} may be named"));
                    }
                    at(draft).add(part)?;
                }
            }
            SettingKind::Form(form) => draft.put_form(form, text)?,
        }
        draft.begin(self.path);
        Ok(())
    }

    /// Reads a text of the file.
    pub(super) fn put_typed(&self, draft: &mut Draft, text: &Text) -> Result<(), Problem> {
        let wrong = |what| Problem::new(ErrorKind::BadValue, text.place, what);
        match self.kind {
            SettingKind::Whole(least, most, at) => {
                at(draft).put(whole(text, self.name(), least, most)?);
            }
            SettingKind::Switch(["false", "true"], at) => at(draft).put(switch(text, self.name())?),
            SettingKind::Switch(names, at) => at(draft).put(self.choice(text, &names)? == 1),
            SettingKind::Choice(at) => {
                let slot = at(draft);
                slot.choose(self.choice(text, slot.names())?);
            }
            SettingKind::File(look, _) => {
                let path = draft.folder.join(&*text.value);
                look(&path).map_err(|what| wrong(format!("{}: {what}", path.display())))?;
                self.put(draft, &text.value).map_err(wrong)?;
            }
            SettingKind::List(_, at) => at(draft).add(&text.value).map_err(wrong)?,
            _ => self.put(draft, &text.value).map_err(wrong)?,
        }
        draft.begin(self.path);
        Ok(())
    }

    fn choice(&self, text: &Text, names: &[&str]) -> Result<usize, Problem> {
        choice(text, &format!("unknown {}", self.name()), names)
    }

    /// The value in force, as it would be typed; `None` if there is none, or several.
    pub(super) fn shown(&self, draft: &mut Draft) -> Option<String> {
        let shown = match self.kind {
            SettingKind::Whole(_, _, at) => at(draft).get().map(|number| number.to_string()),
            SettingKind::Size(_, _, at) => at(draft).get().map(size::shown),
            SettingKind::Length(_, at) => {
                let nanos = at(draft).get()?.as_nanos();
                u64::try_from(nanos).ok().map(shown_nanos)
            }
            SettingKind::Switch(names, at) => {
                let is_on = at(draft).get()?;
                Some(names[usize::from(is_on)].to_owned())
            }
            SettingKind::Choice(at) => {
                let slot = at(draft);
                Some((*slot.names().get(slot.place()?)?).to_owned())
            }
            SettingKind::Path(at) | SettingKind::File(_, at) => {
                Some(at(draft).as_ref()?.display().to_string())
            }
            SettingKind::Typed(at) => Some(at(draft).shown()),
            SettingKind::Name(_, at) => at(draft).clone(),
            SettingKind::Text(_, get) => get(draft),
            SettingKind::List(_, at) => Some(at(draft).shown()),
            SettingKind::Form(form) => draft.shown_form(form),
        };
        shown.filter(|text| !text.is_empty())
    }

    /// The same as one word of a log line, in base units.
    pub(super) fn told(&self, draft: &mut Draft) -> Option<String> {
        match self.kind {
            SettingKind::Size(_, _, at) => at(draft).get().map(|bytes| bytes.to_string()),
            SettingKind::Length(_, at) => {
                let length = at(draft).get()?;
                Some(format!("{}s", length.as_secs_f64()))
            }
            _ => self.shown(draft),
        }
    }

    /// Its default.
    pub(super) fn usual(&self) -> Option<String> {
        self.shown(&mut Draft::default())
    }
}

fn place(names: &[&str], text: &str) -> Result<usize, String> {
    let place = names.iter().position(|name| *name == text);
    place.ok_or_else(|| format!("must be one of {}", names.join(", ")))
}

/// Zero would refuse every request, so most durations have a minimum.
fn length(text: &str, least: u64) -> Result<Duration, String> {
    let nanos = nanos_of(text)?;
    if nanos < least {
        let least = shown_nanos(least);
        return Err(format!(
            "{} is too short; the least is {least}",
            quote(text)
        ));
    }
    Ok(Duration::from_nanos(nanos))
}

const TABLE: &str = include_str!("../../../../docs/settings.md");
/// Settings whose values are not logged: they are long, or secret.
pub(super) const HUSHED: [&str; 2] = ["auth.hold_max", "upstream.token"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_says_what_settings_there_are_and_what_holds_without() {
        let lines = TABLE.lines().map(|line| line.trim_start_matches("<!-- "));
        let rows = lines.filter(|line| line.starts_with("| ") && !line.starts_with("| field "));
        let rows: Vec<&str> = rows.collect();
        assert_eq!(rows.len(), all().count(), "a row is of no setting");
        for (setting, row) in all().zip(rows) {
            let cell = row.split(" | ").nth(3).map(plain);
            let usual = setting.usual().unwrap_or_default();
            assert_eq!(cell, Some(&*usual), "the default of {}", setting.path);
        }
    }

    #[test]
    fn names_variables_and_flags_mean_one_thing_each() {
        let variable = |setting: &Setting| setting.variable;
        let flag = |setting: &Setting| setting.flag.0;
        for of in [Setting::path, variable, flag] {
            let names: Vec<_> = all().map(of).filter(|name| !name.is_empty()).collect();
            let different: BTreeSet<_> = names.iter().collect();
            assert_eq!(different.len(), names.len());
        }
    }
}
