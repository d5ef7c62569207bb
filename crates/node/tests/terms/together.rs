//! Keys with terms of their own in contracts whose other keys are counted together with other nodes.
//!
//! Not here: who owns such keys, which servers decide.

use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::Cost;
use tollgate_node::{Key, Knowledge, Membership, Node, NodeConfig};
use tollgate_table::Seed;

use super::{LATER, NOW, ask, contracts, learn, spot, terms};

const PRO: &str = "{ name: a, limit: 50, per: 1d }";

fn node(mode: &str) -> Node {
    let text = format!(
        "plans: [{{ id: free, policies: [{{ name: a, limit: 10, per: 1d }}] }}]\n\
         contracts: [{{ id: users, key: [user], coordination: {mode}, plan: free }}]"
    );
    let config = NodeConfig {
        is_assigned: true,
        ..NodeConfig::default()
    };
    let membership = Membership::alone(NodeId(1), Writer(1), NOW);
    Node::with_company(contracts(&text), config, Seed::new([1, 2]), membership)
}

fn left(node: &Node, user: &str) -> u64 {
    let key = [("user", user)];
    node.status(Key::from(&key), NOW)[0].1[0].remaining
}

/// Has a user come under the policies of the contract.
fn leave(node: &Node, user: &str, revision: u64) {
    let knowledge = Knowledge {
        terms: None,
        is_shared: true,
        revision,
        until: LATER,
    };
    node.learn(spot(node, user, 0), knowledge, NOW);
}

#[test]
fn a_key_takes_what_it_used_to_other_terms_and_back() {
    for mode in ["gossip", "sync"] {
        let node = node(mode);
        leave(&node, "ann", 1);
        assert!(ask(&node, "ann", 4).is_allowed());
        assert_eq!(left(&node, "ann"), 6, "{mode}");
        learn(&node, spot(&node, "ann", 0), &terms(PRO, 7), 2);
        assert_eq!(left(&node, "ann"), 46, "{mode}");
        assert!(ask(&node, "ann", 2).is_allowed());
        assert_eq!(left(&node, "ann"), 44, "{mode}");
        assert_eq!(
            (
                left(&node, "bob"),
                node.is_beside(0, spot(&node, "ann", 0).print)
            ),
            (10, true)
        );
        leave(&node, "ann", 3);
        assert_eq!(left(&node, "ann"), 4, "{mode}");
        assert!(!ask(&node, "ann", 5).is_allowed());
        assert!(ask(&node, "ann", 4).is_allowed());
        assert!(!node.is_beside(0, spot(&node, "ann", 0).print));
    }
}

#[test]
fn a_receipt_is_settled_where_its_key_is_counted_now() {
    let node = node("gossip");
    leave(&node, "ann", 1);
    let before = ask(&node, "ann", 4);
    learn(&node, spot(&node, "ann", 0), &terms(PRO, 7), 2);
    assert_eq!(left(&node, "ann"), 46);
    node.settle(&before.receipt, Cost::from_u32(1), NOW);
    assert_eq!(left(&node, "ann"), 49);
    let after = ask(&node, "ann", 5);
    node.settle(&after.receipt, Cost::from_u32(9), NOW);
    assert_eq!(left(&node, "ann"), 40);
}

#[test]
fn such_keys_keep_their_counts_when_contracts_change() {
    let node = std::sync::Arc::new(node("gossip"));
    learn(&node, spot(&node, "ann", 0), &terms(PRO, 7), 2);
    assert!(ask(&node, "ann", 5).is_allowed());
    let text = "plans: [{ id: free, policies: [{ name: a, limit: 20, per: 1d }] }]
contracts: [{ id: users, key: [user], coordination: gossip, plan: free }]";
    let next = node.succeed(contracts(text), NOW);
    while next.carry_over(NOW, 7) {}
    learn(&next, spot(&next, "ann", 0), &terms(PRO, 7), 2);
    assert_eq!((left(&next, "ann"), left(&next, "bob")), (45, 20));
}
