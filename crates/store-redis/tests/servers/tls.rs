//! TLS with an authority of our own: who may speak, and to whom.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;
use tollgate_store_redis::{Config, Servers, Tls};

use crate::kit::{PATIENCE, Server, book, check, kind_of, lingering, one, open};

/// An authority, and what it signed.
struct Papers {
    folder: TempDir,
    authority: Vec<u8>,
    client: (Vec<u8>, Vec<u8>),
}

impl Papers {
    /// For a server of that name.
    fn new(server: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let signed = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            // Whoever has the name of its authority is taken to have signed itself.
            params.distinguished_name.push(DnType::CommonName, name);
            let certificate = params.signed_by(&key, &issuer).unwrap();
            (
                certificate.pem().into_bytes(),
                key.serialize_pem().into_bytes(),
            )
        };
        let folder = tempfile::tempdir().unwrap();
        let authority = issuer.pem().into_bytes();
        let (certificate, key) = signed(server);
        for (name, bytes) in [
            ("ca.pem", &authority),
            ("server.pem", &certificate),
            ("server.key", &key),
        ] {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        Self {
            client: signed("client"),
            folder,
            authority,
        }
    }

    fn server(&self) -> Server {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        Server::start(&[
            "port 0",
            "tls-port PORT",
            &format!("tls-cert-file {}", path("server.pem")),
            &format!("tls-key-file {}", path("server.key")),
            &format!("tls-ca-cert-file {}", path("ca.pem")),
        ])
    }

    fn config(&self, server: &Server) -> Config {
        let mut config = lingering(Servers::Single(format!("localhost:{}", server.port)));
        config.tls = Some(Tls {
            authority: Some(self.authority.clone()),
            identity: Some(self.client.clone()),
        });
        config
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_tls_is_asked_and_others_are_not() {
    let papers = Papers::new("localhost");
    let server = papers.server();
    let ask = check(&book(&["name: few, limit: 2, per: 1h"]), 1, 1);
    let good = papers.config(&server);
    let engine = open(&good).await;
    assert_eq!(one(&engine, ask.clone(), PATIENCE).await, Ok(true));

    let mut stranger = good.clone();
    stranger.tls = Some(Tls {
        authority: Some(Papers::new("localhost").authority),
        identity: Some(papers.client.clone()),
    });
    assert_eq!(kind_of(&stranger, &ask).await, "forbidden");
    let elsewhere = Papers::new("elsewhere");
    let misnamed = elsewhere.server();
    assert_eq!(
        kind_of(&elsewhere.config(&misnamed), &ask).await,
        "forbidden"
    );
    let mut nobody = good.clone();
    nobody.tls = Some(Tls {
        identity: None,
        ..good.tls.clone().unwrap()
    });
    // The server closes the connection, and cannot say why in words that reach us.
    assert!(["forbidden", "unreachable"].contains(&kind_of(&nobody, &ask).await));
}
