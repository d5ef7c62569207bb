//! Opens connections: to one server, to the primary that Sentinels name, or to a Cluster.

use core::time::Duration;

use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, ErrorKind,
    IntoConnectionInfo, RedisConnectionInfo, RedisError, RedisResult, TlsCertificates, TlsMode,
};
use tokio::sync::Mutex;

use crate::config::{Config, Servers, Tls};
use crate::link::RedisConnection;

/// How long a server may take to accept a login.
const CONNECT_TIME: Duration = Duration::from_secs(1);
/// How long a Cluster's connection retries by itself. Requests have shorter deadlines.
const CLUSTER_TIME: Duration = Duration::from_secs(2);

pub(crate) enum Dialer {
    Single(Client),
    /// It remembers which Sentinel answered last.
    Sentinel(Mutex<SentinelClient>),
    Cluster(ClusterClient),
}

impl Dialer {
    /// Does not connect yet.
    pub(crate) fn new(config: &Config) -> RedisResult<Self> {
        if config.tls.is_some() {
            // Another provider may already be installed, which is fine.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        match &config.servers {
            Servers::Single(address) => single(config, address).map(Self::Single),
            Servers::Sentinel { sentinels, primary } => {
                let client = sentinel(config, sentinels, primary)?;
                Ok(Self::Sentinel(Mutex::new(client)))
            }
            Servers::Cluster(nodes) => cluster(config, nodes).map(Self::Cluster),
        }
    }

    /// Whether a read-only server means that another one is the primary.
    pub(crate) const fn follows_primary(&self) -> bool {
        matches!(self, Self::Sentinel(_))
    }

    pub(crate) async fn dial(&self) -> RedisResult<RedisConnection> {
        // Requests have their own deadlines.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIME))
            .set_response_timeout(None);
        match self {
            Self::Single(client) => {
                let to = client.get_multiplexed_async_connection_with_config(&config);
                Ok(RedisConnection::Server(to.await?))
            }
            Self::Sentinel(client) => {
                let mut client = client.lock().await;
                let to = client.get_async_connection_with_config(&config);
                Ok(RedisConnection::Server(to.await?))
            }
            Self::Cluster(client) => Ok(RedisConnection::Cluster(
                client.get_async_connection().await?,
            )),
        }
    }
}

fn single(config: &Config, address: &str) -> RedisResult<Client> {
    let info = info(config, address)?;
    match certificates(config) {
        Some(certificates) => Client::build_with_tls(info, certificates),
        None => Client::open(info),
    }
}

fn cluster(config: &Config, nodes: &[String]) -> RedisResult<ClusterClient> {
    let nodes = nodes.iter().map(|node| info(config, node));
    let mut builder = ClusterClientBuilder::new(nodes.collect::<RedisResult<Vec<_>>>()?)
        .connection_timeout(CONNECT_TIME)
        .response_timeout(CLUSTER_TIME)
        .retries(8)
        .min_retry_wait(1)
        .max_retry_wait(200);
    if let Some(user) = &config.user {
        builder = builder.username(user);
    }
    if let Some(password) = &config.password {
        builder = builder.password(password);
    }
    if let Some(certificates) = certificates(config) {
        builder = builder.tls(TlsMode::Secure).certs(certificates);
    }
    builder.build()
}

fn sentinel(config: &Config, sentinels: &[String], primary: &str) -> RedisResult<SentinelClient> {
    let sentinels = sentinels.iter().map(|address| place(config, address));
    let sentinels = sentinels.collect::<RedisResult<Vec<_>>>()?;
    let mut builder = SentinelClientBuilder::new(sentinels, primary, SentinelServerType::Master)?
        .set_client_to_redis_db(config.database);
    if let Some(user) = &config.user {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = &config.password {
        builder = builder.set_client_to_redis_password(password);
    }
    if let Some(user) = &config.sentinel_user {
        builder = builder.set_client_to_sentinel_username(user);
    }
    if let Some(password) = &config.sentinel_password {
        builder = builder.set_client_to_sentinel_password(password);
    }
    if let Some(certificates) = certificates(config) {
        builder = builder
            .set_client_to_redis_tls_mode(TlsMode::Secure)
            .set_client_to_redis_certificates(certificates.clone())
            .set_client_to_sentinel_tls_mode(TlsMode::Secure)
            .set_client_to_sentinel_certificates(certificates);
    }
    builder.build()
}

fn info(config: &Config, address: &str) -> RedisResult<ConnectionInfo> {
    let mut settings = RedisConnectionInfo::default().set_db(config.database);
    if let Some(user) = &config.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = &config.password {
        settings = settings.set_password(password);
    }
    let info = place(config, address)?.into_connection_info()?;
    Ok(info.set_redis_settings(settings))
}

fn place(config: &Config, address: &str) -> RedisResult<ConnectionAddr> {
    let bad = || RedisError::from((ErrorKind::InvalidClientConfig, "not host:port"));
    let (host, port) = address.rsplit_once(':').ok_or_else(bad)?;
    let (host, port) = (host.to_owned(), port.parse().map_err(|_| bad())?);
    Ok(match &config.tls {
        None => ConnectionAddr::Tcp(host, port),
        Some(_) => ConnectionAddr::TcpTls {
            host,
            port,
            insecure: false,
            tls_params: None,
        },
    })
}

fn certificates(config: &Config) -> Option<TlsCertificates> {
    let Tls {
        authority,
        identity,
    } = config.tls.clone()?;
    Some(TlsCertificates {
        client_tls: identity.map(|(client_cert, client_key)| ClientTlsConfig {
            client_cert,
            client_key,
        }),
        root_cert: authority,
    })
}
