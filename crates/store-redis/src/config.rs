//! Addresses, credentials and limits for Redis.

use core::fmt;
use core::time::Duration;

#[derive(Clone)]
pub struct Config {
    pub servers: Servers,
    /// The ACL user; `None` for the default user.
    pub user: Option<String>,
    pub password: Option<String>,
    /// The database of a single server or of a primary behind Sentinels; a Cluster has only 0.
    pub database: i64,
    /// The ACL user for Sentinels, which have separate users; `None` for the default user.
    pub sentinel_user: Option<String>,
    pub sentinel_password: Option<String>,
    /// TLS to servers and Sentinels; `None` for plain TCP.
    pub tls: Option<Tls>,
    /// Connections to a single server or primary. All callers share them.
    pub connections: usize,
    /// Bound on keys in flight; beyond it requests get [`tollgate_store::Failure::Busy`].
    pub in_flight_max: usize,
    /// How long a key is kept after it equals an unknown key, so that nodes whose clocks differ by less agree about it.
    pub linger: Duration,
}

/// Addresses are `host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Servers {
    Single(String),
    Sentinel {
        sentinels: Vec<String>,
        primary: String,
    },
    /// A Cluster, by some of its nodes.
    Cluster(Vec<String>),
}

/// All in PEM.
#[derive(Clone, Default)]
pub struct Tls {
    /// Certificate authorities; `None` for those of the system.
    pub authority: Option<Vec<u8>>,
    /// Client certificate and key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// An invalid address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAddress(pub &'static str);

impl Config {
    /// Everything at its default.
    pub const fn new(servers: Servers) -> Self {
        Self {
            servers,
            user: None,
            password: None,
            database: 0,
            sentinel_user: None,
            sentinel_password: None,
            tls: None,
            connections: 1,
            in_flight_max: 4096,
            linger: Duration::from_secs(10),
        }
    }

    /// Parses `redis://`, `redis-cluster://` and `redis-sentinel://`; with `rediss` the same over TLS:
    ///
    /// ```text
    /// redis[s]://[user:password@]host:port[/database]
    /// redis[s]-cluster://[user:password@]host:port[,host:port…]
    /// redis[s]-sentinel://[user:password@]host:port[,host:port…]/primary[?sentinel=user:password]
    /// ```
    ///
    /// The user may be empty. What would end a user or a password early, such as `/`, is written as `%2F`.
    pub fn from_url(url: &str) -> Result<Self, BadAddress> {
        let (scheme, rest) = url
            .split_once("://")
            .ok_or(BadAddress("it does not begin with redis://"))?;
        let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let (who, hosts) = match place.rsplit_once('@') {
            Some((who, hosts)) => (Some(who), hosts),
            None => (None, place),
        };
        let hosts: Vec<String> = hosts.split(',').map(with_port).collect();
        if hosts.iter().any(|host| host.starts_with(':')) {
            return Err(BadAddress("a host is missing"));
        }
        let (kind, is_tls) = match scheme.strip_prefix("rediss") {
            Some(kind) => (kind, true),
            None => (scheme.strip_prefix("redis").unwrap_or("?"), false),
        };
        let mut config = Self::new(servers(kind, hosts, path)?);
        if matches!(config.servers, Servers::Single(_)) && !path.is_empty() {
            config.database = path
                .parse()
                .map_err(|_| BadAddress("a database is a number"))?;
        }
        config.tls = is_tls.then(Tls::default);
        (config.user, config.password) = login(who)?;
        let has_watchers = matches!(config.servers, Servers::Sentinel { .. });
        let watcher = query.filter(|_| has_watchers);
        let watcher = watcher.and_then(|query| query.strip_prefix("sentinel="));
        if query.is_some() && watcher.is_none() {
            return Err(BadAddress(
                "only redis-sentinel:// has something after a ?, and that is sentinel=user:password",
            ));
        }
        (config.sentinel_user, config.sentinel_password) = login(watcher)?;
        Ok(config)
    }
}

type Login = (Option<String>, Option<String>);

/// Parses `user:password`; without a colon it is a password.
fn login(who: Option<&str>) -> Result<Login, BadAddress> {
    let Some(who) = who else {
        return Ok((None, None));
    };
    let (user, password) = who.split_once(':').unwrap_or(("", who));
    let user = Some(unescaped(user)?).filter(|user| !user.is_empty());
    Ok((user, Some(unescaped(password)?)))
}

/// A text in which `%2F` is a byte.
fn unescaped(text: &str) -> Result<String, BadAddress> {
    let bad = BadAddress("a % in a user or a password is written as %25");
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).ok_or(bad.clone())?;
        let is_byte = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let byte = u8::from_str_radix(digits, 16).ok().filter(|_| is_byte);
        bytes.push(byte.ok_or(bad.clone())?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).map_err(|_| bad)
}

