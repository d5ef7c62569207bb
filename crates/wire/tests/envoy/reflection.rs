//! The descriptors against the messages: whatever is written is described, field by field.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use tollgate_wire::gubernator::{GetRateLimitsReq, GetRateLimitsResp, HealthCheckResp};
use tollgate_wire::gubernator::{RateLimitReq, RateLimitResp};
use tollgate_wire::reflection::{FILE_DESCRIPTOR_SET, SERVICES};
use tollgate_wire::throttlecrab::{ThrottleRequest, ThrottleResponse};

use crate::messages::{check_request, check_response, rls_request, rls_response};
use crate::quota::{quota_reports, quota_response};

fn set() -> FileDescriptorSet {
    FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap()
}

/// Every message by its full name, and the full names of all enumerations.
#[derive(Default)]
struct Types {
    messages: BTreeMap<String, DescriptorProto>,
    enums: BTreeSet<String>,
}

impl Types {
    fn of(set: &FileDescriptorSet) -> Self {
        let mut types = Self::default();
        for file in &set.file {
            let scope = format!(".{}", file.package());
            for message in &file.message_type {
                types.add(message, &scope);
            }
            for found in &file.enum_type {
                types.enums.insert(format!("{scope}.{}", found.name()));
            }
        }
        types
    }

    fn add(&mut self, message: &DescriptorProto, scope: &str) {
        let name = format!("{scope}.{}", message.name());
        for nested in &message.nested_type {
            self.add(nested, &name);
        }
        for found in &message.enum_type {
            self.enums.insert(format!("{name}.{}", found.name()));
        }
        self.messages.insert(name, message.clone());
    }

    /// Reads a message by its descriptor alone.
    #[track_caller]
    fn walk(&self, name: &str, mut bytes: &[u8]) {
        let message = &self.messages[name];
        while !bytes.is_empty() {
            let (tag, wire) = decode_key(&mut bytes).unwrap();
            let mut fields = message.field.iter();
            let field = fields.find(|field| field.number().unsigned_abs() == tag);
            let field = field.unwrap_or_else(|| panic!("{name} has no field {tag}"));
            assert_eq!(wire, wire_type(field), "{name}.{}", field.name());
            if wire != WireType::LengthDelimited {
                skip_field(wire, tag, &mut bytes, DecodeContext::default()).unwrap();
                continue;
            }
            let length = usize::try_from(decode_varint(&mut bytes).unwrap()).unwrap();
            let (inside, rest) = bytes.split_at(length);
            bytes = rest;
            match field.r#type() {
                Type::Message => self.walk(field.type_name(), inside),
                Type::String => assert!(std::str::from_utf8(inside).is_ok()),
                _ => {}
            }
        }
    }
}

fn wire_type(field: &FieldDescriptorProto) -> WireType {
    match field.r#type() {
        Type::Double => WireType::SixtyFourBit,
        Type::String | Type::Bytes | Type::Message => WireType::LengthDelimited,
        _ => WireType::Varint,
    }
}

#[test]
fn every_service_is_described() {
    let set = set();
    let mut names = BTreeSet::new();
    for file in &set.file {
        let services = file.service.iter();
        names.extend(services.map(|service| format!("{}.{}", file.package(), service.name())));
    }
    assert_eq!(names, SERVICES.map(str::to_owned).into());
}

#[test]
fn only_quotas_stream_both_ways() {
    let set = set();
    let services = set.file.iter().flat_map(|file| &file.service);
    for service in services {
        for method in &service.method {
            let streams = method.client_streaming() && method.server_streaming();
            assert_eq!(streams, service.name() == "RateLimitQuotaService");
        }
    }
}

#[test]
fn every_name_is_defined_and_every_file_comes_after_those_it_uses() {
    let set = set();
    let types = Types::of(&set);
    let mut seen = BTreeSet::new();
    for file in &set.file {
        assert!(
            file.dependency
                .iter()
                .all(|used| seen.contains(used.as_str()))
        );
        assert!(seen.insert(file.name()), "{} comes twice", file.name());
        assert_eq!(file.syntax(), "proto3");
        for method in file.service.iter().flat_map(|service| &service.method) {
            assert!(types.messages.contains_key(method.input_type()));
            assert!(types.messages.contains_key(method.output_type()));
        }
    }
    for (name, message) in &types.messages {
        let mut numbers = BTreeSet::new();
        for field in &message.field {
            let known = match field.r#type() {
                Type::Message => types.messages.contains_key(field.type_name()),
                Type::Enum => types.enums.contains(field.type_name()),
                _ => field.type_name.is_none(),
            };
            assert!(known, "{name}.{} is a {}", field.name(), field.type_name());
            assert!(numbers.insert(field.number()), "{name} has a number twice");
            let choice = field.oneof_index.map(|at| usize::try_from(at).unwrap());
            assert!(choice.is_none_or(|at| at < message.oneof_decl.len()));
        }
    }
}

