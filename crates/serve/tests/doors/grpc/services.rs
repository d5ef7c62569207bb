//! Health and reflection.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use prost::Message;
use tollgate_serve::settings::Settings;
use tollgate_wire::reflection::SERVICES;
use tonic::codegen::tokio_stream::{self, StreamExt};
use tonic::transport::Endpoint;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1alpha::server_reflection_request::MessageRequest as OldRequest;
use tonic_reflection::pb::{v1, v1alpha};

use crate::grpc::server::GrpcServer;

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
    let server = GrpcServer::start(CONTRACTS);
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

/// Whether a server that is asked over a connection of its own says that it serves.
async fn is_serving(at: SocketAddr) -> bool {
    let endpoint = Endpoint::from_shared(format!("http://{at}")).expect("an endpoint");
    let Ok(channel) = endpoint.connect().await else {
        return false;
    };
    let told = HealthClient::new(channel).check(asked("")).await;
    told.is_ok_and(|told| told.get_ref().status() == ServingStatus::Serving)
}

/// Like a balancer: calls go to servers whose last health check succeeded.
#[tokio::test]
async fn no_call_fails_while_one_of_two_servers_leaves_and_stops() {
    let mut settings = Settings::default();
    settings.limits.shutdown_delay = Duration::from_secs(2);
    settings.limits.drain = Duration::from_millis(500);
    let servers =
        [settings.clone(), settings].map(|settings| GrpcServer::with(CONTRACTS, settings));
    let at = servers.each_ref().map(GrpcServer::at);
    let channels = [servers[0].channel().await, servers[1].channel().await];
    let [leaving, staying] = servers;
    let (start, started) = std::sync::mpsc::channel();
    let ending = tokio::task::spawn_blocking(move || {
        started.recv().expect("a start");
        leaving.leave();
        leaving.stop();
    });
    let (mut is_up, mut calls, mut last) = ([true; 2], [0; 2], 0);
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    // A while longer than it takes.
    while last < 50 {
        ticks.tick().await;
        last += u32::from(ending.is_finished());
        let turn = calls.iter().sum::<u32>();
        if turn == 30 {
            start.send(()).expect("started");
        }
        if turn.is_multiple_of(20) {
            is_up = [is_serving(at[0]).await, is_serving(at[1]).await];
        }
        let to = usize::from(!is_up[0] || turn % 2 == 1);
        let told = HealthClient::new(channels[to].clone())
            .check(asked(""))
            .await;
        told.unwrap_or_else(|error| panic!("call {turn} to {to}: {error}"));
        calls[to] += 1;
    }
    ending.await.expect("it ends in order");
    assert!(calls[0] > 0 && calls[1] > 50, "{calls:?}");
    assert!(!is_up[0] && is_up[1]);
    staying.stop();
}

#[tokio::test]
async fn whoever_watches_is_told_when_the_server_stops() {
    let server = GrpcServer::start(CONTRACTS);
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
    let server = GrpcServer::start(CONTRACTS);
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
    let server = GrpcServer::start(CONTRACTS);
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
