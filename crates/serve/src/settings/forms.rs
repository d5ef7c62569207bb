//! Values of the server's file with several forms.

use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tollgate_contract::file::{Few, Text, YamlNode, given};

/// Listeners: `off`, one, or a list.
#[derive(Debug)]
pub(super) enum RawListeners {
    Off,
    Some(Vec<YamlNode<RawListener>>),
}

/// One listener: an address alone, or with options.
#[derive(Debug)]
pub(super) enum RawListener {
    Address(String),
    Full(RawListenerBody),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawListenerBody {
    pub(super) at: Text,
    /// The mode of a Unix socket in octal digits.
    #[serde(default, deserialize_with = "given")]
    pub(super) mode: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) tls: Option<RawTls>,
    /// Accepted names besides those of this machine.
    #[serde(default, deserialize_with = "given")]
    pub(super) hosts: Option<Few<Text, HOSTS_MAX>>,
}

/// Files of certificates of one listener.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTls {
    pub(super) certificate: Text,
    pub(super) key: Text,
    #[serde(default, deserialize_with = "given")]
    pub(super) client_ca: Option<Text>,
}

/// Contracts: in a file of their own, or inline.
#[derive(Debug)]
pub(super) enum RawContracts {
    File(String),
    Here,
}

impl<'de> Deserialize<'de> for RawListeners {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let YamlNode { value, place } = YamlNode::<OneOrMany>::deserialize(deserializer)?;
        Ok(match value {
            OneOrMany::Many(list) => Self::Some(list.0),
            // YAML 1.1 reads `off` as a boolean.
            OneOrMany::One(RawListener::Address(text)) if text == "off" || text == "false" => {
                Self::Off
            }
            OneOrMany::One(value) => Self::Some(vec![YamlNode { value, place }]),
        })
    }
}

enum OneOrMany {
    One(RawListener),
    Many(Few<YamlNode<RawListener>, LISTENERS_MAX>),
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor)
    }
}

impl<'de> Deserialize<'de> for RawListener {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListenerVisitor)
    }
}

impl<'de> Deserialize<'de> for RawContracts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContractsVisitor)
    }
}

struct ListenerVisitor;

impl<'de> Visitor<'de> for ListenerVisitor {
    type Value = RawListener;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address, as in 127.0.0.1:8080")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawListener, E> {
        Ok(RawListener::Address(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, port: u64) -> Result<RawListener, E> {
        Ok(RawListener::Address(port.to_string()))
    }

    fn visit_i64<E: Error>(self, port: i64) -> Result<RawListener, E> {
        Ok(RawListener::Address(port.to_string()))
    }

    fn visit_bool<E: Error>(self, switch: bool) -> Result<RawListener, E> {
        Ok(RawListener::Address(switch.to_string()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawListener, A::Error> {
        RawListenerBody::deserialize(MapAccessDeserializer::new(map)).map(RawListener::Full)
    }
}

struct OneOrManyVisitor;

impl<'de> Visitor<'de> for OneOrManyVisitor {
    type Value = OneOrMany;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address, a list of addresses, or `off`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMany, E> {
        ListenerVisitor.visit_str(text).map(OneOrMany::One)
    }

    fn visit_u64<E: Error>(self, port: u64) -> Result<OneOrMany, E> {
        ListenerVisitor.visit_u64(port).map(OneOrMany::One)
    }

    fn visit_i64<E: Error>(self, port: i64) -> Result<OneOrMany, E> {
        ListenerVisitor.visit_i64(port).map(OneOrMany::One)
    }

    fn visit_bool<E: Error>(self, switch: bool) -> Result<OneOrMany, E> {
        ListenerVisitor.visit_bool(switch).map(OneOrMany::One)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OneOrMany, A::Error> {
        ListenerVisitor.visit_map(map).map(OneOrMany::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<OneOrMany, A::Error> {
        Few::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany::Many)
    }
}

struct ContractsVisitor;

impl<'de> Visitor<'de> for ContractsVisitor {
    type Value = RawContracts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a contract file, or a list of contracts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawContracts, E> {
        Ok(RawContracts::File(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RawContracts, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(RawContracts::Here)
    }
}

/// Limit on listeners of one protocol.
const LISTENERS_MAX: usize = 64;
/// Limit on names of a listener.
const HOSTS_MAX: usize = 64;
