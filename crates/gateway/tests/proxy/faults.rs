//! Brokers and gateways that stop and restart, clients that send nonsense or never read.

use std::time::Duration;

use tollgate_gateway::GatewaySettings;
use tollgate_parts::{Mosquitto, until};

use crate::NONE;
use crate::kit::{Extras, Gateway, MqttClient, connect, packet, publish};

#[test]
fn without_a_broker_clients_are_told_so_until_it_is_back() {
    let mut broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), NONE);
    let mut client = MqttClient::new(gateway.address, true, "a");
    broker.kill();
    assert_eq!(client.try_hear(), None);
    for (five, code) in [(false, 3), (true, 0x88)] {
        let mut client = MqttClient::silent(gateway.address, five);
        client.say(&connect(five, "a", &Extras::default()));
        let (first, body) = client.hear();
        assert_eq!((first, body[1]), (0x20, code));
        assert_eq!(client.try_hear(), None);
    }
    assert_eq!(
        gateway.metric("tollgate_gateway_turned_away_total{reason=\"no_broker\"}"),
        2
    );
    broker.restart();
    MqttClient::new(gateway.address, true, "a").hears_nothing();
}

#[test]
fn a_broker_that_does_not_answer_is_not_waited_for() {
    let broker = Mosquitto::start();
    let change =
        |settings: &mut GatewaySettings| settings.patience.greeting = Duration::from_millis(300);
    let gateway = Gateway::with(&broker.address(), NONE, change);
    let mut client = MqttClient::new(gateway.address, true, "before");
    broker.pause();
    for (five, code) in [(false, 3), (true, 0x88)] {
        let mut client = MqttClient::silent(gateway.address, five);
        client.say(&connect(five, "a", &Extras::default()));
        let (first, body) = client.hear();
        assert_eq!((first, body[1]), (0x20, code));
        assert_eq!(client.try_hear(), None);
    }
    broker.resume();
    client.hears_nothing();
    assert_eq!(
        gateway.metric("tollgate_gateway_turned_away_total{reason=\"no_greeting\"}"),
        2
    );
}

/// What is in flight when the gateway is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Sent,
    Received,
    Released,
}

#[test]
fn a_message_arrives_exactly_once_though_the_gateway_is_killed() {
    let broker = Mosquitto::start();
    for five in [false, true] {
        for at in [At::Sent, At::Received, At::Released] {
            let mut reader = MqttClient::new(broker.address(), five, "reader");
            reader.subscribe("once");
            let gateway = Gateway::new(&broker.address(), NONE);
            let extras = Extras {
                keeps_session: true,
                ..Extras::default()
            };
            let hello = connect(five, &format!("writer-{five}-{at:?}"), &extras);
            let mut writer = MqttClient::silent(gateway.address, five);
            writer.say(&hello);
            assert_eq!(let_in(&mut writer), 0);
            let words = format!("{at:?}");
            writer.say(&publish(five, 4, "once", 1, words.as_bytes()));
            if at != At::Sent {
                assert_eq!(writer.hear(), (0x50, vec![0, 1]));
            }
            if at == At::Released {
                writer.say(&[0x62, 2, 0, 1]);
            }
            gateway.kill();
            drop(writer);
            let gateway = Gateway::new(&broker.address(), NONE);
            let mut writer = MqttClient::silent(gateway.address, five);
            writer.say(&hello);
            assert_eq!(let_in(&mut writer), 1);
            if at == At::Sent {
                writer.say(&publish(five, 4 | 8, "once", 1, words.as_bytes()));
                assert_eq!(writer.hear(), (0x50, vec![0, 1]));
            }
            writer.say(&[0x62, 2, 0, 1]);
            let (first, body) = writer.hear();
            assert_eq!((first, &body[..2]), (0x70, &[0, 1][..]));
            assert_eq!(reader.message().1, words.as_bytes());
            reader.hears_nothing();
        }
    }
}

/// Whether the broker knew the session.
fn let_in(client: &mut MqttClient) -> u8 {
    let (first, body) = client.hear();
    assert_eq!((first, body[1]), (0x20, 0));
    body[0]
}

#[test]
fn a_client_whose_first_words_are_no_connect_is_cut_off() {
    let broker = Mosquitto::start();
    let change =
        |settings: &mut GatewaySettings| settings.patience.hello = Duration::from_millis(300);
    let gateway = Gateway::with(&broker.address(), NONE, change);
    let long = packet(0x10, &vec![0; 600_000]);
    for words in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xC0, 0],
        &[0x10, 2, 0, 0],
        &long,
    ] {
        let mut client = MqttClient::silent(gateway.address, true);
        // It may close before all is sent.
        client.try_say(words);
        assert_eq!(client.try_hear(), None);
    }
    assert_eq!(
        gateway.metric("tollgate_gateway_turned_away_total{reason=\"malformed\"}"),
        4
    );
    let mut silent = MqttClient::silent(gateway.address, true);
    silent.say(&[0x10]);
    assert_eq!(silent.try_hear(), None);
    assert_eq!(
        gateway.metric("tollgate_gateway_turned_away_total{reason=\"slow\"}"),
        1
    );
    let mut old = MqttClient::silent(gateway.address, false);
    old.say(&packet(0x10, b"\0\x06MQIsdp\x03\x02\0\0\0\x01a"));
    assert_eq!(old.hear(), (0x20, vec![0, 1]));
    assert_eq!(old.try_hear(), None);
}

