//! Owned keys with terms of their own: the owner looks them up, whichever node gets the request, and they move with
//! keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_contract::{Contracts, Terms};
use tollgate_gossip::NodeId;
use tollgate_kit::Dice;
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Knowledge, Node, NodeConfig, Scope, Spot, Stranger};
use tollgate_serve::engine::{EngineRequest, Learning, Op, Registrar, Unknown};
use tollgate_table::Seed;

use crate::owner::kit::{OwnerCluster, OwnerServer, eventually};

/// Policies that keys may come under; windows so long that none ends while a test runs.
const PLANS: [&str; 5] = [
    "{ name: a, limit: 10, per: 1000d, algorithm: fixed-window }",
    "{ name: a, limit: 25, per: 1000d, algorithm: fixed-window, inherit: proportional }",
    "{ name: b, limit: 7, per: 1000d, algorithm: sliding-log }, { name: a, limit: 12, per: 1000d, algorithm: fixed-window }",
    "{ name: a, limit: 12, per: 1000d, algorithm: fixed-window }, { name: b, limit: 9, per: 1000d, algorithm: sliding-log, inherit: reset }",
    "{ name: c, limit: 3, per: 1000d, algorithm: fixed-window }",
];
const LATER: Instant = Instant::from_nanos(u64::MAX);

fn contracts() -> String {
    format!(
        "plans: [{{ id: free, policies: [{}] }}]
contracts: [{{ id: users, key: [user], coordination: owner, plan: free }}]",
        PLANS[0]
    )
}

fn terms(plan: usize) -> Option<Arc<Terms>> {
    let version = u64::try_from(plan).unwrap();
    let text = format!(
        "contracts: [{{ id: x, key: [user], coordination: owner, policies: [{}] }}]",
        PLANS[plan]
    );
    let policies = Contracts::parse(&text).unwrap().as_slice()[0]
        .policies
        .clone();
    (plan != 0).then(|| Arc::new(Terms::new(policies, version).unwrap()))
}

/// Knows which plan users are on: what all servers read, as they do from a catalogue.
struct Knows;

/// Plans of users, and the number of the last change.
static ASSIGNED: parking_lot::Mutex<(BTreeMap<String, usize>, u64)> =
    parking_lot::Mutex::new((BTreeMap::new(), 1));

fn knowledge(user: &str) -> Knowledge {
    let (plans, revision) = &*ASSIGNED.lock();
    Knowledge {
        terms: terms(plans.get(user).copied().unwrap_or(0)),
        is_shared: true,
        revision: *revision,
        until: LATER,
    }
}

impl Registrar for Knows {
    fn learn<'a>(
        &'a self,
        node: &'a Arc<Node>,
        unknown: Vec<Unknown>,
        now: Instant,
    ) -> Learning<'a> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            for Unknown {
                stranger, values, ..
            } in unknown
            {
                node.learn(stranger, knowledge(&values[0]), now);
            }
        })
    }
}

fn spot(node: &Node, user: &str) -> Spot {
    let within = node.within(Scope::All).unwrap();
    within.spots(Key::from(&[("user", user)]))[0]
}

/// Puts a user on a plan, without notifying servers.
fn write(user: &str, plan: usize) {
    let (plans, revision) = &mut *ASSIGNED.lock();
    plans.insert(user.to_owned(), plan);
    *revision += 1;
}

/// Puts a user on a plan, and makes every server look again.
fn assign(cluster: &OwnerCluster, user: &str, plan: usize) {
    write(user, plan);
    for server in &cluster.servers {
        forget(server, user);
    }
}

fn forget(server: &OwnerServer, user: &str) {
    let node = server.shared.engine.node();
    let Spot {
        contract, print, ..
    } = spot(&node, user);
    node.unlearn(Stranger { contract, print });
}

async fn cluster() -> OwnerCluster {
    OwnerCluster::assigned(&contracts(), || Arc::new(Knows)).await
}

