//! The fields of a policy: one table that the reader, the checker, the JSON schema, the console's form and the
//! reference share.
//!
//! Here are the fields that policies have in any mode; the others are in the rows of the modes (`modes`).

use std::sync::LazyLock;

use tollgate_limit::{LIMIT_MAX, SLICES_MAX};

use crate::modes::Coordination;

/// What a field may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldShape {
    /// A name.
    Name,
    /// The name of a time zone.
    Zone,
    /// A whole number between the bounds.
    Whole(u64, u64),
    /// A length of time.
    Duration,
    /// A length of time between the bounds, in nanoseconds.
    Within(u64, u64),
    /// One of the names; the first is the default.
    Choice(&'static [&'static str]),
    /// Yes or no.
    Switch,
}

/// A field of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyField {
    /// Its name in files.
    pub name: &'static str,
    /// What it may hold.
    pub shape: FieldShape,
    /// What it says.
    pub about: &'static str,
    /// What counts where it is absent, in words; empty where that is in `about`, or the first choice.
    pub absent: &'static str,
    /// The same as a value, where there is one for all policies.
    pub usual: Option<u64>,
    /// What a form calls it.
    pub label: &'static str,
    /// What a form calls its choices, in their order; their names where it is empty.
    pub words: &'static [&'static str],
    /// Algorithms, coordinations and ways to refuse of which one must be chosen for the field to mean something; empty
    /// where it always does.
    pub only: &'static [&'static str],
    /// Whether its contract can say it for all policies.
    pub of_contract: bool,
    /// Whether a policy begins anew where it changes.
    pub restarts: bool,
}

impl PolicyField {
    pub(crate) const fn new(
        name: &'static str,
        shape: FieldShape,
        about: &'static str,
        label: &'static str,
    ) -> Self {
        Self {
            name,
            shape,
            about,
            absent: "",
            usual: None,
            label,
            words: &[],
            only: &[],
            of_contract: false,
            restarts: false,
        }
    }

    /// The same, where something counts if it is absent.
    pub(crate) const fn absent(mut self, what: &'static str) -> Self {
        self.absent = what;
        self
    }

    /// The same with words for its choices.
    pub(crate) const fn words(mut self, words: &'static [&'static str]) -> Self {
        self.words = words;
        self
    }

    const fn only(mut self, only: &'static [&'static str]) -> Self {
        self.only = only;
        self
    }

    /// Every field, in the order in which they are listed to people.
    pub fn all() -> &'static [&'static Self] {
        &TABLE
    }

    /// The field of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Field::from_name(name).map(Field::row)
    }

    /// The mode that has it, where only one does.
    pub fn mode(&self) -> Option<Coordination> {
        let mut modes = Coordination::ALL.into_iter();
        modes.find(|mode| mode.row().fields.contains(self))
    }

    /// What it may hold, with what a form calls it; nothing where it is no choice.
    pub fn choices(&self) -> Vec<(&'static str, &'static str)> {
        let FieldShape::Choice(names) = self.shape else {
            return Vec::new();
        };
        let words = if self.words.is_empty() {
            names
        } else {
            self.words
        };
        names.iter().copied().zip(words.iter().copied()).collect()
    }

    /// Its value where a policy gives none, if that is the same for all policies.
    pub const fn default(&self) -> Option<u64> {
        match self.shape {
            FieldShape::Choice(_) => Some(0),
            _ => self.usual,
        }
    }
}

/// A field by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field(u8);

impl Field {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::at(TABLE.iter().position(|row| row.name == name)?)
    }

    pub(crate) fn at(place: usize) -> Option<Self> {
        let place = u8::try_from(place).ok()?;
        (usize::from(place) < TABLE.len()).then_some(Self(place))
    }

    pub(crate) const fn place(self) -> u8 {
        self.0
    }

    pub(crate) fn row(self) -> &'static PolicyField {
        TABLE[usize::from(self.0)]
    }

    /// Every name, for suggestions.
    pub(crate) fn names() -> Vec<&'static str> {
        TABLE.iter().map(|row| row.name).collect()
    }
}

/// Every field.
static TABLE: LazyLock<Vec<&'static PolicyField>> = LazyLock::new(|| {
    let modes = Coordination::ALL.into_iter();
    let of_modes = modes.flat_map(|mode| mode.row().fields);
    POLICY.iter().chain(of_modes).collect()
});

/// The names of [`tollgate_limit::Algorithm::ALL`] in their order, then the aliases.
pub(crate) const ALGORITHMS: [&str; 7] = [
    "token-bucket",
    "leaky-bucket",
    "fixed-window",
    "sliding-log",
    "sliding-counters",
    "sliding-weighted",
    "gcra",
];
const SLICES: u64 = SLICES_MAX as u64;

