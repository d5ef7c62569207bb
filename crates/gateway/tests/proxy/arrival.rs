//! Messages are decided as of when the system received them, regardless of scheduling.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, available_parallelism, sleep};
use std::time::Duration;

use tollgate_gateway::{ArrivalTime, GatewaySettings};
use tollgate_parts::{Mosquitto, until};

use crate::kit::{Gateway, MqttClient, publish};

/// One message each 50 ms; earlier ones wait.
const SMOOTH: &str = "
contracts:
  - id: smooth
    match: { topic: smooth }
    policies: [{ name: smooth, limit: 20, per: 1s, burst: 1, on_limit: delay, max_wait: 10s }]
";

fn outcome(gateway: &Gateway, outcome: &str) -> u64 {
    gateway.metric(&format!(
        "tollgate_gateway_publishes_total{{outcome=\"{outcome}\"}}"
    ))
}

fn age(gateway: &Gateway, part: &str) -> f64 {
    let text = gateway.running().text();
    let name = format!("tollgate_gateway_stamp_age_seconds_{part} ");
    let found = text.lines().find_map(|line| line.strip_prefix(&name));
    found.unwrap().parse().unwrap()
}

#[test]
fn a_gateway_that_did_not_run_holds_back_nothing_that_came_in_time() {
    let broker = Mosquitto::start();
    let gateway = Gateway::new(&broker.address(), SMOOTH);
    // Either may be read first: the other has waited long enough by then.
    let mut clients = ["a", "b"].map(|id| MqttClient::new(gateway.address, true, id));
    // Stamps begin a little after they were asked for.
    for client in &mut clients {
        let before = age(&gateway, "count");
        until("there are stamps", || {
            client.say(&publish(true, 0, "other", 0, b"x"));
            client.hears_nothing();
            age(&gateway, "count") > before
        });
    }
    let (stamped, passed) = (age(&gateway, "count"), outcome(&gateway, "passed"));
    let release = gateway.hold();
    for client in &mut clients {
        client.say(&publish(true, 0, "smooth", 0, b"x"));
        sleep(Duration::from_millis(60));
    }
    release();
    until("all have passed", || {
        outcome(&gateway, "passed") + outcome(&gateway, "delayed") == passed + 2
    });
    assert_eq!(
        outcome(&gateway, "delayed"),
        0,
        "{}",
        gateway.running().text()
    );
    assert!(age(&gateway, "max") >= 0.12);
    assert!((age(&gateway, "count") - stamped - 2.0).abs() < 0.1);
}

#[test]
fn where_it_is_asked_for_reading_is_what_counts() {
    let broker = Mosquitto::start();
    let change = |settings: &mut GatewaySettings| settings.arrival = ArrivalTime::Read;
    let gateway = Gateway::with(&broker.address(), SMOOTH, change);
    let mut client = MqttClient::new(gateway.address, true, "a");
    client.say(&publish(true, 0, "smooth", 0, b"x"));
    until("it has passed", || outcome(&gateway, "passed") == 1);
    assert!(age(&gateway, "count") < 0.1);
}

/// Publishers that keep to their limit, through two gateways at the same time on a busy machine: what
/// is held back, and for how long.
///
/// `cargo test -p tollgate-gateway --test proxy -- --ignored --nocapture held_back`
#[test]
#[ignore = "a measurement"]
fn what_is_held_back_on_a_busy_machine() {
    let cores = available_parallelism().map_or(1, usize::from);
    println!("arrival  busy  messages  held back  together ms  age mean ms  age max ms");
    for busy in [0, cores, 4 * cores] {
        let broker = Mosquitto::start();
        let contracts = SMOOTH.replace("policies:", "key: [client]\n    policies:");
        let both = [ArrivalTime::Kernel, ArrivalTime::Read].map(|arrival| {
            let change = |settings: &mut GatewaySettings| settings.arrival = arrival;
            let gateway = Gateway::with(&broker.address(), &contracts, change);
            (arrival, gateway)
        });
        publish_busily(busy, [&both[0].1, &both[1].1]);
        for (arrival, gateway) in both {
            report(arrival, busy, &gateway);
        }
    }
}

/// Each gateway has clients that publish a little slower than the limit, and never faster.
fn publish_busily(busy: usize, gateways: [&Gateway; 2]) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..busy {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    spin_loop();
                }
            });
        }
        let clients: Vec<_> = (0..20)
            .map(|at| {
                let address = gateways[at % 2].address;
                scope.spawn(move || {
                    let mut client = MqttClient::new(address, true, &at.to_string());
                    sleep(Duration::from_millis(100));
                    for _ in 0..300 {
                        client.say(&publish(true, 0, "smooth", 0, b"x"));
                        sleep(Duration::from_millis(55));
                    }
                    // Once this is answered, all before it is decided.
                    client.hears_nothing();
                })
            })
            .collect();
        for client in clients {
            client.join().unwrap();
        }
        stop.store(true, Relaxed);
    });
}

fn report(arrival: ArrivalTime, busy: usize, gateway: &Gateway) {
    let (passed, delayed) = (outcome(gateway, "passed"), outcome(gateway, "delayed"));
    let text = gateway.running().text();
    let held = text
        .lines()
        .find_map(|line| line.strip_prefix("tollgate_gateway_delay_seconds_total "));
    let held: f64 = held.unwrap().parse().unwrap();
    println!(
        "{:<7}  {busy:>4}  {:>8}  {delayed:>9}  {:>11.1}  {:>11.3}  {:>10.3}",
        format!("{arrival:?}"),
        passed + delayed,
        held * 1e3,
        age(gateway, "sum") / age(gateway, "count").max(1.0) * 1e3,
        age(gateway, "max") * 1e3,
    );
}
