//! Contracts and plans.

use super::{DAY, HOUR, MINUTE, NOW, TextMapping, change, chip, traffic_of};
use serde_json::{Value, json};
use tollgate_console::chart::{Tally, Traffic, Tried};
use tollgate_console::editor::{Draft, DraftKind, Editor, PolicyDraft, yaml};
use tollgate_console::page::{
    Binding, Followers, More, Reach, RolloutStep, Thing, ThingRow, Things, thing, things,
};
use tollgate_console::part::{BindingMode, Chip, FormError};
use tollgate_console::{Notice, PageFrame, TokenRole, Who};

pub(crate) fn limits(t: TextMapping<'_>, frame: &PageFrame) -> Vec<(&'static str, String)> {
    let reader = PageFrame {
        who: Some(Who {
            name: t("vera"),
            role: TokenRole::Viewer,
        }),
        read_only: Some(t(
            "Contracts come from the file /etc/tollgate/contracts.yaml; change it there.",
        )),
        notice: Some(Notice {
            is_good: true,
            text: t("Saved as version 8. In force on 5 of 5 nodes after 240 ms."),
        }),
        ..frame.clone()
    };
    let wrong = PageFrame {
        notice: Some(Notice {
            is_good: false,
            text: t("Nothing was saved."),
        }),
        ..frame.clone()
    };
    let new = Editor {
        draft: Some(Draft::new(DraftKind::Contract)),
        plans: vec![t("free")],
        ..Editor::default()
    };
    vec![
        ("contracts", things(frame, &contracts_view(t))),
        (
            "contracts-none",
            things(
                frame,
                &Things {
                    query: t("nosuch"),
                    ..Things::default()
                },
            ),
        ),
        ("contract", thing(frame, &contract_view(t))),
        (
            "contract-rollout",
            thing(
                frame,
                &Thing {
                    asked: Some(RolloutStep {
                        policy: t("burst"),
                        mode: BindingMode::Percent(10),
                    }),
                    ..contract_view(t)
                },
            ),
        ),
        ("contract-text", thing(&wrong, &text_view(t))),
        ("contract-read", thing(&reader, &contract_view(t))),
        (
            "contract-new",
            thing(
                frame,
                &Thing {
                    editor: new,
                    ..Thing::default()
                },
            ),
        ),
        ("plans", things(frame, &plans_view(t))),
        ("plan", thing(frame, &plan_view(t))),
    ]
}

pub(crate) fn contracts_view(t: TextMapping<'_>) -> Things {
    let row = |id: &str, key: &[&str], policies: Vec<Chip>, (coordination, denied): (&str, u64)| {
        ThingRow {
            id: t(id),
            plan: None,
            policies,
            changed: Some(NOW.plus(-3 * HOUR)),
            more: More::Contract(Binding {
                matches: key.iter().map(|_| (t("plan"), t("free"))).collect(),
                key: key.iter().map(|name| t(name)).collect(),
                coordination: t(coordination),
                mode: BindingMode::Enforce,
                tally: Tally {
                    allowed: 120_000,
                    delayed: 0,
                    denied,
                },
            }),
        }
    };
    let three = vec![
        chip(t, "burst", "20 / s · burst 40", BindingMode::Enforce),
        chip(t, "hourly", "1 000 / h", BindingMode::Enforce),
        chip(t, "monthly", "100 000 / month", BindingMode::Percent(10)),
    ];
    let burst = vec![chip(t, "burst", "200 / s", BindingMode::Enforce)];
    let mut pro = row("pro-users", &["user"], burst, ("owner", 44));
    pro.plan = Some(t("pro"));
    let search = ThingRow {
        id: t("partners/search"),
        policies: vec![chip(t, "fair", "1 000 / m", BindingMode::Shadow)],
        more: More::Contract(Binding {
            matches: vec![(t("plan"), t("free"))],
            key: vec![t("tenant"), t("route")],
            coordination: t("store"),
            mode: BindingMode::Shadow,
            tally: Tally::default(),
        }),
        ..ThingRow::default()
    };
    let ceiling = vec![chip(t, "ceiling", "125 000 / s", BindingMode::Enforce)];
    Things {
        kind: DraftKind::Contract,
        query: String::new(),
        rows: vec![
            row("free-users", &["user"], three, ("gossip", 5_200)),
            pro,
            search,
            row("whole-api", &[], ceiling, ("supply", 5_200)),
        ],
        next: Some(t("whole-api")),
    }
}

/// A contract that uses every kind of field.
pub(crate) fn contract_document() -> Value {
    json!({
        "id": "free-users", "match": { "plan": "free" }, "key": ["user"], "coordination": "gossip",
        "policies": [
            { "name": "burst", "limit": 50, "per": "1s", "algorithm": "token-bucket", "burst": 80, "on_limit": "delay", "max_wait": "250ms" },
            { "name": "hourly", "limit": 1000, "per": "1h", "algorithm": "sliding-counters", "slices": 60 },
            { "name": "monthly", "limit": 100_000, "per": "month", "algorithm": "fixed-window", "time_zone": "Europe/Ljubljana", "durable": true, "enforce_percent": 10 },
        ],
    })
}

