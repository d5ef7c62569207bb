//! An assignment: an identity's plan or overrides, and when they are in force.
//!
//! Not here: whether plans and contracts allow it (`deal`), nor which of several applies (`ruling`).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tollgate_contract::file::{
    self, Place, Problem, Problems, RawPolicies, Text, YamlNode, given, quote,
};
use tollgate_contract::{ContractErrors, Deal, ErrorKind};
use tollgate_limit::Instant;

use crate::deal::AssignmentShape;
use crate::identity::Identity;
use crate::{Document, REASON_BYTES_MAX};

#[derive(Clone, Debug)]
pub struct Assignment {
    /// Defaults to the identity and the contract.
    pub id: String,
    pub identity: Identity,
    /// Only in this contract; `None` is every contract that follows a plan and counts by the entry.
    pub contract: Option<String>,
    /// Start; `None` has none.
    pub from: Option<Instant>,
    /// End, exclusive; `None` has none.
    pub until: Option<Instant>,
    pub(crate) deal: Deal,
    /// What applies after `until`; `None` is the plain contract.
    pub(crate) then: Option<Deal>,
    overrides: Option<String>,
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
    plan: Option<Text>,
    #[serde(default, skip_serializing_if = "RawPolicies::is_empty")]
    overrides: RawPolicies,
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    from: Option<Text>,
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
    then: Option<Text>,
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    note: Option<Text>,
}

impl Assignment {
    /// For stored assignments, which were checked before and are canonical.
    pub fn read(text: &str) -> Result<Self, ContractErrors> {
        let mut problems = Problems::default();
        let parsed = Self::parse(text, &mut problems)?;
        match parsed {
            Some((assignment, _)) if problems.is_empty() => Ok(assignment),
            _ => Err(problems.into_errors(text)),
        }
    }

    /// Reads an assignment in canonical form; errors that need no other document go to `problems`.
    pub(crate) fn parse(
        text: &str,
        problems: &mut Problems,
    ) -> Result<Option<(Self, Document)>, ContractErrors> {
        let YamlNode {
            value: mut raw,
            place,
        } = file::read::<YamlNode<Raw>>(text)?;
        raw.check_words(place, problems);
        let (from, until) = (
            instant(&mut raw.from, problems),
            instant(&mut raw.until, problems),
        );
        raw.check_times(from, until, problems);
        let Some(identity) = parse_identity(&mut raw.identity, problems) else {
            return Ok(None);
        };
        let id = raw.id.take();
        let id = id.unwrap_or_else(|| named(&identity, raw.contract.as_ref(), raw.identity.place));
        problems.keep(file::name(&id, "the id"));
        let deal = Deal::new(raw.plan.clone(), &raw.overrides, place, problems);
        let then = raw.then.clone();
        let then = then.map(|plan| Deal::new(Some(plan), &RawPolicies::default(), place, problems));
        let contract = raw.contract.as_ref().map(|text| text.value.to_string());
        let name = id.value.to_string();
        raw.id = Some(id);
        // Strings, numbers and booleans under string keys: this cannot fail.
        let document = serde_json::to_value(&raw).unwrap_or_default();
        let assignment = Self {
            id: name,
            identity,
            contract,
            from,
            until,
            deal,
            then,
            overrides: document.get("overrides").map(Document::to_string),
        };
        Ok(Some((assignment, document)))
    }

    /// What applies at `now`, if anything.
    pub(crate) fn live_at(&self, now: Instant) -> Option<&Deal> {
        if self.from.is_some_and(|from| now < from) {
            None
        } else if self.until.is_some_and(|until| now >= until) {
            self.then.as_ref()
        } else {
            Some(&self.deal)
        }
    }

    /// The first instant after `now` at which something else may apply.
    pub(crate) fn changes_after(&self, now: Instant) -> Option<Instant> {
        let times = [self.from, self.until];
        times.into_iter().flatten().filter(|time| *time > now).min()
    }

