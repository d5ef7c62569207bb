//! A node whose clock runs wrong by more than the bound: nobody lends to it, and everybody is told.

use super::kit::{Divided, GreedyClients, is_near};
use super::{files, home};
use crate::faked::library;
use tollgate_parts::until;

#[test]
fn nobody_lends_to_a_node_whose_clock_runs_wrong() {
    let library = match library() {
        Ok(library) => library,
        Err(why) => return println!("skipped: {why}"),
    };
    let cluster = Divided::start(3, files(1000), |node, spot| {
        if node == 2 {
            spot.under = vec![
                "env".to_owned(),
                format!("LD_PRELOAD={library}"),
                "FAKETIME=+0 x0.98".to_owned(),
            ];
        }
    });
    let drift = |node| {
        cluster
            .policy(node)
            .map_or(0.0, |policy| policy.number("counts.drift"))
    };
    let crowd = GreedyClients::ask_only(&cluster, 2);
    until("it is seen", || (0..2).all(|node| drift(node) > 0.0));
    until("nothing is lent to it any more", || {
        let policy = cluster.policy(2);
        policy.is_some_and(|policy| {
            policy.number("borrowed") < 1.0 && is_near(policy.number("usable"), 333)
        })
    });
    assert!(is_near(home(&cluster, 2), 333));
    crowd.stop();
    for node in 0..2 {
        let said = cluster.troubles(node);
        assert!(
            said.contains("whose clock ran wrong by more than a thousandth"),
            "{said}"
        );
    }
}
