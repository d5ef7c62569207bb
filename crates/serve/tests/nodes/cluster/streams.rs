//! Questions between nodes, over streams.

use std::time::{Duration, Instant};

use tollgate_gossip::NodeId;
use tollgate_serve::cluster::{Handle, NodeQuestion, RequestError};

use crate::cluster::kit::{ClusterFolder, NodeServer, until};

fn handle(node: &NodeServer) -> Handle {
    node.running.shared().cluster.get().unwrap().clone()
}

fn number(node: &NodeServer) -> NodeId {
    handle(node).members().me.unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

const LONG: Duration = Duration::from_secs(10);

#[test]
fn a_question_is_answered_by_the_node_it_was_put_to() {
    let ground = ClusterFolder::new();
    let nodes = ground.nodes(3);
    for (place, node) in nodes.iter().enumerate() {
        let respond = move |asked: NodeQuestion| {
            let mut answer = format!("{place} heard {} of {}: ", asked.kind, asked.from.0);
            answer.push_str(std::str::from_utf8(&asked.body).unwrap());
            asked.answer(answer.as_bytes());
        };
        handle(node).set_responder(Box::new(respond));
    }
    let me = number(&nodes[0]);
    runtime().block_on(async {
        for round in 0..3 {
            for (place, node) in nodes.iter().enumerate().skip(1) {
                let asked = handle(&nodes[0]);
                let answer = asked.request(number(node), 7, b"hello", LONG).await;
                let expected = format!("{place} heard 7 of {}: hello", me.0);
                assert_eq!(answer.unwrap(), expected.as_bytes(), "round {round}");
            }
        }
        let long = vec![b'x'; 1 << 20];
        let asker = handle(&nodes[0]);
        let answer = asker.request(number(&nodes[1]), 1, &long, LONG);
        assert!(answer.await.unwrap().len() > 1 << 20);
    });
    assert!(nodes[0].view().streams.open >= 2);
}

#[test]
fn what_is_not_answered_has_a_reason() {
    let ground = ClusterFolder::new();
    let mut nodes = ground.nodes(3);
    let asker = handle(&nodes[0]);
    let (silent, mute) = (number(&nodes[1]), number(&nodes[2]));
    let kept = std::sync::Mutex::new(Vec::new());
    let keep = move |asked: NodeQuestion| kept.lock().unwrap().push(asked);
    handle(&nodes[1]).set_responder(Box::new(keep));
    let runtime = runtime();
    let ask = |to: NodeId, within: Duration| runtime.block_on(asker.request(to, 1, b"?", within));
    assert_eq!(ask(mute, LONG), Err(RequestError::Refused));
    let known = [silent, mute, number(&nodes[0])];
    let stranger = (1..9).map(NodeId).find(|id| !known.contains(id));
    assert_eq!(ask(stranger.unwrap(), LONG), Err(RequestError::Unknown));
    assert_eq!(ask(number(&nodes[0]), LONG), Err(RequestError::Unknown));
    let begun = Instant::now();
    let late = ask(silent, Duration::from_millis(50));
    assert_eq!(late, Err(RequestError::Late));
    assert!(begun.elapsed() < Duration::from_secs(5));
    // Killed while it is asked: the caller learns of it long before its timeout.
    let task = runtime.spawn({
        let asker = asker.clone();
        async move { asker.request(silent, 1, b"?", LONG * 6).await }
    });
    runtime.block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
    nodes.remove(1).kill();
    let gone = runtime.block_on(task).unwrap();
    assert_eq!(gone, Err(RequestError::Unreachable));
    until("it is gone", || nodes[0].members() == 2);
    assert_eq!(ask(silent, LONG), Err(RequestError::Unknown));
}

#[test]
fn many_questions_at_once_each_get_their_own_answer() {
    let ground = ClusterFolder::new();
    let nodes = ground.nodes(2);
    let echo = |asked: NodeQuestion| {
        let body = asked.body.clone();
        asked.answer(&body);
    };
    handle(&nodes[1]).set_responder(Box::new(echo));
    let to = number(&nodes[1]);
    runtime().block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..2_000_u32 {
            let asker = handle(&nodes[0]);
            tasks.spawn(async move {
                let body = number.to_be_bytes();
                let answer = asker.request(to, 1, &body, LONG).await.unwrap();
                assert_eq!(answer, &body[..]);
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    });
}
