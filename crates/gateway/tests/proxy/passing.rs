//! Everything but messages over their limit passes as if there were no gateway.

use std::process::Command;

use tollgate_parts::{Mosquitto, until};

use crate::NONE;
use crate::kit::{Extras, Gateway, MqttClient, connect, publish};

fn tool(name: &str, gateway: &Gateway, arguments: &[&str]) -> (bool, String) {
    let port = gateway.address.port().to_string();
    let mut command = Command::new("timeout");
    command.args(["30", name, "-h", "127.0.0.1", "-p", &port]);
    let done = command.args(arguments).output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn tools_of_mosquitto_do_not_notice_it() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), NONE);
    for version in ["mqttv311", "mqttv5"] {
        for qos in ["0", "1", "2"] {
            let topic = format!("kept/{version}/{qos}");
            let words = format!("{version} at {qos}");
            let said = ["-V", version, "-q", qos, "-t", &topic, "-r", "-m", &words];
            let (done, said) = tool("mosquitto_pub", &gateway, &said);
            assert!(done, "{said}");
            let asked = ["-V", version, "-q", qos, "-t", &topic, "-C", "1", "-v"];
            let (done, said) = tool("mosquitto_sub", &gateway, &asked);
            assert!(done);
            assert_eq!(said.trim(), format!("{topic} {words}"));
        }
    }
    assert_eq!(
        gateway.metric("tollgate_gateway_publishes_total{outcome=\"passed\"}"),
        6
    );
    until("all have gone", || {
        gateway.metric("tollgate_gateway_connections_open") == 0
    });
    gateway.stop();
}

#[test]
fn a_large_payload_arrives_whole_and_in_order() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), NONE);
    let mut reader = MqttClient::new(gateway.address, true, "reader");
    reader.subscribe("big/#");
    let mut writer = MqttClient::new(gateway.address, false, "writer");
    let payload: Vec<u8> = (0..5_000_000_u32).map(|at| (at % 251) as u8).collect();
    writer.say(&publish(false, 2, "big/one", 7, &payload));
    writer.say(&publish(false, 0, "big/two", 0, b"small"));
    assert_eq!(writer.hear(), (0x40, vec![0, 7]));
    assert!(reader.message() == ("big/one".to_owned(), payload));
    assert_eq!(reader.message(), ("big/two".to_owned(), b"small".to_vec()));
}

#[test]
fn bytes_may_come_one_by_one() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), NONE);
    let mut reader = MqttClient::new(gateway.address, false, "reader");
    reader.subscribe("#");
    let mut writer = MqttClient::silent(gateway.address, true);
    let hello = connect(true, "slow", &Extras::default());
    let message = publish(true, 2, "slow", 1, b"words");
    for byte in [hello, message].concat() {
        writer.say(&[byte]);
    }
    assert_eq!(writer.hear().0, 0x20);
    assert_eq!(writer.hear().0, 0x40);
    assert_eq!(reader.message(), ("slow".to_owned(), b"words".to_vec()));
}

#[test]
fn a_will_is_told_when_its_client_vanishes_and_not_when_it_takes_leave() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), NONE);
    let mut reader = MqttClient::new(gateway.address, false, "reader");
    reader.subscribe("will");
    for (five, leaves) in [(false, true), (true, true), (false, false), (true, false)] {
        let mut client = MqttClient::silent(gateway.address, five);
        let extras = Extras {
            will: Some(("will", "gone")),
            ..Extras::default()
        };
        client.say(&connect(five, "mortal", &extras));
        assert_eq!(client.hear().0, 0x20);
        if leaves {
            client.say(&[0xE0, 0]);
            assert_eq!(client.try_hear(), None);
        } else {
            client.vanish();
            assert_eq!(reader.message(), ("will".to_owned(), b"gone".to_vec()));
        }
    }
    reader.hears_nothing();
}

#[test]
fn of_two_clients_with_one_id_the_first_goes() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), NONE);
    for five in [false, true] {
        let mut first = MqttClient::new(gateway.address, five, "twin");
        let mut second = MqttClient::new(gateway.address, five, "twin");
        assert_eq!(first.try_hear(), None);
        second.hears_nothing();
    }
}

#[test]
fn a_broker_that_refuses_is_heard_and_what_was_sent_along_does_not_count() {
    let broker = Mosquitto::with(&["allow_anonymous false"]);
    let contracts = "contracts: [{ id: all, policies: [{ name: a, limit: 1, per: 1h }] }]";
    let gateway = Gateway::new(&broker.address(), contracts);
    for five in [false, true] {
        let mut client = MqttClient::silent(gateway.address, five);
        let hello = connect(five, "stranger", &Extras::default());
        let message = publish(five, 0, "a", 0, b"free?");
        client.say(&[hello, message.repeat(3)].concat());
        let (first, body) = client.hear();
        assert_eq!((first, body[1]), (0x20, if five { 0x87 } else { 5 }));
        assert_eq!(client.try_hear(), None);
    }
    let text = gateway.running().text();
    assert!(text.contains("outcome=\"passed\"} 0"), "{text}");
    assert!(text.contains("policy=\"a\"} 0"), "{text}");
}
