//! Whole runs against Mosquitto, and against brokers of the test's own that do not behave.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tollgate_load::{
    Arrivals, Assign, ErrorKind, Groups, Login, MessageCounts, Messages, MqttError, MqttPace,
    MqttPhase, MqttPlan, MqttReport, SIZE_MIN, SubscriberPlan, Timing, TopicTemplate, run_mqtt,
};
use tollgate_mqtt::{Header, PacketKind, PublishHead, Qos, Version, reason, write};
use tollgate_parts::Mosquitto;

fn plan(targets: &[&str], qos: Qos) -> MqttPlan {
    let targets: Vec<_> = targets.iter().map(|text| text.parse().unwrap()).collect();
    MqttPlan {
        watch: SubscriberPlan {
            at: targets.clone(),
            subscribers: 1,
            qos,
        },
        targets,
        assign: Assign::Blind,
        publishers: 20,
        idle: 3,
        pace: MqttPace::Open {
            rate: 20.0,
            arrivals: Arrivals::Poisson,
        },
        groups: Groups {
            size: 1,
            batch: 1,
            spread: Duration::ZERO,
        },
        messages: Messages {
            qos,
            size: 100,
            topic: TopicTemplate::new("load/%g/%p").unwrap(),
            group_property: None,
        },
        login: Login {
            version: Version::V5,
            user: None,
            password: None,
            prefix: "test-".to_owned(),
            keep_alive: 60,
        },
        in_flight: 20,
        threads: 2,
        timing: Timing {
            warm_up: Duration::from_millis(100),
            duration: Duration::from_millis(700),
            // Bounds a failure only: a run ends when all has arrived.
            patience: Duration::from_secs(30),
        },
        seed: 1,
    }
}

#[track_caller]
fn done(plan: &MqttPlan) -> MqttReport {
    run_mqtt(plan, |_| {}).unwrap()
}

/// Everything was sent and arrived, once and in order.
#[track_caller]
fn whole(report: &MqttReport, qos: Qos) {
    let due = report.counts.due;
    let expected = MessageCounts {
        due,
        sent: due,
        acknowledged: if qos == Qos::AtMostOnce { 0 } else { due },
        arrived: due,
        ..MessageCounts::default()
    };
    assert!(due > 50, "{report:?}");
    assert_eq!(report.counts, expected, "{report:?}");
    assert_eq!((report.errors.len(), report.strange), (0, 0), "{report:?}");
    assert_eq!(report.connected, 23);
    assert_eq!(report.latency.count, due);
    assert_eq!(report.lateness.count, due);
    assert!(report.latency.p50 > 0 && report.service.p50 <= report.latency.max);
}

const ALL: [Qos; 3] = [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce];

#[test]
fn every_message_arrives_once() {
    let broker = Mosquitto::start();
    for version in [Version::V311, Version::V5] {
        for qos in ALL {
            let mut plan = plan(&[&broker.address()], qos);
            plan.login.version = version;
            whole(&done(&plan), qos);
        }
    }
}

#[test]
fn batches_of_groups_arrive_whole() {
    let broker = Mosquitto::start();
    let mut plan = plan(&[&broker.address()], Qos::AtLeastOnce);
    plan.pace = MqttPace::Open {
        rate: 50.0,
        arrivals: Arrivals::Even,
    };
    plan.groups = Groups {
        size: 5,
        batch: 10,
        spread: Duration::from_millis(20),
    };
    plan.messages.group_property = Some("group".to_owned());
    plan.messages.size = SIZE_MIN;
    whole(&done(&plan), Qos::AtLeastOnce);
}

#[test]
fn several_subscribers_share_what_comes() {
    let broker = Mosquitto::start();
    let mut plan = plan(&[&broker.address()], Qos::AtMostOnce);
    plan.watch.subscribers = 3;
    let counts = done(&plan).counts;
    // They are read in turns, so that order is not to be expected.
    let expected = (counts.due, 0, 0);
    assert_eq!((counts.arrived, counts.lost, counts.duplicated), expected);
}

