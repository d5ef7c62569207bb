//! Any message that Envoy might send or get.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option::of as some;
use proptest::prelude::*;
use tollgate_wire::authz::{
    AttributeContext, CheckRequest, CheckResponse, DeniedHttpResponse, HttpRequest, HttpResponse,
    OkHttpResponse, Peer, Request, TlsSession,
};
use tollgate_wire::envoy::{
    Address, AddressKind, AddressNameSpecifier, EnvoyInternalAddress, HeaderMap, HeaderValue,
    HeaderValueOption, HttpStatus, Metadata, Pipe, PortSpecifier, QueryParameter, SocketAddress,
};
use tollgate_wire::google::{Any, Duration, Kind, ListValue, Status, Struct, Timestamp, Value};
use tollgate_wire::rls::{
    DescriptorStatus, Entry, ExpirationSpecifier, Quota, RateLimit, RateLimitDescriptor,
    RateLimitOverride, RateLimitRequest, RateLimitResponse,
};

fn text() -> impl Strategy<Value = String> {
    "[a-z/:]{0,6}"
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..6)
}

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(text(), text(), 0..=1)
}

fn entry() -> impl Strategy<Value = Entry> {
    (text(), text()).prop_map(|(key, value)| Entry {
        key: key.into(),
        value: value.into(),
    })
}

fn descriptor() -> impl Strategy<Value = RateLimitDescriptor> {
    let limit = (any::<u32>(), 0..9).prop_map(|(requests_per_unit, unit)| RateLimitOverride {
        requests_per_unit,
        unit,
    });
    let limit = some(limit);
    (
        vec(entry(), 0..3),
        limit,
        any::<Option<u64>>(),
        any::<bool>(),
    )
        .prop_map(
            |(entries, limit, hits_addend, is_negative_hits)| RateLimitDescriptor {
                entries,
                limit,
                hits_addend,
                is_negative_hits,
            },
        )
}

fn header() -> impl Strategy<Value = HeaderValue> {
    (text(), text(), bytes()).prop_map(|(key, value, raw_value)| HeaderValue {
        key,
        value,
        raw_value,
    })
}

fn header_option() -> impl Strategy<Value = HeaderValueOption> {
    (some(header()), 0..4, any::<bool>()).prop_map(|(header, append_action, keep_empty_value)| {
        HeaderValueOption {
            header,
            append_action,
            keep_empty_value,
        }
    })
}

fn dynamic() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Kind::NullValue(0)),
        (-1e9..1e9).prop_map(Kind::NumberValue),
        text().prop_map(Kind::StringValue),
        any::<bool>().prop_map(Kind::BoolValue),
    ];
    let value = |kind| Value { kind: Some(kind) };
    leaf.prop_map(value).prop_recursive(3, 8, 2, move |inner| {
        prop_oneof![
            btree_map(text(), inner.clone(), 0..=1)
                .prop_map(move |fields| value(Kind::StructValue(Struct { fields }))),
            vec(inner, 0..2).prop_map(move |values| value(Kind::ListValue(ListValue { values }))),
        ]
    })
}

fn object() -> impl Strategy<Value = Struct> {
    btree_map(text(), dynamic(), 0..=1).prop_map(|fields| Struct { fields })
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    (any::<i64>(), 0..1_000_000_000).prop_map(|(seconds, nanos)| Timestamp { seconds, nanos })
}

fn quota() -> impl Strategy<Value = Quota> {
    (any::<u32>(), some(timestamp()), text()).prop_map(|(requests, valid_until, id)| Quota {
        requests,
        expiration_specifier: valid_until.map(ExpirationSpecifier::ValidUntil),
        id,
    })
}

fn status() -> impl Strategy<Value = DescriptorStatus> {
    let limit =
        (text(), any::<u32>(), 0..9).prop_map(|(name, requests_per_unit, unit)| RateLimit {
            name,
            requests_per_unit,
            unit,
        });
    let reset = (any::<i64>(), any::<i32>());
    let reset = reset.prop_map(|(seconds, nanos)| Duration { seconds, nanos });
    (0..4, some(limit), any::<u32>(), some(reset), some(quota())).prop_map(
        |(code, current_limit, limit_remaining, duration_until_reset, quota)| DescriptorStatus {
            code,
            current_limit,
            limit_remaining,
            duration_until_reset,
            quota,
        },
    )
}

pub(crate) fn rls_response() -> impl Strategy<Value = RateLimitResponse> {
    let headers = || vec(header(), 0..3);
    let rest = (bytes(), some(object()), some(quota()));
    (0..4, vec(status(), 0..3), headers(), headers(), rest).prop_map(
        |(overall_code, statuses, response, request, (raw_body, dynamic_metadata, quota))| {
            RateLimitResponse {
                overall_code,
                statuses,
                response_headers_to_add: response,
                request_headers_to_add: request,
                raw_body,
                dynamic_metadata,
                quota,
            }
        },
    )
}

fn any_message() -> impl Strategy<Value = Any> {
    (text(), bytes()).prop_map(|(type_url, value)| Any { type_url, value })
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let typed = btree_map(text(), any_message(), 0..=1);
    (btree_map(text(), object(), 0..=1), typed).prop_map(|(filter_metadata, typed)| Metadata {
        filter_metadata,
        typed_filter_metadata: typed,
    })
}

