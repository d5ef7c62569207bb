//! A primary, its replica, and the Sentinels that fail over between them.

use crate::process::until;
use crate::redis::{Redis, RedisSetup};

/// Three Sentinels and the two servers they watch.
pub struct Sentinels {
    pub primary: Redis,
    pub replica: Redis,
    pub sentinels: Vec<Redis>,
}

impl Sentinels {
    /// The name by which the Sentinels know the primary.
    pub const NAME: &str = "main";

    /// Waits until the Sentinels know each other and both servers.
    pub fn start(servers: &RedisSetup, sentinels: &RedisSetup) -> Self {
        let primary = Redis::of(servers);
        let replica = primary.replica();
        let setup = watching(sentinels, servers, primary.port);
        let sentinels: Vec<Redis> = (0..3).map(|_| Redis::of(&setup)).collect();
        until("all Sentinels know each other and the replica", || {
            let info = |sentinel: &Redis| sentinel.cli(&["INFO", "sentinel"]);
            let knows = |sentinel| info(sentinel).contains("slaves=1,sentinels=3");
            sentinels.iter().all(knows)
        });
        Self {
            primary,
            replica,
            sentinels,
        }
    }

    pub fn addresses(&self) -> Vec<String> {
        self.sentinels.iter().map(Redis::address).collect()
    }
}

fn watching(sentinels: &RedisSetup, servers: &RedisSetup, port: u16) -> RedisSetup {
    let name = Sentinels::NAME;
    let mut setup = sentinels
        .clone()
        .line(format!("sentinel monitor {name} 127.0.0.1 {port} 2"))
        .line(format!("sentinel down-after-milliseconds {name} 500"))
        .line(format!("sentinel failover-timeout {name} 3000"));
    if let Some(password) = &servers.password {
        setup = setup.line(format!("sentinel auth-pass {name} {password}"));
    }
    if let Some(password) = &sentinels.password {
        setup = setup.line(format!("sentinel sentinel-pass {password}"));
    }
    setup
}
