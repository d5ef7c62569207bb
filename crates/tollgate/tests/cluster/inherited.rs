//! Nodes keep durable counts in one database: whoever owns the keys of a node that died finds them there, once.

use std::time::Duration;

use tollgate::cluster::asker::Asker;
use tollgate::cluster::fleet::Fleet;
use tollgate_fault::ProcessFault;
use tollgate_parts::{Postgres, Wire, until};

use crate::kit::plan;
use crate::whole::flushed;

const USERS: u64 = 30;
const LIMIT: u64 = 1000;
const PATIENCE: Duration = Duration::from_secs(10);
const OWNED: &str = "
contracts:
  - id: api
    key: [user]
    coordination: owner
    policies: [{ name: days, limit: 1000, per: 30d, algorithm: fixed-window, durable: true }]
";

fn fleet(contracts: &str, database: &Postgres) -> (tempfile::TempDir, Fleet) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    std::fs::write(&path, contracts).unwrap();
    // Owners that are late on a busy machine would be counted for twice.
    let settings = folder.path().join("settings.yaml");
    std::fs::write(&settings, "cluster: { owner_deadline: 10s }\n").unwrap();
    let mut plan = plan(3, path);
    let settings = settings.display().to_string();
    let flags = ["--database", &database.url(), "--config", &settings];
    plan.flags.extend(flags.map(str::to_owned));
    (folder, Fleet::start(plan).unwrap())
}

fn charge(fleet: &Fleet, cost: u64) {
    let mut asker = Asker::connect(fleet.nodes()[0].resp, PATIENCE).unwrap();
    for user in 0..USERS {
        assert!(asker.ask(&[("user", &user.to_string())], cost).unwrap());
    }
}

/// What is used of every key, by whoever owns it.
fn used(fleet: &Fleet) -> Vec<u64> {
    let used = |user: u64| {
        let body = format!(r#"{{"key": {{"user": "{user}"}}, "cost": 0}}"#);
        let answer = Wire::to(fleet.nodes()[0].http)
            .post("/v1/check", &body)
            .json();
        LIMIT
            - answer["remaining"]
                .as_u64()
                .unwrap_or_else(|| panic!("{answer}"))
    };
    (0..USERS).map(used).collect()
}

fn metric(fleet: &Fleet, node: u16, name: &str) -> u64 {
    let text = fleet.metrics(node).unwrap();
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap().parse().unwrap()
}

#[test]
fn keys_of_an_owner_that_died_are_found_by_those_who_own_them_then() {
    let database = Postgres::start();
    let (_folder, mut fleet) = fleet(OWNED, &database);
    charge(&fleet, 10);
    assert_eq!(used(&fleet), vec![10; 30]);
    flushed(&fleet);
    let of_seat = |seat: &str| -> u64 {
        let rows = format!("SELECT count(*) FROM tollgate.cell WHERE seat = '{seat}'");
        database.sql(&rows).parse().unwrap()
    };
    let lost = of_seat("n1");
    assert!(lost > 0, "no key is the second node's");
    fleet.suffer(ProcessFault::Kill(1)).unwrap();
    until("its keys are found again", || used(&fleet) == vec![10; 30]);
    let inherited = || {
        let each = [0, 2].map(|node| metric(&fleet, node, "tollgate_durable_inherited_total"));
        each.iter().sum::<u64>()
    };
    until("they are counted", || inherited() == lost);
    assert_eq!(of_seat("n1"), 0);
    charge(&fleet, 1);
    assert_eq!(used(&fleet), vec![11; 30]);
    // It comes back on another machine, and is given what the others know: once.
    fleet
        .suffer(ProcessFault::Start {
            node: 1,
            is_empty: true,
        })
        .unwrap();
    fleet.gather().unwrap();
    until("it has keys again", || {
        flushed(&fleet);
        of_seat("n1") > 0 && used(&fleet) == vec![11; 30]
    });
    // All die: each finds its own.
    flushed(&fleet);
    for node in 0..3 {
        fleet.suffer(ProcessFault::Kill(node)).unwrap();
    }
    for node in 0..3 {
        fleet
            .suffer(ProcessFault::Start {
                node,
                is_empty: true,
            })
            .unwrap();
    }
    fleet.gather().unwrap();
    until("all is found again", || used(&fleet) == vec![11; 30]);
}

#[test]
fn a_node_that_was_taken_for_gone_counts_nothing_twice() {
    let database = Postgres::start();
    let (_folder, mut fleet) = fleet(OWNED, &database);
    charge(&fleet, 10);
    flushed(&fleet);
    fleet.suffer(ProcessFault::Pause(1)).unwrap();
    let left = "SELECT count(*) FROM tollgate.cell WHERE seat = 'n1'";
    until("its rows are taken", || database.sql(left) == "0");
    until("its keys are found again", || used(&fleet) == vec![10; 30]);
    charge(&fleet, 1);
    assert_eq!(used(&fleet), vec![11; 30]);
    // It still knows what the others took over, and is given that and what they counted since.
    fleet.suffer(ProcessFault::Resume(1)).unwrap();
    fleet.gather().unwrap();
    until("it has keys again", || {
        flushed(&fleet);
        let used = used(&fleet);
        assert!(used.iter().all(|used| *used <= 11), "{used:?}");
        database.sql(left) != "0" && used == vec![11; 30]
    });
    assert_eq!(metric(&fleet, 1, "tollgate_durable_refused_total"), 0);
}

#[test]
fn a_home_is_found_at_the_seat_of_a_node_that_surely_ended_and_at_no_other() {
    const NEVER: &str = "as if never kept";
    let database = Postgres::start();
    let (_folder, mut fleet) = fleet(
        "contracts:\n  - id: api\n    key: [user]\n    coordination: supply\n    policies:\n      \
         - { name: fast, limit: 300, per: 1s }\n",
        &database,
    );
    let kept = |seat: &str| {
        let text = format!(
            "SELECT count(*) FROM tollgate.supply WHERE seat = '{seat}' AND text LIKE '%\"policies\":{{\"%'"
        );
        database.sql(&text) == "1"
    };
    until("all homes are kept", || {
        ["n0", "n1", "n2"].into_iter().all(kept)
    });
    let said = |fleet: &Fleet| std::fs::read_to_string(fleet.folder().join("n1.log")).unwrap();
    let doubts = |fleet: &Fleet| said(fleet).matches(NEVER).count();
    let before = doubts(&fleet);
    // It says that it ends: its home is found on an empty disk.
    fleet.suffer(ProcessFault::Stop(1)).unwrap();
    fleet
        .suffer(ProcessFault::Start {
            node: 1,
            is_empty: true,
        })
        .unwrap();
    assert_eq!(doubts(&fleet), before, "{}", said(&fleet));
    fleet.gather().unwrap();
    until("its home is kept", || kept("n1"));
    // Killed and started on the same disk, which tells that it is gone.
    fleet.suffer(ProcessFault::Kill(1)).unwrap();
    fleet
        .suffer(ProcessFault::Start {
            node: 1,
            is_empty: false,
        })
        .unwrap();
    assert_eq!(doubts(&fleet), before, "{}", said(&fleet));
    fleet.gather().unwrap();
    until("its home is kept", || kept("n1"));
    // Killed and started elsewhere at once: it might still be there.
    fleet.suffer(ProcessFault::Kill(1)).unwrap();
    fleet
        .suffer(ProcessFault::Start {
            node: 1,
            is_empty: true,
        })
        .unwrap();
    assert_eq!(doubts(&fleet), before + 1, "{}", said(&fleet));
    fleet.gather().unwrap();
    until("others vouch for it", || kept("n1"));
}
