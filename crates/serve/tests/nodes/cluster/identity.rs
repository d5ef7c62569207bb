//! Identity: copied data directories, other clusters' counts, lists of nodes that lead back to oneself.

use tollgate_serve::cluster::Fatal;
use tollgate_serve::run::{StartError, start};
use tollgate_serve::settings::ContractSource;

use crate::cluster::kit::{ClusterFolder, NodeServer, copy_folder, until};

#[test]
fn a_copied_data_directory_stops_the_younger_and_leaves_the_older_alone() {
    let ground = ClusterFolder::new();
    let first = ground.node("first", &[]);
    let folder = |name: &str| ground.folder.path().join(name);
    let mut settings = ground.settings("original", &[first.at()]);
    settings.data_dir = Some(folder("original"));
    let original = NodeServer::start(settings);
    until("it is there", || first.members() == 2);
    copy_folder(&folder("original"), &folder("copy"));
    let mut settings = ground.settings("copy", &[first.at()]);
    settings.data_dir = Some(folder("copy"));
    let copy = NodeServer::start(settings);
    let fatal = copy.running.fatal().unwrap();
    until("the younger is told", || fatal.borrow().is_some());
    let told = fatal.borrow().clone().unwrap();
    let Fatal::IdentityTaken { at, file } = &told;
    assert_eq!(*at, original.at());
    let file = file.clone().unwrap();
    assert!(file.starts_with(folder("copy")) && file.exists());
    assert!(told.to_string().contains("remove"), "{told}");
    assert!(!copy.is_ready());
    copy.stop();
    assert!(original.running.fatal().unwrap().borrow().is_none());
    until("the older is still there", || {
        let peers = first.view().peers;
        peers.len() == 1 && peers[0].name == "original" && peers[0].state == "alive"
    });
    // What the message says to do helps.
    std::fs::remove_file(file).unwrap();
    let mut settings = ground.settings("copy", &[first.at()]);
    settings.data_dir = Some(folder("copy"));
    let copy = NodeServer::start(settings);
    until("all three are there", || {
        first.members() == 3 && copy.members() == 3
    });
}

#[test]
fn counts_of_another_cluster_are_refused_with_what_to_do() {
    let ground = ClusterFolder::new();
    let data = ground.folder.path().join("data");
    let durable = "contracts: [{ id: users, key: [user], policies: [{ name: p, limit: 50, per: 1h, durable: true }] }]";
    let settings = |ground: &ClusterFolder| {
        let mut settings = ground.settings("n", &[]);
        settings.data_dir = Some(data.clone());
        settings.contracts = ContractSource::Text(durable.into());
        settings
    };
    let mut node = NodeServer::start(settings(&ground));
    assert!(node.passes("a"));
    node.stop();
    // Under the same secret it goes on.
    let mut node = NodeServer::start(settings(&ground));
    assert_eq!((0..60).filter(|_| node.passes("a")).count(), 49);
    node.stop();
    let other = ClusterFolder::new();
    let error = start(settings(&other)).err().unwrap();
    assert!(matches!(error, StartError::Store(_)), "{error}");
    assert!(error.to_string().contains("--data-dir"), "{error}");
}

#[test]
fn a_list_of_nodes_that_leads_back_to_oneself_is_harmless() {
    let ground = ClusterFolder::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    let mut settings = ground.settings("narcissus", &[at]);
    settings.cluster.as_mut().unwrap().listen = at;
    let mut node = NodeServer::start(settings);
    until("ready", || node.is_ready());
    assert_eq!(node.members(), 1);
    assert!(node.passes("a"));
    let other = ground.node("echo", &[at]);
    until("both are there", || {
        node.members() == 2 && other.members() == 2
    });
}

#[test]
fn a_node_that_comes_back_elsewhere_is_the_same_node() {
    let ground = ClusterFolder::new();
    let mut first = ground.node("first", &[]);
    let seed = first.at();
    let settings = || {
        let mut settings = ground.settings("mover", &[seed]);
        settings.data_dir = Some(ground.folder.path().join("mover"));
        settings
    };
    let mut before = None;
    for is_killed in [true, false, false] {
        let mut mover = NodeServer::start(settings());
        until("ready", || mover.is_ready());
        until("it is known where it is now", || {
            let peers = first.view().peers;
            peers.len() == 1 && peers[0].address == mover.at().to_string()
        });
        let me = mover.view().me.unwrap();
        if let Some((id, generation, at)) = before {
            assert_eq!(me.id, id);
            assert!(me.generation > generation);
            assert_ne!(mover.at(), at, "the test needs another port");
        }
        // What one admits the other knows, both ways.
        let user = format!("u{}", me.generation);
        for _ in 0..50 {
            assert!(mover.passes(&user));
        }
        until("the other knows", || !first.passes(&user));
        before = Some((me.id, me.generation, mover.at()));
        if is_killed {
            mover.kill();
        } else {
            mover.stop();
        }
    }
    until("it is gone", || first.members() == 1);
}

#[test]
fn nodes_that_are_not_there_yet_are_found_later() {
    let ground = ClusterFolder::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    let early = ground.node("early", &[at]);
    // Not for ever: it serves alone meanwhile.
    until("ready", || early.is_ready());
    let mut settings = ground.settings("late", &[]);
    settings.cluster.as_mut().unwrap().listen = at;
    let late = NodeServer::start(settings);
    until("both are there", || {
        early.members() == 2 && late.members() == 2
    });
}

#[test]
fn a_server_that_is_not_told_of_a_cluster_has_none() {
    let ground = ClusterFolder::new();
    let mut settings = ground.settings("n", &[]);
    settings.cluster = None;
    let mut node = NodeServer::start(settings);
    assert!(node.running.cluster().is_none() && node.running.fatal().is_none());
    assert!(node.is_ready());
    let (status, body) = node.get("/v1/cluster");
    assert_eq!(status, 200);
    assert!(body.contains("\"on\":false"), "{body}");
    let (_, metrics) = node.get("/metrics");
    assert!(!metrics.contains("tollgate_cluster_"), "{metrics}");
}

#[test]
fn an_identity_that_cannot_be_kept_is_told_before_a_port_opens() {
    let ground = ClusterFolder::new();
    let data = ground.folder.path().join("data");
    std::fs::create_dir_all(data.join("node.id")).unwrap();
    let mut settings = ground.settings("n", &[]);
    settings.data_dir = Some(data);
    let error = start(settings).err().unwrap();
    assert!(matches!(error, StartError::Cluster(_)), "{error}");
    assert!(error.to_string().contains("node.id"), "{error}");
}
