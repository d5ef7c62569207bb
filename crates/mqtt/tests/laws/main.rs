//! Laws of the codec, compared with an independent encoder and matcher.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod filters;
mod plain;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate_mqtt::{
    Ack, Connack, Connect, Disconnect, Frames, Header, Malformed, PacketKind, Piece, PropertyValue,
    PublishHead, Qos, Suback, Version, client, reason, write,
};

const fn version(five: bool) -> Version {
    if five { Version::V5 } else { Version::V311 }
}

prop_compose! {
    fn some_pairs()(pairs in vec(("[a-z]{0,6}", "[ -~]{0,9}"), 0..4)) -> Vec<(String, String)> {
        pairs
    }
}

prop_compose! {
    fn some_publish()(
        five in any::<bool>(),
        qos in 0..3_u8,
        (dup, retain) in any::<(bool, bool)>(),
        topic in "[a-zé/$]{1,300}",
        id in 1..=u16::MAX,
        (alias, by_alias) in (option::of(1..=u16::MAX), any::<bool>()),
        pairs in some_pairs(),
        payload in vec(any::<u8>(), 0..300),
    ) -> plain::Publish {
        let dup = dup && qos > 0;
        let topic = if five && alias.is_some() && by_alias { String::new() } else { topic };
        plain::Publish {
            five,
            flags: u8::from(dup) * 8 + qos * 2 + u8::from(retain),
            topic,
            id,
            alias: alias.filter(|_| five),
            pairs: if five { pairs } else { Vec::new() },
            payload,
        }
    }
}

prop_compose! {
    fn some_connect()(
        (five, clean, keep_alive) in any::<(bool, bool, u16)>(),
        client in "[a-zé0-9]{0,30}",
        user in option::of("[a-zé]{0,30}"),
        password in option::of(vec(any::<u8>(), 0..30)),
        will in option::of(("[a-z/]{1,9}", vec(any::<u8>(), 0..30))),
        pairs in some_pairs(),
    ) -> plain::Connect {
        let password = password.filter(|_| five || user.is_some());
        let pairs = if five { pairs } else { Vec::new() };
        plain::Connect { five, clean, keep_alive, client, user, password, will, pairs }
    }
}

fn some_packet() -> impl Strategy<Value = (bool, Vec<u8>)> {
    prop_oneof![
        some_publish().prop_map(|publish| (publish.five, publish.bytes())),
        some_connect().prop_map(|connect| (connect.five, connect.bytes())),
        (select(&ACKS[..]), 1..=u16::MAX, any::<(u8, bool)>()).prop_map(
            |(kind, id, (reason, five))| { (five, write::ack(kind, id, reason, version(five))) }
        ),
        any::<u8>().prop_map(|reason| (true, write::refusal(reason, Version::V5))),
        "[a-z.:0-9]{0,30}".prop_map(|server| (true, write::use_another(&server).unwrap())),
        "[a-z.:0-9]{0,30}".prop_map(|server| (true, write::refer(&server).unwrap())),
    ]
}

const ACKS: [PacketKind; 4] = [
    PacketKind::Puback,
    PacketKind::Pubrec,
    PacketKind::Pubrel,
    PacketKind::Pubcomp,
];

fn header(bytes: &[u8]) -> Header {
    Header::read(bytes).unwrap().unwrap()
}

fn head(publish: &plain::Publish, bytes: &[u8]) -> Vec<u8> {
    let head = PublishHead::read(header(bytes), bytes, version(publish.five));
    let head = head.unwrap().unwrap();
    bytes[..head.length].to_vec()
}

/// Feeds these bytes to every reader; none may panic.
fn read_all(bytes: &[u8]) {
    for version in [Version::V311, Version::V5] {
        let _ = Connect::read(bytes);
        let _ = Connack::read(bytes, version).map(|connack| {
            (
                connack.assigned_client(),
                connack.keep_alive(),
                connack.topic_alias_max(),
            )
        });
        let _ = Ack::read(bytes, version);
        let _ = Suback::read(bytes, version);
        let _ = Disconnect::read(bytes, version).map(|end| end.server_reference());
        if let Ok(Some(header)) = Header::read(bytes) {
            if let Some(body) = header.body(bytes) {
                assert_eq!(body.len(), header.remaining as usize);
                let _ = Connect::read(body);
                let _ = Connack::read(body, version);
                let _ = Ack::read(body, version);
                let _ = Suback::read(body, version);
                let _ = Disconnect::read(body, version);
            }
            if header.kind == PacketKind::Publish
                && let Ok(Some(head)) = PublishHead::read(header, bytes, version)
            {
                assert!(head.length <= bytes.len());
                assert_eq!(
                    head.length as u64 + u64::from(head.payload()),
                    u64::from(header.packet())
                );
                assert!(head.properties.user().count() <= head.properties.iter().count());
                let again = head.with_topic("other").unwrap();
                assert!(matches!(Header::read(&again), Ok(Some(_))));
            }
        }
    }
}

