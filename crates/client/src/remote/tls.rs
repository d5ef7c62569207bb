//! A connection to a node over TLS, which one thread reads while another writes.
//!
//! Nobody holds the lock while he waits for bytes of the other side. Not here: when to connect, and to whom.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, crypto};

use super::ClientError;

/// Whom a client believes over TLS, and how it says who it is: files in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTls {
    /// Certificates of those who sign for nodes.
    pub authority: PathBuf,
    /// The client's own certificate and its key, for nodes that want one.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl ClientTls {
    /// Reads the files.
    pub(super) fn read(&self) -> Result<Arc<ClientConfig>, ClientError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.authority)? {
            let added = roots.add(certificate);
            added.map_err(|error| wrong(&self.authority, &error))?;
        }
        let provider = Arc::new(crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&self.authority, &error))?
            .with_root_certificates(roots);
        let config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some((path, key)) => {
                let chain = certificates(path)?;
                let key = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
                let shown = builder.with_client_auth_cert(chain, key);
                shown.map_err(|error| wrong(path, &error))?
            }
        };
        Ok(Arc::new(config))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let all = CertificateDer::pem_file_iter(path).map_err(|error| wrong(path, &error))?;
    let all: Result<Vec<_>, _> = all.collect();
    let all = all.map_err(|error| wrong(path, &error))?;
    if all.is_empty() {
        return Err(wrong(path, &"there is no certificate in it"));
    }
    Ok(all)
}

fn wrong(path: &Path, what: &dyn std::fmt::Display) -> ClientError {
    ClientError::Tls(format!("{}: {what}", path.display()))
}

/// A connection over TLS.
#[derive(Debug)]
pub(super) struct Secured {
    pub(super) stream: TcpStream,
    state: Arc<Mutex<ClientConnection>>,
}

impl Secured {
    /// Shakes hands with a host; the stream has a time by which reading ends.
    pub(super) fn open(
        mut stream: TcpStream,
        host: &str,
        config: Arc<ClientConfig>,
    ) -> io::Result<Self> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let state = ClientConnection::new(config, name);
        let mut state = state.map_err(io::Error::other)?;
        while state.is_handshaking() {
            state.complete_io(&mut stream)?;
        }
        let state = Arc::new(Mutex::new(state));
        Ok(Self { stream, state })
    }

    /// The same connection for another thread.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self {
            stream: self.stream.try_clone()?,
            state: Arc::clone(&self.state),
        })
    }
}

impl Read for Secured {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.state.lock().reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            let mut raw = [0; RAW_BYTES];
            let count = self.stream.read(&mut raw)?;
            let mut state = self.state.lock();
            let mut came = raw.get(..count).unwrap_or_default();
            loop {
                state.read_tls(&mut came)?;
                state.process_new_packets().map_err(io::Error::other)?;
                if came.is_empty() {
                    break;
                }
            }
            while state.wants_write() {
                state.write_tls(&mut self.stream)?;
            }
        }
    }
}

impl Write for Secured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        let count = state.writer().write(bytes)?;
        while state.wants_write() {
            state.write_tls(&mut self.stream)?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes that are read at a time.
const RAW_BYTES: usize = 4096;
