//! TLS to `PostgreSQL`: authentication of both sides.

use tollgate_parts::{Papers, Postgres as Server};
use tollgate_store::Failure;
use tollgate_store_sql::{Postgres, PostgresConfig};

use crate::kit::{EngineKey, PATIENT};

async fn kind(config: &PostgresConfig) -> &'static str {
    let key = EngineKey::new(Postgres::new(config).unwrap());
    let said = key.ask(PATIENT).await;
    said.map_or_else(|failure| failure.kind(), |_| "given")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_asked_if_it_is_the_one_that_was_meant() {
    let papers = Papers::of(&["localhost"]);
    let server = Server::with_tls(&papers, "scram-sha-256");
    let url = |mode: &str| PostgresConfig::new(format!("{}?sslmode={mode}", server.url()));
    assert_eq!(kind(&url("require")).await, "given", "whoever it is");
    assert_eq!(
        kind(&url("verify-full")).await,
        "forbidden",
        "unknown to the system"
    );
    assert_eq!(kind(&url("disable")).await, "forbidden", "in clear");

    let mut known = PostgresConfig::new(server.url());
    known.ca = Some(papers.ca());
    assert_eq!(kind(&known).await, "given");
    for mode in ["require", "verify-ca", "verify-full"] {
        let known = PostgresConfig {
            url: url(mode).url,
            ..known.clone()
        };
        assert_eq!(kind(&known).await, "given", "{mode}");
    }
    let mut misnamed = known.clone();
    misnamed.url = server.url().replace("localhost", "127.0.0.1");
    assert_eq!(kind(&misnamed).await, "forbidden", "another name");
    misnamed.url.push_str("?sslmode=verify-ca");
    assert_eq!(kind(&misnamed).await, "given", "names do not matter then");

    let others = Papers::of(&["localhost"]);
    for mode in ["require", "verify-ca", "verify-full"] {
        let mut stranger = url(mode);
        stranger.ca = Some(others.ca());
        assert_eq!(
            kind(&stranger).await,
            "forbidden",
            "another authority: {mode}"
        );
    }
    known.url = url("disable").url;
    let refused = Postgres::new(&known).unwrap_err();
    assert!(matches!(refused, Failure::Forbidden(_)), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_as_good_as_a_password_where_the_database_says_so() {
    let papers = Papers::new();
    let server = Server::with_tls(&papers, "cert");
    let mut config = PostgresConfig::new(server.url_as(Papers::CLIENT));
    config.ca = Some(papers.ca());
    assert_eq!(kind(&config).await, "forbidden", "without one");
    config.identity = Some(papers.client());
    assert_eq!(kind(&config).await, "given");
    let others = Papers::new();
    config.identity = Some(others.client());
    // The database ends the handshake; its message may be lost with the connection.
    assert!(["forbidden", "unreachable"].contains(&kind(&config).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_tls_is_told_nothing_where_an_authority_is_named() {
    let server = Server::start();
    let mut config = PostgresConfig::new(server.url());
    assert_eq!(kind(&config).await, "given");
    let papers = Papers::new();
    config.ca = Some(papers.ca());
    assert_eq!(kind(&config).await, "forbidden");
}