/// The fields that policies have in any mode.
static POLICY: [PolicyField; 18] = [
    PolicyField::new(
        "name",
        FieldShape::Name,
        "Names the policy in answers, metrics and plans.",
        "Name",
    ),
    PolicyField::new(
        "limit",
        FieldShape::Whole(1, LIMIT_MAX),
        "How many tokens in each period.",
        "Limit",
    ),
    PolicyField::new(
        "per",
        FieldShape::Duration,
        "The period. The words day, week, month and year follow the calendar for fixed-window; elsewhere they are 1, \
         7, 30 and 365 days.",
        "Period",
    ),
    PolicyField::new(
        "algorithm",
        FieldShape::Choice(&ALGORITHMS),
        "How requests are counted. gcra is another name of token-bucket.",
        "Algorithm",
    ),
    PolicyField::new(
        "burst",
        FieldShape::Whole(1, LIMIT_MAX),
        "The most tokens a bucket holds; the limit where absent. Only token-bucket and leaky-bucket.",
        "Burst",
    )
    .only(&["token-bucket", "leaky-bucket"]),
    PolicyField::new(
        "slices",
        FieldShape::Whole(1, SLICES),
        "Counters a period is cut into; 60 where absent. Only sliding-counters.",
        "Slices",
    )
    .only(&["sliding-counters"]),
    PolicyField::new(
        "offset",
        FieldShape::Duration,
        "Shift of the windows against the UNIX epoch. Only fixed-window with a fixed period.",
        "Offset",
    )
    .only(&["fixed-window"]),
    PolicyField::new(
        "time_zone",
        FieldShape::Zone,
        "IANA name of the zone whose calendar is followed; UTC where absent. Only fixed-window per day, week, month \
         or year.",
        "Time zone",
    )
    .only(&["fixed-window"]),
    PolicyField::new(
        "on_limit",
        FieldShape::Choice(&["deny", "delay"]),
        "Whether a request that finds too little is refused, or admitted and told to wait. Only token-bucket delays.",
        "Over the limit",
    )
    .only(&["token-bucket"]),
    PolicyField::new(
        "max_wait",
        FieldShape::Duration,
        "The longest wait before a request is refused after all; without bound where absent. Only with on_limit: delay.",
        "Longest wait",
    )
    .only(&["delay"]),
    PolicyField::new(
        "mode",
        FieldShape::Choice(&["enforce", "shadow"]),
        "shadow counts and reports what it would refuse, but refuses nothing.",
        "Mode",
    )
    .words(&["enforce", "shadow: count only"]),
    PolicyField::new(
        "enforce_percent",
        FieldShape::Whole(0, 100),
        "The share of keys for which the policy is enforced; the others are in shadow mode. 100 where absent.",
        "Enforced for, % of keys",
    ),
    PolicyField::new(
        "max_debt",
        FieldShape::Whole(0, LIMIT_MAX),
        "The most tokens a charge after the fact may take a key below zero; without bound where absent.",
        "Most debt",
    ),
    PolicyField::new(
        "count_refused",
        FieldShape::Switch,
        "Whether refused requests are charged too.",
        "Charge refused requests",
    ),
    PolicyField::new(
        "inherit",
        FieldShape::Choice(&["as-is", "proportional", "reset"]),
        "What becomes of spent tokens when the policy changes: the same number, the same share, or nothing.",
        "When the limit changes",
    )
    .words(&["keep what is spent", "keep the spent share", "begin anew"]),
    PolicyField::new(
        "on_failure",
        FieldShape::Choice(&["local", "allow", "deny"]),
        "The answer when whoever must be asked does not answer: what this node knows, yes, or no.",
        "When others do not answer",
    )
    .words(&["decide alone", "allow", "deny"])
    .only(Coordination::NAMES.split_at(1).1),
    PolicyField::new(
        "durable",
        FieldShape::Switch,
        "Whether counts survive a restart.",
        "Survives a restart",
    ),
    PolicyField {
        of_contract: true,
        ..PolicyField::new(
            "coordination",
            FieldShape::Choice(&Coordination::NAMES),
            "How nodes agree about the policy; the contract's where absent.",
            "Agreed by",
        )
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_limit::Algorithm;

    #[test]
    fn every_field_is_found_by_its_name() {
        for (index, row) in TABLE.iter().enumerate() {
            let found = Field::from_name(row.name);
            assert_eq!(
                found.map(Field::place),
                u8::try_from(index).ok(),
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn algorithms_have_the_names_of_the_limit_crate() {
        assert_eq!(Algorithm::ALL.map(Algorithm::name), ALGORITHMS[..6]);
    }
}
