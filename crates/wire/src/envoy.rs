//! Parts that several of Envoy's services share: headers and addresses, of `envoy.config.core.v3`
//! and `envoy.type.v3`.

pub use crate::generated::envoy::config::core::v3::address::Address as AddressKind;
pub use crate::generated::envoy::config::core::v3::header_value_option::HeaderAppendAction;
pub use crate::generated::envoy::config::core::v3::socket_address::PortSpecifier;
pub use crate::generated::envoy::config::core::v3::{
    Address, EnvoyInternalAddress, HeaderMap, HeaderValue, HeaderValueOption, Metadata, Node, Pipe,
    QueryParameter, SocketAddress, envoy_internal_address::AddressNameSpecifier,
};
pub use crate::generated::envoy::r#type::v3::HttpStatus;
