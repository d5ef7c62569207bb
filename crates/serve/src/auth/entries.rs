//! The entries of a request that a proxy asks about.

use std::borrow::Cow;
use std::io::Write as _;
use std::net::IpAddr;

use smallvec::SmallVec;

use super::options::QuestionOptions;
use super::{AuthError, EntrySource, Fields, Inquiry, MalformedQuestion, query, uri};
use crate::settings::Settings;
use crate::value::{shorten, text};

/// Entries by name, in the order in which contracts see them.
pub(super) struct AuthEntries<'a> {
    list: List<'a>,
}

type List<'a> = SmallVec<[(&'a str, Cow<'a, str>); 8]>;

impl<'a> AuthEntries<'a> {
    pub(super) fn read<F: Fields + ?Sized>(
        inquiry: &'a Inquiry<'_, F>,
        client: Option<&'a AddressText>,
        options: &'a QuestionOptions<'_>,
        settings: &'a Settings,
    ) -> Result<Self, AuthError> {
        let reader = Reader::new(inquiry, client.map(AddressText::as_str))
            .map_err(|uri::NoPath| options.unfit(no_path(inquiry.uri)))?;
        let given = options.entries.iter();
        let mut list: List<'a> = given
            .map(|(name, value)| (&**name, Cow::Borrowed(&**value)))
            .collect();
        match &options.picked {
            None => {
                for (name, source) in &settings.auth.entries {
                    list.extend(reader.configured(source).map(|value| (&**name, value)));
                }
                for name in OWN {
                    list.extend(reader.own(name).map(|value| (name, value)));
                }
            }
            Some(picked) => {
                for name in picked.split(',').map(str::trim) {
                    let value = reader.named(name, settings)?;
                    list.extend(value.map(|value| (name, value)));
                }
            }
        }
        shorten(&mut list, settings.limits.key_bytes_max);
        Ok(Self { list })
    }

    pub(super) fn with<R>(&self, run: impl FnOnce(&[(&str, &str)]) -> R) -> R {
        let entries = self.list.iter().map(|(name, value)| (*name, &**value));
        let entries: SmallVec<[(&str, &str); 8]> = entries.collect();
        run(&entries)
    }
}

struct Reader<'a, F: ?Sized> {
    method: &'a str,
    host: &'a [u8],
    /// Path and query, if known.
    target: Option<(&'a [u8], &'a [u8])>,
    client: Option<&'a str>,
    fields: &'a F,
}

impl<'a, F: Fields + ?Sized> Reader<'a, F> {
    fn new(inquiry: &'a Inquiry<'_, F>, client: Option<&'a str>) -> Result<Self, uri::NoPath> {
        let target = match inquiry.uri {
            b"" => None,
            told => Some(uri::split(told)?),
        };
        Ok(Self {
            method: inquiry.method,
            host: inquiry.host,
            target,
            client,
            fields: inquiry.fields,
        })
    }

    /// An entry that every request has, as far as it is known.
    fn own(&self, name: &str) -> Option<Cow<'a, str>> {
        match name {
            "address" => self.client.map(Cow::Borrowed),
            "method" => Some(Cow::Borrowed(self.method)).filter(|method| !method.is_empty()),
            "host" => host(self.host),
            "path" => self.target.map(|(path, _)| uri::path(path)),
            _ => None,
        }
    }

    fn configured(&self, source: &EntrySource) -> Option<Cow<'a, str>> {
        let value = match source {
            EntrySource::Header(name) => text(self.fields.last(name)?.trim_ascii()),
            EntrySource::Query(wanted) => {
                let (_, query) = self.target?;
                let mut pairs = query::pairs(query);
                pairs.find_map(|(name, value)| (name == **wanted).then_some(value))?
            }
        };
        Some(value).filter(|value| !value.is_empty())
    }

    fn named(
        &self,
        name: &str,
        settings: &Settings,
    ) -> Result<Option<Cow<'a, str>>, MalformedQuestion> {
        let mut sources = settings.auth.entries.iter();
        match sources.find(|(known, _)| known == name) {
            Some((_, source)) => Ok(self.configured(source)),
            None if OWN.contains(&name) => Ok(self.own(name)),
            None => Err(MalformedQuestion(format!("there is no entry `{name}`"))),
        }
    }
}

fn no_path(told: &[u8]) -> String {
    let told = told.get(..SHOWN_BYTES_MAX).unwrap_or(told).escape_ascii();
    format!("`{told}` is no path")
}

/// An address as text, without allocation.
pub(super) struct AddressText {
    text: [u8; ADDRESS_BYTES_MAX],
    length: usize,
}

impl AddressText {
    pub(super) fn of(address: IpAddr) -> Self {
        let mut text = [0; ADDRESS_BYTES_MAX];
        let mut room = &mut text[..];
        // The longest address fits.
        let _ = write!(room, "{address}");
        let length = ADDRESS_BYTES_MAX - room.len();
        Self { text, length }
    }

    fn as_str(&self) -> &str {
        let text = self.text.get(..self.length).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }
}

/// A host in lower case, without port and trailing dot.
fn host(told: &[u8]) -> Option<Cow<'_, str>> {
    let told = told.trim_ascii();
    let text = match text(told) {
        Cow::Borrowed(text) => text,
        // Bytes that are not UTF-8 are not a host name; they become a key of their own.
        Cow::Owned(text) => return Some(Cow::Owned(text)),
    };
    if text.is_empty() {
        return None;
    }
    let name = match text.rsplit_once(':') {
        // A colon inside brackets does not start a port.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => text,
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Some(Cow::Owned(name.to_ascii_lowercase()));
    }
    Some(Cow::Borrowed(name))
}

const OWN: [&str; 4] = ["address", "method", "host", "path"];
/// The longest address of version 6.
const ADDRESS_BYTES_MAX: usize = 45;
/// How much of invalid input is repeated in an error.
const SHOWN_BYTES_MAX: usize = 64;