#[test]
fn nonsense_ends_the_connection_with_a_reason_and_nobody_else_s() {
    let broker = Mosquitto::start();
    let change = |settings: &mut GatewaySettings| settings.packet_max = 1000;
    let gateway = Gateway::with(&broker.address(), NONE, change);
    let mut bystander = MqttClient::new(gateway.address, true, "bystander");
    let cases = [
        (vec![0x00, 0x00], 0x81),
        (vec![0x36, 0x00], 0x81),
        (connect(true, "again", &Extras::default()), 0x82),
        (publish(true, 0, "a/#", 0, b""), 0x90),
        (publish(true, 2, "a", 0, b""), 0x82),
        (publish(true, 0, "a", 0, &[0; 1000]), 0x95),
        (vec![0x30, 0xFF, 0xFF, 0xFF, 0xFF], 0x81),
    ];
    for (at, (words, reason)) in cases.iter().enumerate() {
        for five in [true, false] {
            let mut client =
                MqttClient::new(gateway.address, five, &format!("nonsense-{at}-{five}"));
            if !five && words[0] == 0x30 {
                continue;
            }
            client.say(words);
            if five {
                assert_eq!(client.hear(), (0xE0, vec![*reason]), "{at}");
            }
            assert_eq!(client.try_hear(), None);
        }
    }
    bystander.hears_nothing();
}

#[test]
fn a_client_that_never_reads_is_not_read_for() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), NONE);
    let mut deaf = MqttClient::new(gateway.address, false, "deaf");
    deaf.subscribe("flood");
    let mut writer = MqttClient::new(gateway.address, false, "writer");
    let payload = vec![7; 1 << 20];
    let rounds: u8 = 64;
    for at in 1..=rounds {
        writer.say(&publish(false, 2, "flood", at.into(), &payload));
        assert_eq!(writer.hear(), (0x40, vec![0, at]));
    }
    let down = || gateway.metric("tollgate_gateway_bytes_total{direction=\"down\"}");
    let mut before = 0;
    // What sockets hold, and no more.
    until("nothing moves", || {
        let now = down();
        let rests = now == std::mem::replace(&mut before, now);
        std::thread::sleep(Duration::from_millis(50));
        rests
    });
    assert!(before < 32 << 20, "{before} bytes");
    MqttClient::new(gateway.address, true, "other").hears_nothing();
    // Once it reads, what was held arrives complete.
    assert_eq!(deaf.message().1.len(), payload.len());
}

#[test]
fn a_client_that_takes_nothing_for_too_long_is_cut_off() {
    let broker = Mosquitto::start();
    let change =
        |settings: &mut GatewaySettings| settings.patience.stall = Duration::from_millis(300);
    let gateway = Gateway::with(&broker.address(), NONE, change);
    let mut deaf = MqttClient::new(gateway.address, false, "deaf");
    deaf.subscribe("flood");
    let mut writer = MqttClient::new(broker.address(), false, "writer");
    let payload = vec![7; 1 << 20];
    for _ in 0..32 {
        writer.say(&publish(false, 0, "flood", 0, &payload));
    }
    until("it is cut off", || {
        gateway.metric("tollgate_gateway_cut_total{reason=\"stalled\"}") == 1
    });
}

#[test]
fn a_gateway_that_stops_says_so_and_goes() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), NONE);
    let (mut new, mut old) = (
        MqttClient::new(gateway.address, true, "new"),
        MqttClient::new(gateway.address, false, "old"),
    );
    let heard = std::thread::spawn(move || (new.try_hear(), new.try_hear(), old.try_hear()));
    gateway.stop();
    assert_eq!(
        heard.join().unwrap(),
        (Some((0xE0, vec![0x8B])), None, None)
    );
}

/// One client more than `most` is refused for that reason, until one of them closes.
fn has_room_for(most: usize, change: impl FnOnce(&mut GatewaySettings), reason: &str) {
    let broker = Mosquitto::start();
    let gateway = Gateway::with(&broker.address(), NONE, change);
    let client = |name: usize| MqttClient::new(gateway.address, true, &format!("client-{name}"));
    let first = client(0);
    let _others: Vec<_> = (1..most).map(client).collect();
    let mut last = MqttClient::silent(gateway.address, true);
    assert_eq!(last.try_hear(), None);
    assert_eq!(
        gateway.metric(&format!(
            "tollgate_gateway_turned_away_total{{reason=\"{reason}\"}}"
        )),
        1
    );
    first.vanish();
    until("there is room", || {
        let mut next = MqttClient::silent(gateway.address, true);
        next.try_say(&connect(true, "c", &Extras::default())) && next.try_hear().is_some()
    });
}

#[test]
fn no_more_clients_than_may_be() {
    has_room_for(2, |settings| settings.connections_max = 2, "full");
}

#[test]
fn no_more_clients_from_one_address_than_may_be() {
    has_room_for(
        1,
        |settings| settings.connections_per_address = 1,
        "crowded",
    );
}
