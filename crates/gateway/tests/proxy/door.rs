//! A gateway as a listener of the server: counts that several gateways share, contracts that change, the server's
//! pages.

use std::fs;
use std::time::Duration;

use tollgate_limit::Cost;
use tollgate_node::Key;
use tollgate_parts::{Mosquitto, Redis, Wire, until};
use tollgate_serve::engine::{EngineRequest, Op};
use tollgate_serve::settings::{ContractSource, Keeping, Listener, Settings, StoreSettings};

use crate::kit::{Gateway, MqttClient, publish};

/// Publishes so many messages of `QoS` 1; returns how many pass.
fn passed(gateway: &Gateway, id: &str, topic: &str, count: u16) -> u16 {
    let mut client = MqttClient::new(gateway.address, true, id);
    (1..=count)
        .map(|at| {
            client.say(&publish(true, 2, topic, at, b"x"));
            let (first, body) = client.hear();
            assert_eq!(first, 0x40);
            // Success, or no matching subscribers.
            u16::from(matches!(body.get(2), None | Some(0 | 0x10)))
        })
        .sum()
}

fn by_store(contracts: &str, redis: &Redis) -> Settings {
    Settings {
        contracts: ContractSource::Text(contracts.to_owned()),
        keeping: Keeping {
            store: Some(StoreSettings::new(redis.url().parse().unwrap())),
            ..Keeping::default()
        },
        ..Settings::default()
    }
}

#[test]
fn two_gateways_share_one_limit_by_a_store() {
    let (broker, redis) = (Mosquitto::start(), Redis::start());
    let contracts = "
contracts:
  - id: all
    match: { topic: shared/# }
    policies: [{ name: seven, limit: 7, per: 1h, coordination: store }]
";
    let gateway = || Gateway::of(&broker.address(), by_store(contracts, &redis), |_| {});
    let (one, two) = (gateway(), gateway());
    let sums = std::thread::scope(|scope| {
        let each = [(&one, "a"), (&two, "b"), (&one, "c"), (&two, "d")];
        let each =
            each.map(|(gateway, id)| scope.spawn(move || passed(gateway, id, "shared/x", 5)));
        each.map(|thread| thread.join().unwrap())
    });
    assert_eq!(sums.iter().sum::<u16>(), 7, "{sums:?}");
    // A message that no contract binds needs no decision.
    assert_eq!(passed(&one, "e", "free", 3), 3);
}

#[test]
fn what_waits_by_a_store_and_never_passes_is_given_back() {
    let (mut broker, redis) = (Mosquitto::start(), Redis::start());
    let contracts = "
contracts:
  - id: slow
    match: { topic: slow }
    policies: [{ name: one, limit: 1, per: 1h, on_limit: delay, max_wait: 10h, coordination: store }]
";
    let server = by_store(contracts, &redis);
    let change = |settings: &mut tollgate_gateway::GatewaySettings| {
        settings.delay_max = Duration::from_hours(3);
    };
    let gateway = Gateway::of(&broker.address(), server, change);
    assert_eq!(passed(&gateway, "a", "slow", 1), 1);
    let hours = || (wait(&gateway, "slow").as_secs() + 60) / 3600;
    assert_eq!(hours(), 1);
    for _ in 0..2 {
        let mut client = MqttClient::new(gateway.address, true, "b");
        client.say(&publish(true, 2, "slow", 1, b"x"));
        until("it waits", || hours() == 2);
        // Without the broker it never passes.
        broker.kill();
        until("it is given back", || hours() == 1);
        broker.restart();
    }
}

fn wait(gateway: &Gateway, topic: &str) -> Duration {
    let entries = [("topic", topic)];
    let ask = EngineRequest::new(Key::Entries(&entries), Cost::ONE);
    let engine = &gateway.server.shared().engine;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (_, outcome) = engine.turn().decide(&Op::check(ask)).await;
        let answer = outcome.unwrap().answer().unwrap();
        let back = Op::GiveBack(&answer.receipt);
        engine.turn().decide(&back).await.1.unwrap();
        answer.verdict.wait().into()
    })
}

#[test]
fn a_reload_changes_limits_and_filters_and_refuses_what_cannot_be_kept() {
    let broker = Mosquitto::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    let text = |filter: &str, limit: u32| {
        format!(
            "contracts: [{{ id: a, match: {{ topic: \"{filter}\" }}, key: [client], policies: [{{ name: p, limit: {limit}, per: 1h }}] }}]"
        )
    };
    fs::write(&path, text("one/#", 2)).unwrap();
    let server = Settings {
        contracts: ContractSource::File(path.clone()),
        ..Settings::default()
    };
    let gateway = Gateway::of(&broker.address(), server, |_| {});
    assert_eq!(passed(&gateway, "a", "one/x", 5), 2);
    assert_eq!(passed(&gateway, "a", "two/x", 5), 5);
    fs::write(&path, text("one/#", 4)).unwrap();
    gateway.server.reload().unwrap();
    assert_eq!(passed(&gateway, "a", "one/x", 5), 2);
    fs::write(&path, text("two/+", 4)).unwrap();
    gateway.server.reload().unwrap();
    assert_eq!(passed(&gateway, "b", "one/x", 5), 5);
    assert_eq!(passed(&gateway, "b", "two/x", 5), 4);
    fs::write(&path, text("two/#/x", 9)).unwrap();
    let error = gateway.server.reload().unwrap_err();
    assert!(error.contains("two/#/x"), "{error}");
    assert_eq!(passed(&gateway, "c", "two/x", 5), 4);
    let named = "tollgate_gateway_policy_denied_total{contract=\"a\",policy=\"p\"}";
    assert_eq!(gateway.metric(named), 8);
}

#[test]
fn metrics_stand_on_the_server_s_page() {
    let broker = Mosquitto::start();
    let server = Settings {
        http: vec![Listener::loopback()],
        contracts: ContractSource::Text(crate::NONE.to_owned()),
        ..Settings::default()
    };
    let gateway = Gateway::of(&broker.address(), server, |_| {});
    assert_eq!(passed(&gateway, "a", "free", 2), 2);
    let text = Wire::to(gateway.server.http().unwrap())
        .get("/metrics")
        .body;
    for line in [
        "tollgate_gateway_publishes_total{outcome=\"passed\"} 2",
        "tollgate_decisions_total{door=\"mqtt\",verdict=\"allow\"} 2",
        "tollgate_connections_total{door=\"mqtt\"} 1",
        "tollgate_request_duration_seconds_count{door=\"mqtt\"} 2",
    ] {
        assert!(text.lines().any(|said| said == line), "{line} in {text}");
    }
}
