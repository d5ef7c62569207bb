//! `/v1/auth`, asked by hand as proxies ask it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tollgate_contract::Dialect;
use tollgate_http::{ClientAddress, Trust};
use tollgate_parts::HttpReply;
use tollgate_serve::settings::{AuthSettings, EntrySource, Settings};

use crate::proxy::kit::{self, THREE_A_MINUTE, ask, get};

/// Asks with these header fields, as a proxy does.
fn auth(at: SocketAddr, target: &str, fields: &[(&str, &str)]) -> HttpReply {
    let mut head = format!("GET {target} HTTP/1.1\r\nhost: tollgate\r\n");
    for (name, value) in fields {
        for part in [name, ": ", value, "\r\n"] {
            head.push_str(part);
        }
    }
    ask(at, &head, "")
}

/// Whether two requests are counted together: by a contract that lets one of them pass.
#[track_caller]
fn together(
    contract: &str,
    settings: Settings,
    [one, other]: [(&str, &[(&str, &str)]); 2],
) -> bool {
    let server = kit::tollgate_with(contract, settings);
    let at = server.http().unwrap();
    let first = auth(at, one.0, one.1);
    assert_eq!(first.status, 200, "{first:?}");
    let counted = first.only_field("ratelimit").is_some();
    match auth(at, other.0, other.1).status {
        200 => false,
        429 if counted => true,
        status => panic!("{status}"),
    }
}

fn once_by(key: &str) -> String {
    format!(
        "contracts:\n  - id: once\n    key: [{key}]\n    policies: [{{ name: hour, limit: 1, per: 1h }}]\n"
    )
}

#[test]
fn a_refusal_has_a_status_fields_and_a_body() {
    let server = kit::tollgate(THREE_A_MINUTE);
    let at = server.http().unwrap();
    for _ in 0..3 {
        let allowed = auth(at, "/v1/auth", &[]);
        assert_eq!((allowed.status, &*allowed.body), (200, ""));
        assert_eq!(allowed.only_field("x-tollgate-denied"), None);
    }
    let refused = auth(at, "/v1/auth", &[]);
    assert_eq!(refused.status, 429);
    assert_eq!(refused.only_field("x-tollgate-denied"), Some("1"));
    assert_eq!(
        refused.only_field("content-type"),
        Some("application/problem+json")
    );
    let problem: serde_json::Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!(problem["violated-policies"], serde_json::json!(["minute"]));
    assert!(refused.number("retry-after") >= 1);
    assert_eq!(auth(at, "/v1/auth?deny=403", &[]).status, 403);
    let head = ask(at, "HEAD /v1/auth HTTP/1.1\r\nhost: a\r\n", "");
    assert_eq!((head.status, &*head.body), (429, ""));
}

#[test]
fn a_proxy_tells_who_asks_for_what() {
    let here: &[(&str, &str)] = &[
        ("X-Forwarded-For", "1.1.1.1, 203.0.113.9"),
        ("X-Forwarded-Method", "POST"),
        ("X-Forwarded-Host", "Shop.Test:8443"),
        ("X-Forwarded-Uri", "/cart/../buy?item=1"),
    ];
    let same: &[(&str, &str)] = &[
        ("X-Forwarded-For", "2.2.2.2, 203.0.113.9"),
        ("X-Forwarded-Method", "POST"),
        ("X-Forwarded-Host", "shop.test."),
        ("X-Forwarded-Uri", "/buy?item=2"),
    ];
    let key = once_by("address, method, host, path");
    let asked = [("/v1/auth", here), ("/v1/auth", same)];
    assert!(together(&key, Settings::default(), asked));
    for place in 0..here.len() {
        let mut other = same.to_vec();
        other[place].1 = ["203.0.113.10", "GET", "other.test", "/sell"][place];
        let asked = [("/v1/auth", here), ("/v1/auth", &other)];
        assert!(!together(&key, Settings::default(), asked), "{other:?}");
    }
}

#[test]
fn trusted_hops_are_counted_from_the_right() {
    let settings = |trust| Settings {
        client_address: ClientAddress {
            trust,
            ..ClientAddress::default()
        },
        ..Settings::default()
    };
    let one: &[(&str, &str)] = &[("X-Forwarded-For", "6.6.6.6, 203.0.113.9, 10.0.0.1")];
    let other: &[(&str, &str)] = &[("X-Forwarded-For", "7.7.7.7, 203.0.113.9, 10.0.0.2")];
    let key = once_by("address");
    let asked = [("/v1/auth", one), ("/v1/auth", other)];
    assert!(together(&key, settings(Trust::Hops(2)), asked));
    assert!(!together(&key, settings(Trust::Hops(1)), asked));
    assert!(!together(&key, settings(Trust::Hops(3)), asked));
    let networks = ["127.0.0.0/8", "10.0.0.0/8"].map(|network| network.parse().unwrap());
    assert!(together(
        &key,
        settings(Trust::Networks(networks.to_vec())),
        asked
    ));
    // What is no address ends the search at the last that is one: the proxy itself.
    let broken: &[(&str, &str)] = &[("X-Forwarded-For", "203.0.113.9, \"<script>")];
    let worse: &[(&str, &str)] = &[("X-Forwarded-For", "203.0.113.7, unix:")];
    let asked = [("/v1/auth", broken), ("/v1/auth", worse)];
    assert!(together(&key, settings(Trust::Nobody), asked));
}

