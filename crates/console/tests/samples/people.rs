//! Identities, and what they used.

use super::{DAY, MINUTE, NOW, Words};
use serde_json::json;
use tollgate_console::Frame;
use tollgate_console::chart::{Meaning, Tally};
use tollgate_console::editor::AssignmentDraft;
use tollgate_console::page::{
    AssignmentRow, BanRow, Bans, Blocked, By, Customer, DecisionRow, Identities, Identity,
    IdentityRow, KeyState, Spent, Top, TopRow, Usage, UsageRow, UsedRow, Window, bans, identities,
    identity, top, usage,
};
use tollgate_console::part::Mode;

pub(crate) fn people(t: Words<'_>, frame: &Frame) -> Vec<(&'static str, String)> {
    let nobody = Identities {
        query: t("user=nobody"),
        ..Identities::default()
    };
    vec![
        ("identities", identities(frame, &identities_view(t))),
        ("identities-none", identities(frame, &nobody)),
        ("identity", identity(frame, &identity_view(t))),
        (
            "identity-free",
            identity(
                frame,
                &Identity {
                    identity: t("user=7"),
                    ..Identity::default()
                },
            ),
        ),
        ("identity-banned", identity(frame, &banned_view(t))),
        ("bans", bans(frame, &bans_view(t))),
        ("bans-none", bans(frame, &Bans::default())),
        ("top", top(frame, &top_view(t))),
        ("usage", usage(frame, &usage_view(t))),
    ]
}

pub(crate) fn identities_view(t: Words<'_>) -> Identities {
    let row = |identity: &str, plan: Option<&str>, until, is_blocked, note: &str| IdentityRow {
        identity: t(identity),
        plan: plan.map(t),
        until,
        is_blocked,
        note: t(note),
    };
    Identities {
        query: t("ten"),
        rows: vec![
            row(
                "tenant=acme",
                Some("pro"),
                Some(NOW.plus(9 * DAY)),
                true,
                "trial, asked for by sales",
            ),
            row("tenant=globex", Some("enterprise"), None, false, ""),
            row(
                "tenant=initech",
                None,
                Some(NOW.plus(-DAY)),
                false,
                "only more uploads",
            ),
        ],
        next: Some(t("tenant=initech")),
    }
}

pub(crate) fn spent(
    t: Words<'_>,
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
        mode: Mode::Enforce,
    }
}

pub(crate) fn identity_view(t: Words<'_>) -> Identity {
    let decision = |i: i64, meaning, detail: &str| DecisionRow {
        at: NOW.plus(-i * 700),
        contract: t("free-users"),
        cost: 1,
        meaning,
        detail: t(detail),
    };
    Identity {
        identity: t("tenant=acme"),
        blocked: Some(Blocked { why: t("policy hourly of contract free-users is spent (1 000 of 1 000)"), until: Some(NOW.plus(23 * MINUTE + 12_000)) }),
        bans: Vec::new(),
        states: vec![
            KeyState { contract: t("free-users"), plan: Some(t("pro")), policies: vec![spent(t, "burst", "20 / s · burst 40", (12, 40), 600), spent(t, "hourly", "1 000 / h", (1000, 1000), 23 * MINUTE + 12_000), Spent { mode: Mode::Percent(10), ..spent(t, "monthly", "100 000 / month", (41_220, 100_000), 15 * DAY) }] },
            KeyState { contract: t("uploads"), plan: None, policies: vec![spent(t, "bytes", "1 000 000 / h", (0, 1_000_000), 0)] },
        ],
        decisions: vec![decision(1, Meaning::Denied, "hourly, try again in 23 min"), decision(2, Meaning::Denied, "hourly, try again in 23 min"), decision(3, Meaning::Delayed, "burst, waited 120 ms"), decision(4, Meaning::Allowed, "")],
        used: Some(vec![UsedRow {
            contract: t("free-users"),
            today: Tally { allowed: 9_120, delayed: 44, denied: 812 },
            month: Tally { allowed: 210_004, delayed: 1200, denied: 4_120 },
            cost: 260_114,
        }]),
        assignments: vec![AssignmentRow { id: t("tenant=acme"), version: 2, plan: Some(t("pro")), contract: None, from: Some(NOW.plus(-21 * DAY)), until: Some(NOW.plus(9 * DAY)), overrides: t("burst.limit 500"), note: t("trial, asked for by sales") }],
        draft: AssignmentDraft::from_document(&json!({ "id": "tenant=acme", "identity": "tenant=acme", "plan": "pro", "until": "2026-12-31T23:00:00Z", "then": "free", "note": t("trial"), "overrides": [{ "name": t("burst"), "limit": 500 }] })).unwrap_or_default(),
        plans: vec![t("free"), t("pro")],
        contracts: vec![t("free-users"), t("uploads")],
        customer: Some(t("http://127.0.0.1:8080/my/dGVuYW50PWFjbWU.1797465600.q7X0")),
    }
}

pub(crate) fn ban_row(t: Words<'_>) -> BanRow {
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

pub(crate) fn bans_view(t: Words<'_>) -> Bans {
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

pub(crate) fn banned_view(t: Words<'_>) -> Identity {
    Identity {
        identity: t("user=mallory"),
        blocked: Some(Blocked {
            why: t("it is banned: scrapes"),
            until: None,
        }),
        bans: vec![ban_row(t)],
        used: Some(Vec::new()),
        ..Identity::default()
    }
}

pub(crate) fn top_view(t: Words<'_>) -> Top {
    let rows = (1..=12_u64).map(|i| TopRow {
        key: t(&format!("user={}", 7919 * i % 1000)),
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
        window: Window::Hour,
        rows: rows.collect(),
    }
}

pub(crate) fn usage_view(t: Words<'_>) -> Usage {
    let rows = (0..14).map(|i| UsageRow {
        day: NOW.plus(-i * DAY).day(),
        identity: t("tenant=acme"),
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
        rows: rows.collect(),
        next: None,
    }
}

pub(crate) fn customer_view(t: Words<'_>) -> Customer {
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
