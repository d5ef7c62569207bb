//! Every page with made-up data, for tests and for looking at. Each text goes through `t`, so that a test can put
//! anything in its place.

#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod house;
mod limits;
mod people;

use tollgate_console::chart::{Tally, Traffic};
use tollgate_console::part::{BindingMode, ChangeRow, Chip, Difference};
use tollgate_console::{Moment, PageFrame, Theme, TokenRole, Who};
use tollgate_kit::Dice;

use house::{house, strangers};
use limits::limits;
use people::people;

pub(crate) const NOW: Moment = Moment(1_794_813_123_000);
pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

/// Replaces every text.
pub(crate) type TextMapping<'a> = &'a dyn Fn(&str) -> String;

pub(crate) fn frame(t: TextMapping<'_>, theme: Theme) -> PageFrame {
    PageFrame {
        who: Some(Who {
            name: t("mira@on-call"),
            role: TokenRole::Admin,
        }),
        csrf: t("c5f1e0"),
        theme,
        now: NOW,
        here: t("/console/contracts?q=a"),
        node: t("node-a"),
        revision: 1284,
        read_only: None,
        notice: None,
        left_out: 3,
    }
}

pub(crate) fn pages(t: TextMapping<'_>, theme: Theme) -> Vec<(&'static str, String)> {
    let frame = frame(t, theme);
    let stranger = PageFrame {
        who: None,
        ..frame.clone()
    };
    let mut pages = limits(t, &frame);
    pages.extend(people(t, &frame));
    pages.extend(house(t, &frame));
    pages.extend(strangers(t, &stranger));
    pages
}

/// Traffic that looks like a day's: a wave with noise, and a quarter of an hour in which one client sent too much.
pub(crate) fn traffic_of(scale: u64, limit: Option<f64>) -> Traffic {
    let mut dice = Dice::new(12_345);
    let points = (0..60_u64).map(|i| {
        let noise = dice.below(1000);
        let wave = 6000 + 1500 * (i % 30).abs_diff(15) / 15 + noise;
        let rush = if (34..46).contains(&i) {
            700 * (6 - i.abs_diff(40).min(6))
        } else {
            0
        };
        Tally {
            allowed: scale * wave,
            delayed: scale * (noise / 4 + rush / 5),
            denied: scale * (noise / 9 + rush),
        }
    });
    Traffic {
        from: NOW.plus(-HOUR),
        step_ms: 60_000,
        points: points.collect(),
        limit,
    }
}

pub(crate) fn change(
    t: TextMapping<'_>,
    revision: u64,
    kind: &str,
    id: &str,
    version: u64,
) -> ChangeRow {
    let ago = i64::try_from(1285 - revision).unwrap_or(1);
    ChangeRow {
        revision,
        // Kinds are the program's words.
        kind: kind.to_owned(),
        id: t(id),
        version,
        author: t(if revision.is_multiple_of(2) {
            "mira@on-call"
        } else {
            "deploy"
        }),
        at: NOW.plus(-ago * 17 * MINUTE),
        reason: t("More room for the launch; goes back on Monday"),
        differences: vec![
            Difference {
                path: t("policies.burst.limit"),
                before: Some(t("20")),
                after: Some(t("50")),
            },
            Difference {
                path: t("policies.hourly"),
                before: None,
                after: Some(t("{\"limit\":1000,\"per\":\"1h\"}")),
            },
            Difference {
                path: t("headers"),
                before: Some(t("ietf")),
                after: None,
            },
        ],
    }
}

pub(crate) fn chip(t: TextMapping<'_>, name: &str, text: &str, mode: BindingMode) -> Chip {
    Chip {
        name: t(name),
        text: t(text),
        mode,
    }
}
