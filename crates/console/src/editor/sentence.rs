//! A policy as a sentence with gaps, a picture of what it does, and the rest of its fields below.

use tollgate_contract::{Coordination, Design};
use tollgate_limit::{Algorithm, Period, PolicyConfig};

use super::policy::{PolicyDraft, TOGETHER};
use crate::chart::spark;
use crate::html::{Element, Html, el};
use crate::part::{field, select};

/// The form of one policy; `agreed` is the coordination where the policy says none.
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

    /// A field that is seen where what is chosen has it, or where it says something.
    fn only(&self, name: &str, field: Element) -> Element {
        let Some((_, choices)) = ONLY_FOR.iter().find(|(is, _)| *is == name) else {
            return field;
        };
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
        let said = REST
            .iter()
            .chain(&TOGETHER)
            .map(|name| (name, self.draft.get(name)))
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| el("code").with(el("bdi").text(format!("{name}: {value}"))));
        let summary = el("summary").text("More ").each(said);
        let yes_no = [("true", "yes"), ("false", "no")];
        let labelled = |label: &'static str, name: &str, options: &[(&str, &str)]| {
            self.labelled(label, name, options)
        };
        let text = |label: &'static str, name: &str| {
            self.only(name, field(label, self.name(name), self.draft.get(name)))
        };
        el("details").class("rest").with(summary).with(
            el("div")
                .class("fields")
                .with(labelled(
                    "Mode",
                    "mode",
                    &[("enforce", "enforce"), ("shadow", "shadow: count only")],
                ))
                .with(text("Enforced for, % of keys", "enforce_percent"))
                .with(text("Longest wait", "max_wait"))
                .with(text("Most debt", "max_debt"))
                .with(labelled(
                    "Charge refused requests",
                    "count_refused",
                    &yes_no,
                ))
                .with(labelled("Survives a restart", "durable", &yes_no))
                .with(labelled(
                    "When the limit changes",
                    "inherit",
                    &[
                        ("as-is", "keep what is spent"),
                        ("proportional", "keep the spent share"),
                        ("reset", "begin anew"),
                    ],
                ))
                .with(labelled(
                    "When others do not answer",
                    "on_failure",
                    &[
                        ("local", "decide alone"),
                        ("allow", "allow"),
                        ("deny", "deny"),
                    ],
                ))
                .with(text("Slices", "slices"))
                .with(text("Offset", "offset"))
                .with(text("Time zone", "time_zone"))
                .with(labelled(
                    "Design",
                    "design",
                    &Design::ALL.map(|design| (design.name(), design.name())),
                ))
                .each(CHOSEN.map(|(label, name, options)| labelled(label, name, options)))
                .each(TYPED.map(|(label, name)| text(label, name))),
        )
    }

    fn labelled(&self, label: &'static str, name: &str, options: &[(&str, &str)]) -> Element {
        let all: Vec<(&str, &str)> = [("", "not said")].iter().chain(options).copied().collect();
        let field = select(Some(label), self.name(name), self.draft.get(name), &all);
        self.only(name, field)
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

/// A field that is hidden unless one of its choices is made, or something stands in it. The script looks again when
/// others are made.
pub(super) fn only_for(field: Element, choices: &str, chosen: &[&str], is_said: bool) -> Element {
    let is_seen = is_said || choices.split(' ').any(|choice| chosen.contains(&choice));
    field.attr("data-for", choices).flag("hidden", !is_seen)
}

/// Fields that not every algorithm, coordination and way to refuse has, with those that do.
const ONLY_FOR: [(&str, &str); 22] = [
    ("burst", "token-bucket leaky-bucket"),
    ("slices", "sliding-counters"),
    ("offset", "fixed-window"),
    ("time_zone", "fixed-window"),
    ("on_limit", "token-bucket"),
    ("max_wait", "delay"),
    ("on_failure", "owner store lease gossip supply split sync"),
    ("design", GOSSIP),
    ("interval", "sync"),
    ("debts", "sync"),
    ("term", "lease"),
    ("timeout", "lease"),
    ("recovery", "lease"),
    ("share", "lease"),
    ("min_depth", "lease"),
    ("min_uses", "lease"),
    ("pool_rate", "lease"),
    ("pool_depth", "lease"),
    ("max_lessees", "lease"),
    ("spill", "lease"),
    ("drift_ppm", "lease"),
    ("safe_capacity", "lease"),
];
/// The coordination that has designs.
pub(super) const GOSSIP: &str = "gossip";

/// The fields below the sentence.
const REST: [&str; 12] = [
    "mode",
    "enforce_percent",
    "max_wait",
    "max_debt",
    "count_refused",
    "durable",
    "inherit",
    "on_failure",
    "slices",
    "offset",
    "time_zone",
    "design",
];

/// Fields about how nodes count together that are chosen.
const CHOSEN: [Chosen; 3] = [
    (
        "When a node begins to lend",
        "recovery",
        &[
            ("restate", "by what clients hold"),
            ("fresh", "with a full burst"),
            ("ledger", "by what a store keeps"),
        ],
    ),
    (
        "Where there is not enough",
        "share",
        &[
            ("request", "by what is asked for"),
            ("client", "every client alike"),
        ],
    ),
    (
        "Debts",
        "debts",
        &[("keep", "paid back"), ("forget", "forgotten")],
    ),
];

/// A label, a field and what it can be.
type Chosen = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Those that are typed.
const TYPED: [(&str, &str); 11] = [
    ("Interval", "interval"),
    ("Term", "term"),
    ("Timeout", "timeout"),
    ("Least burst of a lease", "min_depth"),
    ("Least uses in a term", "min_uses"),
    ("Never lent, % of the rate", "pool_rate"),
    ("Never lent, % of the burst", "pool_depth"),
    ("Most clients with a lease", "max_lessees"),
    ("A client's bucket is full one time in", "spill"),
    ("Clocks may be off, ppm", "drift_ppm"),
    ("Each client alone, per second", "safe_capacity"),
];

const ALGORITHMS: [(&str, &str); 6] = [
    ("token-bucket", "token bucket"),
    ("leaky-bucket", "leaky bucket"),
    ("fixed-window", "fixed window"),
    ("sliding-log", "sliding log"),
    ("sliding-counters", "sliding counters"),
    ("sliding-weighted", "sliding weighted"),
];

pub(super) fn coordinations() -> [(&'static str, &'static str); 8] {
    Coordination::ALL.map(|coordination| {
        let words = match coordination {
            Coordination::Local => "each node alone",
            Coordination::Owner => "the key's owner",
            Coordination::Store => "a shared store",
            Coordination::Lease => "leases",
            Coordination::Gossip => "gossip",
            Coordination::Supply => "supply",
            Coordination::Split => "split buckets",
            Coordination::Sync => "synchronised now and then",
        };
        (coordination.name(), words)
    })
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