fn address() -> impl Strategy<Value = Address> {
    let port = prop_oneof![
        any::<u32>().prop_map(PortSpecifier::PortValue),
        text().prop_map(PortSpecifier::NamedPort),
    ];
    let socket = (0..2, text(), some(port), [text(), text()], any::<bool>());
    let socket = socket.prop_map(|(protocol, address, port_specifier, names, ipv4_compat)| {
        let [resolver_name, network_namespace_filepath] = names;
        SocketAddress {
            protocol,
            address,
            port_specifier,
            resolver_name,
            ipv4_compat,
            network_namespace_filepath,
        }
    });
    let pipe = (text(), any::<u32>()).prop_map(|(path, mode)| Pipe { path, mode });
    let inside = (some(text()), text());
    let inside = inside.prop_map(|(server_listener_name, endpoint_id)| EnvoyInternalAddress {
        address_name_specifier: server_listener_name.map(AddressNameSpecifier::ServerListenerName),
        endpoint_id,
    });
    let kind = prop_oneof![
        socket.prop_map(AddressKind::SocketAddress),
        pipe.prop_map(AddressKind::Pipe),
        inside.prop_map(AddressKind::EnvoyInternalAddress),
    ];
    some(kind).prop_map(|address| Address { address })
}

fn peer() -> impl Strategy<Value = Peer> {
    let names = [text(), text(), text()];
    (some(address()), texts(), names).prop_map(|(address, labels, names)| {
        let [service, principal, certificate] = names;
        Peer {
            address,
            service,
            labels,
            principal,
            certificate,
        }
    })
}

fn http_request() -> impl Strategy<Value = HttpRequest> {
    let first = [text(), text(), text(), text(), text()];
    let second = [text(), text(), text(), text()];
    let header_map = vec(header(), 0..3).prop_map(|headers| HeaderMap { headers });
    let rest = (any::<i64>(), bytes(), some(header_map));
    (first, second, texts(), rest).prop_map(|(first, second, headers, rest)| {
        let [id, method, path, host, scheme] = first;
        let [query, fragment, protocol, body] = second;
        let (size, raw_body, header_map) = rest;
        HttpRequest {
            id,
            method,
            headers: headers
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect(),
            path: path.into(),
            host: host.into(),
            scheme,
            query,
            fragment,
            size,
            protocol,
            body: body.into(),
            raw_body,
            header_map,
        }
    })
}

fn attributes() -> impl Strategy<Value = AttributeContext> {
    let request =
        (some(timestamp()), some(http_request())).prop_map(|(time, http)| Request { time, http });
    let tls = text().prop_map(|sni| TlsSession { sni });
    let peers = (some(peer()), some(peer()));
    let metadatas = (some(metadata()), some(metadata()));
    let request = some(request);
    (peers, request, texts(), metadatas, some(tls)).prop_map(
        |((source, destination), request, context_extensions, (context, route), tls_session)| {
            AttributeContext {
                source,
                destination,
                request,
                context_extensions,
                metadata_context: context,
                tls_session,
                route_metadata_context: route,
            }
        },
    )
}

fn denied() -> impl Strategy<Value = DeniedHttpResponse> {
    let status = (100..600).prop_map(|code| HttpStatus { code });
    (some(status), vec(header_option(), 0..3), text()).prop_map(|(status, headers, body)| {
        DeniedHttpResponse {
            status,
            headers,
            body,
        }
    })
}

fn allowed() -> impl Strategy<Value = OkHttpResponse> {
    let headers = || vec(header_option(), 0..3);
    let query = (text(), text()).prop_map(|(key, value)| QueryParameter { key, value });
    let removed = || vec(text(), 0..3);
    (headers(), removed(), headers(), vec(query, 0..3), removed()).prop_map(
        |(headers, headers_to_remove, response_headers_to_add, set, removed)| OkHttpResponse {
            headers,
            headers_to_remove,
            response_headers_to_add,
            query_parameters_to_set: set,
            query_parameters_to_remove: removed,
        },
    )
}

pub(crate) fn check_response() -> impl Strategy<Value = CheckResponse> {
    let status = (any::<i32>(), text(), vec(any_message(), 0..2));
    let status = status.prop_map(|(code, message, details)| Status {
        code,
        message,
        details,
    });
    let http = prop_oneof![
        denied().prop_map(HttpResponse::DeniedResponse),
        allowed().prop_map(HttpResponse::OkResponse),
        denied().prop_map(HttpResponse::ErrorResponse),
    ];
    let http = some(http);
    (some(status), http, some(object())).prop_map(|(status, http_response, dynamic_metadata)| {
        CheckResponse {
            status,
            http_response,
            dynamic_metadata,
        }
    })
}

pub(crate) fn rls_request() -> impl Strategy<Value = RateLimitRequest> {
    (text(), vec(descriptor(), 0..3), any::<u32>()).prop_map(
        |(domain, descriptors, hits_addend)| RateLimitRequest {
            domain,
            descriptors,
            hits_addend,
        },
    )
}

pub(crate) fn check_request() -> impl Strategy<Value = CheckRequest> {
    some(attributes()).prop_map(|attributes| CheckRequest { attributes })
}
