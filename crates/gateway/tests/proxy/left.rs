//! Pending messages of a client that floods and closes pass only for a bounded time.

use std::time::Duration;

use tollgate_gateway::GatewaySettings;
use tollgate_parts::{Mosquitto, until};

use crate::kit::{Extras, Gateway, MqttClient, connect, publish};

/// One each 50 ms.
const SMOOTH: &str = "
contracts:
  - id: smooth
    policies: [{ name: smooth, limit: 20, per: 1s, burst: 1, on_limit: delay, max_wait: 10s }]
";

fn outcome(gateway: &Gateway, outcome: &str) -> u64 {
    let name = format!("tollgate_gateway_publishes_total{{outcome=\"{outcome}\"}}");
    gateway.metric(&name)
}

#[test]
fn what_a_client_left_behind_is_dropped_after_a_while_and_its_leave_is_told() {
    let broker = Mosquitto::start();
    let change = |settings: &mut GatewaySettings| {
        settings.patience.leftovers = Duration::from_millis(300);
    };
    let gateway = Gateway::with(&broker.address(), SMOOTH, change);
    let mut watcher = MqttClient::new(broker.address(), true, "watcher");
    watcher.subscribe("#");
    let mut flood = MqttClient::silent(gateway.address, true);
    let will = Extras {
        will: Some(("will", "gone")),
        ..Extras::default()
    };
    flood.say(&connect(true, "flood", &will));
    assert_eq!(flood.hear().0, 0x20);
    // More than a minute at its limit, more than one read has, and then its DISCONNECT.
    let message = publish(true, 0, "flood", 0, b"x");
    let mut all = message.repeat(2_000);
    all.extend([0xE0, 0]);
    flood.say(&all);
    drop(flood);
    until("the connection is over", || {
        gateway.metric("tollgate_gateway_connections_open ") == 0
    });
    let passed = outcome(&gateway, "passed") + outcome(&gateway, "delayed");
    let left = outcome(&gateway, "left_behind");
    assert_eq!(passed + left, 2_000);
    assert!(passed >= 5 && left > 1_000, "{passed} {left}");
    // As many as passed, and no will: it sent DISCONNECT.
    for _ in 0..passed {
        assert_eq!(watcher.message().0, "flood");
    }
    watcher.hears_nothing();
}