/// What a server says to a request: whether it passes, the limit, what is left, and who refused.
async fn ask(server: &OwnerServer, user: &str, cost: u32) -> (bool, u64, u64, Option<String>) {
    let entries = [("user", user)];
    let check = Op::check(EngineRequest::new(
        Key::from(&entries),
        Cost::from_u32(cost),
    ));
    let (turn, outcome) = server.shared.engine.turn().decide(&check).await;
    let answer = outcome.unwrap().answer().unwrap();
    let refuser = turn.refuser(&answer).map(|(_, policy)| policy.name.clone());
    assert_eq!(turn.fell_back(), None);
    (answer.is_allowed(), answer.limit, answer.remaining, refuser)
}

/// A server that owns the key of a user, and one that does not.
fn sides<'c>(cluster: &'c OwnerCluster, user: &str) -> (&'c OwnerServer, &'c OwnerServer) {
    use tollgate_serve::engine::Elsewhere;
    let owns = |server: &&OwnerServer| {
        let node = server.shared.engine.node();
        server.owner.is_here(&node, &[spot(&node, user)])
    };
    let owner = cluster.servers.iter().find(owns).unwrap();
    let other = cluster.servers.iter().find(|server| !owns(server));
    (owner, other.unwrap())
}

#[tokio::test]
async fn the_owner_looks_terms_up_whoever_is_asked() {
    let cluster = cluster().await;
    assign(&cluster, "first", 1);
    let (owner, other) = sides(&cluster, "first");
    let now = owner.shared.engine.now();
    let at = spot(&owner.shared.engine.node(), "first");
    assert!(owner.shared.engine.node().is_stranger(&at, now));
    assert_eq!(ask(other, "first", 5).await, (true, 25, 20, None));
    assert!(!owner.shared.engine.node().is_stranger(&at, now));
    assert_eq!(ask(owner, "first", 5).await, (true, 25, 15, None));
    assert_eq!(
        other.counts().malformed.get() + owner.counts().malformed.get(),
        0
    );
}

#[tokio::test]
async fn a_denial_is_not_given_again_under_other_terms() {
    let cluster = cluster().await;
    let (_, other) = sides(&cluster, "second");
    assert_eq!(ask(other, "second", 10).await, (true, 10, 0, None));
    for _ in 0..2 {
        let denied = ask(other, "second", 1).await;
        assert_eq!(denied, (false, 10, 0, Some("a".to_owned())));
    }
    assert_eq!(other.counts().denied_here.get(), 1);
    assign(&cluster, "second", 2);
    assert_eq!(ask(other, "second", 1).await, (true, 12, 1, None));
}

#[tokio::test]
async fn an_owner_that_learns_of_a_change_late_denies_by_what_it_knows_and_no_longer() {
    let cluster = cluster().await;
    let (owner, other) = sides(&cluster, "third");
    assert_eq!(ask(other, "third", 10).await, (true, 10, 0, None));
    write("third", 1);
    forget(other, "third");
    assert!(
        !ask(other, "third", 1).await.0,
        "the owner has not heard of it"
    );
    forget(owner, "third");
    // Ten of ten are twenty-five of twenty-five.
    assert_eq!(
        ask(other, "third", 1).await,
        (false, 25, 0, Some("a".to_owned()))
    );
    assign(&cluster, "third", 3);
    assert!(!ask(other, "third", 1).await.0);
}

#[tokio::test]
async fn whoever_learns_of_a_change_late_gives_no_denial_again_that_the_owner_would_not_give() {
    let cluster = cluster().await;
    let (owner, other) = sides(&cluster, "late");
    assert_eq!(ask(other, "late", 10).await, (true, 10, 0, None));
    assert!(!ask(other, "late", 1).await.0);
    write("late", 2);
    forget(owner, "late");
    let denied = (false, 10, 0, Some("a".to_owned()));
    assert_eq!(ask(other, "late", 1).await, denied, "nobody has told it");
    assert_eq!(ask(other, "late", 0).await, (true, 12, 2, None));
    assert_eq!(ask(other, "late", 1).await, (true, 12, 1, None));
}

