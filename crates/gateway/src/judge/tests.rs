//! Which contracts bind which messages.

use std::net::Ipv4Addr;

use tollgate_contract::Contracts;
use tollgate_mqtt::{Header, Version};
use tollgate_serve::engine::{Engine, Secrets};
use tollgate_serve::settings::Settings;

use super::*;

/// Whether each of some messages passes, by contracts that admit one each.
#[track_caller]
fn passes(contract: &str, messages: &[(&str, Option<&str>, &str, &[u8])], expected: &[bool]) {
    let text = format!(
        "contracts: [{{ id: a, {contract}, policies: [{{ name: one, limit: 1, per: 1h }}] }}]"
    );
    let contracts = Contracts::parse(&text).unwrap();
    check(&contracts).unwrap();
    let settings = Settings::default();
    let engine = Engine::new(contracts, settings.node, &Secrets::draw().unwrap());
    let judge = MessageJudge::new(Arc::new(Server::new(engine, settings)));
    let meter = GatewayMeter::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let found: Vec<_> = messages
        .iter()
        .map(|(client, user, topic, properties)| {
            let sender = MessageSender::new(client, *user, Ipv4Addr::LOCALHOST.into());
            let mut bytes = vec![0x30, 0, 0, 1, b'x'];
            bytes.push(u8::try_from(properties.len()).unwrap());
            bytes.extend(*properties);
            bytes[1] = u8::try_from(bytes.len() - 2).unwrap();
            let header = Header::read(&bytes).unwrap().unwrap();
            let head = PublishHead::read(header, &bytes, Version::V5);
            let head = head.unwrap().unwrap();
            let message = JudgedMessage {
                sender: &sender,
                topic,
                head: &head,
                came: None,
            };
            let ruling = runtime.block_on(judge.rule(message, Duration::ZERO, &meter));
            matches!(ruling, MessageRuling::Pass)
        })
        .collect();
    assert_eq!(found, expected, "{contract}");
}

#[test]
fn a_filter_binds_topics_and_the_topic_itself_is_counted_by() {
    let messages = [
        ("c", None, "a/1/x", &[][..]),
        ("c", None, "a/2/x", &[]),
        ("c", None, "b", &[]),
        ("c", None, "a/1/x", &[]),
    ];
    passes(
        "match: { topic: a/+/x }",
        &messages,
        &[true, false, true, false],
    );
    passes(
        "match: { topic: a/+/x }, key: [topic]",
        &messages,
        &[true, true, true, false],
    );
    passes(
        "match: { topic: \"#\" }",
        &messages,
        &[true, false, false, false],
    );
    passes(
        "match: { topic: a/1/x }",
        &messages,
        &[true, true, true, false],
    );
    passes(
        "match: { topic: \"*\" }",
        &messages,
        &[true, false, false, false],
    );
    passes("key: [client]", &messages, &[true, false, false, false]);
}

#[test]
fn who_sends_binds() {
    let messages = [
        ("c", Some("u"), "t", &[][..]),
        ("d", Some("u"), "t", &[]),
        ("", None, "t", &[]),
        ("", None, "t", &[]),
    ];
    passes("key: [user]", &messages, &[true, false, true, true]);
    passes("key: [client]", &messages, &[true, true, true, false]);
    passes(
        "match: { ip: 127.0.0.1 }",
        &messages,
        &[true, false, false, false],
    );
    passes("match: { user: v }", &messages, &[true; 4]);
}

#[test]
fn user_properties_bind_under_names_that_cannot_be_mistaken_for_others() {
    let user = [38, 0, 4, b'u', b's', b'e', b'r', 0, 1, b'u'];
    let other = [38, 0, 4, b'u', b's', b'e', b'r', 0, 1, b'v'];
    let both = [user, other].concat();
    let messages = [
        ("c", None, "t", &user[..]),
        ("c", None, "t", &both),
        ("c", None, "t", &other),
        ("c", None, "t", &[]),
    ];
    passes("key: [user]", &messages, &[true; 4]);
    passes(
        "key: [property.user]",
        &messages,
        &[true, false, true, true],
    );
    passes(
        "match: { property.user: v }",
        &messages,
        &[true, true, true, true],
    );
}
