//! MQTT: packets end where their heads say, in any portions, and a topic that is put in is read back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_mqtt::{
    Ack, Connack, Connect, Disconnect, Filters, Frames, Header, PACKET_MAX, PacketKind, Piece,
    PublishHead, Suback, TopicFilter, Version, is_topic,
};

fn read(header: Header, packet: &[u8], version: Version) {
    let body = &packet[header.length.into()..];
    match header.kind {
        PacketKind::Connect => {
            if let Ok(connect) = Connect::read(body) {
                drop(format!("{connect:?}"));
            }
        }
        PacketKind::Publish => publish(header, packet, version),
        _ => {
            if let Ok(connack) = Connack::read(body, version) {
                let _ = (connack.assigned_client(), connack.keep_alive());
                let _ = (connack.receive_max(), connack.topic_alias_max());
            }
            let _ = Ack::read(body, version);
            let _ = Suback::read(body, version);
            if let Ok(disconnect) = Disconnect::read(body, version) {
                let _ = disconnect.server_reference();
            }
        }
    }
}

fn publish(header: Header, packet: &[u8], version: Version) {
    let Ok(Some(head)) = PublishHead::read(header, packet, version) else {
        return;
    };
    drop(format!("{head:?}"));
    if let Some(bytes) = head.with_topic("a/b") {
        let header = Header::read(&bytes)
            .expect("a header")
            .expect("a whole one");
        assert_eq!(header.kind, PacketKind::Publish);
    }
}

fn filters(text: &str) {
    let _ = is_topic(text);
    let mut all = Filters::default();
    for line in text.lines().take(16) {
        if let Ok(filter) = TopicFilter::parse(line) {
            let place = all.add(&filter);
            let topic = text.lines().last().unwrap_or_default();
            let mut found = false;
            all.matching(topic, |it| found |= it == place);
            assert_eq!(found, filter.matches(topic), "{line:?} {topic:?}");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        filters(text);
    }
    for version in [Version::V311, Version::V5] {
        let (mut frames, mut rest) = (Frames::new(PACKET_MAX), bytes);
        while let Ok(Piece::Start(header)) = frames.next(rest) {
            let length = header.packet();
            let Some(packet) = rest.get(..length as usize) else {
                break;
            };
            read(header, packet, version);
            frames.enter(length);
            let Ok(Piece::Part(part)) = frames.next(rest) else {
                break;
            };
            rest = &rest[part..];
        }
    }
});
