//! Points in time: shown relative to now, with the absolute time on hover.

use jiff::Timestamp;

use crate::html::{Element, el};
use crate::number;

/// Milliseconds since the UNIX epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i64);

impl Moment {
    #[must_use]
    pub const fn plus(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// `12 s ago`, `in 3 min`, `just now`.
    pub fn relative(self, now: Self) -> String {
        let apart = now.0.abs_diff(self.0);
        if apart < 1000 {
            return "just now".to_owned();
        }
        // Only the largest unit: the absolute time has the rest.
        let text = number::span(apart);
        let text = text.split(' ').next().unwrap_or_default();
        if self < now {
            format!("{text} ago")
        } else {
            format!("in {text}")
        }
    }

    /// In words; empty for a moment in the past.
    pub fn until(self, now: Self) -> String {
        let left = self.0.saturating_sub(now.0);
        number::span(u64::try_from(left).unwrap_or(0))
    }

    /// `2026-11-16T07:12:03Z`.
    pub fn machine(self) -> String {
        self.shown("%Y-%m-%dT%H:%M:%SZ")
    }

    /// `2026-11-16 07:12:03 UTC`.
    pub fn absolute(self) -> String {
        self.shown("%Y-%m-%d %H:%M:%S UTC")
    }

    /// `07:12`.
    pub fn clock(self) -> String {
        self.shown("%H:%M")
    }

    /// `07:12:03`.
    pub fn seconds(self) -> String {
        self.shown("%H:%M:%S")
    }

    /// `2026-11-16`.
    pub fn day(self) -> String {
        self.shown("%Y-%m-%d")
    }

    fn shown(self, format: &'static str) -> String {
        Timestamp::from_millisecond(self.0).map_or_else(
            |_| "at no time there is".to_owned(),
            |time| time.strftime(format).to_string(),
        )
    }

    /// Relative, with the absolute time on hover.
    pub fn ago(self, now: Self) -> Element {
        self.element().text(self.relative(now))
    }

    /// The time of the day, with the full date on hover.
    pub fn at(self) -> Element {
        self.element().text(self.seconds())
    }

    fn element(self) -> Element {
        el("time")
            .attr("datetime", self.machine())
            .attr("title", self.absolute())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::Html;

    #[test]
    fn says_when_relative_to_now() {
        let now = Moment(1_794_812_400_000);
        let said = |millis| now.plus(millis).relative(now).replace('\u{202f}', " ");
        assert_eq!(said(-12_345), "12 s ago");
        assert_eq!(said(200_000), "in 3 min");
        assert_eq!(said(-3), "just now");
        assert_eq!(said(-90_000_000), "1 d ago");
        assert_eq!(
            Html::from(now.ago(now)).into_string(),
            "<time datetime=\"2026-11-16T07:00:00Z\" title=\"2026-11-16 07:00:00 UTC\">just now</time>"
        );
    }

    #[test]
    fn does_not_fall_over_times_that_are_none() {
        let far = Moment(i64::MAX);
        assert_eq!(far.machine(), "at no time there is");
        assert!(Moment(i64::MIN).relative(far).ends_with("ago"));
    }
}
