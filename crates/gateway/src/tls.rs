//! TLS on both sides: the server certificate, and verification of the broker.
//!
//! Files are read again on demand; open connections keep those they began with. Not here: bytes (`stream`).

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore, ServerConfig, crypto};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tollgate_serve::listen::{TlsError, certificates, key, server_config};
use tollgate_serve::settings::Tls;

use crate::settings::{GatewaySettings, UpstreamTls};
use crate::stream::GatewayStream;

pub(crate) struct Seals {
    clients: Option<(Tls, ArcSwap<ServerConfig>)>,
    broker: Option<Broker>,
}

struct Broker {
    files: UpstreamTls,
    name: ServerName<'static>,
    config: ArcSwap<ClientConfig>,
}

impl Seals {
    pub(crate) fn read(settings: &GatewaySettings) -> Result<Self, SealError> {
        let clients = settings.tls.clone().map(|files| {
            let config = ArcSwap::from_pointee(server_config(&files)?);
            Ok::<_, TlsError>((files, config))
        });
        let broker = settings.upstream_tls.clone().map(|files| {
            let name = files.name.as_deref();
            let name = name.unwrap_or_else(|| host(&settings.upstream)).to_owned();
            let bad = |_| SealError::Name(name.clone());
            Ok::<_, SealError>(Broker {
                name: ServerName::try_from(name.clone()).map_err(bad)?,
                config: ArcSwap::from_pointee(client_config(&files)?),
                files,
            })
        });
        Ok(Self {
            clients: clients.transpose()?,
            broker: broker.transpose()?,
        })
    }

    /// Reads all files again. After a failure the old ones stay in use.
    pub(crate) fn reload(&self) -> Result<(), SealError> {
        if let Some((files, config)) = &self.clients {
            config.store(Arc::new(server_config(files)?));
        }
        if let Some(broker) = &self.broker {
            broker.config.store(Arc::new(client_config(&broker.files)?));
        }
        Ok(())
    }

    /// Plain TCP without a certificate.
    pub(crate) async fn accept(&self, client: TcpStream) -> io::Result<GatewayStream> {
        let Some((_, config)) = &self.clients else {
            return Ok(GatewayStream::Plain(client));
        };
        let shaken = TlsAcceptor::from(config.load_full()).accept(client).await?;
        Ok(GatewayStream::Sealed(Box::new(shaken.into())))
    }

    /// Plain TCP without settings for TLS.
    pub(crate) async fn dial(&self, broker: TcpStream) -> io::Result<GatewayStream> {
        let Some(Broker { name, config, .. }) = &self.broker else {
            return Ok(GatewayStream::Plain(broker));
        };
        let connector = TlsConnector::from(config.load_full());
        let shaken = connector.connect(name.clone(), broker).await?;
        Ok(GatewayStream::Sealed(Box::new(shaken.into())))
    }
}

#[derive(Debug)]
pub enum SealError {
    File(TlsError),
    System(String),
    /// The broker's name is not a valid server name.
    Name(String),
}

fn client_config(files: &UpstreamTls) -> Result<ClientConfig, SealError> {
    let provider = Arc::new(crypto::ring::default_provider());
    let versions =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let versions = versions.map_err(|error| SealError::System(error.to_string()))?;
    let trusting = versions.with_root_certificates(roots(files)?);
    let Some((chain, secret)) = &files.identity else {
        return Ok(trusting.with_no_client_auth());
    };
    let own = trusting.with_client_auth_cert(certificates(chain)?, key(secret)?);
    own.map_err(|error| wrong(chain, &error))
}

/// Authorities for the broker's certificate.
fn roots(files: &UpstreamTls) -> Result<RootCertStore, SealError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = &files.ca else {
        let found = rustls_native_certs::load_native_certs();
        // Some certificates of a system may be too old to parse.
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let text = "this system has no authorities; say --upstream-ca FILE";
            return Err(SealError::System(text.to_owned()));
        }
        return Ok(roots);
    };
    for certificate in certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|error| wrong(path, &error))?;
    }
    Ok(roots)
}

fn wrong(path: &Path, error: &rustls::Error) -> SealError {
    SealError::File(TlsError {
        path: path.to_owned(),
        what: error.to_string(),
        is_unreadable: false,
    })
}

/// The host in `host:port`.
fn host(upstream: &str) -> &str {
    let host = upstream.rsplit_once(':').map_or(upstream, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

impl From<TlsError> for SealError {
    fn from(error: TlsError) -> Self {
        Self::File(error)
    }
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::System(text) => f.write_str(text),
            Self::Name(name) => write!(
                f,
                "`{name}` is no name of a broker; say --upstream-name NAME"
            ),
        }
    }
}

impl std::error::Error for SealError {}
