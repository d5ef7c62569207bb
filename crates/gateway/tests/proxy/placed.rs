//! Clients that belong to another gateway: redirected once, and accepted if they cannot be redirected or come back.

use std::fs;

use tollgate_gateway::{GatewaySettings, PlacementList};
use tollgate_parts::{Mosquitto, until};

use crate::NONE;
use crate::kit::{Extras, Gateway, MqttClient, connect, publish};

const HOW: &str = "tollgate_gateway_placed_total";

fn placed(gateway: &Gateway, how: &str) -> u64 {
    gateway.metric(&format!("{HOW}{{how=\"{how}\"}}"))
}

#[test]
fn a_client_is_told_once_where_it_belongs() {
    let broker = Mosquitto::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("placement");
    let list = "gateway g1 127.0.0.1:1\ngateway g2 there.example:1884\n";
    fs::write(&file, format!("{list}client near g1\nclient far g2\n")).unwrap();
    let at = |name: &str| {
        let me = name.to_owned();
        let file = file.clone();
        move |settings: &mut GatewaySettings| settings.placement = Some(PlacementList { file, me })
    };
    let first = Gateway::with(&broker.address(), NONE, at("g1"));
    for id in ["near", "of whom nothing is said"] {
        MqttClient::new(first.address, true, id).hears_nothing();
    }
    // CONNACK, reason 0x9C, and a server reference.
    let mut far = MqttClient::silent(first.address, true);
    far.say(&connect(true, "far", &Extras::default()));
    let mut words = vec![0, 0x9C, 21, 0x1C, 0, 18];
    words.extend(b"there.example:1884");
    assert_eq!(far.hear(), (0x20, words));
    assert_eq!(far.try_hear(), None);
    assert_eq!(
        (placed(&first, "referred"), placed(&first, "misplaced")),
        (1, 0)
    );
    // With differing lists it is sent back: it is accepted, so it does not run in circles.
    MqttClient::new(first.address, true, "far").hears_nothing();
    // MQTT 3.1.1 cannot express it.
    MqttClient::new(first.address, false, "far").hears_nothing();
    assert_eq!(
        (placed(&first, "referred"), placed(&first, "misplaced")),
        (1, 2)
    );
    let second = Gateway::with(&broker.address(), NONE, at("g2"));
    MqttClient::new(second.address, true, "far").hears_nothing();
    assert_eq!(
        (placed(&second, "referred"), placed(&second, "misplaced")),
        (0, 0)
    );
}

#[test]
fn clients_that_are_in_move_when_another_list_is_in_force() {
    let broker = Mosquitto::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("placement");
    let list = |weights: [u32; 2]| {
        let [first, second] = weights;
        let text = format!(
            "gateway g1 127.0.0.1:1 {first}\ngateway g2 there.example:1884 {second}\nothers\n"
        );
        fs::write(&file, text).unwrap();
    };
    list([1, 0]);
    let me = "g1".to_owned();
    let told = PlacementList {
        file: file.clone(),
        me,
    };
    let gateway = Gateway::with(&broker.address(), NONE, |settings| {
        settings.placement = Some(told);
    });
    let view = || gateway.server.shared().annex.get().unwrap().view();
    let mut watcher = MqttClient::new(broker.address(), true, "watcher");
    watcher.subscribe("#");
    let will = Extras {
        will: Some(("will", "gone")),
        ..Extras::default()
    };
    let mut new = MqttClient::silent(gateway.address, true);
    new.say(&connect(true, "new", &will));
    assert_eq!(new.hear().0, 0x20);
    let mut old = MqttClient::new(gateway.address, false, "old");
    let before = view();
    assert_eq!((before.clients, before.elsewhere), (2, 0));
    list([0, 1]);
    // The server polls the file.
    until("it is in force", || view().placement != before.placement);
    let mut words = vec![0x9C, 21, 0x1C, 0, 18];
    words.extend(b"there.example:1884");
    assert_eq!(new.hear(), (0xE0, words));
    // What was sent before the redirect arrived still passes, and its will is not published.
    new.say(&publish(true, 0, "late", 0, b"x"));
    drop(new);
    assert_eq!(watcher.message().0, "late");
    until("it has gone", || view().clients == 1);
    watcher.hears_nothing();
    // MQTT 3.1.1 cannot express it.
    old.hears_nothing();
    assert_eq!((view().elsewhere, placed(&gateway, "moved")), (1, 1));
    list([1, 0]);
    until("the old client is at home again", || view().elsewhere == 0);
}
