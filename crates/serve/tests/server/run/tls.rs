//! TLS: which handshakes succeed, and with which certificate.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tollgate_parts::{PATIENCE, Wire};
use tollgate_serve::run::Running;
use tollgate_serve::settings::{Settings, Tls, Token};

use crate::run::kit::{server, tcp};

/// An authority with a folder of certificates it signed.
struct Authority {
    folder: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { folder, issuer }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a certificate and its key.
    fn sign(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let paths = (
            self.path(&format!("{name}.pem")),
            self.path(&format!("{name}.key")),
        );
        std::fs::write(&paths.0, certificate.pem()).unwrap();
        std::fs::write(&paths.1, key.serialize_pem()).unwrap();
        paths
    }

    /// The server's files; clients need a certificate where `mutual`.
    fn tls(&self, mutual: bool) -> Tls {
        let (certificate, key) = self.sign("server");
        let client_ca = mutual.then(|| self.path("ca.pem"));
        Tls {
            certificate,
            key,
            client_ca,
        }
    }

    /// A client that trusts the authority and shows this certificate.
    fn client(&self, shown: Option<&(PathBuf, PathBuf)>, alpn: &[&[u8]]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&self.path("ca.pem"))).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match shown {
            None => builder.with_no_client_auth(),
            Some((path, key)) => builder
                .with_client_auth_cert(
                    vec![certificate(path)],
                    PrivateKeyDer::from_pem_file(key).unwrap(),
                )
                .unwrap(),
        };
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }
}

fn certificate(path: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(path).unwrap()
}

type Secure = StreamOwned<ClientConnection, TcpStream>;

fn connect(address: Option<SocketAddr>, config: &Arc<ClientConfig>) -> Wire<Secure> {
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
    let stream = TcpStream::connect(address.unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    Wire {
        stream: StreamOwned::new(connection, stream),
    }
}

fn with(tls: &Tls, change: impl FnOnce(&mut Settings)) -> Running {
    server(|settings| {
        settings.http[0].tls = Some(tls.clone());
        settings.resp[0].tls = Some(tls.clone());
        change(settings);
    })
}

#[test]
fn both_doors_speak_tls_and_http_chooses_its_version() {
    let authority = Authority::new();
    let running = with(&authority.tls(false), |_| {});
    let plain = authority.client(None, &[]);
    let checked = connect(running.http(), &plain).check("1");
    assert_eq!(checked.status, 200);
    // A client that used TLS must keep using TLS.
    let stays = checked.field("strict-transport-security");
    assert_eq!(stays, Some("max-age=31536000"), "{checked:?}");
    assert_eq!(connect(running.resp(), &plain).inline("PING"), "+PONG");
    for (offered, chosen) in [
        (&[b"http/1.1".as_slice()][..], b"http/1.1".as_slice()),
        (&[b"h2", b"http/1.1"], b"h2"),
    ] {
        let config = authority.client(None, offered);
        let mut wire = connect(running.http(), &config);
        wire.stream.flush().unwrap();
        while wire.stream.conn.is_handshaking() {
            wire.stream.conn.complete_io(&mut wire.stream.sock).unwrap();
        }
        assert_eq!(wire.stream.conn.alpn_protocol(), Some(chosen));
    }
}

#[test]
fn whoever_must_show_a_certificate_and_does_not_is_let_nowhere() {
    let authority = Authority::new();
    let running = with(&authority.tls(true), |settings| {
        settings.tokens = vec![Token::new("a-token-that-nobody-shows")].into();
    });
    // The certificate stands for the token.
    let ours = authority.sign("client");
    let known = authority.client(Some(&ours), &[]);
    assert_eq!(connect(running.http(), &known).check("1").status, 200);
    assert_eq!(connect(running.resp(), &known).inline("PING"), "+PONG");
    let others = Authority::new();
    let stranger = others.sign("client");
    for config in [
        authority.client(None, &[]),
        authority.client(Some(&stranger), &[]),
    ] {
        let mut wire = connect(running.http(), &config);
        let _ = wire.try_send(crate::run::kit::check("1"));
        let mut bytes = Vec::new();
        let read = wire.stream.read_to_end(&mut bytes);
        assert!(read.is_err() && bytes.is_empty(), "{read:?} {bytes:?}");
    }
}

#[test]
fn a_token_is_asked_for_where_certificates_are_not() {
    let authority = Authority::new();
    let running = with(&authority.tls(false), |settings| {
        settings.tokens = vec![Token::new("open-sesame")].into();
    });
    let config = authority.client(None, &[]);
    let mut wire = connect(running.http(), &config);
    assert_eq!(wire.check("1").status, 401);
    for path in ["/metrics", "/v1/top"] {
        assert_eq!(
            connect(running.http(), &config).get(path).status,
            401,
            "{path}"
        );
    }
    let request = crate::run::kit::check("1").replace(
        "host: localhost\r\n",
        "host: localhost\r\nauthorization: Bearer open-sesame\r\n",
    );
    let mut wire = connect(running.http(), &config);
    wire.send(request);
    assert_eq!(wire.reply().status, 200);
}

#[test]
fn silence_and_garbage_instead_of_a_handshake_end_soon() {
    let authority = Authority::new();
    let running = with(&authority.tls(false), |settings| {
        settings.limits.slow = Duration::from_millis(300);
    });
    let mut silent = tcp(running.http());
    let mut garbage = tcp(running.resp());
    garbage.send([0xFF; 512]);
    assert!(silent.is_closed() && garbage.is_closed());
    let config = authority.client(None, &[]);
    assert_eq!(connect(running.http(), &config).check("1").status, 200);
}

#[test]
fn certificates_are_read_again_and_bad_ones_change_nothing() {
    let authority = Authority::new();
    let tls = authority.tls(false);
    let running = with(&tls, |_| {});
    let config = authority.client(None, &[]);
    let mut before = connect(running.http(), &config);
    assert_eq!(before.check("1").status, 200);
    let shown = |wire: &Wire<Secure>| {
        wire.stream.conn.peer_certificates().unwrap()[0]
            .clone()
            .into_owned()
    };
    assert_eq!(shown(&before), certificate(&tls.certificate));

    authority.sign("server");
    running.reload().unwrap();
    let mut after = connect(running.http(), &config);
    assert_eq!(after.check("1").status, 200);
    assert_eq!(shown(&after), certificate(&tls.certificate));
    assert_ne!(shown(&after), shown(&before));
    assert_eq!(
        before.check("1").status,
        200,
        "connections keep what they began with"
    );

    std::fs::write(&tls.certificate, "no certificate").unwrap();
    let error = running.reload().unwrap_err();
    assert!(error.contains("server.pem"), "{error}");
    let mut last = connect(running.http(), &config);
    assert_eq!(last.check("1").status, 200);
    assert_eq!(shown(&last), shown(&after));
}