#[test]
fn entries_come_from_fields_from_the_query_and_from_whoever_set_the_proxy_up() {
    let settings = || Settings {
        auth: AuthSettings {
            entries: vec![
                ("user".to_owned(), EntrySource::Header("X-User".to_owned())),
                ("tenant".to_owned(), EntrySource::Query("tenant".to_owned())),
            ],
            ..AuthSettings::default()
        },
        ..Settings::default()
    };
    let ada: &[(&str, &str)] = &[("X-User", "ada"), ("X-Forwarded-Uri", "/?x=1&tenant=a%20b")];
    let both: &[(&str, &str)] = &[
        ("X-User", "eve"),
        ("x-user", "ada"),
        ("X-Original-URI", "/y?tenant=a+b&tenant=c"),
    ];
    let eve: &[(&str, &str)] = &[("X-User", "eve"), ("X-Forwarded-Uri", "/?tenant=a+b")];
    let key = once_by("user, tenant");
    assert!(together(
        &key,
        settings(),
        [("/v1/auth", ada), ("/v1/auth", both)]
    ));
    assert!(!together(
        &key,
        settings(),
        [("/v1/auth", ada), ("/v1/auth", eve)]
    ));
    // The query of the question is set by the proxy's operator, and wins.
    let url = "/v1/auth?user=ada";
    assert!(together(&key, settings(), [(url, ada), (url, eve)]));
    let routes = "contracts:\n  - id: search\n    match: { route: search }\n    policies: [{ name: a, limit: 1, per: 1h }]\n";
    let search = "/v1/auth?route=search";
    assert!(together(routes, settings(), [(search, ada), (search, eve)]));
    assert!(!together(
        routes,
        settings(),
        [("/v1/auth", ada), ("/v1/auth", eve)]
    ));
}

#[test]
fn entries_can_be_picked_for_imported_rules() {
    let envoy = "domain: d\ndescriptors:\n  - key: host\n    descriptors:\n      - key: method\n        \
        rate_limit: { unit: hour, requests_per_unit: 1 }\n";
    let fields: &[(&str, &str)] = &[("X-Forwarded-Host", "a.test")];
    let picked = "/v1/auth?entries=host,method";
    assert!(together(
        envoy,
        Settings::default(),
        [(picked, fields), (picked, fields)]
    ));
    assert!(!together(
        envoy,
        Settings::default(),
        [("/v1/auth", fields), ("/v1/auth", fields)]
    ));
    let server = kit::tollgate(envoy);
    let unknown = auth(server.http().unwrap(), "/v1/auth?entries=host,usr", fields);
    assert_eq!(unknown.status, 400, "{unknown:?}");
    assert!(unknown.body.contains("`usr`"), "{unknown:?}");
}

#[test]
fn a_mirrored_request_is_the_clients_own_and_its_query_no_option() {
    let key = once_by("method, host, path");
    let forged: &[(&str, &str)] = &[("X-Forwarded-Uri", "/other"), ("X-Forwarded-Host", "b")];
    let asked = [
        ("/v1/auth/buy?cost=0&entries=x", &[][..]),
        ("/v1/auth/buy?deny=200&host=z", forged),
    ];
    assert!(together(&key, Settings::default(), asked));
    let asked = [("/v1/auth/buy", &[][..]), ("/v1/auth/sell", &[])];
    assert!(!together(&key, Settings::default(), asked));
    let server = kit::tollgate(&key);
    for status in [200, 429] {
        let put = "DELETE /v1/auth/buy HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n";
        assert_eq!(ask(server.http().unwrap(), put, "").status, status);
    }
}

const COSTS: &str = "is no cost; it is a whole number from 0 to 9223372036854775807";

