//! A policy as a sentence with gaps, a picture of what it does, and the rest of its fields below.

use tollgate_contract::{Coordination, FieldShape, PolicyField};
use tollgate_limit::{Algorithm, Period, PolicyConfig};

use super::policy::PolicyDraft;
use crate::chart::spark;
use crate::html::{Element, Html, el};
use crate::part::{field, select};

/// `agreed` is the coordination where the policy sets none.
pub(super) fn policy(draft: &PolicyDraft, number: usize, agreed: &str) -> Element {
    let gaps = Gaps {
        draft,
        number,
        agreed,
    };
    let title = match draft.get("name") {
        "" => format!("Policy {}", number + 1),
        name => name.to_owned(),
    };
    let picture = draft.config().map(|config| {
        el("div").class("picture").with(spark(&config)).with(
            el("span")
                .class("note")
                .text("a burst, then half over the limit"),
        )
    });
    el("fieldset")
        .class("policy")
        .with(el("legend").with(el("bdi").text(title)))
        .with(
            el("div")
                .class("spoken")
                .with(gaps.sentence())
                .with(picture),
        )
        .with(gaps.rest())
        .with(
            el("button")
                .class("quiet")
                .attr("name", "do")
                .attr("value", format!("remove-policy-{number}"))
                .attr("formnovalidate", "")
                .text("Remove"),
        )
}

struct Gaps<'a> {
    draft: &'a PolicyDraft,
    number: usize,
    agreed: &'a str,
}

impl Gaps<'_> {
    fn sentence(&self) -> Element {
        el("p")
            .class("sentence")
            .with(self.gap("name", "Name", 10, "name"))
            .with(": allow ")
            .with(
                self.gap("limit", "Limit", 8, "20")
                    .attr("inputmode", "numeric"),
            )
            .with(" requests per ")
            .with(self.gap("per", "Period", 6, "1s"))
            .with(
                self.only(
                    "burst",
                    el("span").text(" with a burst of ").with(
                        self.gap("burst", "Burst", 8, "the limit")
                            .attr("inputmode", "numeric"),
                    ),
                ),
            )
            .with(", counted by ")
            .with(self.choice("algorithm", "token bucket (default)", &ALGORITHMS))
            .with(", agreed by ")
            .with(self.choice("coordination", "the contract’s choice", &coordinations()))
            .with(self.only(
                "on_limit",
                el("span").text("; over the limit ").with(self.choice(
                    "on_limit",
                    "deny (default)",
                    &[("deny", "deny"), ("delay", "delay")],
                )),
            ))
            .with(".")
    }

    /// A field that is shown if the chosen algorithm has it, or if it is set.
    fn only(&self, name: &str, field: Element) -> Element {
        let Some(row) = PolicyField::named(name) else {
            return field;
        };
        let mode = row.mode().map(|mode| [mode.name()]);
        let choices = mode.as_ref().map_or(row.only, |mode| mode);
        if choices.is_empty() {
            return field;
        }
        let chosen = |name: &str, usual| match self.draft.get(name) {
            "" => usual,
            said => said,
        };
        let algorithm = chosen("algorithm", "token-bucket");
        let chosen = [
            if algorithm == "gcra" {
                "token-bucket"
            } else {
                algorithm
            },
            chosen("coordination", self.agreed),
            chosen("on_limit", "deny"),
        ];
        let is_said = !self.draft.get(name).is_empty();
        only_for(field, choices, &chosen, is_said)
    }

    fn rest(&self) -> Element {
        let rest = || {
            let all = PolicyField::all().iter();
            all.filter(|field| !SPOKEN.contains(&field.name))
        };
        let said = rest()
            .map(|field| (field.name, self.draft.get(field.name)))
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| el("code").with(el("bdi").text(format!("{name}: {value}"))));
        let summary = el("summary").text("More ").each(said);
        el("details")
            .class("rest")
            .with(summary)
            .with(
                el("div")
                    .class("fields")
                    .each(rest().map(|row| match row.shape {
                        FieldShape::Choice(_) => self.labelled(row, &row.choices()),
                        FieldShape::Switch => {
                            self.labelled(row, &[("true", "yes"), ("false", "no")])
                        }
                        _ => {
                            let typed = self.draft.get(row.name);
                            self.only(row.name, field(row.label, self.name(row.name), typed))
                        }
                    })),
            )
    }

    fn labelled(&self, row: &PolicyField, options: &[(&str, &str)]) -> Element {
        let all: Vec<(&str, &str)> = [("", "not said")].iter().chain(options).copied().collect();
        let (name, typed) = (self.name(row.name), self.draft.get(row.name));
        self.only(row.name, select(Some(row.label), name, typed, &all))
    }

    fn gap(&self, name: &str, label: &'static str, size: u8, hint: &'static str) -> Element {
        el("input")
            .attr("name", self.name(name))
            .attr("value", self.draft.get(name))
            .attr("aria-label", label)
            .attr("size", size)
            .attr("placeholder", hint)
            .attr("autocomplete", "off")
            .attr("spellcheck", "false")
    }

    fn choice(&self, name: &str, nothing: &str, options: &[(&str, &str)]) -> Element {
        let all: Vec<(&str, &str)> = [("", nothing)].iter().chain(options).copied().collect();
        select(None, self.name(name), self.draft.get(name), &all)
    }

    fn name(&self, name: &str) -> String {
        format!("policy.{}.{name}", self.number)
    }
}

