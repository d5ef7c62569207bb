//! What a change would have done to past traffic: before and after on the same axes.

use super::axis::Axis;
use super::frame::{ChartTable, Framed, framed};
use super::traffic::{Traffic, layers, legend};
use crate::html::{Html, el};
use crate::number;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    pub before: Traffic,
    pub after: Traffic,
    /// In words: `the last 15 minutes`.
    pub source: String,
}

impl Tried {
    /// How many more or fewer would be denied.
    pub fn fact(&self) -> String {
        let (before, after) = (self.before.total(), self.after.total());
        let apart = after.denied.abs_diff(before.denied);
        if apart == 0 {
            return format!(
                "This change would deny exactly as many requests ({})",
                number::whole(after.denied)
            );
        }
        let more = if after.denied > before.denied {
            "more"
        } else {
            "fewer"
        };
        format!(
            "This change would deny {} requests {more}: {} instead of {}",
            number::whole(apart),
            after.denied_share(),
            before.denied_share()
        )
    }
}

pub fn preview(tried: &Tried) -> Html {
    let rate = |traffic: &Traffic| {
        let most = traffic.points.iter().map(|p| p.all()).max().unwrap_or(0);
        number::float(most) * 1000.0 / number::float(traffic.step_ms.max(1))
    };
    let most = rate(&tried.before).max(rate(&tried.after));
    let one = |name: &str, traffic: &Traffic| {
        let axis = Axis::new(traffic.from, traffic.step_ms, traffic.points.len(), most);
        framed(Framed {
            title: &format!("{name}: denied {}", traffic.total().denied_share()),
            note: "Requests per second.",
            axis,
            unit: number::short,
            drawn: layers(&axis, traffic),
            legend: legend(traffic.total()).into(),
            table: ChartTable {
                columns: &["Allowed", "Delayed", "Denied"],
                rows: traffic
                    .points
                    .iter()
                    .map(|p| [p.allowed, p.delayed, p.denied].map(number::whole).to_vec())
                    .collect(),
            },
        })
    };
    el("section")
        .class("preview panel")
        .attr("aria-label", "Preview")
        .with(el("h2").text(tried.fact()))
        .with(
            el("p")
                .class("note")
                .text("Tried on ")
                .text(&tried.source)
                .text("; nothing has been saved."),
        )
        .with(
            el("div")
                .class("pair")
                .with(one("In force", &tried.before))
                .with(one("With this change", &tried.after)),
        )
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Tally;

    #[test]
    fn says_how_many_more_and_how_many_fewer() {
        let of = |denied| Traffic {
            step_ms: 1000,
            points: vec![Tally {
                allowed: 100 - denied,
                delayed: 0,
                denied,
            }],
            ..Traffic::default()
        };
        let fact = |before, after| {
            Tried {
                before: of(before),
                after: of(after),
                source: String::new(),
            }
            .fact()
            .replace('\u{202f}', " ")
        };
        assert_eq!(
            fact(4, 8),
            "This change would deny 4 requests more: 8.0 % instead of 4.0 %"
        );
        assert_eq!(
            fact(8, 0),
            "This change would deny 8 requests fewer: 0 % instead of 8.0 %"
        );
        assert_eq!(
            fact(8, 8),
            "This change would deny exactly as many requests (8)"
        );
    }
}
