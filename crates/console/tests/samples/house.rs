//! The rest: health, the cluster, audit, settings, sign-in.

use super::limits::contract_document;
use super::people::customer_view;
use super::{DAY, HOUR, MINUTE, NOW, TextMapping, change, traffic_of};
use tollgate_console::chart::{Latency, Quantiles, Tally};
use tollgate_console::editor::yaml;
use tollgate_console::page::{
    Audit, AuditRow, Closed, ClusterPage, Conflict, ContractLoad, CountedPolicy, Freshness,
    GatewayRow, Health, HealthLevel, Login, NewSecret, NodeRow, Overview, ProblemPage,
    SettingsPage, TokenRow, audit, closed, cluster, customer, login, overview, problem, settings,
};
use tollgate_console::{PageFrame, TokenRole};

pub(crate) fn house(t: TextMapping<'_>, frame: &PageFrame) -> Vec<(&'static str, String)> {
    let lost = ProblemPage {
        status: 404,
        sentence: t("There is no contract free-usres."),
        advice: t("Did you mean free-users?"),
        ..ProblemPage::default()
    };
    let mistyped = ProblemPage {
        status: 422,
        sentence: t(
            "“31.12.2026” is no time: write `until` in UTC, as 2026-12-31T23:00 or 2026-12-31",
        ),
        typed: vec![
            ("identity".to_owned(), t("user=42")),
            ("until".to_owned(), t("31.12.2026")),
            ("reason".to_owned(), t("too loud")),
        ],
        ..ProblemPage::default()
    };
    vec![
        ("overview", overview(frame, &overview_view(t))),
        ("overview-empty", overview(frame, &Overview::default())),
        ("cluster", cluster(frame, &cluster_view(t))),
        ("cluster-alone", cluster(frame, &ClusterPage::default())),
        ("audit", audit(frame, &audit_view(t))),
        ("settings", settings(frame, &settings_view(t))),
        ("problem-404", problem(frame, &lost)),
        ("problem-422", problem(frame, &mistyped)),
        ("problem-409", problem(frame, &conflict_view(t))),
    ]
}

pub(crate) fn strangers(t: TextMapping<'_>, stranger: &PageFrame) -> Vec<(&'static str, String)> {
    let refused = Login {
        complaint: Some(t("This token is not known, or it was taken back.")),
        next: t("/console/contracts"),
    };
    let ended = ProblemPage {
        status: 401,
        sentence: t("The session has ended."),
        advice: t("Sign in again; what you typed is still in the form behind."),
        ..ProblemPage::default()
    };
    let over = Closed {
        sentence: t("The time of this link is up."),
        advice: t("Ask whoever gave it to you for another."),
    };
    vec![
        ("login", login(stranger, &refused)),
        ("problem-401", problem(stranger, &ended)),
        ("customer", customer(stranger, &customer_view(t))),
        ("customer-closed", closed(stranger, &over)),
    ]
}

pub(crate) fn latency_of() -> Latency {
    let points = (0..60).map(|i| {
        let rush = if (36..44).contains(&i) { 220.0 } else { 0.0 };
        let wave = f64::from((i * i * 7 + i * 3) % 17);
        Quantiles {
            p50: 38.0 + wave * 0.7 + rush * 0.1,
            p99: 210.0 + wave * 6.0 + rush,
        }
    });
    Latency {
        from: NOW.plus(-HOUR),
        step_ms: 60_000,
        points: points.collect(),
    }
}

pub(crate) fn overview_view(t: TextMapping<'_>) -> Overview {
    let load = |contract: &str, allowed, denied, rate| ContractLoad {
        contract: t(contract),
        tally: Tally {
            allowed,
            delayed: 0,
            denied,
        },
        rate,
    };
    Overview {
        health: Health {
            state: HealthLevel::Warn,
            sentence: t("node-d has not been heard of for 14 s."),
            advice: Some(t(
                "Its keys under owner are decided by heirs; look at the machine.",
            )),
            parts: vec![
                (t("nodes"), t("4 of 5"), HealthLevel::Warn),
                (t("store"), t("PostgreSQL, 0.8 ms"), HealthLevel::Good),
                (t("catalogue"), t("1 s behind"), HealthLevel::Good),
            ],
        },
        rate: 2_055.0,
        traffic: traffic_of(12, None),
        latency: latency_of(),
        denying: vec![
            load("free-users", 1_204_553, 88_121, 402.0),
            load("partners/search", 90_112, 4_022, 26.1),
            load("whole-api", 7_400_120, 812, 2055.0),
            load("uploads", 8_120, 44, 2.3),
        ],
        changes: vec![
            change(t, 1284, "contract", "free-users", 8),
            change(t, 1283, "plan", "pro", 3),
            change(t, 1282, "assignment", "tenant=acme", 2),
        ],
    }
}