/// A field that is hidden unless one of its choices is selected or the field is set. The script
/// updates this when the selection changes.
pub(super) fn only_for(
    field: Element,
    choices: &[&str],
    chosen: &[&str],
    is_said: bool,
) -> Element {
    let is_seen = is_said || choices.iter().any(|choice| chosen.contains(choice));
    let field = field.attr("data-for", choices.join(" "));
    field.flag("hidden", !is_seen)
}

/// The fields of the sentence; the others follow below it.
const SPOKEN: [&str; 7] = [
    "name",
    "limit",
    "per",
    "burst",
    "algorithm",
    "coordination",
    "on_limit",
];

const ALGORITHMS: [(&str, &str); 6] = [
    ("token-bucket", "token bucket"),
    ("leaky-bucket", "leaky bucket"),
    ("fixed-window", "fixed window"),
    ("sliding-log", "sliding log"),
    ("sliding-counters", "sliding counters"),
    ("sliding-weighted", "sliding weighted"),
];

pub(super) fn coordinations() -> [(&'static str, &'static str); Coordination::ALL.len()] {
    Coordination::ALL.map(|mode| (mode.name(), mode.row().label))
}

/// All algorithms side by side, each with a line and a picture of the same requests.
pub(super) fn algorithms() -> Element {
    let card = |algorithm: Algorithm| {
        let about = match algorithm {
            Algorithm::TokenBucket => {
                "Saves up unused tokens for a burst, then passes at the rate."
            }
            Algorithm::LeakyBucket => "Lines requests up and lets them out at an even pace.",
            Algorithm::FixedWindow => {
                "Counts from zero in each window; at its edge twice the limit may pass."
            }
            Algorithm::SlidingLog => {
                "Remembers each request for a whole period: exact, and the largest."
            }
            Algorithm::SlidingCounters => "Nearly the log, in slices: exact to the width of one.",
            Algorithm::SlidingWeighted => {
                "Two windows, the older one fading: small, and a good guess."
            }
        };
        let shown = ALGORITHMS
            .iter()
            .find(|(name, _)| *name == algorithm.name())
            .map_or("", |(_, words)| words);
        el("li")
            .with(spark(&PolicyConfig::new(algorithm, 1000, Period::MINUTE)))
            .with(el("b").text(shown))
            .with(el("span").class("note").text(about))
    };
    el("details").class("algorithms")
        .with(el("summary").text("How the algorithms differ"))
        .with(el("p").class("note").text("The same requests for each, for three periods: half the limit, a burst, then half over the limit."))
        .with(el("ul").each(Algorithm::ALL.map(card)))
        .with(Html::from(crate::chart::signs()))
}
