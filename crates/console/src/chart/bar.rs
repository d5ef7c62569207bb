//! Bars: how much of a limit is spent, and how large the parts of something are.

use super::axis::coordinate;
use crate::html::{Element, el};
use crate::number::{self, float};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meaning {
    #[default]
    Plain,
    Accent,
    /// Passed, or not spent yet.
    Allowed,
    Delayed,
    /// Refused, or used up.
    Denied,
}

impl Meaning {
    pub const fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Accent => "accent",
            Self::Allowed => "allowed",
            Self::Delayed => "delayed",
            Self::Denied => "denied",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    pub value: u64,
    pub meaning: Meaning,
}

pub fn bar(parts: &[Bar], whole: u64, name: &str) -> Element {
    let whole = float(whole.max(1));
    let mut at = 0.0;
    let drawn = parts.iter().map(|part| {
        let width = (100.0 * float(part.value) / whole).min(100.0 - at).max(0.0);
        let rect = el("rect")
            .class(part.meaning.class())
            .attr("x", format!("{}%", coordinate(at)))
            .attr("width", format!("{}%", coordinate(width)))
            .attr("height", 8);
        at += width;
        rect
    });
    el("svg")
        .class("bar")
        .attr("width", "100%")
        .attr("height", 8)
        .attr("role", "img")
        .attr("aria-label", name)
        .with(
            el("rect")
                .class("track")
                .attr("width", "100%")
                .attr("height", 8),
        )
        .each(drawn)
}

/// How much of a limit is spent: the colour of refusals once nothing is left.
pub fn share_bar(spent: u64, limit: u64) -> Element {
    let meaning = if spent >= limit {
        Meaning::Denied
    } else {
        Meaning::Allowed
    };
    let name = format!("{} of {} spent", number::whole(spent), number::whole(limit));
    bar(
        &[Bar {
            value: spent.min(limit),
            meaning,
        }],
        limit,
        &name,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::Html;

    #[test]
    fn is_never_longer_than_the_whole() {
        let parts = [
            Bar {
                value: 80,
                meaning: Meaning::Allowed,
            },
            Bar {
                value: u64::MAX,
                meaning: Meaning::Denied,
            },
        ];
        let drawn = Html::from(bar(&parts, 100, "")).into_string();
        assert!(drawn.contains("x=\"80%\" width=\"20%\""), "{drawn}");
        assert!(Html::from(share_bar(3, 0)).into_string().contains("denied"));
    }
}