#[test]
fn silent_clients_are_kept_alive() {
    let broker = Mosquitto::start();
    let mut plan = plan(&[&broker.address()], Qos::AtMostOnce);
    (plan.publishers, plan.idle, plan.login.keep_alive) = (0, 200, 3);
    plan.watch.at.clear();
    // A broker cuts off who is silent for half as long again.
    plan.timing.duration = Duration::from_secs(6);
    let report = done(&plan);
    assert_eq!((report.connected, report.errors), (200, Vec::new()));
    assert_eq!(report.counts, MessageCounts::default());
}

#[test]
fn a_closed_loop_keeps_messages_under_way() {
    // All that is published is kept for the subscriber, however slow it is.
    let broker = Mosquitto::with(&["allow_anonymous true", "max_queued_messages 0"]);
    let mut plan = plan(&[&broker.address()], Qos::AtLeastOnce);
    (plan.pace, plan.publishers, plan.in_flight) = (MqttPace::Closed, 3, 4);
    plan.timing.duration = Duration::from_millis(300);
    let report = done(&plan);
    let counts = report.counts;
    assert!(counts.sent > 100, "{report:?}");
    assert_eq!(counts.acknowledged, counts.sent, "{report:?}");
    assert_eq!(counts.arrived, counts.sent, "{report:?}");
    assert_eq!(report.errors, []);
}

#[test]
fn who_is_not_let_in_hears_what_to_give() {
    let broker = Mosquitto::with(&["allow_anonymous false"]);
    for version in [Version::V311, Version::V5] {
        let mut plan = plan(&[&broker.address()], Qos::AtMostOnce);
        plan.login.version = version;
        let refused = run_mqtt(&plan, |_| {}).unwrap_err();
        assert!(matches!(refused, MqttError::Refused { .. }), "{refused:?}");
        assert!(refused.to_string().contains("--user"), "{refused}");
    }
}

#[test]
fn a_broker_that_is_not_there_is_said_with_advice() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let refused = run_mqtt(&plan(&[&address], Qos::AtMostOnce), |_| {}).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, MqttError::Connect { .. }), "{refused:?}");
    assert!(text.contains(&address) && text.contains("Start the broker"));
}

/// Answers each connection with `answer`; what came, by connection, is kept.
fn broker(answer: Answer) -> (String, Arc<Mutex<Vec<Heard>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let heard = Arc::clone(&kept);
            thread::spawn(move || answer(stream, &heard));
        }
    });
    (address, heard)
}

type Answer = fn(TcpStream, &Mutex<Vec<Heard>>);

/// A message: its topic, its group as the user property says it, when it was due.
struct Heard {
    topic: String,
    group: Option<String>,
    due: u64,
}

/// Lets everybody in, takes everything at `QoS` 1, and refuses what is sent under `refused`.
fn lenient(mut stream: TcpStream, heard: &Mutex<Vec<Heard>>) {
    let mut input = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        input.extend(&buffer[..read]);
        while let Ok(Some(header)) = Header::read(&input) {
            let length = header.packet() as usize;
            if input.len() < length {
                break;
            }
            let packet: Vec<u8> = input.drain(..length).collect();
            let answer = match header.kind {
                PacketKind::Connect => vec![0x20, 3, 0, 0, 0],
                PacketKind::Publish => take(header, &packet, heard),
                _ => Vec::new(),
            };
            if stream.write_all(&answer).is_err() {
                return;
            }
        }
    }
}

fn take(header: Header, packet: &[u8], kept: &Mutex<Vec<Heard>>) -> Vec<u8> {
    let head = PublishHead::read(header, packet, Version::V5)
        .unwrap()
        .unwrap();
    let due = packet[head.length + 16..][..8].try_into().unwrap();
    kept.lock().unwrap().push(Heard {
        topic: head.topic.to_owned(),
        group: head.properties.user().next().map(|pair| pair.1.to_owned()),
        due: u64::from_be_bytes(due),
    });
    let reason = if head.topic.starts_with("refused") {
        reason::QUOTA_EXCEEDED
    } else {
        reason::SUCCESS
    };
    write::ack(PacketKind::Puback, head.id, reason, Version::V5)
}

