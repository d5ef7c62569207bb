//! Messages of `envoy.service.auth.v3`. Made by `cargo xtask proto`; do not edit.

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AttributeContext {
    #[prost(message, optional, tag = "1")]
    pub source: Option<attribute_context::Peer>,
    #[prost(message, optional, tag = "2")]
    pub destination: Option<attribute_context::Peer>,
    #[prost(message, optional, tag = "4")]
    pub request: Option<attribute_context::Request>,
    #[prost(btree_map = "string, string", tag = "10")]
    pub context_extensions: ::prost::alloc::collections::BTreeMap<String, String>,
    #[prost(message, optional, tag = "11")]
    pub metadata_context: Option<super::super::super::config::core::v3::Metadata>,
    #[prost(message, optional, tag = "12")]
    pub tls_session: Option<attribute_context::TlsSession>,
    #[prost(message, optional, tag = "13")]
    pub route_metadata_context: Option<super::super::super::config::core::v3::Metadata>,
}
pub mod attribute_context {
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Peer {
        #[prost(message, optional, tag = "1")]
        pub address: Option<super::super::super::super::config::core::v3::Address>,
        #[prost(string, tag = "2")]
        pub service: String,
        #[prost(btree_map = "string, string", tag = "3")]
        pub labels: ::prost::alloc::collections::BTreeMap<String, String>,
        #[prost(string, tag = "4")]
        pub principal: String,
        #[prost(string, tag = "5")]
        pub certificate: String,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Request {
        #[prost(message, optional, tag = "1")]
        pub time: Option<super::super::super::super::super::google::protobuf::Timestamp>,
        #[prost(message, optional, tag = "2")]
        pub http: Option<HttpRequest>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct HttpRequest {
        #[prost(string, tag = "1")]
        pub id: String,
        #[prost(string, tag = "2")]
        pub method: String,
        #[prost(btree_map = "string, bytes", tag = "3")]
        pub headers: ::prost::alloc::collections::BTreeMap<String, Vec<u8>>,
        #[prost(bytes = "vec", tag = "4")]
        pub path: Vec<u8>,
        #[prost(bytes = "vec", tag = "5")]
        pub host: Vec<u8>,
        #[prost(string, tag = "6")]
        pub scheme: String,
        #[prost(string, tag = "7")]
        pub query: String,
        #[prost(string, tag = "8")]
        pub fragment: String,
        #[prost(int64, tag = "9")]
        pub size: i64,
        #[prost(string, tag = "10")]
        pub protocol: String,
        #[prost(bytes = "vec", tag = "11")]
        pub body: Vec<u8>,
        #[prost(bytes = "vec", tag = "12")]
        pub raw_body: Vec<u8>,
        #[prost(message, optional, tag = "13")]
        pub header_map: Option<super::super::super::super::config::core::v3::HeaderMap>,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct TlsSession {
        #[prost(string, tag = "1")]
        pub sni: String,
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    pub attributes: Option<AttributeContext>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DeniedHttpResponse {
    #[prost(message, optional, tag = "1")]
    pub status: Option<super::super::super::r#type::v3::HttpStatus>,
    #[prost(message, repeated, tag = "2")]
    pub headers: Vec<super::super::super::config::core::v3::HeaderValueOption>,
    #[prost(string, tag = "3")]
    pub body: String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct OkHttpResponse {
    #[prost(message, repeated, tag = "2")]
    pub headers: Vec<super::super::super::config::core::v3::HeaderValueOption>,
    #[prost(string, repeated, tag = "5")]
    pub headers_to_remove: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub response_headers_to_add: Vec<super::super::super::config::core::v3::HeaderValueOption>,
    #[prost(message, repeated, tag = "7")]
    pub query_parameters_to_set: Vec<super::super::super::config::core::v3::QueryParameter>,
    #[prost(string, repeated, tag = "8")]
    pub query_parameters_to_remove: Vec<String>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CheckResponse {
    #[prost(message, optional, tag = "1")]
    pub status: Option<super::super::super::super::google::rpc::Status>,
    #[prost(message, optional, tag = "4")]
    pub dynamic_metadata: Option<super::super::super::super::google::protobuf::Struct>,
    #[prost(oneof = "check_response::HttpResponse", tags = "2, 3, 5")]
    pub http_response: Option<check_response::HttpResponse>,
}
pub mod check_response {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum HttpResponse {
        #[prost(message, tag = "2")]
        DeniedResponse(super::DeniedHttpResponse),
        #[prost(message, tag = "3")]
        OkResponse(super::OkHttpResponse),
        #[prost(message, tag = "5")]
        ErrorResponse(super::DeniedHttpResponse),
    }
}