#[test]
fn options_say_what_to_take_and_whom_to_ask() {
    let two = "contracts:\n  - id: a\n    policies: [{ name: a, limit: 5, per: 1h }]\n  \
        - id: b\n    policies: [{ name: b, limit: 1, per: 1h }]\n";
    let server = kit::tollgate(two);
    let at = server.http().unwrap();
    assert_eq!(get(at, "/v1/auth?cost=0").status, 200);
    assert_eq!(get(at, "/v1/auth?cost=1").status, 200);
    assert_eq!(get(at, "/v1/auth?cost=1").status, 429);
    for (target, word) in [
        ("/v1/auth?cost=many", COSTS),
        ("/v1/auth?cost=-1", COSTS),
        ("/v1/auth?cost=99999999999999999999", COSTS),
        ("/v1/auth?deny=200", "status"),
        ("/v1/auth?delay=never", "delay"),
    ] {
        let refused = get(at, target);
        assert_eq!(refused.status, 400, "{target}: {refused:?}");
        assert!(refused.body.contains(word), "{target}: {refused:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_and_not_let_through() {
    let server = kit::tollgate(THREE_A_MINUTE);
    let at = server.http().unwrap();
    let fields = [("X-Forwarded-Uri", "no-path")];
    for (target, status) in [("/v1/auth", 403), ("/v1/auth?deny=429", 429)] {
        let refused = auth(at, target, &fields);
        assert_eq!(refused.status, status, "{refused:?}");
        assert_eq!(refused.only_field("x-tollgate-denied"), Some("1"));
        assert!(refused.body.contains("about:blank"), "{refused:?}");
    }
    // A proxy that puts the client's query after its own would let clients choose their cost.
    let refused = auth(at, "/v1/auth?cost=0", &[("X-Forwarded-Uri", "/a?cost=0")]);
    assert_eq!(refused.status, 400, "{refused:?}");
    let other = auth(at, "/v1/auth?cost=0", &[("X-Forwarded-Uri", "/a?cost=1")]);
    assert_eq!(other.status, 200, "{other:?}");
    let many: Vec<String> = (0..40).map(|nth| format!("a{nth}=b")).collect();
    assert_eq!(get(at, &format!("/v1/auth?{}", many.join("&"))).status, 400);
}

#[test]
fn a_value_of_any_bytes_and_any_length_is_counted() {
    let settings = || Settings {
        auth: AuthSettings {
            entries: vec![("user".to_owned(), EntrySource::Header("x-user".to_owned()))],
            ..AuthSettings::default()
        },
        ..Settings::default()
    };
    let long = "x".repeat(6_000);
    let other = format!("{}y{}", &long[..3_000], &long[3_001..]);
    for key in ["host", "user"] {
        let server = kit::tollgate_with(&once_by(key), settings());
        let at = server.http().unwrap();
        for value in [&*long, &*other, "a b", "caf\u{e9}"] {
            let fields = [("X-Forwarded-Host", value), ("X-User", value)];
            let each = [(); 2].map(|()| auth(at, "/v1/auth", &fields).status);
            assert_eq!(each, [200, 429], "{key} {}", value.len());
        }
    }
}

const QUEUE: &str = "contracts:\n  - id: queue\n    policies:\n      \
    - { name: queue, limit: 4, per: 1s, burst: 1, on_limit: delay, max_wait: 1h }\n";

#[test]
fn a_delay_is_told_held_or_refused() {
    let server = kit::tollgate_with(
        QUEUE,
        Settings {
            auth: AuthSettings {
                hold_max: Duration::from_millis(600),
                ..AuthSettings::default()
            },
            ..Settings::default()
        },
    );
    let at = server.http().unwrap();
    assert_eq!(get(at, "/v1/auth").only_field("x-tollgate-wait-ms"), None);
    let refused = get(at, "/v1/auth?delay=deny");
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(refused.number("retry-after"), 1);
    let told = get(at, "/v1/auth");
    assert_eq!(told.status, 200);
    assert!(
        (1..=250).contains(&told.number("x-tollgate-wait-ms")),
        "{told:?}"
    );
    let start = Instant::now();
    let held = get(at, "/v1/auth?delay=hold");
    assert_eq!(
        (held.status, held.only_field("x-tollgate-wait-ms")),
        (200, None)
    );
    assert!(
        start.elapsed() >= Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
    for _ in 0..8 {
        assert_eq!(get(at, "/v1/auth").status, 200);
    }
    let start = Instant::now();
    let refused = get(at, "/v1/auth?delay=hold");
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(start.elapsed() < Duration::from_millis(600));
}

#[test]
fn fields_speak_the_dialect_of_the_listener_or_of_the_contract() {
    let settings = || Settings {
        dialect: Dialect::Kong,
        ..Settings::default()
    };
    let server = kit::tollgate_with(THREE_A_MINUTE, settings());
    let kong = get(server.http().unwrap(), "/v1/auth");
    assert_eq!(kong.only_field("x-ratelimit-limit-minute"), Some("3"));
    assert_eq!(kong.only_field("x-ratelimit-remaining-minute"), Some("2"));
    assert_eq!(kong.number("ratelimit-limit"), 3);
    assert_eq!(kong.only_field("ratelimit"), None);
    let own = THREE_A_MINUTE.replace("key:", "headers: envoy\n    key:");
    let server = kit::tollgate_with(&own, settings());
    let envoy = get(server.http().unwrap(), "/v1/auth");
    assert_eq!(
        envoy.only_field("x-ratelimit-limit"),
        Some("3, 3;w=60;name=\"minute\"")
    );
    assert_eq!(envoy.only_field("x-ratelimit-remaining"), Some("2"));
    assert_eq!(envoy.only_field("ratelimit-limit"), None);
}
