//! Envoy's external authorization service, version 3: the messages of `envoy.service.auth.v3`.

use std::collections::BTreeMap;

use crate::envoy::{Address, HeaderMap, HeaderValueOption, HttpStatus, Metadata, QueryParameter};
use crate::google::{Status, Struct, Timestamp};

/// The full name of the service, with the one method `Check`.
pub const SERVICE: &str = "envoy.service.auth.v3.Authorization";

/// `envoy.service.auth.v3.CheckRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CheckRequest {
    /// What is to be judged.
    #[prost(message, optional, tag = "1")]
    pub attributes: Option<AttributeContext>,
}

/// `envoy.service.auth.v3.AttributeContext`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AttributeContext {
    /// Who asks.
    #[prost(message, optional, tag = "1")]
    pub source: Option<Peer>,
    /// Who is asked.
    #[prost(message, optional, tag = "2")]
    pub destination: Option<Peer>,
    /// What is asked.
    #[prost(message, optional, tag = "4")]
    pub request: Option<Request>,
    /// Set per route by whoever configured Envoy.
    #[prost(btree_map = "string, string", tag = "10")]
    pub context_extensions: BTreeMap<String, String>,
    /// What other filters found out.
    #[prost(message, optional, tag = "11")]
    pub metadata_context: Option<Metadata>,
    /// About the client's TLS.
    #[prost(message, optional, tag = "12")]
    pub tls_session: Option<TlsSession>,
    /// What is configured for the route.
    #[prost(message, optional, tag = "13")]
    pub route_metadata_context: Option<Metadata>,
}

/// `envoy.service.auth.v3.AttributeContext.Peer`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Peer {
    /// Its address.
    #[prost(message, optional, tag = "1")]
    pub address: Option<Address>,
    /// Its service, as configured in Envoy.
    #[prost(string, tag = "2")]
    pub service: String,
    /// Its labels.
    #[prost(btree_map = "string, string", tag = "3")]
    pub labels: BTreeMap<String, String>,
    /// Whom its certificate names.
    #[prost(string, tag = "4")]
    pub principal: String,
    /// Its certificate, URL and PEM encoded.
    #[prost(string, tag = "5")]
    pub certificate: String,
}

/// `envoy.service.auth.v3.AttributeContext.Request`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Request {
    /// When Envoy got the first byte.
    #[prost(message, optional, tag = "1")]
    pub time: Option<Timestamp>,
    /// The HTTP request.
    #[prost(message, optional, tag = "2")]
    pub http: Option<HttpRequest>,
}

/// `envoy.service.auth.v3.AttributeContext.HttpRequest`. What clients choose may be no UTF-8.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HttpRequest {
    /// Envoy's number for the stream.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The method.
    #[prost(string, tag = "2")]
    pub method: String,
    /// Headers by name in lower case; values of one name joined by commas.
    #[prost(btree_map = "string, bytes", tag = "3")]
    pub headers: BTreeMap<String, Vec<u8>>,
    /// Path and query.
    #[prost(bytes = "vec", tag = "4")]
    pub path: Vec<u8>,
    /// The host, or `:authority`.
    #[prost(bytes = "vec", tag = "5")]
    pub host: Vec<u8>,
    /// The scheme.
    #[prost(string, tag = "6")]
    pub scheme: String,
    /// Always empty: the query is in the path.
    #[prost(string, tag = "7")]
    pub query: String,
    /// Always empty.
    #[prost(string, tag = "8")]
    pub fragment: String,
    /// Bytes of the body, or -1.
    #[prost(int64, tag = "9")]
    pub size: i64,
    /// Such as `HTTP/1.1`.
    #[prost(string, tag = "10")]
    pub protocol: String,
    /// The body, if Envoy is told to send it.
    #[prost(bytes = "vec", tag = "11")]
    pub body: Vec<u8>,
    /// The same, as bytes.
    #[prost(bytes = "vec", tag = "12")]
    pub raw_body: Vec<u8>,
    /// Headers one by one, if Envoy is told to send them so.
    #[prost(message, optional, tag = "13")]
    pub header_map: Option<HeaderMap>,
}

/// `envoy.service.auth.v3.AttributeContext.TLSSession`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TlsSession {
    /// The name the client asked for.
    #[prost(string, tag = "1")]
    pub sni: String,
}

/// `envoy.service.auth.v3.CheckResponse`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CheckResponse {
    /// Code zero lets the request through.
    #[prost(message, optional, tag = "1")]
    pub status: Option<Status>,
    /// What goes to the client or to the service.
    #[prost(oneof = "HttpResponse", tags = "2, 3, 5")]
    pub http_response: Option<HttpResponse>,
    /// For other filters.
    #[prost(message, optional, tag = "4")]
    pub dynamic_metadata: Option<Struct>,
}

/// The kinds of a [`CheckResponse`].
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum HttpResponse {
    /// What a refused client gets.
    #[prost(message, tag = "2")]
    DeniedResponse(DeniedHttpResponse),
    /// What is added to a request that passes.
    #[prost(message, tag = "3")]
    OkResponse(OkHttpResponse),
    /// What a client gets when there was no judging.
    #[prost(message, tag = "5")]
    ErrorResponse(DeniedHttpResponse),
}

/// `envoy.service.auth.v3.DeniedHttpResponse`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DeniedHttpResponse {
    /// The status; unset is 403.
    #[prost(message, optional, tag = "1")]
    pub status: Option<HttpStatus>,
    /// For the client.
    #[prost(message, repeated, tag = "2")]
    pub headers: Vec<HeaderValueOption>,
    /// For the client.
    #[prost(string, tag = "3")]
    pub body: String,
}

/// `envoy.service.auth.v3.OkHttpResponse`, without its deprecated `dynamic_metadata`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct OkHttpResponse {
    /// For the service.
    #[prost(message, repeated, tag = "2")]
    pub headers: Vec<HeaderValueOption>,
    /// Taken off the request.
    #[prost(string, repeated, tag = "5")]
    pub headers_to_remove: Vec<String>,
    /// For the client.
    #[prost(message, repeated, tag = "6")]
    pub response_headers_to_add: Vec<HeaderValueOption>,
    /// Set in the request.
    #[prost(message, repeated, tag = "7")]
    pub query_parameters_to_set: Vec<QueryParameter>,
    /// Taken off the request.
    #[prost(string, repeated, tag = "8")]
    pub query_parameters_to_remove: Vec<String>,
}
