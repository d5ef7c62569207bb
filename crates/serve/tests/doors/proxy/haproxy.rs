//! `HAProxy`, by `deploy/haproxy/haproxy.cfg` and `tollgate.lua`.

use std::net::SocketAddr;
use std::process::Command;

use tollgate_serve::settings::{RequestLimits, Settings};

use crate::proxy::kit::{self, Proxy, THREE_A_MINUTE, ask, get};

fn haproxy(tollgate: SocketAddr) -> Proxy {
    let page = kit::page();
    kit::proxy(|folder, address| {
        let file = kit::shipped(
            "haproxy/haproxy.cfg",
            &[
                ("127.0.0.1:8080", tollgate.to_string()),
                ("127.0.0.1:3000", page.to_string()),
                ("bind :80", format!("bind {address}")),
            ],
        );
        std::fs::write(folder.join("haproxy.cfg"), file).unwrap();
        let lua = kit::shipped("haproxy/tollgate.lua", &[]);
        std::fs::write(folder.join("tollgate.lua"), lua).unwrap();
        let mut command = Command::new("haproxy");
        command.args(["-db", "-f", "haproxy.cfg"]);
        command
    })
}

#[test]
fn haproxy_passes_requests_until_the_limit_and_then_says_429() {
    let tollgate = kit::tollgate(THREE_A_MINUTE);
    let haproxy = haproxy(tollgate.http().unwrap());
    let refused = kit::passes_three_and_says_429(haproxy.address);
    assert!(
        refused.body.contains("\"violated-policies\":[\"minute\"]"),
        "{refused:?}"
    );
}

#[test]
fn a_client_cannot_tell_haproxy_who_it_is_nor_where_it_goes() {
    let tollgate = kit::tollgate(
        "contracts:\n  - id: login\n    match: { path: /login, method: GET, host: a.test }\n    key: [address]\n    \
         policies: [{ name: hour, limit: 1, per: 1h }]\n",
    );
    let haproxy = haproxy(tollgate.http().unwrap());
    let head = |nth: u8| {
        format!(
            "GET /%6Cogin?next=/ HTTP/1.1\r\nhost: a.test\r\nx-forwarded-uri: /other\r\n\
             x-forwarded-method: PUT\r\nx-forwarded-host: b.test\r\nx-forwarded-for: 203.0.113.{nth}\r\n"
        )
    };
    assert_eq!(ask(haproxy.address, &head(1), "").status, 200);
    assert_eq!(ask(haproxy.address, &head(2), "").status, 429);
    assert_eq!(get(haproxy.address, "/login").status, 200);
}

#[test]
fn haproxy_denies_what_tollgate_does_not_read() {
    let limits = RequestLimits {
        head_bytes_max: 2_000,
        ..RequestLimits::default()
    };
    let tollgate = kit::tollgate_with(
        THREE_A_MINUTE,
        Settings {
            limits,
            ..Settings::default()
        },
    );
    let haproxy = haproxy(tollgate.http().unwrap());
    assert_eq!(get(haproxy.address, "/").status, 200);
    let long = format!("/{}", "x".repeat(3_000));
    assert_eq!(get(haproxy.address, &long).status, 429);
}

#[test]
fn without_tollgate_haproxy_passes_everything() {
    let haproxy = haproxy(kit::free_port());
    let passed = get(haproxy.address, "/");
    assert_eq!(passed.status, 200, "{passed:?}");
    assert_eq!(passed.only_field("ratelimit"), None);
}
