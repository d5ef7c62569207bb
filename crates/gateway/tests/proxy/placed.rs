//! Clients that belong to another gateway: told so once, and let in where they cannot be told or come back.

use std::fs;

use tollgate_gateway::{PlacementList, Settings};
use tollgate_parts::Mosquitto;

use crate::NONE;
use crate::kit::{Client, Extras, Gateway, connect};

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
        move |settings: &mut Settings| settings.placement = Some(PlacementList { file, me })
    };
    let first = Gateway::with(&broker.address(), NONE, at("g1"));
    for id in ["near", "of whom nothing is said"] {
        Client::new(first.address, true, id).hears_nothing();
    }
    // CONNACK, reason 0x9C, and a server reference.
    let mut far = Client::silent(first.address, true);
    far.say(&connect(true, "far", &Extras::default()));
    let mut words = vec![0, 0x9C, 21, 0x1C, 0, 18];
    words.extend(b"there.example:1884");
    assert_eq!(far.hear(), (0x20, words));
    assert_eq!(far.try_hear(), None);
    assert_eq!(
        (placed(&first, "referred"), placed(&first, "misplaced")),
        (1, 0)
    );
    // Where lists differ it is sent back: it is let in, and nobody runs in circles.
    Client::new(first.address, true, "far").hears_nothing();
    // MQTT 3.1.1 has no words for it.
    Client::new(first.address, false, "far").hears_nothing();
    assert_eq!(
        (placed(&first, "referred"), placed(&first, "misplaced")),
        (1, 2)
    );
    let second = Gateway::with(&broker.address(), NONE, at("g2"));
    Client::new(second.address, true, "far").hears_nothing();
    assert_eq!(
        (placed(&second, "referred"), placed(&second, "misplaced")),
        (0, 0)
    );
}
