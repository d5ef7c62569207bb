//! Identities, and what they used.

use super::{DAY, MINUTE, NOW, TextMapping, traffic_of};
use serde_json::json;
use tollgate_console::PageFrame;
use tollgate_console::Url;
use tollgate_console::chart::{Meaning, Tally, Traffic};
use tollgate_console::editor::AssignmentDraft;
use tollgate_console::page::{
    Assigned, AssignmentRow, BanRow, Bans, By, Customer, DecisionRow, Identities, IdentityRow,
    KeyState, Missed, PredictedAnswer, RecentKey, Spent, Tail, TailRow, Top, TopRow, TopWindow,
    Unfollowed, Usage, UsageRow, UsedRow, Way, Why, as_part, bans, identities, tail, top, usage,
    why,
};
use tollgate_console::part::BindingMode;

pub(crate) fn people(t: TextMapping<'_>, frame: &PageFrame) -> Vec<(&'static str, String)> {
    let nobody = Identities {
        query: t("user=nobody"),
        ..Identities::default()
    };
    vec![
        ("identities", identities(frame, &identities_view(t))),
        ("identities-none", identities(frame, &nobody)),
        ("why", why(frame, &why_view(t))),
        ("why-unbound", why(frame, &unbound_view(t))),
        ("why-banned", why(frame, &banned_view(t))),
        ("why-nothing", why(frame, &Why::default())),
        (
            "why-wrong",
            why(
                frame,
                &Why {
                    key: t("user=42, plan"),
                    complaint: Some(t("“plan” is no entry: write a name and its value")),
                    ..Why::default()
                },
            ),
        ),
        ("bans", bans(frame, &bans_view(t))),
        ("bans-none", bans(frame, &Bans::default())),
        ("top", top(frame, &top_view(t))),
        ("tail", tail(frame, &tail_view(t))),
        (
            "tail-none",
            tail(
                frame,
                &Tail {
                    wrong: Some(t("`x` is no verdict")),
                    ..Tail::default()
                },
            ),
        ),
        ("usage", usage(frame, &usage_view(t))),
    ]
}

pub(crate) fn identities_view(t: TextMapping<'_>) -> Identities {
    let row = |identity: &str, plan: Option<&str>, until, tally, note: &str| IdentityRow {
        identity: t(identity),
        key: t(&as_part(identity)),
        plan: plan.map(t),
        until,
        tally,
        note: t(note),
    };
    let tally = |denied| {
        Some(Tally {
            allowed: 48_120,
            delayed: 0,
            denied,
        })
    };
    Identities {
        query: t("ten"),
        rows: vec![
            row(
                "tenant=acme",
                Some("pro"),
                Some(NOW.plus(9 * DAY)),
                tally(812),
                "trial, asked for by sales",
            ),
            row("tenant=globex", Some("enterprise"), None, None, ""),
            row(
                "tenant=initech",
                None,
                Some(NOW.plus(-DAY)),
                None,
                "only more uploads",
            ),
            row("tenant=umbrella", None, None, tally(30_112), ""),
        ],
        next: Some(t("tenant=initech")),
    }
}

pub(crate) fn spent(
    t: TextMapping<'_>,
    policy: &str,
    text: &str,
    numbers: (u64, u64),
    full: i64,
) -> Spent {
    Spent {
        policy: t(policy),
        text: t(text),
        spent: numbers.0,
        limit: numbers.1,
        full: (full > 0).then(|| NOW.plus(full)),
        mode: BindingMode::Enforce,
        meaning: Meaning::Plain,
    }
}

