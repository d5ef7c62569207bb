//! Envoy's external authorization service, version 3: the messages of `envoy.service.auth.v3`.

pub use crate::generated::envoy::service::auth::v3::attribute_context::{
    HttpRequest, Peer, Request, TlsSession,
};
pub use crate::generated::envoy::service::auth::v3::check_response::HttpResponse;
pub use crate::generated::envoy::service::auth::v3::{
    AttributeContext, CheckRequest, CheckResponse, DeniedHttpResponse, OkHttpResponse,
};

/// The full name of the service, with the one method `Check`.
pub const SERVICE: &str = "envoy.service.auth.v3.Authorization";
