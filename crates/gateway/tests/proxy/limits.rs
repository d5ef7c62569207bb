//! Messages over their limit: refused with a reason where the protocol can, dropped or disconnected where it cannot,
//! held back where that is
//! configured.

use std::process::Command;
use std::time::{Duration, Instant};

use tollgate_gateway::{GatewaySettings, OnQuietRefusal, StartError, start};
use tollgate_parts::Mosquitto;
use tollgate_serve::run;
use tollgate_serve::settings::{ContractSource, Settings as ServerSettings};

use crate::kit::{Extras, Gateway, MqttClient, connect, property, publish, publish_with};

/// Two messages of each client under a filter, and nothing else.
const TWO: &str = "
contracts:
  - id: two
    match: { topic: limited/+/# }
    key: [client]
    policies: [{ name: few, limit: 2, per: 1h }]
";

fn denied(gateway: &Gateway, how: &str) -> u64 {
    gateway.metric(&format!(
        "tollgate_gateway_publishes_total{{outcome=\"denied_{how}\"}}"
    ))
}

#[test]
fn mqtt_5_hears_that_the_quota_is_exceeded() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), TWO);
    let mut reader = MqttClient::new(gateway.address, true, "reader");
    reader.subscribe("#");
    let mut writer = MqttClient::new(gateway.address, true, "writer");
    let say = |flags, id, words: &str| publish(true, flags, "limited/a", id, words.as_bytes());
    writer.say(&say(2, 1, "one"));
    assert_eq!(writer.hear(), (0x40, vec![0, 1]));
    writer.say(&say(4, 2, "two"));
    assert_eq!(writer.hear(), (0x50, vec![0, 2]));
    writer.say(&[0x62, 2, 0, 2]);
    assert_eq!(writer.hear(), (0x70, vec![0, 2]));
    // All at once, and a message that no contract binds after them.
    let free = publish(true, 2, "free", 6, b"free");
    let all = [
        say(2, 3, "three"),
        say(4, 4, "four"),
        say(0, 0, "five"),
        free,
    ];
    writer.say(&all.concat());
    assert_eq!(writer.hear(), (0x40, vec![0, 3, 0x97]));
    assert_eq!(writer.hear(), (0x50, vec![0, 4, 0x97]));
    assert_eq!(writer.hear(), (0x40, vec![0, 6]));
    // Identifiers are free again, and other clients have their own.
    writer.say(&publish(true, 4, "free", 4, b"again"));
    assert_eq!(writer.hear(), (0x50, vec![0, 4]));
    writer.say(&[0x62, 2, 0, 4]);
    assert_eq!(writer.hear(), (0x70, vec![0, 4]));
    let mut other = MqttClient::new(gateway.address, true, "other");
    other.say(&say(2, 1, "other"));
    assert_eq!(other.hear(), (0x40, vec![0, 1]));
    for words in ["one", "two", "free", "again", "other"] {
        assert_eq!(reader.message().1, words.as_bytes());
    }
    reader.hears_nothing();
    assert_eq!(
        (
            denied(&gateway, "with_reason"),
            denied(&gateway, "in_silence")
        ),
        (2, 1)
    );
    let name = "tollgate_gateway_policy_denied_total{contract=\"two\",policy=\"few\"}";
    assert_eq!(gateway.metric(name), 3);
}

#[test]
fn mosquitto_pub_says_why() {
    let broker = Mosquitto::start();
    let contract = TWO.replace("limit: 2", "limit: 1");
    let gateway = Gateway::new(&broker.address(), &contract);
    let port = gateway.address.port().to_string();
    let say = || {
        let mut command = Command::new("timeout");
        command.args([
            "30",
            "mosquitto_pub",
            "-p",
            &port,
            "-V",
            "mqttv5",
            "-i",
            "tool",
        ]);
        let done = command
            .args(["-q", "1", "-t", "limited/a", "-m", "x"])
            .output();
        String::from_utf8(done.unwrap().stderr).unwrap()
    };
    assert_eq!(say(), "");
    assert!(say().contains("Quota exceeded"));
}