pub(crate) fn why_view(t: TextMapping<'_>) -> Why {
    let decision = |i: i64, meaning, detail: &str| DecisionRow {
        at: NOW.plus(-i * 700),
        contract: t("free-users"),
        cost: 1,
        meaning,
        detail: t(detail),
    };
    let way = |text: &str, to| Way { text: t(text), to };
    let contract = Url::to("/console/contract").query("id", "free-users");
    Why {
        key: t("tenant=acme,plan=free"),
        cost: t("1"),
        outcome: Some(PredictedAnswer {
            meaning: Meaning::Denied,
            summary: t(
                "denied by `hourly` of `free-users`: 1000 of 1000 used, and owes 7; passes in 23 min 12 s",
            ),
            until: Some(NOW.plus(23 * MINUTE + 12_000)),
        }),
        ways: vec![
            way(
                "A refund of 8 satisfies `hourly` of `free-users` at once, and so does a reset or a higher limit.",
                Some(contract),
            ),
            way("Lift the ban of `tenant=acme`.", None),
        ],
        states: states(t),
        misses: vec![Missed {
            contract: t("partners"),
            lacks: t("`plan: partner` (it is `free`)"),
            key: Some(t("tenant=acme,plan=partner")),
        }],
        decisions: vec![
            decision(1, Meaning::Denied, "hourly, try again in 23 min"),
            decision(2, Meaning::Denied, "hourly, try again in 23 min"),
            decision(3, Meaning::Delayed, "burst, waited 120 ms"),
            decision(4, Meaning::Allowed, ""),
        ],
        used: Some(vec![UsedRow {
            contract: t("free-users"),
            today: Tally {
                allowed: 9_120,
                delayed: 44,
                denied: 812,
            },
            month: Tally {
                allowed: 210_004,
                delayed: 1200,
                denied: 4_120,
            },
            cost: 260_114,
        }]),
        assigned: assigned(t),
        customer: Some(t(
            "http://127.0.0.1:8080/my/dGVuYW50PWFjbWU.1797465600.q7X0",
        )),
        ..Why::default()
    }
}

fn states(t: TextMapping<'_>) -> Vec<KeyState> {
    let hourly = Spent {
        meaning: Meaning::Denied,
        ..spent(t, "hourly", "1 000 / h", (1007, 1000), 23 * MINUTE + 12_000)
    };
    let monthly = Spent {
        mode: BindingMode::Percent(10),
        ..spent(t, "monthly", "100 000 / month", (41_220, 100_000), 15 * DAY)
    };
    vec![
        KeyState {
            contract: t("free-users"),
            plan: Some(t("pro")),
            policies: vec![
                spent(t, "burst", "20 / s · burst 40", (12, 40), 600),
                hourly,
                monthly,
            ],
        },
        KeyState {
            contract: t("uploads"),
            plan: None,
            policies: vec![spent(t, "bytes", "1 000 000 / h", (0, 1_000_000), 0)],
        },
    ]
}

fn assigned(t: TextMapping<'_>) -> Assigned {
    Assigned {
        identities: vec![t("tenant=acme"), t("plan=free")],
        rows: vec![AssignmentRow {
            id: t("tenant=acme"),
            version: 2,
            identity: t("tenant=acme"),
            plan: Some(t("pro")),
            contract: None,
            from: Some(NOW.plus(-21 * DAY)),
            until: Some(NOW.plus(9 * DAY)),
            overrides: t("burst.limit 500"),
            note: t("trial, asked for by sales"),
        }],
        draft: AssignmentDraft::from_document(&json!({ "id": "tenant=acme", "identity": "tenant=acme", "plan": "pro", "until": "2026-12-31T23:00:00Z", "then": "free", "note": t("trial"), "overrides": [{ "name": t("burst"), "limit": 500 }] })).unwrap_or_default(),
        plans: vec![t("free"), t("pro")],
        contracts: vec![t("free-users"), t("uploads")],
        unfollowed: None,
    }
}

/// A key that no contract binds with this entry alone, and an assignment that changes nothing.
pub(crate) fn unbound_view(t: TextMapping<'_>) -> Why {
    Why {
        key: t("user=7"),
        outcome: Some(PredictedAnswer {
            meaning: Meaning::Allowed,
            summary: t(
                "passes: no contract binds this key; the nearest is `free-users`, for which it lacks `plan: free`",
            ),
            until: None,
        }),
        misses: vec![
            Missed {
                contract: t("free-users"),
                lacks: t("`plan: free`"),
                key: Some(t("user=7,plan=free")),
            },
            Missed {
                contract: t("tenants"),
                lacks: t("an entry named `tenant`"),
                key: None,
            },
        ],
        seen: vec![RecentKey {
            key: t("user=7,plan=free"),
            at: NOW.plus(-MINUTE),
            meaning: Meaning::Denied,
        }],
        assigned: Assigned {
            identities: vec![t("user=7")],
            unfollowed: Some(Unfollowed {
                entry: t("user"),
                plan: t("pro"),
                contracts: vec![t("free-users"), t("uploads")],
            }),
            ..Assigned::default()
        },
        ..Why::default()
    }
}

