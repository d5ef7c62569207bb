//! A descriptor file with one rule of each kind, as a user of envoyproxy/ratelimit knows it: what it decides, counts
//! and hands back.

use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code::{
    self, Ok, OverLimit,
};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{Struct, UInt64Value};
use tollgate_parts::Wire;
use tollgate_serve::settings::{Keeping, RlsSettings, Settings};
use tonic::transport::Channel;

use crate::grpc::rls::{ask, codes, descriptor, header, request};
use crate::grpc::server::GrpcServer;

const FILE: &str = include_str!("../../../../../deploy/envoy/descriptors.yaml");

/// The server of the file, and a client.
struct Library {
    server: GrpcServer,
    client: RateLimitServiceClient<Channel>,
}

impl Library {
    async fn open(rls: RlsSettings) -> Self {
        let keeping = Keeping {
            rls,
            ..Keeping::default()
        };
        let settings = Settings {
            keeping,
            ..Settings::default()
        };
        let server = GrpcServer::with(FILE, settings);
        let client = RateLimitServiceClient::new(server.channel().await);
        Self { server, client }
    }

    /// Asks with these descriptors, each of its entries.
    async fn ask(&mut self, descriptors: &[&[(&str, &str)]]) -> RateLimitResponse {
        let descriptors = descriptors.iter().map(|entries| descriptor(entries));
        ask(&mut self.client, request("library", descriptors.collect())).await
    }

    /// How often of eight times one descriptor passes.
    async fn admitted(&mut self, entries: &[(&str, &str)]) -> usize {
        let mut admitted = 0;
        for _ in 0..8 {
            let response = self.ask(&[entries]).await;
            admitted += usize::from(response.overall_code() == Ok);
        }
        admitted
    }

    fn metrics(&self) -> String {
        Wire::to(self.server.at()).get("/metrics").body
    }
}

#[tokio::test]
async fn a_descriptor_file_with_a_rule_of_each_kind_loads_and_behaves() {
    let mut library = Library::open(RlsSettings::default()).await;
    for (entries, admitted) in [
        (&[("reader", "anna")][..], 5),
        (&[("reader", "ben")], 5),
        (&[("reader", "staff")], 8),
        (&[("reader", "robot")], 0),
        (&[("branch", "north"), ("action", "lend")], 3),
        (&[("branch", "south"), ("action", "lend")], 3),
        (&[("branch", "north"), ("action", "return")], 8),
        (&[("branch", "north")], 8),
        (&[("path", "/maps/a")], 3),
        (&[("path", "/maps/b")], 0),
        (&[("path", "/books/1/pages")], 2),
        (&[("path", "/books/2/pages")], 2),
        (&[("path", "/books/2/cover")], 8),
        (&[("country", "si")], 8),
        (&[("printer", "1")], 1),
        (&[("nothing", "knows it")], 8),
    ] {
        assert_eq!(library.admitted(entries).await, admitted, "{entries:?}");
    }
    // The rule of readers is out of play beside that of members.
    let both: [&[(&str, &str)]; 2] = [&[("reader", "anna")], &[("member", "anna")]];
    let response = library.ask(&both).await;
    assert_eq!(codes(&response), [Ok, Ok]);
    assert!(response.statuses[0].current_limit.is_none());
    // Either way to pay will do.
    let pays: [&[(&str, &str)]; 2] = [&[("credit", "coins")], &[("credit", "card")]];
    for (each, whole) in [
        ([Ok, Ok], Ok),
        ([OverLimit, Ok], Ok),
        ([OverLimit, OverLimit], OverLimit),
    ] {
        let response = library.ask(&pays).await;
        assert_eq!(
            (codes(&response), response.overall_code()),
            (each.to_vec(), whole)
        );
        assert!(response.dynamic_metadata.is_none());
    }
}

#[tokio::test]
async fn in_shadow_every_request_passes_and_is_counted_as_if_it_did_not() {
    let shadow = RlsSettings {
        shadow: true,
        ..RlsSettings::default()
    };
    let mut library = Library::open(shadow).await;
    let response = library.ask(&[&[("reader", "robot")]]).await;
    assert_eq!(
        (response.overall_code(), codes(&response)),
        (Ok, vec![OverLimit])
    );
    assert!(response.raw_body.is_empty() && header(&response, "ratelimit").is_none());
    assert_eq!(library.admitted(&[("printer", "1")]).await, 8);
    let page = library.metrics();
    assert!(
        page.contains("\nratelimit_service_global_shadow_mode 8\n"),
        "{page}"
    );
}