#[test]
fn older_clients_are_told_that_dropped_messages_were_taken() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), TWO);
    let mut reader = MqttClient::new(gateway.address, false, "reader");
    reader.subscribe("#");
    let mut writer = MqttClient::new(gateway.address, false, "writer");
    let say = |flags, id| publish(false, flags, "limited/a", id, &[flags]);
    writer.say(&[say(0, 0), say(0, 0)].concat());
    writer.say(&[say(0, 0), say(2, 1), say(4, 2), say(4, 3)].concat());
    assert_eq!(writer.hear(), (0x40, vec![0, 1]));
    assert_eq!(writer.hear(), (0x50, vec![0, 2]));
    assert_eq!(writer.hear(), (0x50, vec![0, 3]));
    // Sending it again costs nothing and gets the same answer.
    writer.say(&say(4 | 8, 3));
    assert_eq!(writer.hear(), (0x50, vec![0, 3]));
    writer.say(&[0x62, 2, 0, 3, 0x62, 2, 0, 2]);
    assert_eq!(writer.hear(), (0x70, vec![0, 3]));
    assert_eq!(writer.hear(), (0x70, vec![0, 2]));
    // An unknown PUBREL goes to the broker.
    writer.say(&[0x62, 2, 0, 9]);
    assert_eq!(writer.hear(), (0x70, vec![0, 9]));
    reader.message();
    reader.message();
    reader.hears_nothing();
    assert_eq!(denied(&gateway, "as_taken"), 4);
    assert_eq!(denied(&gateway, "in_silence"), 1);
}

#[test]
fn who_cannot_be_told_is_cut_off_where_that_is_asked_for() {
    let broker = Mosquitto::start();
    let change =
        |settings: &mut GatewaySettings| settings.on_quiet_refusal = OnQuietRefusal::Disconnect;
    let gateway = Gateway::with(&broker.address(), TWO, change);
    for (five, flags) in [(false, 0), (false, 2), (false, 4), (true, 0)] {
        let id = format!("writer-{five}-{flags}");
        let mut writer = MqttClient::new(gateway.address, five, &id);
        let free = publish(five, 0, "limited/a", 0, b"");
        writer.say(&free.repeat(2));
        writer.hears_nothing();
        writer.say(&publish(five, flags, "limited/a", 1, b""));
        if five {
            assert_eq!(writer.hear(), (0xE0, vec![0x97]));
        }
        assert_eq!(writer.try_hear(), None);
    }
    assert_eq!(denied(&gateway, "and_left"), 4);
}

#[test]
fn a_message_of_qos_2_that_comes_again_is_never_answered_in_the_place_of_the_broker() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), TWO);
    for five in [false, true] {
        let mut writer = MqttClient::new(gateway.address, five, &format!("writer-{five}"));
        writer.say(&publish(five, 0, "limited/a", 0, b"").repeat(2));
        writer.say(&publish(five, 4 | 8, "limited/a", 5, b""));
        if five {
            assert_eq!(writer.hear(), (0xE0, vec![0x97]));
        }
        assert_eq!(writer.try_hear(), None);
    }
}

#[test]
fn aliases_stay_right_when_the_message_that_set_one_is_refused() {
    let broker = Mosquitto::start();
    let contract = "
contracts:
  - id: bad
    match: { property.kind: bad }
    key: [user]
    policies: [{ name: few, limit: 1, per: 1h }]
  - id: bad-of-anybody
    match: { property.kind: bad }
    policies: [{ name: few, limit: 1, per: 1h }]
";
    let gateway = Gateway::new(&broker.address(), contract);
    let mut reader = MqttClient::new(gateway.address, true, "reader");
    reader.subscribe("#");
    let mut writer = MqttClient::new(gateway.address, true, "writer");
    let bad = property("kind", "bad");
    let alias = [35, 0, 1];
    let both = [&alias[..], &bad].concat();
    let mut say = |topic: &str, id: u16, properties: &[u8], reason: Option<u8>| {
        let payload = id.to_be_bytes();
        writer.say(&publish_with(Some(properties), 2, topic, id, &payload));
        let mut body = id.to_be_bytes().to_vec();
        body.extend(reason);
        assert_eq!(writer.hear(), (0x40, body), "{id}");
    };
    say("one", 1, &both, None);
    say("", 2, &alias, None);
    // The broker still maps the alias to `one`.
    say("two", 3, &both, Some(0x97));
    say("", 4, &both, Some(0x97));
    say("", 5, &alias, None);
    say("", 6, &alias, None);
    for (topic, id) in [("one", 1), ("one", 2), ("two", 5), ("two", 6)] {
        assert_eq!(reader.message(), (topic.to_owned(), vec![0, id]));
    }
    assert_eq!(gateway.metric("tollgate_gateway_aliases_restored_total"), 1);
    // An alias that was never set is an error.
    writer.say(&publish_with(Some(&[35, 0, 9]), 0, "", 0, b""));
    assert_eq!(writer.hear(), (0xE0, vec![0x94]));
    assert_eq!(writer.try_hear(), None);
}

