//! A third-party client in Rust, through the gateway, also while that is killed and started again.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use rumqttc::{Client as Rumqtt, Event, MqttOptions, Outgoing, Packet, QoS};
use tollgate_parts::{Mosquitto, PATIENCE, until};

use crate::NONE;
use crate::kit::{Gateway, MqttClient};

fn options(gateway: &Gateway, id: &str) -> MqttOptions {
    let mut options = MqttOptions::new(id, "127.0.0.1", gateway.address.port());
    options.set_keep_alive(Duration::from_secs(30));
    options
}

#[test]
fn rumqttc_publishes_and_receives() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), NONE);
    let (client, mut connection) = Rumqtt::new(options(&gateway, "rust"), 10);
    client.subscribe("rust/#", QoS::ExactlyOnce).unwrap();
    let all = [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce];
    let mut heard = Vec::new();
    while heard.len() < all.len() {
        match connection.recv_timeout(PATIENCE).unwrap().unwrap() {
            Event::Incoming(Packet::SubAck(_)) => {
                for qos in all {
                    let topic = format!("rust/{qos:?}");
                    client.publish(topic, qos, false, b"words").unwrap();
                }
            }
            Event::Incoming(Packet::Publish(message)) => {
                assert_eq!(&*message.payload, b"words");
                heard.push((message.topic, message.qos));
            }
            Event::Incoming(_) | Event::Outgoing(_) => {}
        }
    }
    heard.sort_by_key(|(_, qos)| *qos as u8);
    let expected = all.map(|qos| (format!("rust/{qos:?}"), qos));
    assert_eq!(heard, expected);
    client.disconnect().unwrap();
    while !matches!(
        connection.recv_timeout(PATIENCE).unwrap(),
        Ok(Event::Outgoing(Outgoing::Disconnect)) | Err(_)
    ) {}
}

#[test]
fn rumqttc_s_messages_arrive_exactly_once_though_the_gateway_is_killed() {
    const COUNT: usize = 60;
    let broker = Mosquitto::start();
    let mut gateway = Gateway::new(&broker.address(), NONE);
    let mut reader = MqttClient::new(broker.address(), false, "reader");
    reader.subscribe("once");
    let mut options = options(&gateway, "writer");
    options.set_clean_session(false).set_inflight(5);
    let (client, mut connection) = Rumqtt::new(options, 2 * COUNT);
    let polling = thread::spawn(move || {
        let mut done = 0;
        for event in connection.iter() {
            match event {
                Ok(Event::Incoming(Packet::PubComp(_))) => done += 1,
                Ok(_) => {}
                // It reconnects on the next poll.
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
            if done >= COUNT {
                break;
            }
        }
    });
    let mut heard = Vec::new();
    for at in 0..COUNT {
        client
            .publish("once", QoS::ExactlyOnce, false, at.to_string())
            .unwrap();
        if at % 20 == 10 {
            heard.push(reader.message().1);
            let address = gateway.address;
            gateway.kill();
            until("the port is free", || TcpListener::bind(address).is_ok());
            gateway = Gateway::with(&broker.address(), NONE, |settings| {
                settings.listen = address;
            });
        }
    }
    polling.join().unwrap();
    while heard.len() < COUNT {
        heard.push(reader.message().1);
    }
    reader.hears_nothing();
    let mut heard: Vec<usize> = heard
        .iter()
        .map(|words| std::str::from_utf8(words).unwrap().parse().unwrap())
        .collect();
    heard.sort_unstable();
    assert_eq!(heard, (0..COUNT).collect::<Vec<_>>());
}