#[tokio::test]
async fn in_quota_mode_a_request_is_refused_only_when_all_its_descriptors_are() {
    let quota = RlsSettings {
        quota: true,
        ..RlsSettings::default()
    };
    let mut library = Library::open(quota).await;
    let robot: &[(&str, &str)] = &[("reader", "robot")];
    let anna: &[(&str, &str)] = &[("reader", "anna")];
    let code = async |library: &mut Library, asked: &[&[(&str, &str)]]| -> Code {
        library.ask(asked).await.overall_code()
    };
    assert_eq!(code(&mut library, &[robot]).await, OverLimit);
    assert_eq!(code(&mut library, &[robot, robot]).await, OverLimit);
    assert_eq!(code(&mut library, &[robot, anna]).await, Ok);
    // What no rule knows is not used up either.
    assert_eq!(code(&mut library, &[robot, &[("x", "y")]]).await, Ok);
}

#[tokio::test]
async fn hits_are_counted_by_rule_under_the_names_that_dashboards_know() {
    let mut library = Library::open(RlsSettings::default()).await;
    for _ in 0..7 {
        library.ask(&[&[("reader", "anna")]]).await;
        library
            .ask(&[&[("branch", "north"), ("action", "lend")]])
            .await;
    }
    let mut many = descriptor(&[("country", "si")]);
    many.hits_addend = Some(UInt64Value { value: 5 });
    ask(&mut library.client, request("library", vec![many])).await;
    library.admitted(&[("path", "/maps/a")]).await;
    let page = library.metrics();
    let reader = "{domain=\"library\",key1=\"reader\"}";
    let lend = "{domain=\"library\",key1=\"branch\",key2=\"action_lend\"}";
    let maps = "{domain=\"library\",key1=\"path_/maps/*\"}";
    let country = "{domain=\"library\",key1=\"country\"}";
    for (stat, of, count) in [
        ("total_hits", reader, 7),
        ("within_limit", reader, 5),
        // Four fifths of five are four.
        ("near_limit", reader, 1),
        ("over_limit", reader, 2),
        ("shadow_mode", reader, 0),
        ("over_limit", lend, 4),
        ("over_limit", maps, 5),
        ("total_hits", country, 5),
        ("over_limit", country, 5),
        ("shadow_mode", country, 5),
    ] {
        let line = format!("\nratelimit_service_rate_limit_{stat}{of} {count}\n");
        assert!(page.contains(&line), "no {line} in {page}");
    }
}

/// A value of an object, by the path of names to it.
fn told<'a>(data: &'a Struct, way: &[&str]) -> Option<&'a Kind> {
    let (name, rest) = way.split_first()?;
    let kind = data.fields.get(*name)?.kind.as_ref()?;
    match kind {
        Kind::StructValue(data) if !rest.is_empty() => told(data, rest),
        kind => rest.is_empty().then_some(kind),
    }
}

#[tokio::test]
async fn other_filters_are_told_of_the_request_and_of_the_rules_that_let_it_pass() {
    let metadata = RlsSettings {
        metadata: true,
        ..RlsSettings::default()
    };
    let mut library = Library::open(metadata).await;
    let pays: [&[(&str, &str)]; 2] = [&[("credit", "coins")], &[("credit", "card")]];
    for has_coins in [true, false] {
        let data = library.ask(&pays).await.dynamic_metadata.expect("metadata");
        assert_eq!(
            told(&data, &["domain"]),
            Some(&Kind::StringValue("library".into()))
        );
        let coins = told(&data, &["metadata", "pays", "coins"]);
        assert_eq!(coins, has_coins.then_some(&Kind::NumberValue(1.0)));
        let Some(Kind::ListValue(card)) = told(&data, &["metadata", "pays", "card"]) else {
            panic!("{data:?}")
        };
        assert_eq!(card.values.len(), 2);
        let Some(Kind::ListValue(asked)) = told(&data, &["descriptors"]) else {
            panic!("{data:?}")
        };
        let Some(Kind::StructValue(first)) = &asked.values[0].kind else {
            panic!("{data:?}")
        };
        let Some(Kind::ListValue(entries)) = told(first, &["entries"]) else {
            panic!("{data:?}")
        };
        let kind = entries.values[0].kind.as_ref();
        assert_eq!(kind, Some(&Kind::StringValue("credit=coins".into())));
    }
}
