//! Requests over time: allowed, delayed and denied on top of each other, and the limit as a line.

use super::axis::{Axis, area, columns, coordinate, line};
use super::bar::Meaning;
use super::frame::{ChartTable, Framed, framed};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passed at once.
    pub allowed: u64,
    /// Passed after a wait.
    pub delayed: u64,
    pub denied: u64,
}

impl Tally {
    pub const fn all(self) -> u64 {
        self.allowed
            .saturating_add(self.delayed)
            .saturating_add(self.denied)
    }

    /// The share that was refused, in words.
    pub fn denied_share(self) -> String {
        number::share(self.denied, self.all())
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    pub from: Moment,
    pub step_ms: u64,
    /// The steps, at most a few hundred.
    pub points: Vec<Tally>,
    /// Requests per second; `None` where no single number describes the limits.
    pub limit: Option<f64>,
}

impl Traffic {
    pub fn total(&self) -> Tally {
        self.points
            .iter()
            .fold(Tally::default(), |sum, point| Tally {
                allowed: sum.allowed.saturating_add(point.allowed),
                delayed: sum.delayed.saturating_add(point.delayed),
                denied: sum.denied.saturating_add(point.denied),
            })
    }

    /// How long all of it is, as it follows on "the last".
    pub fn length(&self) -> String {
        match self.step_ms.saturating_mul(self.points.len() as u64) {
            60_000 => "minute".to_owned(),
            3_600_000 => "hour".to_owned(),
            86_400_000 => "day".to_owned(),
            millis => number::span(millis),
        }
    }

    /// How much was denied, and in how long.
    pub fn fact(&self) -> String {
        format!(
            "Denied {} in the last {}",
            self.total().denied_share(),
            self.length()
        )
    }

    /// Requests of a step as they are drawn: per second, or the plain count for long steps.
    fn drawn(&self, count: u64) -> f64 {
        match self.long() {
            Some(_) => number::float(count),
            None => number::float(count) * 1000.0 / number::float(self.step_ms.max(1)),
        }
    }

    /// The name of a step that is too long for a rate per second; `None` for short steps.
    const fn long(&self) -> Option<&'static str> {
        match self.step_ms {
            HOUR_MS => Some("hour"),
            DAY_MS => Some("day"),
            _ => None,
        }
    }
}

pub fn traffic(title: &str, traffic: &Traffic) -> Html {
    let most = traffic
        .points
        .iter()
        .map(|point| point.all())
        .max()
        .unwrap_or(0);
    if most == 0 {
        return el("figure")
            .class("chart")
            .with(el("figcaption").with(el("h3").text("No requests yet")))
            .with(
                el("p")
                    .class("empty")
                    .text("As soon as requests are decided, they are drawn here. Try one: ")
                    .with(el("code").text("tollgate check user=42")),
            )
            .into();
    }
    let limit = traffic.limit.unwrap_or(0.0);
    // Columns have a width, points have none.
    let steps = traffic.points.len() + usize::from(traffic.long().is_some());
    let most = traffic.drawn(most).max(limit);
    let axis = Axis::new(traffic.from, traffic.step_ms, steps, most);
    let note = match (traffic.long(), traffic.limit) {
        (Some(step), _) => format!("Requests per {step}."),
        (None, Some(_)) => "Requests per second; the dashed line is the limit.".to_owned(),
        (None, None) => "Requests per second.".to_owned(),
    };
    let shown = |count| match traffic.long() {
        Some(_) => number::whole(count),
        None => number::rate(traffic.drawn(count)),
    };
    framed(Framed {
        title,
        note: &note,
        axis,
        unit: number::short,
        drawn: layers(&axis, traffic),
        legend: legend(traffic.total()).into(),
        table: ChartTable {
            columns: &["Allowed", "Delayed", "Denied"],
            rows: traffic
                .points
                .iter()
                .map(|p| [p.allowed, p.delayed, p.denied].map(shown).to_vec())
                .collect(),
        },
    })
}

