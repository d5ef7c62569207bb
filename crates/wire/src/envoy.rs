//! Parts that several of Envoy's services share: headers and addresses, of `envoy.config.core.v3`
//! and `envoy.type.v3`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::google::{Any, Struct};
use crate::json;

/// `envoy.config.core.v3.HeaderValue`.
#[derive(Clone, PartialEq, Eq, Serialize, prost::Message)]
#[serde(rename_all = "camelCase")]
pub struct HeaderValue {
    /// The header's name.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Its value; this or `raw_value` is set.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Its value where that is not UTF-8.
    #[prost(bytes = "vec", tag = "3")]
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::base64")]
    pub raw_value: Vec<u8>,
}

/// `envoy.config.core.v3.HeaderMap`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HeaderMap {
    /// Headers in the order in which they came.
    #[prost(message, repeated, tag = "1")]
    pub headers: Vec<HeaderValue>,
}

/// `envoy.config.core.v3.HeaderValueOption`, without its deprecated `append`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HeaderValueOption {
    /// The header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<HeaderValue>,
    /// What to do if it is there already.
    #[prost(enumeration = "HeaderAppendAction", tag = "3")]
    pub append_action: i32,
    /// Whether to add a header with an empty value.
    #[prost(bool, tag = "4")]
    pub keep_empty_value: bool,
}

/// What to do with a header that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum HeaderAppendAction {
    /// Append, or add.
    AppendIfExistsOrAdd = 0,
    /// Leave it, or add.
    AddIfAbsent = 1,
    /// Overwrite, or add.
    OverwriteIfExistsOrAdd = 2,
    /// Overwrite, and do not add.
    OverwriteIfExists = 3,
}

/// `envoy.config.core.v3.QueryParameter`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct QueryParameter {
    /// The parameter's name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `envoy.config.core.v3.Metadata`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Metadata {
    /// By filter name.
    #[prost(btree_map = "string, message", tag = "1")]
    pub filter_metadata: BTreeMap<String, Struct>,
    /// By filter name, typed.
    #[prost(btree_map = "string, message", tag = "2")]
    pub typed_filter_metadata: BTreeMap<String, Any>,
}

/// `envoy.config.core.v3.Address`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Address {
    /// Which kind it is.
    #[prost(oneof = "AddressKind", tags = "1, 2, 3")]
    pub address: Option<AddressKind>,
}

/// The kinds of an [`Address`].
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum AddressKind {
    /// An address on the network.
    #[prost(message, tag = "1")]
    SocketAddress(SocketAddress),
    /// A Unix socket.
    #[prost(message, tag = "2")]
    Pipe(Pipe),
    /// A listener inside the same Envoy.
    #[prost(message, tag = "3")]
    EnvoyInternalAddress(EnvoyInternalAddress),
}

/// `envoy.config.core.v3.SocketAddress`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SocketAddress {
    /// 0 is TCP, 1 is UDP.
    #[prost(int32, tag = "1")]
    pub protocol: i32,
    /// An IP address, or a name that Envoy resolves.
    #[prost(string, tag = "2")]
    pub address: String,
    /// The port.
    #[prost(oneof = "PortSpecifier", tags = "3, 4")]
    pub port_specifier: Option<PortSpecifier>,
    /// How Envoy resolves the name.
    #[prost(string, tag = "5")]
    pub resolver_name: String,
    /// Whether an IPv6 socket takes IPv4 too.
    #[prost(bool, tag = "6")]
    pub ipv4_compat: bool,
    /// The network namespace of the socket.
    #[prost(string, tag = "7")]
    pub network_namespace_filepath: String,
}

/// How a [`SocketAddress`] gives its port.
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum PortSpecifier {
    /// By number.
    #[prost(uint32, tag = "3")]
    PortValue(u32),
    /// By name.
    #[prost(string, tag = "4")]
    NamedPort(String),
}

/// `envoy.config.core.v3.Pipe`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Pipe {
    /// Where the socket is.
    #[prost(string, tag = "1")]
    pub path: String,
    /// The socket file's permissions.
    #[prost(uint32, tag = "2")]
    pub mode: u32,
}

/// `envoy.config.core.v3.EnvoyInternalAddress`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EnvoyInternalAddress {
    /// The listener's name; in Envoy's file the only choice of `address_name_specifier`.
    #[prost(string, optional, tag = "1")]
    pub server_listener_name: Option<String>,
    /// Tells endpoints of one listener apart.
    #[prost(string, tag = "2")]
    pub endpoint_id: String,
}

/// `envoy.type.v3.HttpStatus`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct HttpStatus {
    /// The status itself, such as 429; an enumeration in Envoy's own files.
    #[prost(int32, tag = "1")]
    pub code: i32,
}