#[tokio::test]
async fn receipts_are_settled_by_the_terms_that_were_charged() {
    let cluster = cluster().await;
    assign(&cluster, "fourth", 2);
    let (_, other) = sides(&cluster, "fourth");
    let entries = [("user", "fourth")];
    let engine = &other.shared.engine;
    let check = Op::check(EngineRequest::new(Key::from(&entries), Cost::from_u32(5)));
    let (_, charged) = engine.turn().decide(&check).await;
    let receipt = charged.unwrap().answer().unwrap().receipt;
    assert_eq!(receipt.bookings()[0].terms, 2);
    // The places of the policies are others.
    assign(&cluster, "fourth", 3);
    assert_eq!(ask(other, "fourth", 0).await, (true, 12, 7, None));
    let back = Op::GiveBack(&receipt);
    engine.turn().decide(&back).await.1.unwrap();
    assert_eq!(
        ask(other, "fourth", 0).await,
        (true, 9, 9, None),
        "b began anew"
    );
    assert_eq!(ask(other, "fourth", 9).await, (true, 9, 0, None));
}

#[tokio::test]
async fn terms_go_along_with_keys_that_move() {
    let mut cluster = cluster().await;
    let users: Vec<String> = (0..24).map(|user| format!("mover {user}")).collect();
    for (nth, user) in users.iter().enumerate() {
        assign(&cluster, user, nth % PLANS.len());
        assert!(ask(&cluster.servers[nth % 3], user, 3).await.0);
    }
    // The new owner has not looked them up yet: they are counted by the terms that wrote them, or by the lookup.
    cluster.leave(1).await;
    let gone = cluster.servers.remove(1);
    cluster.start(NodeId(19)).await;
    drop(gone);
    eventually("all are where they belong", || {
        users
            .iter()
            .all(|user| holds(sides(&cluster, user).0, user))
    })
    .await;
    let left = [7, 22, 4, 6, 0];
    for (nth, user) in users.iter().enumerate() {
        let (_, _, remaining, _) = ask(&cluster.servers[(nth + 1) % 3], user, 0).await;
        assert_eq!(remaining, left[nth % PLANS.len()], "{user}");
    }
    let malformed = cluster
        .servers
        .iter()
        .map(|server| server.counts().malformed.get());
    assert_eq!(malformed.sum::<u64>(), 0);
}

/// Whether the cell of a user lies there.
fn holds(server: &OwnerServer, user: &str) -> bool {
    let node = server.shared.engine.node();
    let mut prints = Vec::new();
    for shard in 0..node.shards_count(0) {
        node.prints_in(0, shard, &mut prints);
    }
    prints.contains(&spot(&node, user).print)
}

#[tokio::test]
async fn what_a_cluster_says_is_what_one_node_says_whose_terms_change_as_well() {
    let cluster = cluster().await;
    let config = NodeConfig {
        is_assigned: true,
        ..NodeConfig::default()
    };
    let model = Node::new(
        Contracts::parse(&contracts()).unwrap(),
        config,
        Seed::new([5, 6]),
    );
    let users = ["dice 0", "dice 1", "dice 2", "dice 3"];
    let mut dice = Dice::new(7);
    for _ in 0..600 {
        let user = users[dice.place(users.len())];
        let Spot {
            contract, print, ..
        } = spot(&model, user);
        let server = &cluster.servers[dice.place(3)];
        let now = server.shared.engine.now();
        if dice.place(6) == 0 {
            assign(&cluster, user, dice.place(PLANS.len()));
        }
        model.learn(Stranger { contract, print }, knowledge(user), now);
        let cost = u32::try_from(dice.below(4)).unwrap();
        let entries = [("user", user)];
        let expected = model.check(Key::from(&entries), Cost::from_u32(cost), now);
        let (is_allowed, limit, remaining, _) = ask(server, user, cost).await;
        assert_eq!((is_allowed, limit), (expected.is_allowed(), expected.limit));
        // A denial that is given again says what was left when it was given first.
        if is_allowed {
            assert_eq!(remaining, expected.remaining);
        }
    }
}
