//! A ban: denies an identity regardless of its limits, with an end and a reason.
//!
//! Not here: enforcement.

use serde::{Deserialize, Serialize};
use tollgate_contract::file::{self, Problems, Text, YamlNode, given};
use tollgate_limit::Instant;

use crate::assignment::{check_note, instant, named, parse_identity};
use crate::catalogue::Catalogue;
use crate::change::check_size;
use crate::identity::Identity;
use crate::refusal::Refusal;
use crate::{BANS_MAX, Document};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ban {
    /// Defaults to the identity and the contract.
    pub id: String,
    pub identity: Identity,
    /// Only in this contract; `None` is everywhere.
    pub contract: Option<String>,
    /// End, exclusive; `None` has none.
    pub until: Option<Instant>,
    pub reason: Option<String>,
}

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
    /// Returns the ban and its canonical document.
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
        // Strings under string keys: this cannot fail.
        Ok((ban, serde_json::to_value(&raw).unwrap_or_default()))
    }
}

impl Catalogue {
    /// Reads and checks a ban; `others` counts towards the limit. Returns the ban, and the document to store.
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

/// Refuses a policy whose name means a ban.
pub(crate) fn check_names<'a>(mut names: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    if names.any(|name| name == BAN) {
        let what = "no policy is called `ban`: that is what answers call bans; choose another name";
        return Err(Refusal::Wrong(what.to_owned()));
    }
    Ok(())
}