pub(crate) fn ban_row(t: TextMapping<'_>) -> BanRow {
    BanRow {
        id: t("user=mallory"),
        version: 1,
        identity: t("user=mallory"),
        contract: Some(t("free-users")),
        until: Some(NOW.plus(DAY)),
        reason: t("scrapes"),
        since: Some(NOW.plus(-DAY)),
    }
}

pub(crate) fn bans_view(t: TextMapping<'_>) -> Bans {
    let others = [(Some(NOW.plus(-MINUTE)), None), (None, Some(t("uploads")))];
    let others = others.map(|(until, contract)| BanRow {
        until,
        contract,
        ..ban_row(t)
    });
    Bans {
        query: t("user"),
        rows: [ban_row(t)].into_iter().chain(others).collect(),
        next: Some(t("user=mallory")),
    }
}

pub(crate) fn banned_view(t: TextMapping<'_>) -> Why {
    Why {
        key: t("user=mallory"),
        outcome: Some(PredictedAnswer {
            meaning: Meaning::Denied,
            summary: t("denied: `user=mallory` is banned without an end: scrapes"),
            until: None,
        }),
        assigned: Assigned {
            identities: vec![t("user=mallory")],
            ..Assigned::default()
        },
        bans: vec![ban_row(t)],
        used: Some(Vec::new()),
        ..Why::default()
    }
}

pub(crate) fn top_view(t: TextMapping<'_>) -> Top {
    let rows = (1..=12_u64).map(|i| TopRow {
        key: t(&format!("user={},plan=free", 7919 * i % 1000)),
        identity: t(&format!("user={}", 7919 * i % 1000)),
        contract: t("free-users"),
        tally: Tally {
            allowed: 48_000 / i,
            delayed: 400 / i,
            denied: if i % 3 == 1 { 9_000 / i } else { 12 },
        },
        cost: 61_000 / i,
    });
    Top {
        by: By::Denied,
        window: TopWindow::Hour,
        rows: rows.collect(),
    }
}

pub(crate) fn tail_view(t: TextMapping<'_>) -> Tail {
    let rows = (0..9_u64).map(|i| TailRow {
        at: NOW.plus(-300 * i64::try_from(i).unwrap_or_default()),
        meaning: [Meaning::Allowed, Meaning::Denied, Meaning::Delayed]
            [usize::from(i % 4 == 1) + 2 * usize::from(i % 4 == 3)],
        is_shadowed: i == 4,
        key: t(&format!("user={},plan=free", 7919 * i % 1000)),
        policy: t("free-users/burst"),
        cost: 1 + i / 4,
        left: t("3 left of 10"),
    });
    Tail {
        contract: t("free-users"),
        key: t("plan=free"),
        contracts: vec![t("free-users"), t("tenants")],
        node: t("n1"),
        since: Some(NOW.plus(-9 * MINUTE)),
        dropped: 1_204,
        rows: rows.collect(),
        ..Tail::default()
    }
}

pub(crate) fn usage_view(t: TextMapping<'_>) -> Usage {
    let rows = (0..14).map(|i| UsageRow {
        day: NOW.plus(-i * DAY).day(),
        identity: t("tenant=acme"),
        key: t("tenant=acme,plan=free"),
        contract: t("free-users"),
        tally: Tally {
            allowed: 41_000 - 1733 * i.unsigned_abs(),
            delayed: 120,
            denied: 88 * i.unsigned_abs(),
        },
        cost: 62_000 - 2911 * i.unsigned_abs(),
    });
    Usage {
        identity: t("tenant=acme"),
        from: t("2026-11-03"),
        until: t("2026-11-16"),
        traffic: Traffic {
            step_ms: DAY.unsigned_abs(),
            ..traffic_of(7, None)
        },
        cost: 655_231,
        rows: rows.collect(),
        ..Usage::default()
    }
}

pub(crate) fn customer_view(t: TextMapping<'_>) -> Customer {
    Customer {
        name: t("Acme, Inc."),
        plan: Some(t("Pro")),
        limits: vec![
            spent(t, "burst", "20 / s · burst 40", (12, 40), 600),
            spent(t, "hourly", "1 000 / h", (1000, 1000), 23 * MINUTE),
            spent(t, "monthly", "100 000 / month", (41_220, 100_000), 15 * DAY),
        ],
        today: Tally {
            allowed: 9_120,
            delayed: 44,
            denied: 812,
        },
        month: Tally {
            allowed: 210_004,
            delayed: 1200,
            denied: 0,
        },
    }
}
