//! A ban: whoever is denied whatever is left of his limits, until when, and why.
//!
//! Not here: denying.

use serde::{Deserialize, Serialize};
use tollgate_contract::file::{self, Problems, Text, YamlNode, given};
use tollgate_limit::Instant;

use crate::assignment::{check_note, instant, named, parse_identity};
use crate::catalogue::Catalogue;
use crate::change::check_size;
use crate::identity::Identity;
use crate::refusal::Refusal;
use crate::{BANS_MAX, Document};

/// Denies an identity, or a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ban {
    /// Names the ban; its identity and contract where nothing else was said.
    pub id: String,
    /// Who.
    pub identity: Identity,
    /// In which contract alone; `None` is everywhere.
    pub contract: Option<String>,
    /// The first instant at which it does not hold any more; `None` is never.
    pub until: Option<Instant>,
    /// Why.
    pub reason: Option<String>,
}

/// A ban as typed.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default, deserialize_with = "given")]
    id: Option<Text>,
    identity: Text,
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    contract: Option<Text>,
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    until: Option<Text>,
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    reason: Option<Text>,
}

impl Ban {
    /// Reads a ban and brings it into its one form.
    pub fn read(text: &str) -> Result<(Self, Document), Refusal> {
        check_size(text)?;
        let mut problems = Problems::default();
        let YamlNode { value: mut raw, .. } =
            file::read::<YamlNode<Raw>>(text).map_err(Refusal::Invalid)?;
        let until = instant(&mut raw.until, &mut problems);
        check_note(raw.reason.as_ref(), "the reason", &mut problems);
        let identity = parse_identity(&mut raw.identity, &mut problems);
        let identity = identity.filter(|_| problems.is_empty());
        let Some(identity) = identity else {
            return Err(Refusal::Invalid(problems.into_errors(text)));
        };
        let id = raw.id.take();
        let id = id.unwrap_or_else(|| named(&identity, raw.contract.as_ref(), raw.identity.place));
        problems.keep(file::name(&id, "the id"));
        if !problems.is_empty() {
            return Err(Refusal::Invalid(problems.into_errors(text)));
        }
        let ban = Self {
            id: id.value.to_string(),
            identity,
            contract: raw.contract.as_ref().map(|text| text.value.to_string()),
            until,
            reason: raw.reason.as_ref().map(|text| text.value.to_string()),
        };
        raw.id = Some(id);
        // Text under names that are text: this cannot fail.
        Ok((ban, serde_json::to_value(&raw).unwrap_or_default()))
    }
}

impl Catalogue {
    /// Reads a ban and checks it, where there are so many others: the ban, and the document to keep.
    pub fn ban(&self, text: &str, others: u64) -> Result<(Ban, Document), Refusal> {
        let (ban, document) = Ban::read(text)?;
        if let Some(contract) = ban.contract.as_deref().filter(|id| !self.has_contract(id)) {
            let mut problems = Problems::default();
            problems.add(self.unknown_contract(contract, file::Place::default()));
            return Err(Refusal::Invalid(problems.into_errors(text)));
        }
        if others >= BANS_MAX {
            let what = format!("there are at most {BANS_MAX} bans; remove those that are over");
            return Err(Refusal::Wrong(what));
        }
        Ok((ban, document))
    }
}

/// The name under which bans deny: no policy of a catalogue has it.
pub const BAN: &str = "ban";

/// Refuses a policy that would be taken for a ban.
pub(crate) fn check_names<'a>(mut names: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    if names.any(|name| name == BAN) {
        let what = "no policy is called `ban`: that is what answers call bans; choose another name";
        return Err(Refusal::Wrong(what.to_owned()));
    }
    Ok(())
}
