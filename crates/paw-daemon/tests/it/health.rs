//! Health checks and reflection, for tools such as grpcurl.

use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::{v1, v1alpha};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn every_service_is_healthy() {
    let world = World::new();
    let _daemon = world.daemon().await;
    let channel = paw_daemon::client::channel(&world.options().socket).await.unwrap();
    let mut health = HealthClient::new(channel);
    for service in ["", "paw.v1.WorktreeService", "paw.v1.ConversationService", "paw.v1.DaemonService"] {
        let request = HealthCheckRequest { service: service.to_owned() };
        let answer = health.check(request).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service}");
    }
    let request = HealthCheckRequest { service: "paw.v1.Other".to_owned() };
    assert_eq!(health.check(request).await.unwrap_err().code(), tonic::Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn reflection_describes_every_service() {
    let world = World::new();
    let _daemon = world.daemon().await;
    let channel = paw_daemon::client::channel(&world.options().socket).await.unwrap();
    let mut reflection = ServerReflectionClient::new(channel.clone());
    let ask = |message_request| {
        tokio_stream::once(v1::ServerReflectionRequest {
            host: String::new(),
            message_request: Some(message_request),
        })
    };
    let list = ask(MessageRequest::ListServices(String::new()));
    let mut answers = reflection.server_reflection_info(list).await.unwrap().into_inner();
    let Some(MessageResponse::ListServicesResponse(listed)) =
        answers.message().await.unwrap().unwrap().message_response
    else {
        panic!("no list of services")
    };
    let names: Vec<_> = listed.service.into_iter().map(|service| service.name).collect();
    for name in [
        "paw.v1.WorktreeService",
        "paw.v1.ConversationService",
        "paw.v1.DaemonService",
        "grpc.health.v1.Health",
    ] {
        assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
    }
    let file = ask(MessageRequest::FileContainingSymbol("paw.v1.ConversationService.SendMessage".into()));
    let mut answers = reflection.server_reflection_info(file).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response;
    assert!(matches!(answer, Some(MessageResponse::FileDescriptorResponse(_))), "{answer:?}");

    let older = v1alpha::server_reflection_client::ServerReflectionClient::new(channel)
        .server_reflection_info(tokio_stream::once(v1alpha::ServerReflectionRequest {
            host: String::new(),
            message_request: Some(v1alpha::server_reflection_request::MessageRequest::ListServices(
                String::new(),
            )),
        }))
        .await;
    assert!(older.unwrap().into_inner().message().await.unwrap().is_some());
}
