//! A gateway in front of a real broker, and a client that sends exactly the given bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};

use tokio::runtime::{Builder, Runtime};
use tollgate_gateway::{GatewaySettings, Running, start};
use tollgate_parts::Wire;
use tollgate_serve::run;
use tollgate_serve::settings::{ContractSource, Settings as ServerSettings};

/// Threads of each gateway.
const THREADS: usize = 2;

/// A gateway, the runtime it lives in, and the server that it belongs to.
pub(crate) struct Gateway {
    running: Option<Running>,
    runtime: Runtime,
    pub(crate) address: SocketAddr,
    pub(crate) server: run::Running,
}

impl Gateway {
    /// In front of that broker, by these contracts.
    pub(crate) fn new(upstream: &str, contracts: &str) -> Self {
        Self::with(upstream, contracts, |_| {})
    }

    pub(crate) fn with(
        upstream: &str,
        contracts: &str,
        change: impl FnOnce(&mut GatewaySettings),
    ) -> Self {
        let server = ServerSettings {
            contracts: ContractSource::Text(contracts.to_owned()),
            ..ServerSettings::default()
        };
        Self::of(upstream, server, change)
    }

    /// With these settings of the server.
    pub(crate) fn of(
        upstream: &str,
        server: ServerSettings,
        change: impl FnOnce(&mut GatewaySettings),
    ) -> Self {
        let server = run::start(server).unwrap();
        let mut settings = GatewaySettings {
            listen: ([127, 0, 0, 1], 0).into(),
            upstream: upstream.to_owned(),
            ..GatewaySettings::default()
        };
        change(&mut settings);
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build()
            .unwrap();
        let running = runtime.block_on(start(settings, server.shared())).unwrap();
        let address = running.listen();
        Self {
            running: Some(running),
            runtime,
            address,
            server,
        }
    }

    pub(crate) fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    /// The value of a metric.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = self.running().text();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} in {text}"))
            .trim()
            .parse()
            .unwrap()
    }

    /// Keeps all its threads from running until the returned function is called.
    pub(crate) fn hold(&self) -> impl FnOnce() + use<> {
        let all = Arc::new(Barrier::new(THREADS + 1));
        let (free, freed) = channel::<()>();
        let freed = Arc::new(Mutex::new(freed));
        for _ in 0..THREADS {
            let (all, freed) = (Arc::clone(&all), Arc::clone(&freed));
            self.runtime.spawn(async move {
                all.wait();
                // Ends when the sender is dropped.
                drop(freed.lock().map(|freed| freed.recv()));
            });
        }
        all.wait();
        move || drop(free)
    }

    pub(crate) fn stop(mut self) {
        let running = self.running.take().unwrap();
        self.runtime.block_on(running.stop());
    }

    /// As if killed: no client is notified.
    pub(crate) fn kill(self) {
        self.runtime.shutdown_background();
    }
}

pub(crate) struct MqttClient {
    stream: TcpStream,
    five: bool,
}

/// A packet: its first byte, and what follows the fixed header.
pub(crate) type Packet = (u8, Vec<u8>);

impl MqttClient {
    /// Connects without sending anything.
    pub(crate) fn silent(address: impl std::net::ToSocketAddrs, five: bool) -> Self {
        let stream = Wire::to(address).stream;
        Self { stream, five }
    }

