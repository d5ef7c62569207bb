//! Health and reflection.

use std::collections::BTreeSet;
use std::time::Duration;

use prost::Message;
use tollgate_wire::reflection::SERVICES;
use tonic::codegen::tokio_stream::{self, StreamExt};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1alpha::server_reflection_request::MessageRequest as OldRequest;
use tonic_reflection::pb::{v1, v1alpha};

use crate::grpc::server::Server;

const CONTRACTS: &str = "
contracts:
  - {id: users, key: [user], policies: [{name: hourly, limit: 10, per: 1h}]}
";

fn asked(service: &str) -> HealthCheckRequest {
    HealthCheckRequest {
        service: service.into(),
    }
}

#[tokio::test]
async fn every_service_is_serving_and_no_other() {
    let server = Server::start(CONTRACTS);
    let mut client = HealthClient::new(server.channel().await);
    for service in SERVICES.into_iter().chain(["", "grpc.health.v1.Health"]) {
        let health = client.check(asked(service)).await.expect("health");
        assert_eq!(
            health.get_ref().status(),
            ServingStatus::Serving,
            "{service}"
        );
    }
    let unknown = client.check(asked("nothing")).await.expect_err("unknown");
    assert_eq!(unknown.code(), tonic::Code::NotFound);
}

#[tokio::test]
async fn whoever_watches_is_told_when_the_server_stops() {
    let server = Server::start(CONTRACTS);
    let mut client = HealthClient::new(server.channel().await);
    let mut watch = client
        .watch(asked(""))
        .await
        .expect("a stream")
        .into_inner();
    let first = watch.message().await.expect("health").expect("a message");
    assert_eq!(first.status(), ServingStatus::Serving);
    let stopped = tokio::task::spawn_blocking(move || server.stop());
    let rest = async {
        let mut last: Option<HealthCheckResponse> = None;
        while let Ok(Some(message)) = watch.message().await {
            last = Some(message);
        }
        last
    };
    let last = tokio::time::timeout(Duration::from_secs(8), rest).await;
    let last = last.expect("an end").expect("a last message");
    assert_eq!(last.status(), ServingStatus::NotServing);
    stopped.await.expect("stopped");
}

#[tokio::test]
async fn reflection_lists_and_describes_every_service() {
    let server = Server::start(CONTRACTS);
    let mut client =
        v1::server_reflection_client::ServerReflectionClient::new(server.channel().await);
    let ask = |message_request| v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(message_request),
    };
    let mut questions = vec![ask(MessageRequest::ListServices(String::new()))];
    questions.extend(
        SERVICES.map(|service| ask(MessageRequest::FileContainingSymbol(service.to_owned()))),
    );
    let answers = client.server_reflection_info(tokio_stream::iter(questions));
    let answers = answers.await.expect("answers").into_inner();
    let answers: Vec<_> = answers.collect().await;
    let mut answers = answers
        .into_iter()
        .map(|answer| answer.expect("an answer").message_response.expect("some"));
    let Some(MessageResponse::ListServicesResponse(list)) = answers.next() else {
        panic!("no list")
    };
    let names: BTreeSet<_> = list
        .service
        .into_iter()
        .map(|service| service.name)
        .collect();
    for service in SERVICES.into_iter().chain(["grpc.health.v1.Health"]) {
        assert!(names.contains(service), "{service} in {names:?}");
    }
    let mut described = 0;
    for answer in answers {
        let MessageResponse::FileDescriptorResponse(files) = answer else {
            panic!("{answer:?}")
        };
        for file in files.file_descriptor_proto {
            let file = prost_types::FileDescriptorProto::decode(&*file).expect("a file");
            described += file.service.len();
        }
    }
    assert!(described >= SERVICES.len());
}

#[tokio::test]
async fn reflection_speaks_its_older_version_too() {
    let server = Server::start(CONTRACTS);
    let mut client =
        v1alpha::server_reflection_client::ServerReflectionClient::new(server.channel().await);
    let list = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(OldRequest::ListServices(String::new())),
    };
    let answers = client.server_reflection_info(tokio_stream::iter([list]));
    let mut answers = answers.await.expect("answers").into_inner();
    assert!(answers.message().await.expect("an answer").is_some());
}