fn servers(kind: &str, mut hosts: Vec<String>, path: &str) -> Result<Servers, BadAddress> {
    match (kind, hosts.len()) {
        ("", 1) => Ok(Servers::Single(hosts.remove(0))),
        ("", _) => Err(BadAddress(
            "several hosts are redis-cluster:// or redis-sentinel://",
        )),
        ("-cluster", _) => Ok(Servers::Cluster(hosts)),
        ("-sentinel", _) if path.is_empty() => Err(BadAddress(
            "the name of the primary is missing: redis-sentinel://host/name",
        )),
        ("-sentinel", _) => Ok(Servers::Sentinel {
            sentinels: hosts,
            primary: path.to_owned(),
        }),
        _ => Err(BadAddress(
            "it is none of redis, redis-cluster, redis-sentinel, or these with rediss",
        )),
    }
}

fn with_port(host: &str) -> String {
    const PORT: &str = "6379";
    if host.contains(':') {
        host.to_owned()
    } else {
        format!("{host}:{PORT}")
    }
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not the address of a Redis: {}", self.0)
    }
}

impl core::error::Error for BadAddress {}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("servers", &self.servers)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("database", &self.database)
            .field("sentinel_user", &self.sentinel_user)
            .field("tls", &self.tls.is_some())
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_how_servers_belong_together() {
        let single = Config::from_url("rediss://app:secret@cache/3").expect("an address");
        assert_eq!(single.servers, Servers::Single("cache:6379".into()));
        assert_eq!((single.database, single.tls.is_some()), (3, true));
        assert_eq!(single.user.as_deref(), Some("app"));
        assert!(!format!("{single:?}").contains("secret"));
        let cluster = Config::from_url("redis-cluster://:pw@a:1,b:2").expect("an address");
        assert_eq!(
            cluster.servers,
            Servers::Cluster(vec!["a:1".into(), "b:2".into()])
        );
        assert_eq!(
            (cluster.user, cluster.password.as_deref()),
            (None, Some("pw"))
        );
        let sentinel = Config::from_url("redis-sentinel://a,b/main").expect("an address");
        assert!(matches!(sentinel.servers, Servers::Sentinel { primary, .. } if primary == "main"));
        assert_eq!(
            (sentinel.sentinel_user, sentinel.sentinel_password),
            (None, None)
        );
    }

    #[test]
    fn sentinels_have_users_of_their_own_and_passwords_any_letter() {
        let url = "rediss-sentinel://app:a%2Fb%40%25@a/main?sentinel=scout:e%3Fye";
        let sentinel = Config::from_url(url).expect("an address");
        assert!(
            matches!(&sentinel.servers, Servers::Sentinel { primary, .. } if primary == "main")
        );
        assert_eq!(sentinel.password.as_deref(), Some("a/b@%"));
        assert_eq!(sentinel.sentinel_user.as_deref(), Some("scout"));
        assert_eq!(sentinel.sentinel_password.as_deref(), Some("e?ye"));
        assert!(!format!("{sentinel:?}").contains("e?ye"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for url in [
            "",
            "redis",
            "http://a",
            "redis://a,b",
            "redis://",
            "redis://a/x",
            "redis-sentinel://a",
            "redis-sentinel://a/main?user=b",
            "redis://a/1?sentinel=b:c",
            "redis://b:%zz@a",
            "redis://b:c%2@a",
            "redis://b:%+1@a",
        ] {
            assert!(Config::from_url(url).is_err(), "{url}");
        }
    }
}
