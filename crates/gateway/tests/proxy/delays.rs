//! How long messages are held back, and how long the broker takes for them, are counted separately.

use tollgate_parts::{Mosquitto, until};
use tollgate_serve::annex::GatewayView;

use crate::NONE;
use crate::kit::{Gateway, MqttClient, publish};

/// Three at once, and one more each 100 ms.
const SLOW: &str = "
contracts:
  - id: slow
    policies: [{ name: slow, limit: 10, per: 1s, burst: 3, on_limit: delay, max_wait: 10s }]
";

fn view(gateway: &Gateway) -> GatewayView {
    gateway.server.shared().annex.get().unwrap().view()
}

#[test]
fn the_broker_is_timed_for_messages_that_it_answers() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), NONE);
    let mut client = MqttClient::new(gateway.address, true, "a");
    client.say(&publish(true, 0, "t", 0, b"x"));
    client.hears_nothing();
    assert_eq!(view(&gateway).service.count, 0, "nobody answers");
    for id in 1..=40 {
        client.say(&publish(true, 2, "t", id, b"x"));
        assert_eq!(client.hear().0, 0x40);
    }
    client.say(&publish(true, 4, "t", 41, b"x"));
    assert_eq!(client.hear().0, 0x50);
    client.say(&[0x62, 2, 0, 41]);
    assert_eq!(client.hear().0, 0x70);
    let view = view(&gateway);
    assert_eq!((view.service.count, view.access.count), (41, 42));
    assert!(view.service.p50_ms > 0.0 && view.service.p50_ms <= view.service.p999_ms);
    assert!(view.access.sum_s.abs() < 1e-9, "{view:?}");
    let text = gateway.running().text();
    let counted = "tollgate_gateway_service_delay_seconds_bucket{le=\"+Inf\"} 41\n";
    assert!(text.contains(counted), "{text}");
}

#[test]
fn messages_behind_one_that_waits_are_held_back_since_they_came() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), SLOW);
    let mut client = MqttClient::new(gateway.address, true, "a");
    let all: Vec<u8> = (1..=6)
        .flat_map(|id| publish(true, 2, "t", id, b"x"))
        .collect();
    client.say(&all);
    for _ in 0..6 {
        assert_eq!(client.hear().0, 0x40);
    }
    until("all are counted", || view(&gateway).access.count == 6);
    let access = view(&gateway).access;
    // Three at once, then after 100, 200 and 300 ms; not three times 100 ms.
    assert!(
        access.p50_ms < 100.0 && access.p999_ms >= 290.0,
        "{access:?}"
    );
    assert!(access.sum_s >= 0.58, "{access:?}");
    assert_eq!(view(&gateway).service.count, 6);
}