#[test]
fn maps_and_optional_fields_have_what_compilers_give_them() {
    let types = Types::of(&set());
    let request = &types.messages[".pb.gubernator.RateLimitReq"];
    let field = |name: &str| {
        request
            .field
            .iter()
            .find(|field| field.name() == name)
            .unwrap()
    };
    let map = field("metadata");
    assert_eq!(
        (map.label(), map.r#type()),
        (Label::Repeated, Type::Message)
    );
    assert_eq!(map.type_name(), ".pb.gubernator.RateLimitReq.MetadataEntry");
    let entry = &types.messages[map.type_name()];
    assert!(entry.options.as_ref().unwrap().map_entry());
    let optional = field("created_at");
    assert!(optional.proto3_optional());
    assert_eq!(optional.json_name(), "createdAt");
    assert_eq!(request.oneof_decl[0].name(), "_created_at");
}

#[test]
fn other_servers_messages_are_described() {
    let types = Types::of(&set());
    let one = || [("a".to_owned(), "b".to_owned())].into();
    let request = RateLimitReq {
        name: "n".into(),
        unique_key: "k".into(),
        hits: 1,
        limit: 1,
        duration: 1,
        algorithm: 1,
        behavior: 1,
        burst: 1,
        metadata: one(),
        created_at: Some(0),
    };
    let requests = GetRateLimitsReq {
        requests: vec![request],
    };
    types.walk(".pb.gubernator.GetRateLimitsReq", &requests.encode_to_vec());
    let response = RateLimitResp {
        status: 1,
        limit: 1,
        remaining: 1,
        reset_time: 1,
        error: "e".into(),
        metadata: one(),
    };
    let responses = GetRateLimitsResp {
        responses: vec![response],
    };
    types.walk(
        ".pb.gubernator.GetRateLimitsResp",
        &responses.encode_to_vec(),
    );
    let health = HealthCheckResp {
        status: "s".into(),
        message: "m".into(),
        peer_count: 1,
        advertise_address: "a".into(),
    };
    types.walk(".pb.gubernator.HealthCheckResp", &health.encode_to_vec());
    let request = ThrottleRequest {
        key: "k".into(),
        max_burst: 1,
        count_per_period: 1,
        period: 1,
        quantity: 1,
    };
    types.walk(".throttlecrab.ThrottleRequest", &request.encode_to_vec());
    let response = ThrottleResponse {
        allowed: true,
        limit: 1,
        remaining: 1,
        retry_after: 1,
        reset_after: 1,
    };
    types.walk(".throttlecrab.ThrottleResponse", &response.encode_to_vec());
}

proptest! {
    #[test]
    fn envoys_messages_are_described(
        rls in (rls_request(), rls_response()),
        authz in (check_request(), check_response()),
        rlqs in (quota_reports(), quota_response()),
    ) {
        let types = Types::of(&set());
        let rls_package = ".envoy.service.ratelimit.v3";
        types.walk(&format!("{rls_package}.RateLimitRequest"), &rls.0.encode_to_vec());
        types.walk(&format!("{rls_package}.RateLimitResponse"), &rls.1.encode_to_vec());
        let quota_package = ".envoy.service.rate_limit_quota.v3";
        types.walk(&format!("{quota_package}.RateLimitQuotaUsageReports"), &rlqs.0.encode_to_vec());
        types.walk(&format!("{quota_package}.RateLimitQuotaResponse"), &rlqs.1.encode_to_vec());
        types.walk(".envoy.service.auth.v3.CheckRequest", &authz.0.encode_to_vec());
        types.walk(".envoy.service.auth.v3.CheckResponse", &authz.1.encode_to_vec());
    }
}
