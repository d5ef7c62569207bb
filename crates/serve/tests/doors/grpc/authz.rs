//! Envoy's external authorization, asked by a client made of Envoy's own types.

use std::collections::HashMap;

use envoy_types::pb::envoy::config::core::v3::{
    Address, HeaderValueOption, SocketAddress, address,
};
use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Peer, Request};
use envoy_types::pb::envoy::service::auth::v3::authorization_client::AuthorizationClient;
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest, CheckResponse};

use crate::grpc::server::GrpcServer;

const CONTRACTS: &str = "
contracts:
  - id: clients
    match: {path: /cart}
    key: [address]
    policies:
      - {name: cart, limit: 2, per: 1h, algorithm: fixed-window}
  - id: tenants
    key: [tenant]
    policies:
      - {name: tenant, limit: 1, per: 1h, algorithm: fixed-window}
";

fn request(address: &str, path: &str) -> CheckRequest {
    let socket = SocketAddress {
        address: address.into(),
        ..SocketAddress::default()
    };
    let source = Peer {
        address: Some(Address {
            address: Some(address::Address::SocketAddress(socket)),
        }),
        ..Peer::default()
    };
    let http = HttpRequest {
        method: "GET".into(),
        path: path.into(),
        host: "shop.example".into(),
        // Clients can forge this; Envoy's own field is right.
        headers: HashMap::from([("x-forwarded-for".into(), "10.9.8.7".into())]),
        ..HttpRequest::default()
    };
    CheckRequest {
        attributes: Some(AttributeContext {
            source: Some(source),
            request: Some(Request {
                http: Some(http),
                ..Request::default()
            }),
            ..AttributeContext::default()
        }),
    }
}

fn value(headers: &[HeaderValueOption], name: &str) -> Option<String> {
    let mut headers = headers.iter().filter_map(|option| option.header.as_ref());
    let found = headers.find(|header| header.key == name)?;
    Some(found.value.clone())
}

fn code(response: &CheckResponse) -> i32 {
    response.status.as_ref().expect("a status").code
}

#[tokio::test]
async fn passes_until_the_limit_and_then_refuses_with_429() {
    let server = GrpcServer::start(CONTRACTS);
    let mut client = AuthorizationClient::new(server.channel().await);
    for left in [1, 0] {
        let response = client.check(request("192.0.2.7", "/cart?item=1")).await;
        let response = response.expect("an answer").into_inner();
        assert_eq!(code(&response), 0);
        let Some(HttpResponse::OkResponse(allowed)) = response.http_response else {
            panic!("{response:?}")
        };
        let told = value(&allowed.response_headers_to_add, "ratelimit");
        assert!(told.is_some_and(|told| told.contains(&format!("r={left}"))));
    }
    let response = client.check(request("192.0.2.7", "/cart")).await;
    let response = response.expect("an answer").into_inner();
    assert_ne!(code(&response), 0);
    let Some(HttpResponse::DeniedResponse(denied)) = response.http_response else {
        panic!("{response:?}")
    };
    assert_eq!(denied.status.expect("a status").code, 429);
    assert!(value(&denied.headers, "retry-after").is_some());
    assert_eq!(
        value(&denied.headers, "content-type").as_deref(),
        Some("application/problem+json")
    );
    assert!(denied.body.contains("quota-exceeded"), "{}", denied.body);
    // Another client, and another path, are not concerned.
    for other in [request("192.0.2.8", "/cart"), request("192.0.2.7", "/")] {
        let response = client.check(other).await.expect("an answer");
        assert_eq!(code(response.get_ref()), 0);
    }
}

#[tokio::test]
async fn the_owner_of_a_route_says_entries_and_options() {
    let server = GrpcServer::start(CONTRACTS);
    let mut client = AuthorizationClient::new(server.channel().await);
    let tenant = |deny: &str| {
        let mut request = request("192.0.2.7", "/");
        let attributes = request.attributes.as_mut().expect("attributes");
        attributes.context_extensions =
            HashMap::from([("tenant".into(), "a".into()), ("deny".into(), deny.into())]);
        request
    };
    let response = client.check(tenant("403")).await.expect("an answer");
    assert_eq!(code(response.get_ref()), 0);
    let response = client.check(tenant("403")).await.expect("an answer");
    let Some(HttpResponse::DeniedResponse(denied)) = &response.get_ref().http_response else {
        panic!("{response:?}")
    };
    assert_eq!(denied.status.as_ref().expect("a status").code, 403);
    for wrong in [tenant("200"), CheckRequest { attributes: None }] {
        let refused = client.check(wrong).await.expect_err("refused");
        assert_eq!(refused.code(), tonic::Code::InvalidArgument);
    }
}
