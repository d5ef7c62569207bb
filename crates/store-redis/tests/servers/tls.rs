//! TLS with an authority of our own: who may speak, and to whom.

use std::fs;
use std::sync::Arc;

use tollgate_parts::{Papers, Redis as Server, Setup};
use tollgate_store_redis::{Config, Servers, Tls};

use crate::kit::{PATIENCE, book, check, kind_of, lingering, one, open};

fn server(papers: &Arc<Papers>) -> Server {
    Server::of(&Setup::default().papers(papers))
}

fn tls(papers: &Papers) -> Tls {
    let (certificate, key) = papers.client();
    Tls {
        authority: Some(fs::read(papers.ca()).unwrap()),
        identity: Some((fs::read(certificate).unwrap(), fs::read(key).unwrap())),
    }
}

fn config(papers: &Papers, server: &Server) -> Config {
    let mut config = lingering(Servers::Single(format!("localhost:{}", server.port)));
    config.tls = Some(tls(papers));
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_tls_is_asked_and_others_are_not() {
    let papers = Arc::new(Papers::new());
    let server = server(&papers);
    let ask = check(&book(&["name: few, limit: 2, per: 1h"]), 1, 1);
    let good = config(&papers, &server);
    let engine = open(&good).await;
    assert_eq!(one(&engine, ask.clone(), PATIENCE).await, Ok(true));

    let mut stranger = good.clone();
    stranger.tls = Some(Tls {
        authority: tls(&Papers::new()).authority,
        ..tls(&papers)
    });
    assert_eq!(kind_of(&stranger, &ask).await, "forbidden");
    let elsewhere = Arc::new(Papers::of(&["elsewhere"]));
    let misnamed = self::server(&elsewhere);
    let misnamed = config(&elsewhere, &misnamed);
    assert_eq!(kind_of(&misnamed, &ask).await, "forbidden");
    let mut nobody = good.clone();
    nobody.tls = Some(Tls {
        identity: None,
        ..tls(&papers)
    });
    // The server closes the connection, and cannot say why in words that reach us.
    assert!(["forbidden", "unreachable"].contains(&kind_of(&nobody, &ask).await));
}