pub(crate) fn cluster_view(t: TextMapping<'_>) -> ClusterPage {
    let node = |name: &str, freshness, rate, sent, received| NodeRow {
        name: t(name),
        address: t("10.0.0.4:7946"),
        freshness,
        rate,
        sent,
        received,
        version: t("0.1.0"),
    };
    ClusterPage {
        nodes: vec![
            node("node-a", Freshness::Itself, 41_200.0, 0.0, 0.0),
            node(
                "node-b",
                Freshness::Fresh(40),
                38_900.0,
                122_000.0,
                119_000.0,
            ),
            node("node-c", Freshness::Fresh(75), 12_004.0, 98_000.0, 40_200.0),
            node("node-d", Freshness::Late(14_000), 0.0, 80_000.0, 0.0),
            node("node-e", Freshness::Missing(t(DEAD)), 0.0, 0.0, 0.0),
        ],
        missing: Some(t(FOUR_OF_FIVE)),
        partition: Some(t(
            "node-a, node-b and node-c do not hear node-d. Each side decides by what it knows; limits under supply are never passed.",
        )),
        counted: vec![counted_view(t)],
        gateways: vec![
            GatewayRow {
                name: t("gate-a"),
                listen: t("10.0.0.7:1884"),
                upstream: t("10.0.0.7:1883"),
                clients: 512,
                elsewhere: 3,
                access: Some([0.0, 0.21, 0.84, 2.4]),
                service: Some([0.31, 0.44, 0.92, 3.1]),
            },
            GatewayRow {
                name: t("gate-b"),
                listen: t("10.0.0.8:1884"),
                upstream: t("10.0.0.8:1883"),
                ..GatewayRow::default()
            },
        ],
    }
}

fn counted_view(t: TextMapping<'_>) -> CountedPolicy {
    let figures = [
        ("rate", "125 000"),
        ("usable", "43 000"),
        ("borrowed", "18 000"),
        ("counts: asks", "1.2 M"),
    ];
    CountedPolicy {
        contract: t("whole-api"),
        policy: t("ceiling"),
        mode: t("supply"),
        figures: figures.map(|(name, value)| (t(name), t(value))).into(),
    }
}

pub(crate) fn audit_view(t: TextMapping<'_>) -> Audit {
    let row = |i: i64, who: &str, action: &str, kind: &str, object: &str, outcome: &str| AuditRow {
        at: NOW.plus(-i * 7 * MINUTE),
        who: t(who),
        from: t("10.0.0.17"),
        action: t(action),
        kind: kind.to_owned(),
        object: t(object),
        outcome: t(outcome),
        is_done: i % 3 != 0,
    };
    Audit {
        who: String::new(),
        object: String::new(),
        rows: vec![
            row(
                1,
                "mira@on-call",
                "put",
                "contract",
                "free-users",
                "done, version 8",
            ),
            row(2, "deploy", "put", "plan", "pro", "done, version 3"),
            row(
                3,
                "vera",
                "ban",
                "key",
                "user=42",
                "refused: the role viewer may not write",
            ),
            row(
                4,
                "mira@on-call",
                "assign",
                "assignment",
                "tenant=acme",
                "done, version 2",
            ),
            row(6, "", "sign in", "token", "", "refused: no such token"),
        ],
        next: None,
    }
}

pub(crate) fn settings_view(t: TextMapping<'_>) -> SettingsPage {
    let token = |id: &str, name: &str, role, used: i64, expires: i64, revoked: bool| TokenRow {
        id: t(id),
        name: t(name),
        role,
        created: NOW.plus(-90 * DAY),
        expires: (expires != 0).then(|| NOW.plus(expires)),
        used: (used > 0).then(|| NOW.plus(-used)),
        revoked: revoked.then(|| NOW.plus(-2 * DAY)),
    };
    SettingsPage {
        tokens: vec![
            token("1", "mira@on-call", TokenRole::Admin, 12_000, 0, false),
            token(
                "2",
                "deploy",
                TokenRole::Operator,
                40 * MINUTE,
                30 * DAY,
                false,
            ),
            token("3", "grafana", TokenRole::Viewer, 0, -DAY, false),
            token("4", "old-laptop", TokenRole::Operator, 90 * DAY, 0, true),
        ],
        made: Some(NewSecret {
            name: t("deploy"),
            secret: t("tg_2b1f7c0e9a4d4f51b1f8c0e2a97d3344c6f0"),
        }),
    }
}

pub(crate) fn conflict_view(t: TextMapping<'_>) -> ProblemPage {
    let theirs = change(t, 1284, "contract", "free-users", 8);
    ProblemPage {
        status: 409,
        sentence: t("You edited version 7 of free-users; version 8 was saved meanwhile."),
        advice: t("Compare both, then edit version 8."),
        conflict: Some(Conflict {
            mine: theirs.differences.clone(),
            theirs,
            text: t(&yaml(&contract_document())),
        }),
        ..ProblemPage::default()
    }
}

const DEAD: &str = "node-e is dead since Wed, 18 Nov 2026 09:12:44 GMT";
const FOUR_OF_FIVE: &str =
    "4 of 5 nodes of the cluster are there: node-e is dead since Wed, 18 Nov 2026 09:12:44 GMT.";