#[test]
fn groups_are_kept_on_one_target_and_publish_together() {
    let (one, of_one) = broker(lenient);
    let (other, of_other) = broker(lenient);
    let mut plan = plan(&[&one, &other], Qos::AtLeastOnce);
    plan.assign = Assign::Groups;
    plan.groups.size = 5;
    plan.watch.at.clear();
    plan.messages.group_property = Some("group".to_owned());
    let report = done(&plan);
    let publishers: Vec<u64> = report
        .targets
        .iter()
        .map(|target| target.publishers)
        .collect();
    assert_eq!(publishers, [10, 10]);
    let mut groups = Vec::new();
    for heard in [of_one, of_other] {
        let heard = heard.lock().unwrap();
        groups.push(
            heard
                .iter()
                .map(|heard| heard.group.clone().unwrap())
                .collect::<BTreeSet<_>>(),
        );
        // Of each group's instants: who published then.
        let mut instants: BTreeMap<(&Option<String>, u64), BTreeSet<&str>> = BTreeMap::new();
        for heard in heard.iter() {
            let of_group = instants.entry((&heard.group, heard.due)).or_default();
            of_group.insert(&heard.topic);
        }
        assert!(instants.len() > 5);
        assert!(instants.values().all(|topics| topics.len() == 5));
    }
    let set = |groups: [&str; 2]| groups.map(str::to_owned).into_iter().collect();
    assert_eq!(groups, [set(["0", "2"]), set(["1", "3"])]);
}

#[test]
fn refusals_are_counted_apart() {
    let (address, _) = broker(lenient);
    let mut plan = plan(&[&address], Qos::AtLeastOnce);
    plan.watch.at.clear();
    plan.messages.topic = TopicTemplate::new("refused/%p").unwrap();
    let report = done(&plan);
    let counts = report.counts;
    assert!(counts.refused > 50, "{report:?}");
    assert_eq!((counts.acknowledged, counts.refused), (0, counts.sent));
    assert_eq!(report.errors, []);
}

#[test]
fn who_does_not_speak_mqtt_is_said() {
    let strangers: [Answer; 3] = [
        |mut stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            let _ = stream.read_to_end(&mut Vec::new());
        },
        |mut stream, _| {
            let _ = stream.write_all(&[0x20, 0xFF, 0xFF, 0xFF, 0xFF, 1]);
            let _ = stream.read_to_end(&mut Vec::new());
        },
        // A PUBACK before the CONNACK.
        |mut stream, _| {
            let _ = stream.write_all(&[0x40, 2, 0, 1]);
            let _ = stream.read_to_end(&mut Vec::new());
        },
    ];
    for stranger in strangers {
        let (address, _) = broker(stranger);
        let mut plan = plan(&[&address], Qos::AtMostOnce);
        plan.watch.at.clear();
        let refused = run_mqtt(&plan, |_| {}).unwrap_err();
        assert!(
            matches!(refused, MqttError::Malformed { .. }),
            "{refused:?}"
        );
    }
}

#[test]
fn garbage_in_the_midst_of_a_run_is_counted() {
    let (address, _) = broker(|mut stream, _| {
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer);
        let _ = stream.write_all(&[0x20, 3, 0, 0, 0]);
        let _ = stream.read(&mut buffer);
        let _ = stream.write_all(&[0xF7; 300]);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let mut plan = plan(&[&address], Qos::AtLeastOnce);
    plan.watch.at.clear();
    plan.timing.patience = Duration::from_millis(100);
    let report = done(&plan);
    let is_malformed = |error: &&tollgate_load::ErrorCount| error.kind == ErrorKind::Malformed;
    assert!(
        report.errors.iter().find(is_malformed).is_some(),
        "{report:?}"
    );
    assert_eq!(report.counts.acknowledged, 0);
}

#[test]
fn a_broker_that_dies_is_dialled_again() {
    let mut broker = Mosquitto::start();
    let mut plan = plan(&[&broker.address()], Qos::AtLeastOnce);
    plan.timing.duration = Duration::from_millis(1500);
    plan.timing.patience = Duration::from_millis(500);
    let mut has_died = false;
    let report = run_mqtt(&plan, |progress| {
        if !has_died && matches!(progress.phase, MqttPhase::Measuring(_)) {
            has_died = true;
            broker.kill();
            broker.restart();
        }
    });
    let report = report.unwrap();
    let is_closed = |error: &&tollgate_load::ErrorCount| error.kind == ErrorKind::Closed;
    assert!(report.errors.iter().find(is_closed).is_some(), "{report:?}");
    // What was published before and after is counted, in between it is lost or waits.
    assert!(report.counts.arrived > 50, "{report:?}");
}