/// The packets of a stream that arrives in these pieces.
fn cut(stream: &[u8], cuts: &[usize]) -> Result<Vec<Vec<u8>>, Malformed> {
    let mut frames = Frames::new(u32::MAX);
    let (mut packets, mut held, mut from) = (Vec::<Vec<u8>>::new(), Vec::new(), 0);
    let ends = cuts.iter().copied().chain([stream.len()]);
    for end in ends {
        held.extend(&stream[from..end.max(from)]);
        from = end.max(from);
        loop {
            match frames.next(&held)? {
                Piece::More => break,
                Piece::Start(header) => {
                    assert!(frames.is_between());
                    frames.enter(header.packet());
                    packets.push(Vec::new());
                }
                Piece::Part(count) => {
                    packets.last_mut().unwrap().extend(held.drain(..count));
                }
            }
        }
        assert!(held.len() < 5, "only a part of a fixed header is kept");
    }
    assert!(frames.is_between() && held.is_empty());
    Ok(packets)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_publish_is_read_as_it_was_written(publish in some_publish(), behind in vec(any::<u8>(), 0..9)) {
        let mut bytes = publish.bytes();
        let packet = bytes.len();
        bytes.extend(behind);
        let head = PublishHead::read(header(&bytes), &bytes, version(publish.five)).unwrap().unwrap();
        prop_assert_eq!(head.topic, &publish.topic);
        prop_assert_eq!(head.qos() as u8, publish.flags >> 1 & 3);
        prop_assert_eq!(head.is_dup(), publish.flags & 8 != 0);
        prop_assert_eq!(head.is_retained(), publish.flags & 1 != 0);
        prop_assert_eq!(head.id, if head.qos() == Qos::AtMostOnce { 0 } else { publish.id });
        prop_assert_eq!(head.alias, publish.alias);
        let pairs: Vec<_> = head.properties.user().map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        prop_assert_eq!(&pairs, &publish.pairs);
        prop_assert_eq!(&bytes[head.length..packet], &publish.payload[..]);
        prop_assert_eq!(head.payload() as usize, publish.payload.len());
    }

    #[test]
    fn a_head_asks_for_more_until_it_is_whole(publish in some_publish()) {
        let bytes = publish.bytes();
        let whole = head(&publish, &bytes).len();
        let header = header(&bytes);
        for end in usize::from(header.length)..bytes.len() {
            let read = PublishHead::read(header, &bytes[..end], version(publish.five));
            prop_assert_eq!(read.map(|head| head.is_some()), Ok(end >= whole));
        }
    }

    #[test]
    fn another_topic_changes_nothing_else(publish in some_publish(), topic in "[a-z/]{1,300}") {
        let bytes = publish.bytes();
        let read = PublishHead::read(header(&bytes), &bytes, version(publish.five)).unwrap().unwrap();
        let mut changed = read.with_topic(&topic).unwrap();
        changed.extend(&publish.payload);
        let expected = plain::Publish { topic, ..publish }.bytes();
        prop_assert_eq!(changed, expected);
    }

    #[test]
    fn a_connect_is_read_as_it_was_written(connect in some_connect()) {
        let bytes = connect.bytes();
        let read = Connect::read(header(&bytes).body(&bytes).unwrap()).unwrap();
        prop_assert_eq!(read.version, version(connect.five));
        prop_assert_eq!(read.client, &connect.client);
        prop_assert_eq!(read.user, connect.user.as_deref());
        prop_assert_eq!(read.keep_alive, connect.keep_alive);
        prop_assert_eq!((read.is_clean, read.has_will), (connect.clean, connect.will.is_some()));
        let pairs: Vec<_> = read.properties.user().map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        prop_assert_eq!(&pairs, &connect.pairs);
        for end in 0..bytes.len() - usize::from(header(&bytes).length) {
            let body = header(&bytes).body(&bytes).unwrap();
            prop_assert!(Connect::read(&body[..end]).is_err());
        }
    }

    #[test]
    fn a_client_says_what_another_encoder_says(mut hello in some_connect(), mut publish in some_publish()) {
        (hello.clean, hello.will, hello.pairs) = (true, None, Vec::new());
        let password = hello.password.as_ref().map(|bytes| letters(bytes));
        hello.password = password.clone().map(String::into_bytes);
        let said = client::connect(&client::ConnectRequest {
            version: version(hello.five),
            client: &hello.client,
            user: hello.user.as_deref(),
            password: password.as_deref(),
            keep_alive: hello.keep_alive,
        });
        prop_assert_eq!(said.unwrap(), hello.bytes());

        (publish.flags, publish.alias) = (publish.flags & 0b0110, None);
        publish.topic.push('t');
        let mut properties = Vec::new();
        for (name, value) in &publish.pairs {
            client::user_property(name, value, &mut properties).unwrap();
        }
        let qos = [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce];
        let message = client::MessageHead {
            version: version(publish.five),
            topic: &publish.topic,
            qos: qos[usize::from(publish.flags >> 1)],
            id: publish.id,
            properties: &properties,
        };
        let mut said = Vec::new();
        message.write(publish.payload.len(), &mut said).unwrap();
        said.extend(&publish.payload);
        prop_assert_eq!(said, publish.bytes());
    }

    #[test]
    fn what_is_said_is_read_as_it_was_meant(id in 1..=u16::MAX, code in any::<u8>(), server in "[a-z]{0,300}") {
        for kind in ACKS {
            for five in [false, true] {
                let bytes = write::ack(kind, id, code, version(five));
                prop_assert_eq!(header(&bytes).kind, kind);
                let ack = Ack::read(header(&bytes).body(&bytes).unwrap(), version(five)).unwrap();
                prop_assert_eq!((ack.id, ack.reason), (id, if five { code } else { 0 }));
            }
        }
        let bytes = write::refusal(code, Version::V5);
        let connack = Connack::read(header(&bytes).body(&bytes).unwrap(), Version::V5).unwrap();
        prop_assert_eq!((connack.has_session, connack.code), (false, code));
        let bytes = write::disconnect(code, Version::V5);
        prop_assert_eq!(Disconnect::read(&bytes[2..], Version::V5).unwrap().reason, code);
        let bytes = write::use_another(&server).unwrap();
        let end = Disconnect::read(header(&bytes).body(&bytes).unwrap(), Version::V5).unwrap();
        prop_assert_eq!((end.reason, end.server_reference()), (reason::USE_ANOTHER_SERVER, Some(&*server)));
        let bytes = write::refer(&server).unwrap();
        let connack = Connack::read(header(&bytes).body(&bytes).unwrap(), Version::V5).unwrap();
        prop_assert_eq!((connack.has_session, connack.code), (false, reason::USE_ANOTHER_SERVER));
        prop_assert!(bytes.ends_with(server.as_bytes()));
    }

    #[test]
    fn streams_may_be_cut_anywhere(packets in vec(some_packet(), 1..5), mut cuts in vec(any::<prop::sample::Index>(), 0..9)) {
        let packets: Vec<Vec<u8>> = packets.into_iter().map(|(_, bytes)| bytes).collect();
        let stream = packets.concat();
        let mut cuts: Vec<_> = cuts.drain(..).map(|cut| cut.index(stream.len())).collect();
        cuts.sort_unstable();
        prop_assert_eq!(cut(&stream, &cuts), Ok(packets.clone()));
        let every_byte: Vec<_> = (0..stream.len()).collect();
        prop_assert_eq!(cut(&stream, &every_byte), Ok(packets));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
    }

    #[test]
    fn changed_packets_are_read_or_refused(
        (_, mut bytes) in some_packet(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        end in any::<prop::sample::Index>(),
    ) {
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read_all(&bytes);
        read_all(&bytes[..end.index(bytes.len())]);
    }
}

#[test]
fn lengths_are_read_up_to_the_largest_and_no_longer_than_needed() {
    for (bytes, expected) in [
        (&[0x30, 0x00][..], Ok(Some(0))),
        (&[0x30, 0x7F], Ok(Some(127))),
        (&[0x30, 0x80, 0x01], Ok(Some(128))),
        (&[0x30, 0xFF, 0xFF, 0xFF, 0x7F], Ok(Some(268_435_455))),
        (&[0x30, 0x80], Ok(None)),
        (&[0x30], Ok(None)),
        (&[], Ok(None)),
        (&[0x30, 0xFF, 0xFF, 0xFF, 0xFF], Err(Malformed::Length)),
        (&[0x30, 0x80, 0x00], Err(Malformed::Length)),
        (&[0x00, 0x00], Err(Malformed::Kind)),
        (&[0x36, 0x00], Err(Malformed::Flags)),
        (&[0x61, 0x00], Err(Malformed::Flags)),
        (&[0x62, 0x02], Ok(Some(2))),
    ] {
        let read = Header::read(bytes).map(|header| header.map(|header| header.remaining));
        assert_eq!(read, expected, "{bytes:x?}");
    }
}

#[test]
fn packets_beyond_the_bound_are_refused_before_they_arrive() {
    let mut frames = Frames::new(10);
    assert!(matches!(frames.next(&[0x30, 8]), Ok(Piece::Start(_))));
    assert_eq!(frames.next(&[0x30, 9]), Err(Malformed::TooLarge));
}

#[track_caller]
fn refuses_publish(bytes: &[u8], expected: Malformed) {
    let read = PublishHead::read(header(bytes), bytes, Version::V5);
    assert_eq!(read, Err(expected), "{bytes:x?}");
}

#[test]
fn publishes_that_cannot_be_are_refused() {
    refuses_publish(&[0x30, 4, 0, 1, b'#', 0], Malformed::Topic);
    refuses_publish(&[0x30, 3, 0, 0, 0], Malformed::Topic);
    refuses_publish(&[0x32, 6, 0, 1, b'a', 0, 0, 0], Malformed::PacketId);
    refuses_publish(&[0x38, 4, 0, 1, b'a', 0], Malformed::Flags);
    refuses_publish(&[0x30, 3, 0, 9, b'a'], Malformed::Truncated);
    refuses_publish(&[0x30, 3, 0, 1, b'a'], Malformed::Truncated);
    refuses_publish(&[0x30, 4, 0, 1, 0xFF, 0], Malformed::Text);
    refuses_publish(&[0x30, 4, 0, 1, 0, 0], Malformed::Text);
    refuses_publish(&[0x30, 7, 0, 1, b'a', 3, 35, 0, 0], Malformed::TopicAlias);
    refuses_publish(
        &[0x30, 10, 0, 1, b'a', 6, 35, 0, 1, 35, 0, 1],
        Malformed::Property,
    );
    refuses_publish(&[0x30, 7, 0, 1, b'a', 3, 33, 0, 1], Malformed::Property);
    refuses_publish(&[0x30, 5, 0, 1, b'a', 1, 99], Malformed::Property);
}

fn letters(bytes: &[u8]) -> String {
    let letters = bytes.iter().map(|byte| char::from(b'a' + byte % 26));
    letters.collect()
}

#[test]
fn a_subscription_is_asked_for_and_answered() {
    let said = client::subscribe(7, "a/+", Qos::ExactlyOnce, Version::V5).unwrap();
    assert_eq!(said, [0x82, 9, 0, 7, 0, 0, 3, b'a', b'/', b'+', 2]);
    let said = client::subscribe(7, "a/+", Qos::AtMostOnce, Version::V311).unwrap();
    assert_eq!(said, [0x82, 8, 0, 7, 0, 3, b'a', b'/', b'+', 0]);
    let answer = |id, code| Ok(Suback { id, code });
    assert_eq!(Suback::read(&[0, 7, 0, 2], Version::V5), answer(7, 2));
    assert_eq!(Suback::read(&[0, 7, 0x80], Version::V311), answer(7, 0x80));
    assert_eq!(
        Suback::read(&[0, 7], Version::V311),
        Err(Malformed::Truncated)
    );
}

#[test]
fn terms_of_a_broker_are_found() {
    let body = [
        &[1, 0, 11][..],
        &[18, 0, 2, b'i', b'd'],
        &[19, 0, 30],
        &[34, 0, 10],
    ]
    .concat();
    assert_eq!(
        Connack::read(&body[..13], Version::V5),
        Err(Malformed::Truncated)
    );
    let connack = Connack::read(&body, Version::V5).unwrap();
    assert!(connack.has_session && connack.code == 0);
    assert_eq!(connack.assigned_client(), Some("id"));
    assert_eq!(
        (connack.keep_alive(), connack.topic_alias_max()),
        (Some(30), 10)
    );
    let first = connack
        .properties
        .iter()
        .next()
        .map(|property| property.value);
    assert_eq!(first, Some(PropertyValue::Text("id")));
    assert_eq!(Connack::read(&[0, 5], Version::V311).unwrap().code, 5);
}
