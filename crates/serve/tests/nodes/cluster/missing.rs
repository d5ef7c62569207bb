//! Dead nodes stay listed: at every node, in every report about the cluster, until they are back
//! or forgotten.

use tollgate_serve::cluster::RollView;
use tollgate_serve::settings::roster;

use super::kit::{ClusterFolder, NodeServer, all_know, until};

fn names(node: &NodeServer) -> Vec<(String, String)> {
    let missing = node.view().roll.missing.into_iter();
    missing.map(|one| (one.name, one.state)).collect()
}

fn counts(node: &NodeServer) -> (u64, u64) {
    let RollView {
        expected, present, ..
    } = node.view().roll;
    (present, expected)
}

fn dead(name: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), "dead".to_owned())]
}

fn forget(node: &mut NodeServer, name: &str) -> (u16, String) {
    node.post("/v1/cluster/forget", &format!("{{\"name\":\"{name}\"}}"))
}

#[test]
fn a_node_that_died_is_named_in_words_and_figures_until_it_is_forgotten() {
    let ground = ClusterFolder::new();
    let mut nodes = ground.nodes(3);
    assert_eq!(
        (counts(&nodes[0]), nodes[0].get("/readyz").1),
        ((3, 3), "ready\n".to_owned())
    );
    nodes.remove(2).kill();
    for node in &mut nodes {
        until("it is missed", || names(node) == dead("n2"));
        assert_eq!(counts(node), (2, 3));
        let (status, said) = node.get("/readyz");
        assert_eq!(status, 200);
        let words = "ready\n2 of 3 nodes of the cluster are there: n2 is dead since ";
        assert!(
            said.starts_with(words) && said.contains("tollgate cluster forget"),
            "{said}"
        );
        let metrics = node.get("/metrics").1;
        for line in ["alive\"} 2", "suspect\"} 0", "dead\"} 1", "unseen\"} 0"] {
            let line = format!("tollgate_cluster_members{{state=\"{line}\n");
            assert!(metrics.contains(&line), "{line}");
        }
        let trouble = node.view().troubles.join(" ");
        assert!(trouble.contains("n2 is dead since"), "{trouble}");
    }
    assert_eq!(forget(&mut nodes[0], "n1").0, 409);
    assert_eq!(forget(&mut nodes[0], "n7").0, 404);
    let (status, said) = forget(&mut nodes[0], "n2");
    assert_eq!((status, &*said), (200, r#"{"forgotten":"n2","told":1}"#));
    for node in &mut nodes {
        until("it is forgotten", || names(node).is_empty());
        assert_eq!(counts(node), (2, 2));
        assert_eq!(node.get("/readyz").1, "ready\n");
    }
    assert_eq!(forget(&mut nodes[0], "n2").0, 404);
}

#[test]
fn a_node_that_ends_in_good_order_or_is_back_is_not_missing() {
    let ground = ClusterFolder::new();
    let mut nodes = ground.nodes(3);
    nodes.remove(2).stop();
    until("it left", || nodes[0].members() == 2);
    assert_eq!(counts(&nodes[0]), (2, 2));
    let at = nodes[1].at();
    let other = ground.node("n2", &[at]);
    until("it is there", || nodes[0].members() == 3);
    other.kill();
    until("it is missed", || names(&nodes[0]) == dead("n2"));
    // Without a disk it is another node of the same name.
    let _back = ground.node("n2", &[at]);
    for node in &nodes {
        until("it is back", || {
            names(node).is_empty() && counts(node) == (3, 3)
        });
    }
}

#[test]
fn nodes_that_do_not_come_back_after_a_restart_of_all_are_named() {
    let ground = ClusterFolder::new();
    let settings = |name: &str, join: &[_]| {
        let mut settings = ground.settings(name, join);
        settings.data_dir = Some(ground.folder.path().join(name));
        settings
    };
    let first = NodeServer::start(settings("a", &[]));
    let second = NodeServer::start(settings("b", &[first.at()]));
    let nodes = [first, second];
    all_know(&nodes, 2);
    let list = ground.folder.path().join("a/members.json");
    until("it is kept", || {
        std::fs::read_to_string(&list).is_ok_and(|text| text.contains("\"b\""))
    });
    for node in nodes {
        node.kill();
    }
    let alone = NodeServer::start(settings("a", &[]));
    until("ready", || alone.is_ready());
    assert_eq!(names(&alone), dead("b"));
    let back = NodeServer::start(settings("b", &[alone.at()]));
    all_know(&[alone, back], 2);
}

#[test]
fn a_list_of_members_that_cannot_be_written_is_told_of() {
    let ground = ClusterFolder::new();
    let mut settings = ground.settings("a", &[]);
    let data = ground.folder.path().join("a");
    settings.data_dir = Some(data.clone());
    // Makes every write there fail.
    std::fs::create_dir_all(data.join("members.json.new/x")).unwrap();
    let mut first = NodeServer::start(settings);
    let _second = ground.node("b", &[first.at()]);
    let told = "the list of members is not written since ";
    until("it is told", || first.get("/readyz").1.contains(told));
    std::fs::remove_dir_all(data.join("members.json.new")).unwrap();
    until("it is over", || !first.get("/readyz").1.contains(told));
}

#[test]
fn names_of_the_roster_that_nobody_bears_are_named() {
    let ground = ClusterFolder::new();
    let mut settings = ground.settings("a", &[]);
    if let Some(cluster) = &mut settings.cluster {
        cluster.roster = Some(roster("a,b").unwrap());
    }
    let mut node = NodeServer::start(settings);
    assert_eq!(names(&node), [("b".to_owned(), "unseen".to_owned())]);
    assert!(
        node.get("/readyz")
            .1
            .contains("1 of 2 nodes of the cluster are there: b of the roster was not seen")
    );
    let (status, said) = forget(&mut node, "b");
    assert!(status == 409 && said.contains("cluster.roster"), "{said}");
}
