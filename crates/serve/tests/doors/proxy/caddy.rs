//! Caddy, by `deploy/caddy/Caddyfile`.

use std::net::SocketAddr;
use std::process::Command;

use crate::proxy::kit::{self, Proxy, THREE_A_MINUTE, ask, get};

fn caddy(tollgate: SocketAddr) -> Proxy {
    let page = kit::page();
    kit::proxy(|folder, address| {
        let file = kit::shipped(
            "caddy/Caddyfile",
            &[
                (
                    "reverse_proxy 127.0.0.1:8080 {",
                    format!("reverse_proxy {tollgate} {{"),
                ),
                (
                    "reverse_proxy 127.0.0.1:3000",
                    format!("reverse_proxy {page}"),
                ),
                (
                    ":80 {",
                    format!(
                        "http://127.0.0.1:{}, http://a.test:{0}, http://page.test:{0} {{\n\tbind 127.0.0.1",
                        address.port()
                    ),
                ),
            ],
        );
        let quiet = "{\n\tadmin off\n\tauto_https off\n}\n";
        std::fs::write(folder.join("Caddyfile"), quiet.to_owned() + &file).unwrap();
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
        command.env("HOME", folder);
        command
            .env("XDG_DATA_HOME", folder)
            .env("XDG_CONFIG_HOME", folder);
        command
    })
}

#[test]
fn caddy_passes_requests_until_the_limit_and_then_says_429() {
    let tollgate = kit::tollgate(THREE_A_MINUTE);
    let caddy = caddy(tollgate.http().unwrap());
    let refused = kit::passes_three_and_says_429(caddy.address);
    assert!(
        refused.body.contains("\"violated-policies\":[\"minute\"]"),
        "{refused:?}"
    );
}

#[test]
fn a_client_cannot_tell_caddy_who_it_is() {
    let tollgate = kit::tollgate(THREE_A_MINUTE);
    let caddy = caddy(tollgate.http().unwrap());
    let statuses = (0..4).map(|nth| {
        let head =
            format!("GET / HTTP/1.1\r\nhost: a.test\r\nx-forwarded-for: 203.0.113.{nth}\r\n");
        ask(caddy.address, &head, "").status
    });
    assert_eq!(statuses.collect::<Vec<_>>(), [200, 200, 200, 429]);
}

#[test]
fn a_client_cannot_tell_caddy_where_it_goes() {
    let tollgate = kit::tollgate(
        "contracts:\n  - id: login\n    match: { path: /login, method: POST, host: a.test }\n    \
         policies: [{ name: hour, limit: 1, per: 1h }]\n",
    );
    let caddy = caddy(tollgate.http().unwrap());
    let head = "POST /%6Cogin?next=/ HTTP/1.1\r\nhost: a.test\r\nx-forwarded-uri: /other\r\nx-original-uri: /other\r\n\
        x-forwarded-method: PUT\r\nx-forwarded-host: b.test\r\ncontent-length: 2\r\n";
    assert_eq!(ask(caddy.address, head, "{}").status, 200);
    assert_eq!(ask(caddy.address, head, "{}").status, 429);
    let unlimited = get(caddy.address, "/login");
    assert_eq!(unlimited.status, 200);
    assert_eq!(unlimited.only_field("ratelimit"), None);
}

#[test]
fn without_tollgate_caddy_refuses() {
    let caddy = caddy(kit::free_port());
    assert_eq!(get(caddy.address, "/").status, 502);
}