pub(crate) fn hostile_draft(t: TextMapping<'_>) -> Draft {
    let mut draft =
        Draft::from_document(DraftKind::Contract, &contract_document()).unwrap_or_default();
    draft.id = t(&draft.id);
    for (name, value) in &mut draft.matches {
        (*name, *value) = (t(name), t(value));
    }
    for name in &mut draft.key {
        *name = t(name);
    }
    for (_, value) in &mut draft.words {
        *value = t(value);
    }
    let policies = draft.policies.iter().map(|policy| {
        PolicyDraft::names()
            .filter(|name| !policy.get(name).is_empty())
            .fold(PolicyDraft::default(), |new, name| {
                new.with(name, t(policy.get(name)))
            })
    });
    draft.policies = policies.collect();
    draft
}

pub(crate) fn contract_view(t: TextMapping<'_>) -> Thing {
    let before = traffic_of(1, Some(130.0));
    let mut after = before.clone();
    for point in &mut after.points {
        let moved = point.denied / 2;
        point.allowed += moved;
        point.denied -= moved;
    }
    let step = |policy: &str, mode| RolloutStep {
        policy: t(policy),
        mode,
    };
    Thing {
        id: t("free-users"),
        editor: Editor {
            kind: DraftKind::Contract,
            id: t("free-users"),
            version: 8,
            draft: Some(hostile_draft(t)),
            text: t(&yaml(&contract_document())),
            is_text: false,
            messages: Some(vec![FormError {
                field: t("policy.0.max_wait"),
                text: t(
                    "a wait of 250ms is shorter than one token takes; write at least 20ms or leave it out",
                ),
            }]),
            reason: t("more room"),
            plans: vec![t("free"), t("pro")],
        },
        edited: Some(change(t, 1284, "contract", "free-users", 9).differences),
        tried: Some(Tried {
            before: before.clone(),
            after,
            source: t("the last hour, 412 000 requests"),
        }),
        traffic: Some(before),
        rollout: vec![
            step("burst", BindingMode::Enforce),
            step("hourly", BindingMode::Shadow),
            step("monthly", BindingMode::Percent(25)),
        ],
        asked: None,
        shadowed: Some(812),
        untried: None,
        reach: None,
        history: (0..3)
            .map(|i| change(t, 1284 - i, "contract", "free-users", 8 - i))
            .collect(),
    }
}

pub(crate) fn text_view(t: TextMapping<'_>) -> Thing {
    let mut view = contract_view(t);
    view.editor.draft = None;
    view.editor.messages = Some(Vec::new());
    (view.tried, view.edited, view.traffic) = (None, Some(Vec::new()), Some(Traffic::default()));
    view.untried = Some(t("Requests are not counted here."));
    view
}

pub(crate) fn plans_view(t: TextMapping<'_>) -> Things {
    let row = |id: &str, policies: Vec<Chip>, (contracts, assignments): (u64, u64)| ThingRow {
        id: t(id),
        plan: None,
        policies,
        changed: Some(NOW.plus(-2 * DAY)),
        more: More::Plan(Followers {
            contracts,
            assignments,
        }),
    };
    let free = vec![
        chip(t, "burst", "20 / s", BindingMode::Enforce),
        chip(t, "daily", "1 000 / day", BindingMode::Enforce),
    ];
    let pro = vec![
        chip(t, "burst", "200 / s", BindingMode::Enforce),
        chip(t, "daily", "50 000 / day", BindingMode::Enforce),
    ];
    Things {
        kind: DraftKind::Plan,
        query: String::new(),
        rows: vec![
            row("free", free, (2, 333_333)),
            ThingRow {
                plan: Some(t("free")),
                changed: Some(NOW.plus(-40 * MINUTE)),
                ..row("pro", pro, (1, 1204))
            },
        ],
        next: None,
    }
}

pub(crate) fn plan_view(t: TextMapping<'_>) -> Thing {
    let document =
        json!({ "id": "pro", "follows": "free", "policies": [{ "name": "burst", "limit": 200 }] });
    Thing {
        id: t("pro"),
        editor: Editor {
            kind: DraftKind::Plan,
            id: t("pro"),
            version: 3,
            draft: Draft::from_document(DraftKind::Plan, &document),
            text: t(&yaml(&document)),
            plans: vec![t("free")],
            ..Editor::default()
        },
        reach: Some(Reach {
            contracts: vec![t("pro-users"), t("friends")],
            plans: vec![t("enterprise")],
            assignments: 1204,
        }),
        history: vec![
            change(t, 1283, "plan", "pro", 3),
            change(t, 1200, "plan", "pro", 2),
        ],
        ..Thing::default()
    }
}
