//! Messages of discovery, and the configuration that comes in them.

use envoy_types::pb::envoy::service::discovery::v3 as their_xds;
use envoy_types::pb::ratelimit::config::ratelimit::v3 as their_config;
use proptest::collection::vec;
use proptest::option::of as some;
use proptest::prelude::*;
use prost::Message;
use tollgate_wire::google::{Any, Kind, Status, Struct};
use tollgate_wire::xds::{
    DiscoveryRequest, DiscoveryResponse, Node, RATE_LIMIT_CONFIG, RateLimitConfig,
    RateLimitDescriptor, RateLimitPolicy, RateLimitReplace,
};

use crate::equal;

fn text() -> impl Strategy<Value = String> {
    "[a-z*]{0,4}"
}

fn policy() -> impl Strategy<Value = RateLimitPolicy> {
    let replaces = vec(text().prop_map(|name| RateLimitReplace { name }), 0..2);
    (0..8, any::<u32>(), any::<bool>(), text(), replaces).prop_map(
        |(unit, requests_per_unit, unlimited, name, replaces)| RateLimitPolicy {
            unit,
            requests_per_unit,
            unlimited,
            name,
            replaces,
        },
    )
}

fn descriptor() -> impl Strategy<Value = RateLimitDescriptor> {
    let leaf = (text(), text(), some(policy()), any::<[bool; 3]>());
    let leaf =
        leaf.prop_map(
            |(key, value, rate_limit, [shadow, detailed, quota])| RateLimitDescriptor {
                key,
                value,
                rate_limit,
                descriptors: Vec::new(),
                shadow_mode: shadow,
                detailed_metric: detailed,
                quota_mode: quota,
                metadata: quota.then(|| Struct {
                    fields: [("of".to_owned(), Kind::StringValue("quotas".into()).into())].into(),
                }),
            },
        );
    leaf.prop_recursive(3, 8, 2, |inner| {
        (text(), vec(inner, 0..3)).prop_map(|(key, descriptors)| RateLimitDescriptor {
            key,
            descriptors,
            ..RateLimitDescriptor::default()
        })
    })
}

fn config() -> impl Strategy<Value = RateLimitConfig> {
    (text(), text(), vec(descriptor(), 0..3)).prop_map(|(name, domain, descriptors)| {
        RateLimitConfig {
            name,
            domain,
            descriptors,
        }
    })
}

fn response() -> impl Strategy<Value = DiscoveryResponse> {
    (text(), vec(config(), 0..3), text()).prop_map(|(version_info, configs, nonce)| {
        let any = |config: RateLimitConfig| Any {
            type_url: RATE_LIMIT_CONFIG.into(),
            value: config.encode_to_vec(),
        };
        DiscoveryResponse {
            version_info,
            resources: configs.into_iter().map(any).collect(),
            type_url: RATE_LIMIT_CONFIG.into(),
            nonce,
        }
    })
}

fn request() -> impl Strategy<Value = DiscoveryRequest> {
    let node = (text(), text(), text()).prop_map(|(id, cluster, user_agent_name)| Node {
        id,
        cluster,
        user_agent_name,
    });
    let error = (any::<i32>(), text()).prop_map(|(code, message)| Status {
        code,
        message,
        details: Vec::new(),
    });
    let texts = (text(), text(), text());
    (texts, some(node), vec(text(), 0..2), some(error)).prop_map(
        |((version_info, type_url, response_nonce), node, resource_names, error_detail)| {
            DiscoveryRequest {
                version_info,
                node,
                resource_names,
                type_url,
                response_nonce,
                error_detail,
            }
        },
    )
}

proptest! {
    #[test]
    fn discovery_is_theirs(request in request(), response in response(), config in config()) {
        equal::<_, their_xds::DiscoveryRequest>(&request);
        equal::<_, their_xds::DiscoveryResponse>(&response);
        equal::<_, their_config::RateLimitConfig>(&config);
    }

    #[test]
    fn discovery_with_a_byte_changed_is_read_or_refused(
        response in response(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = response.encode_to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = DiscoveryResponse::decode(&*bytes);
        let _ = RateLimitConfig::decode(&*bytes);
    }
}