    /// Whether both apply at some time to the same contract, so that neither would win.
    pub fn overlaps(&self, other: &Self) -> bool {
        let ends = |is: &Self| match is.then {
            Some(_) => None,
            None => is.until,
        };
        let before = |end: Option<Instant>, from: Option<Instant>| {
            end.is_some_and(|end| from.is_some_and(|from| end <= from))
        };
        self.identity == other.identity
            && self.contract == other.contract
            && !before(ends(self), other.from)
            && !before(ends(other), self.from)
    }

    /// The shapes that contracts and plans must allow: while it is in force, and afterwards.
    pub fn shapes(&self) -> (AssignmentShape, Option<AssignmentShape>) {
        let shape = |deal: &Deal, overrides: Option<String>| AssignmentShape {
            plan: deal.plan().map(|text| text.value.to_string()),
            entry: self.identity.entry().to_owned(),
            contract: self.contract.clone(),
            overrides,
        };
        let then = self.then.as_ref().map(|deal| shape(deal, None));
        (shape(&self.deal, self.overrides.clone()), then)
    }
}

impl Raw {
    fn check_words(&self, place: Place, problems: &mut Problems) {
        if self.plan.is_none() && self.overrides.is_empty() {
            let what = "an assignment needs a `plan`, or `overrides`";
            problems.add(Problem::new(ErrorKind::Missing, place, what));
        }
        check_note(self.note.as_ref(), "the note", problems);
    }

    fn check_times(&self, from: Option<Instant>, until: Option<Instant>, problems: &mut Problems) {
        if let Some(text) = &self.until
            && let Some((from, until)) = from.zip(until)
            && until <= from
        {
            let what = "`until` must be after `from`";
            problems.add(Problem::new(ErrorKind::Conflict, text.place, what));
        }
        if let Some(text) = &self.then
            && self.until.is_none()
        {
            let what = "`then` is the plan after `until`, which is not given";
            problems.add(Problem::new(ErrorKind::Conflict, text.place, what));
        }
    }
}

/// In canonical form.
pub(crate) fn parse_identity(text: &mut Text, problems: &mut Problems) -> Option<Identity> {
    problems.keep(file::name(text, "the identity"))?;
    let wrong = |what| Problem::new(ErrorKind::BadValue, text.place, what);
    let identity = problems.keep(Identity::parse(&text.value).map_err(wrong))?;
    text.value = identity.to_string().into();
    Some(identity)
}

/// The default id of an object about an identity.
pub(crate) fn named(identity: &Identity, contract: Option<&Text>, place: Place) -> Text {
    Text {
        value: match contract {
            None => identity.to_string().into(),
            Some(contract) => format!("{identity}@{}", contract.value).into(),
        },
        place,
        plain: false,
    }
}

/// Checks a free text.
pub(crate) fn check_note(note: Option<&Text>, what: &str, problems: &mut Problems) {
    let Some(note) = note else {
        return;
    };
    if note.value.len() > REASON_BYTES_MAX {
        let what = format!("{what} has more than {REASON_BYTES_MAX} bytes");
        problems.add(Problem::new(ErrorKind::TooLarge, note.place, what));
    }
    let is_bad = |letter: char| letter.is_control() && letter != '\n';
    if note.value.chars().any(is_bad) {
        let what = format!("{what} has a control character");
        problems.add(Problem::new(ErrorKind::BadValue, note.place, what));
    }
}

/// In canonical form.
pub(crate) fn instant(text: &mut Option<Text>, problems: &mut Problems) -> Option<Instant> {
    let text = text.as_mut()?;
    let nanos = text.value.parse::<Timestamp>().ok().and_then(|time| {
        let nanos = u64::try_from(time.as_nanosecond()).ok()?;
        text.value = time.to_string().into();
        Some(nanos)
    });
    if nanos.is_none() {
        let what = format!(
            "{} is no time since 1970; write one as `2026-12-31T23:00:00Z`",
            quote(&text.value)
        );
        problems.add(Problem::new(ErrorKind::BadValue, text.place, what));
    }
    nanos.map(Instant::from_nanos)
}