#[test]
fn messages_that_wait_are_spaced_and_stay_in_order() {
    let broker = Mosquitto::start();
    let contract = "
contracts:
  - id: smooth
    match: { topic: smooth }
    key: [topic]
    policies: [{ name: ten, limit: 10, per: 1s, burst: 1, on_limit: delay, max_wait: 5s }]
";
    let gateway = Gateway::new(&broker.address(), contract);
    let mut reader = MqttClient::new(gateway.address, false, "reader");
    reader.subscribe("#");
    let mut writer = MqttClient::new(gateway.address, true, "writer");
    let begin = Instant::now();
    let mut all: Vec<u8> = (0..6)
        .flat_map(|at| publish(true, 0, "smooth", 0, &[at]))
        .collect();
    all.extend(publish(true, 0, "free", 0, &[6]));
    writer.say(&all);
    for at in 0..7_u8 {
        assert_eq!(reader.message().1, [at]);
        let least = Duration::from_millis(100) * u32::from(at.min(5));
        assert!(
            begin.elapsed() >= least,
            "message {at} after {:?}",
            begin.elapsed()
        );
    }
    let count = |outcome: &str| {
        gateway.metric(&format!(
            "tollgate_gateway_publishes_total{{outcome=\"{outcome}\"}}"
        ))
    };
    // On a busy machine a message may arrive so late that it need not wait.
    assert!((1..=5).contains(&count("delayed")));
    assert_eq!(count("delayed") + count("passed"), 7);
}

#[test]
fn a_wait_that_would_be_too_long_is_refused_and_charges_nothing() {
    let broker = Mosquitto::start();
    let contract = "
contracts:
  - id: slow
    match: { topic: slow }
    policies: [{ name: slow, limit: 1, per: 1h, on_limit: delay }]
";
    // Half the keep-alive is the bound if that is less than what the policy and the gateway allow.
    for (name, contract, keep_alive) in [
        ("slow", contract.to_owned(), 0),
        (
            "live",
            contract.replace("limit: 1, per: 1h", "limit: 1, per: 9s"),
            6,
        ),
    ] {
        let gateway = Gateway::new(&broker.address(), &contract);
        let mut writer = MqttClient::silent(gateway.address, true);
        let extras = Extras {
            keep_alive,
            ..Extras::default()
        };
        writer.say(&connect(true, name, &extras));
        assert_eq!(writer.hear().0, 0x20);
        // The broker says that nobody has subscribed.
        for (id, reason) in [(1, 0x10), (2, 0x97), (3, 0x97)] {
            writer.say(&publish(true, 2, "slow", id, b""));
            let id = u8::try_from(id).unwrap();
            assert_eq!(writer.hear(), (0x40, vec![0, id, reason]));
        }
    }
}

#[test]
fn contracts_that_cannot_be_kept_are_refused_and_idle_ones_named() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let refusal = |text: &str| {
        let settings = GatewaySettings {
            listen: ([127, 0, 0, 1], 0).into(),
            ..GatewaySettings::default()
        };
        let server = run::start(ServerSettings {
            contracts: ContractSource::Text(text.to_owned()),
            ..ServerSettings::default()
        });
        let server = server.unwrap();
        match runtime.block_on(start(settings, server.shared())) {
            Err(error @ StartError::Contracts(_)) => error.to_string(),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it starts"),
        }
    };
    let of = |topic: &str| TWO.replace("limited/+/#", topic);
    assert!(refusal(&of("a/#/b")).contains("`#` stands alone in the last level"));
    assert!(refusal(&of("a+")).contains("contract `two`: topic `a+`"));
    assert!(refusal(&of("$share/g/a/#")).contains("shared subscription"));
    let gateway = Gateway::new("127.0.0.1:1", &TWO.replace("[client]", "[tenant]"));
    let idle = gateway.running().idle();
    assert_eq!((&*idle[0].contract, &*idle[0].entry), ("two", "tenant"));
}
