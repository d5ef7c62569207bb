//! Envoy, by the files in `deploy/envoy`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use tollgate_serve::settings::{AuthSettings, EntrySource, RequestLimits, Settings};

use crate::proxy::kit::{self, Proxy, THREE_A_MINUTE, get};

/// Envoy with a shipped file; what else is replaced in it comes last.
pub(crate) fn envoy(file: &str, tollgate: SocketAddr, replace: &[(&str, &str)]) -> Proxy {
    let page = kit::page();
    kit::proxy(|folder, address| {
        let mut all = vec![
            (
                "port_value: 8080",
                format!("port_value: {}", tollgate.port()),
            ),
            ("port_value: 3000", format!("port_value: {}", page.port())),
            (
                "address: 0.0.0.0, port_value: 80",
                format!("address: 127.0.0.1, port_value: {}", address.port()),
            ),
        ];
        let more = replace.iter().map(|(from, to)| (*from, (*to).to_owned()));
        all.extend(more);
        let text = kit::shipped(&format!("envoy/{file}"), &all);
        std::fs::write(folder.join("envoy.yaml"), text).unwrap();
        command()
    })
}

fn command() -> Command {
    tollgate_parts::envoy(Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// A busy machine needs longer.
pub(crate) const PATIENT: (&str, &str) = ("timeout: 0.02s", "timeout: 5s");

const EACH_ADDRESS: &str = "contracts:\n  - id: each-client\n    key: [remote_address]\n    \
     policies: [{ name: minute, limit: 3, per: 1m }]\n";

#[test]
fn envoy_asks_the_rate_limit_service_until_the_limit_and_then_says_429() {
    let tollgate = kit::tollgate(EACH_ADDRESS);
    let envoy = envoy("ratelimit.yaml", tollgate.http().unwrap(), &[PATIENT]);
    kit::passes_three_and_says_429(envoy.address);
}

#[test]
fn envoy_asks_for_authorization_until_the_limit_and_then_says_429() {
    let tollgate = kit::tollgate(THREE_A_MINUTE);
    let envoy = envoy("ext_authz.yaml", tollgate.http().unwrap(), &[PATIENT]);
    kit::passes_three_and_says_429(envoy.address);
}

#[test]
fn a_route_of_envoy_has_a_cost_of_its_own() {
    let tollgate = kit::tollgate(
        "contracts:\n  - id: search\n    match: { route: search }\n    key: [address]\n    \
         policies: [{ name: minute, limit: 9, per: 1m }]\n",
    );
    let envoy = envoy("ext_authz.yaml", tollgate.http().unwrap(), &[PATIENT]);
    assert_eq!(get(envoy.address, "/search?q=1").status, 200);
    assert_eq!(get(envoy.address, "/search?q=2").status, 429);
    assert_eq!(get(envoy.address, "/other").status, 200);
}

#[test]
fn without_tollgate_envoy_passes_everything() {
    for file in ["ratelimit.yaml", "ext_authz.yaml"] {
        let envoy = envoy(file, kit::free_port(), &[PATIENT]);
        let passed = get(envoy.address, "/");
        assert_eq!(passed.status, 200, "{passed:?}");
        assert_eq!(passed.only_field("ratelimit"), None);
    }
}

/// Asks before a request whether anything is left, and charges a response with 300 when it is over.
const COST_OF_RESPONSES: (&str, &str) = (
    "                      rate_limits:
                        - actions:
                            - remote_address: {}
",
    "                      typed_per_filter_config:
                        envoy.filters.http.ratelimit:
                          \"@type\": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute
                          rate_limits:
                            - actions: [{ remote_address: {} }]
                              hits_addend: { number: 0 }
                            - actions: [{ remote_address: {} }]
                              apply_on_stream_done: true
                              hits_addend: { number: 300 }
",
);

#[test]
fn the_cost_of_responses_is_enforced_where_envoy_tells_it_when_they_are_over() {
    let tollgate =
        kit::tollgate(&EACH_ADDRESS.replace("limit: 3, per: 1m", "limit: 1000, per: 1h"));
    let at = tollgate.http().unwrap();
    let envoy = envoy("ratelimit.yaml", at, &[PATIENT, COST_OF_RESPONSES]);
    let decided = || -> u64 {
        let page = kit::metrics(at);
        let of_grpc = |line: &&str| line.starts_with("tollgate_decisions_total{door=\"grpc\"");
        let counts = page
            .lines()
            .filter(of_grpc)
            .filter_map(|line| line.rsplit(' ').next());
        counts.map(|count| count.parse::<u64>().unwrap()).sum()
    };
    for (number, status) in (1..).zip([200, 200, 200, 200, 429]) {
        assert_eq!(get(envoy.address, "/").status, status, "{number}");
        tollgate_parts::until("both were asked", || decided() == 2 * number);
    }
}

/// Values that no text is, or that are longer than a key usually may be.
fn odd_values() -> [Vec<u8>; 4] {
    [
        vec![b'x'; 5_000],
        vec![b'y'; 40_000],
        b"\xff\xfe".to_vec(),
        [&[b'z'; 5_000][..], b"\xff"].concat(),
    ]
}

/// The status that a request with this host and this user is answered with.
pub(crate) fn status(at: SocketAddr, host: &[u8], user: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(at).unwrap();
    let parts: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nhost: ",
        host,
        b"\r\nx-user: ",
        user,
        b"\r\nconnection: close\r\n\r\n",
    ];
    stream.write_all(&parts.concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let line = String::from_utf8_lossy(&answer[..12]).into_owned();
    line[9..].parse().unwrap_or_else(|_| panic!("{line}"))
}

/// Counts by a header field of the client instead of its address.
pub(crate) const BY_USER: (&str, &str) = (
    "remote_address: {}",
    "request_headers: { header_name: x-user, descriptor_key: user }",
);
const EACH_USER: &str = "contracts:\n  - id: each-user\n    key: [user]\n    \
     policies: [{ name: minute, limit: 2, per: 1m }]\n";

#[test]
fn a_value_of_any_bytes_and_any_length_is_counted_by_the_rate_limit_service() {
    let tollgate = kit::tollgate(EACH_USER);
    let at = tollgate.http().unwrap();
    let envoy = envoy("ratelimit.yaml", at, &[PATIENT, BY_USER]);
    for value in odd_values() {
        let mut other = value.clone();
        other[0] = b'o';
        let each = [&value, &other, &value, &other, &value, &other];
        let each = each.map(|value| status(envoy.address, b"a.test", value));
        assert_eq!(each, [200, 200, 200, 200, 429, 429], "{}", value.len());
    }
}

#[test]
fn a_value_of_any_bytes_and_any_length_is_counted_where_authorization_is_asked_for() {
    let user = EntrySource::Header("x-user".to_owned());
    let settings = || Settings {
        auth: AuthSettings {
            entries: vec![("user".to_owned(), user.clone())],
            ..AuthSettings::default()
        },
        ..Settings::default()
    };
    let tollgate = kit::tollgate_with(EACH_USER, settings());
    let by_user = envoy("ext_authz.yaml", tollgate.http().unwrap(), &[PATIENT]);
    for value in odd_values() {
        let each = [(); 3].map(|()| status(by_user.address, b"a.test", &value));
        assert_eq!(each, [200, 200, 429], "{}", value.len());
    }
    let tollgate = kit::tollgate(&EACH_USER.replace("user", "host"));
    let by_host = envoy("ext_authz.yaml", tollgate.http().unwrap(), &[PATIENT]);
    for value in odd_values() {
        let each = [(); 3].map(|()| status(by_host.address, &value, b"1"));
        // Envoy itself refuses a host that is no host.
        let is_host = value.is_ascii();
        let wanted = if is_host { [200, 200, 429] } else { [400; 3] };
        assert_eq!(each, wanted, "{}", value.len());
    }
}

#[test]
fn what_is_too_long_to_be_read_is_denied_and_not_let_through() {
    let settings = || Settings {
        limits: RequestLimits {
            body_bytes_max: 10_000,
            ..RequestLimits::default()
        },
        ..Settings::default()
    };
    let tollgate = kit::tollgate_with(EACH_USER, settings());
    let at = tollgate.http().unwrap();
    let limited = envoy("ratelimit.yaml", at, &[PATIENT, BY_USER]);
    let authorized = envoy("ext_authz.yaml", at, &[PATIENT]);
    for (envoy, refusal) in [(limited, 429), (authorized, 403)] {
        assert_eq!(status(envoy.address, b"a.test", b"1"), 200);
        assert_eq!(
            status(envoy.address, b"a.test", &vec![b'x'; 20_000]),
            refusal
        );
    }
    let page = kit::metrics(at);
    let line = "tollgate_malformed_total{door=\"grpc\"} 2";
    assert!(page.contains(line), "{page}");
}
