//! Two servers behind a real Envoy that checks their health: one of them is restarted, and no request fails.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use tollgate_parts::{Process, Wire, free_port};

use crate::kit::{Server, file, tollgate, until};

const CONTRACTS: &str = "contracts: [{ id: a, key: [remote_address], \
     policies: [{ name: p, limit: 1000000, per: 1s }] }]\n";
/// Requests in all, and in a second.
const REQUESTS: u32 = 3_200;
const RATE: u32 = 400;
const CLIENTS: u32 = 8;

/// What `deploy/envoy/ratelimit.yaml` does, with two servers and their health. What is limited is a page of the second.
fn config(at: SocketAddr, servers: [SocketAddr; 2]) -> String {
    let [one, other] = servers.map(|server| server.port());
    format!(
        r#"static_resources:
  listeners:
    - address: {{ socket_address: {{ address: 127.0.0.1, port_value: {} }} }}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: web
                use_remote_address: true
                http_filters:
                  - name: envoy.filters.http.ratelimit
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit
                      domain: web
                      timeout: 5s
                      failure_mode_deny: true
                      rate_limit_service:
                        transport_api_version: V3
                        grpc_service: {{ envoy_grpc: {{ cluster_name: tollgate }} }}
                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
                route_config:
                  virtual_hosts:
                    - name: web
                      domains: ["*"]
                      rate_limits: [{{ actions: [{{ remote_address: {{}} }}] }}]
                      routes:
                        - match: {{ prefix: / }}
                          route: {{ cluster: app, prefix_rewrite: /livez, host_rewrite_literal: localhost }}
  clusters:
    - name: app
      load_assignment:
        cluster_name: app
        endpoints:
          - lb_endpoints:
              - endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {other} }} }} }}
    - name: tollgate
      connect_timeout: 1s
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: {{ http2_protocol_options: {{}} }}
      health_checks:
        - timeout: 1s
          interval: 1s
          no_traffic_interval: 1s
          unhealthy_threshold: 1
          healthy_threshold: 1
          grpc_health_check: {{}}
      load_assignment:
        cluster_name: tollgate
        endpoints:
          - lb_endpoints:
              - endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {one} }} }} }}
              - endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {other} }} }} }}
"#,
        at.port()
    )
}

/// A server with the delay at SIGTERM that it has unless told otherwise.
fn server(folder: &Path, at: SocketAddr) -> Server {
    let contracts = file(folder, "contracts.yaml", CONTRACTS);
    let http = at.to_string();
    let mut command = tollgate(&["serve", "--format", "json", "--http", &http]);
    command.args(["--resp", "127.0.0.1:0", "--contracts"]);
    command
        .arg(contracts)
        .arg("--data-dir")
        .arg(folder.join("data"));
    Server::spawn(command.env_remove("TOLLGATE_SHUTDOWN_DELAY"))
}

/// The status of one request on a connection that is kept.
fn status(wire: &mut Wire) -> std::io::Result<u16> {
    wire.try_send("GET / HTTP/1.1\r\nhost: a.test\r\n\r\n")?;
    Ok(wire.try_reply()?.status)
}

/// One of several clients: asks at its rate until it has asked its share; gives what was not 200.
fn client(at: SocketAddr, answered: Arc<AtomicU32>) -> JoinHandle<Vec<String>> {
    spawn(move || {
        let (mut wire, mut failed) = (Wire::to(at), Vec::new());
        let mut next = Instant::now();
        for _ in 0..REQUESTS / CLIENTS {
            sleep(next.saturating_duration_since(Instant::now()));
            next += Duration::from_secs(1) * CLIENTS / RATE;
            match status(&mut wire) {
                Ok(200) => {}
                other => {
                    failed.push(format!("{other:?}"));
                    wire = Wire::to(at);
                }
            }
            answered.fetch_add(1, Relaxed);
        }
        failed
    })
}

#[test]
fn no_request_fails_through_an_envoy_while_one_of_two_servers_is_restarted() {
    let [folder, other, home] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [at, first, second] = [(); 3].map(|()| SocketAddr::from(([127, 0, 0, 1], free_port())));
    let servers = [server(folder.path(), first), server(other.path(), second)];
    file(home.path(), "envoy.yaml", &config(at, [first, second]));
    let mut command = tollgate_parts::envoy(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let _envoy = Process::spawn(command.current_dir(home.path()));
    until("Envoy asks the servers", || {
        Wire::try_to(at)
            .and_then(|mut wire| status(&mut wire))
            .is_ok_and(|code| code == 200)
    });
    let answered = Arc::new(AtomicU32::new(0));
    let clients = [(); CLIENTS as usize].map(|()| client(at, Arc::clone(&answered)));
    let has_answered = |least| until("requests are answered", || answered.load(Relaxed) >= least);
    has_answered(RATE);
    let [leaving, staying] = servers;
    leaving.signal("TERM");
    assert_eq!(leaving.end().0, Some(0));
    // A new version takes a moment to start.
    let ended_at = answered.load(Relaxed);
    has_answered(ended_at + RATE / 2);
    let again = server(folder.path(), first);
    let failed: Vec<_> = clients
        .into_iter()
        .flat_map(|client| client.join().unwrap())
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {REQUESTS} failed: {failed:?}",
        failed.len()
    );
    drop((again, staying));
}