pub(super) fn layers(axis: &Axis, traffic: &Traffic) -> Html {
    let sums = |upto: fn(&Tally) -> u64| -> Vec<f64> {
        traffic
            .points
            .iter()
            .map(|point| traffic.drawn(upto(point)))
            .collect()
    };
    let zero = vec![0.0; traffic.points.len()];
    let allowed = sums(|p| p.allowed);
    let passed = sums(|p| p.allowed.saturating_add(p.delayed));
    let all = sums(|p| p.all());
    let shape = match traffic.long() {
        Some(_) => columns,
        None => area,
    };
    let layer = |class: &'static str, upper: &[f64], lower: &[f64]| {
        el("path").class(class).attr("d", shape(axis, upper, lower))
    };
    let denied = shape(axis, &all, &passed);
    let edge = traffic.long().is_none().then(|| {
        let drawn = line(axis, &allowed);
        el("path").class("edge").attr("d", drawn)
    });
    let limit = traffic.limit.map(|limit| {
        let y = coordinate(axis.y(limit));
        el("line")
            .class("limit")
            .attr("x2", 1000)
            .attr("y1", &y)
            .attr("y2", &y)
    });
    Html::join([
        Html::from(layer("allowed", &allowed, &zero)),
        layer("delayed", &passed, &allowed).into(),
        el("path").class("denied").attr("d", &denied).into(),
        el("path")
            .attr("fill", "url(#hatch)")
            .attr("d", denied)
            .into(),
        edge.into(),
        limit.into(),
    ])
}

/// What each colour means, with how many there were.
pub fn legend(total: Tally) -> Element {
    let item = |meaning: Meaning, count: u64| {
        el("li")
            .with(sign(meaning))
            .with(" ")
            .with(meaning.class())
            .with(" ")
            .with(el("b").text(number::short(number::float(count))))
    };
    el("ul")
        .class("legend")
        .with(item(Meaning::Allowed, total.allowed))
        .with(item(Meaning::Delayed, total.delayed))
        .with(item(Meaning::Denied, total.denied))
}

pub(crate) fn signs() -> Element {
    let all = [Meaning::Allowed, Meaning::Delayed, Meaning::Denied];
    el("ul")
        .class("legend")
        .each(all.map(|meaning| el("li").with(sign(meaning)).with(" ").with(meaning.class())))
}

/// A disc, a diamond, a square. The shape repeats what the colour says.
pub(crate) fn sign(meaning: Meaning) -> Element {
    let shape = match meaning {
        Meaning::Allowed | Meaning::Plain | Meaning::Accent => {
            el("circle").attr("cx", 5).attr("cy", 5).attr("r", 4)
        }
        Meaning::Delayed => el("path").attr("d", "M5 0L10 5L5 10L0 5Z"),
        Meaning::Denied => el("path").attr("d", "M1 1H9V9H1Z"),
    };
    el("svg")
        .class("mark")
        .attr("width", 10)
        .attr("height", 10)
        .attr("aria-hidden", "true")
        .with(shape.class(meaning.class()))
}

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_the_fact_and_what_to_do_without_any() {
        let point = Tally {
            allowed: 959,
            delayed: 0,
            denied: 41,
        };
        let some = Traffic {
            step_ms: 60_000,
            points: vec![point; 60],
            ..Traffic::default()
        };
        assert_eq!(
            some.fact().replace('\u{202f}', " "),
            "Denied 4.1 % in the last hour"
        );
        let none = traffic("", &Traffic::default()).into_string();
        assert!(none.contains("tollgate check"), "{none}");
    }

    #[test]
    fn days_are_columns_of_as_many_as_there_were() {
        let point = Tally {
            allowed: 12_345,
            ..Tally::default()
        };
        let days = Traffic {
            step_ms: DAY_MS,
            points: vec![point; 2],
            ..Traffic::default()
        };
        let drawn = traffic("", &days).into_string();
        assert!(drawn.contains("Requests per day.") && drawn.contains("12\u{202f}345"));
        assert!(!drawn.contains("class=\"edge\""), "{drawn}");
    }

    #[test]
    fn counts_beyond_all_bounds_are_drawn() {
        let most = Tally {
            allowed: u64::MAX,
            delayed: u64::MAX,
            denied: u64::MAX,
        };
        let view = Traffic {
            step_ms: 0,
            points: vec![most; 3],
            from: Moment(i64::MAX),
            limit: Some(f64::INFINITY),
        };
        assert!(!traffic("much", &view).is_empty());
    }
}
