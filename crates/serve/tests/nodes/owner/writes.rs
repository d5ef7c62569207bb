//! Receipts, reservations and writes reach the owner, through any node.

use crate::owner::kit::OwnerCluster;

const TWO: &str = "contracts:
  - {id: a, key: [user], coordination: owner, policies: [{name: p, limit: 100, per: 1d, algorithm: fixed-window}]}
";

fn field<'a>(body: &'a str, name: &str) -> &'a str {
    let rest = body.split(&format!("\"{name}\":\"")).nth(1).unwrap();
    rest.split('"').next().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_finds_the_owner_again_and_is_settled_once() {
    let cluster = OwnerCluster::of(TWO).await;
    let (owner, other) = cluster.sides("anna");
    let (_, _, body) = other.post("/v1/check", r#"{"key":"anna","cost":10}"#).await;
    let receipt = field(&body, "receipt");
    assert_eq!(owner.remaining("anna").await, [90]);
    for _ in 0..2 {
        let settle = format!("{{\"receipt\":\"{receipt}\",\"cost\":4}}");
        let (status, _, body) = other.post("/v1/settle", &settle).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(owner.remaining("anna").await, [96]);
    }
    let settle = format!("{{\"receipt\":\"{receipt}\",\"cost\":5}}");
    assert_eq!(other.post("/v1/settle", &settle).await.0, 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_is_charged_once_and_a_reservation_is_settled_by_it() {
    let cluster = OwnerCluster::of(TWO).await;
    let (owner, other) = cluster.sides("ben");
    let ask = r#"{"key":"ben","cost":10,"id":"op-1"}"#;
    let (_, _, first) = other.post("/v1/check", ask).await;
    let (_, _, again) = other.post("/v1/check", ask).await;
    assert_eq!(field(&first, "policy"), field(&again, "policy"));
    assert_eq!(owner.remaining("ben").await, [90]);
    let ask = r#"{"key":"ben","cost":20,"id":"op-2"}"#;
    for _ in 0..2 {
        let (status, _, body) = other.post("/v1/reserve", ask).await;
        assert!(status == 200 && body.contains("\"allowed\":true"), "{body}");
        assert_eq!(owner.remaining("ben").await, [70]);
    }
    for _ in 0..2 {
        let (status, _, body) = other.post("/v1/commit", r#"{"id":"op-2","cost":5}"#).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(owner.remaining("ben").await, [85]);
    }
    assert_eq!(other.post("/v1/cancel", r#"{"id":"op-2"}"#).await.0, 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn charges_and_refunds_are_the_owners() {
    let cluster = OwnerCluster::of(TWO).await;
    let (owner, other) = cluster.sides("carl");
    let ask = r#"{"key":"carl","cost":30,"id":"c"}"#;
    for _ in 0..2 {
        let (_, _, body) = other.post("/v1/charge", ask).await;
        assert!(body.contains("true"), "{body}");
        assert_eq!(owner.remaining("carl").await, [70]);
    }
    let (_, _, body) = other
        .post("/v1/refund", r#"{"key":"carl","cost":10}"#)
        .await;
    assert!(body.contains("true"), "{body}");
    for server in &cluster.servers {
        assert_eq!(server.remaining("carl").await, [80]);
    }
    let (_, _, body) = other.post("/v1/explain", r#"{"key":"carl"}"#).await;
    assert!(body.contains("\"remaining\":80"), "{body}");
}