    /// Connects with its own session.
    pub(crate) fn new(address: impl std::net::ToSocketAddrs, five: bool, id: &str) -> Self {
        let mut client = Self::silent(address, five);
        client.say(&connect(five, id, &Extras::default()));
        assert_eq!(client.hear().0, 0x20);
        client
    }

    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn try_say(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    pub(crate) fn hear(&mut self) -> Packet {
        self.try_hear().unwrap()
    }

    /// `None` if the connection has ended.
    pub(crate) fn try_hear(&mut self) -> Option<Packet> {
        let mut first = [0];
        self.stream.read_exact(&mut first).ok()?;
        let (mut length, mut shift) = (0_usize, 0);
        loop {
            let mut byte = [0];
            self.stream.read_exact(&mut byte).ok()?;
            length |= usize::from(byte[0] & 127) << shift;
            shift += 7;
            if byte[0] < 128 {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some((first[0], body))
    }

    /// Subscribes, with `QoS` 1.
    pub(crate) fn subscribe(&mut self, filter: &str) {
        let mut body = vec![0, 9];
        body.extend(if self.five { &[0][..] } else { &[] });
        body.extend(text(filter));
        body.push(1);
        self.say(&packet(0x82, &body));
        assert_eq!(self.hear().0, 0x90);
    }

    /// Checks that only the answer to a ping arrives.
    pub(crate) fn hears_nothing(&mut self) {
        self.say(&[0xC0, 0]);
        assert_eq!(self.hear(), (0xD0, Vec::new()));
    }

    /// The topic and the payload of the next message; it is acknowledged.
    pub(crate) fn message(&mut self) -> (String, Vec<u8>) {
        let (first, body) = self.hear();
        assert_eq!(first >> 4, 3, "{first:x} {body:?}");
        let qos = first >> 1 & 3;
        let end = 2 + usize::from(u16::from_be_bytes([body[0], body[1]]));
        let topic = String::from_utf8(body[2..end].to_vec()).unwrap();
        let mut at = end;
        if qos > 0 {
            let id = [body[at], body[at + 1]];
            at += 2;
            assert_eq!(qos, 1, "as subscribed");
            self.say(&[0x40, 2, id[0], id[1]]);
        }
        if self.five {
            assert!(body[at] < 128, "few properties");
            at += 1 + usize::from(body[at]);
        }
        (topic, body[at..].to_vec())
    }

    /// Closes the connection without a DISCONNECT.
    pub(crate) fn vanish(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Optional parts of a CONNECT.
#[derive(Default)]
pub(crate) struct Extras<'a> {
    pub(crate) keeps_session: bool,
    pub(crate) user: Option<(&'a str, &'a str)>,
    pub(crate) will: Option<(&'a str, &'a str)>,
    pub(crate) keep_alive: u16,
}

pub(crate) fn connect(five: bool, id: &str, extras: &Extras<'_>) -> Vec<u8> {
    let mut flags = if extras.keeps_session { 0 } else { 2 };
    flags |= if extras.will.is_some() { 4 | 8 } else { 0 };
    flags |= if extras.user.is_some() { 128 | 64 } else { 0 };
    let mut body = text("MQTT");
    body.extend([if five { 5 } else { 4 }, flags]);
    body.extend(extras.keep_alive.to_be_bytes());
    match (five, extras.keeps_session) {
        // A session that outlives its connection by a minute.
        (true, true) => body.extend([5, 17, 0, 0, 0, 60]),
        (true, false) => body.push(0),
        (false, _) => {}
    }
    body.extend(text(id));
    if let Some((topic, payload)) = extras.will {
        body.extend(if five { &[0][..] } else { &[] });
        body.extend(text(topic));
        body.extend(text(payload));
    }
    if let Some((user, password)) = extras.user {
        body.extend(text(user));
        body.extend(text(password));
    }
    packet(0x10, &body)
}

/// A PUBLISH without properties, of MQTT 5 or before; the identifier is used from `QoS` 1 on.
pub(crate) fn publish(five: bool, flags: u8, topic: &str, id: u16, payload: &[u8]) -> Vec<u8> {
    publish_with(five.then_some(&[]), flags, topic, id, payload)
}

/// A PUBLISH with properties, for MQTT 5; the identifier is used from `QoS` 1 on.
pub(crate) fn publish_with(
    properties: Option<&[u8]>,
    flags: u8,
    topic: &str,
    id: u16,
    payload: &[u8],
) -> Vec<u8> {
    let mut body = text(topic);
    if flags & 6 != 0 {
        body.extend(id.to_be_bytes());
    }
    if let Some(properties) = properties {
        body.push(u8::try_from(properties.len()).unwrap());
        body.extend(properties);
    }
    body.extend(payload);
    packet(0x30 | flags, &body)
}

pub(crate) fn property(name: &str, value: &str) -> Vec<u8> {
    [vec![38], text(name), text(value)].concat()
}

pub(crate) fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    let mut left = body.len();
    while left > 127 {
        bytes.push(u8::try_from(left % 128).unwrap() | 128);
        left /= 128;
    }
    bytes.push(u8::try_from(left).unwrap());
    bytes.extend(body);
    bytes
}

fn text(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap().to_be_bytes();
    [&length, text.as_bytes()].concat()
}
