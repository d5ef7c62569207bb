//! Certificates, and the handshake that presents them.
//!
//! They are reloaded on demand; open connections keep those they began with.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig, crypto};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Speech;
use crate::settings::Tls;
use crate::shared::Stream;

pub(crate) struct Certificates {
    files: Tls,
    speech: Speech,
    config: ArcSwap<ServerConfig>,
}

/// Why certificates cannot be used.
#[derive(Debug)]
pub struct TlsError {
    pub path: PathBuf,
    pub what: String,
    /// Whether the file cannot be read at all.
    pub is_unreadable: bool,
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

impl std::error::Error for TlsError {}

impl Certificates {
    pub(crate) fn read(files: &Tls, speech: Speech) -> Result<Self, TlsError> {
        let config = ArcSwap::from(configure(files, speech)?);
        Ok(Self {
            files: files.clone(),
            speech,
            config,
        })
    }

    /// Reads the files again. On error, those in use stay.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        self.config.store(configure(&self.files, self.speech)?);
        Ok(())
    }

    pub(crate) const fn speech(&self) -> Speech {
        self.speech
    }

    /// Whether clients must present a certificate.
    pub(crate) const fn asks_clients(&self) -> bool {
        self.files.client_ca.is_some()
    }

    /// `None` if the handshake fails or times out.
    pub(crate) async fn shake<S: Stream>(
        &self,
        stream: S,
        patience: Duration,
    ) -> Option<TlsStream<S>> {
        let acceptor = TlsAcceptor::from(self.config.load_full());
        let shaken = tokio::time::timeout(patience, acceptor.accept(stream)).await;
        shaken.ok()?.ok()
    }
}

fn configure(files: &Tls, speech: Speech) -> Result<Arc<ServerConfig>, TlsError> {
    let mut config = server_config(files)?;
    if speech != Speech::Resp {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    }
    Ok(Arc::new(config))
}

/// The TLS configuration of these files.
pub fn server_config(files: &Tls) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(crypto::ring::default_provider());
    let chain = certificates(&files.certificate)?;
    let key = key(&files.key)?;
    let versions = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&files.certificate, error))?;
    let clients = match &files.client_ca {
        None => versions.with_no_client_auth(),
        Some(path) => versions.with_client_cert_verifier(verifier(path, provider)?),
    };
    clients
        .with_single_cert(chain, key)
        .map_err(|error| wrong(&files.certificate, error))
}

fn verifier(
    path: &Path,
    provider: Arc<crypto::CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| wrong(path, error))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| wrong(path, error))
}

pub fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| unusable(path, &error))
}

/// The certificates of a file, of which there is at least one.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let read = read.map_err(|error| unusable(path, &error))?;
    if read.is_empty() {
        return Err(wrong(path, "there is no certificate in it"));
    }
    Ok(read)
}

fn unusable(path: &Path, error: &pem::Error) -> TlsError {
    let what = match error {
        pem::Error::Io(error) => format!("cannot be read: {error}"),
        pem::Error::NoItemsFound => "there is no private key in it".to_owned(),
        // The library shows lines as lists of bytes.
        pem::Error::MissingSectionEnd { .. } => "is not PEM: a section has no end".to_owned(),
        pem::Error::IllegalSectionStart { .. } => {
            "is not PEM: a line that begins a section is wrong".to_owned()
        }
        error => format!("is not PEM: {error}"),
    };
    TlsError {
        path: path.to_owned(),
        what,
        is_unreadable: matches!(error, pem::Error::Io(_)),
    }
}

fn wrong(path: &Path, what: impl fmt::Display) -> TlsError {
    TlsError {
        path: path.to_owned(),
        what: what.to_string(),
        is_unreadable: false,
    }
}
