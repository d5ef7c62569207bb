//! Contracts and plans.

use super::{DAY, HOUR, MINUTE, NOW, Words, change, chip, traffic_of};
use serde_json::{Value, json};
use tollgate_console::chart::{Tally, Traffic, Tried};
use tollgate_console::editor::{Draft, Editor, Kind, PolicyDraft, yaml};
use tollgate_console::page::{
    ContractPage, ContractRow, Contracts, PlanPage, PlanRow, Plans, RolloutStep, contract,
    contracts, plan, plans,
};
use tollgate_console::part::{Chip, Message, Mode};
use tollgate_console::{Frame, Notice, Role, Who};

pub(crate) fn limits(t: Words<'_>, frame: &Frame) -> Vec<(&'static str, String)> {
    let reader = Frame {
        who: Some(Who {
            name: t("vera"),
            role: Role::Viewer,
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
    let wrong = Frame {
        notice: Some(Notice {
            is_good: false,
            text: t("Nothing was saved."),
        }),
        ..frame.clone()
    };
    let new = Editor {
        draft: Some(Draft::new(Kind::Contract)),
        plans: vec![t("free")],
        ..Editor::default()
    };
    vec![
        ("contracts", contracts(frame, &contracts_view(t))),
        (
            "contracts-none",
            contracts(
                frame,
                &Contracts {
                    query: t("nosuch"),
                    ..Contracts::default()
                },
            ),
        ),
        ("contract", contract(frame, &contract_view(t))),
        ("contract-text", contract(&wrong, &text_view(t))),
        ("contract-read", contract(&reader, &contract_view(t))),
        (
            "contract-new",
            contract(
                frame,
                &ContractPage {
                    editor: new,
                    ..ContractPage::default()
                },
            ),
        ),
        ("plans", plans(frame, &plans_view(t))),
        ("plan", plan(frame, &plan_view(t))),
    ]
}

pub(crate) fn contracts_view(t: Words<'_>) -> Contracts {
    let row = |id: &str, key: &[&str], policies: Vec<Chip>, coordination: &str| ContractRow {
        id: t(id),
        matches: key.iter().map(|_| (t("plan"), t("free"))).collect(),
        key: key.iter().map(|name| t(name)).collect(),
        plan: None,
        policies,
        coordination: t(coordination),
        mode: Mode::Enforce,
        tally: Tally {
            allowed: 120_000,
            delayed: 0,
            denied: 5_200,
        },
        changed: Some(NOW.plus(-3 * HOUR)),
    };
    let three = vec![
        chip(t, "burst", "20 / s · burst 40", Mode::Enforce),
        chip(t, "hourly", "1 000 / h", Mode::Enforce),
        chip(t, "monthly", "100 000 / month", Mode::Percent(10)),
    ];
    let mut pro = row(
        "pro-users",
        &["user"],
        vec![chip(t, "burst", "200 / s", Mode::Enforce)],
        "owner",
    );
    (pro.plan, pro.tally.denied) = (Some(t("pro")), 44);
    let mut search = row(
        "partners/search",
        &["tenant", "route"],
        vec![chip(t, "fair", "1 000 / m", Mode::Shadow)],
        "store",
    );
    (search.mode, search.tally, search.changed) = (Mode::Shadow, Tally::default(), None);
    let whole = row(
        "whole-api",
        &[],
        vec![chip(t, "ceiling", "125 000 / s", Mode::Enforce)],
        "supply",
    );
    Contracts {
        query: String::new(),
        rows: vec![
            row("free-users", &["user"], three, "gossip"),
            pro,
            search,
            whole,
        ],
        all: Some(4),
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

pub(crate) fn hostile_draft(t: Words<'_>) -> Draft {
    let mut draft = Draft::from_document(Kind::Contract, &contract_document()).unwrap_or_default();
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

pub(crate) fn contract_view(t: Words<'_>) -> ContractPage {
    let before = traffic_of(1, Some(130.0));
    let mut after = before.clone();
    for point in &mut after.points {
        let moved = point.denied / 2;
        point.allowed += moved;
        point.denied -= moved;
    }
    let step = |policy: &str, mode, shadowed: Option<&str>| RolloutStep {
        policy: t(policy),
        mode,
        shadowed: shadowed.map(t),
    };
    ContractPage {
        id: t("free-users"),
        editor: Editor {
            kind: Kind::Contract,
            id: t("free-users"),
            version: 8,
            draft: Some(hostile_draft(t)),
            text: t(&yaml(&contract_document())),
            is_text: false,
            messages: Some(vec![Message {
                field: t("policy.0.max_wait"),
                text: t(
                    "a wait of 250ms is shorter than one token takes; write at least 20ms or leave it out",
                ),
            }]),
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
            step("burst", Mode::Enforce, None),
            step(
                "hourly",
                Mode::Shadow,
                Some("would have denied 812 of 20 400 in the last hour"),
            ),
            step("monthly", Mode::Percent(25), None),
        ],
        history: (0..3)
            .map(|i| change(t, 1284 - i, "contract", "free-users", 8 - i))
            .collect(),
    }
}

pub(crate) fn text_view(t: Words<'_>) -> ContractPage {
    let mut view = contract_view(t);
    view.editor.draft = None;
    view.editor.messages = Some(Vec::new());
    (view.tried, view.edited, view.traffic) = (None, Some(Vec::new()), Some(Traffic::default()));
    view
}

pub(crate) fn plans_view(t: Words<'_>) -> Plans {
    Plans {
        query: String::new(),
        rows: vec![
            PlanRow {
                id: t("free"),
                follows: None,
                policies: vec![
                    chip(t, "burst", "20 / s", Mode::Enforce),
                    chip(t, "daily", "1 000 / day", Mode::Enforce),
                ],
                contracts: 2,
                assignments: 333_333,
                changed: Some(NOW.plus(-2 * DAY)),
            },
            PlanRow {
                id: t("pro"),
                follows: Some(t("free")),
                policies: vec![
                    chip(t, "burst", "200 / s", Mode::Enforce),
                    chip(t, "daily", "50 000 / day", Mode::Enforce),
                ],
                contracts: 1,
                assignments: 1204,
                changed: Some(NOW.plus(-40 * MINUTE)),
            },
        ],
        all: None,
        next: None,
    }
}

pub(crate) fn plan_view(t: Words<'_>) -> PlanPage {
    let document =
        json!({ "id": "pro", "follows": "free", "policies": [{ "name": "burst", "limit": 200 }] });
    PlanPage {
        id: t("pro"),
        editor: Editor {
            kind: Kind::Plan,
            id: t("pro"),
            version: 3,
            draft: Draft::from_document(Kind::Plan, &document),
            text: t(&yaml(&document)),
            plans: vec![t("free")],
            ..Editor::default()
        },
        edited: None,
        tried: None,
        contracts: vec![t("pro-users"), t("friends")],
        plans: vec![t("enterprise")],
        assignments: 1204,
        history: vec![
            change(t, 1283, "plan", "pro", 3),
            change(t, 1200, "plan", "pro", 2),
        ],
    }
}
