//! nginx with `auth_request`, by `deploy/nginx/tollgate.conf`.

use std::net::SocketAddr;
use std::process::Command;

use crate::proxy::kit::{self, Proxy, THREE_A_MINUTE, ask, get};

fn nginx(tollgate: SocketAddr, edit: impl Fn(String) -> String) -> Proxy {
    let page = kit::page();
    kit::proxy(|folder, address| {
        let site = kit::shipped(
            "nginx/tollgate.conf",
            &[
                ("server 127.0.0.1:8080;", format!("server {tollgate};")),
                ("server 127.0.0.1:3000;", format!("server {page};")),
                ("listen 80;", format!("listen {address};")),
            ],
        );
        std::fs::write(folder.join("site.conf"), edit(site)).unwrap();
        let main = "daemon off; worker_processes 1; pid nginx.pid; error_log stderr; events { }\n\
            http { access_log off; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; \
            uwsgi_temp_path d; scgi_temp_path e; include site.conf; }\n";
        std::fs::write(folder.join("nginx.conf"), main).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder).args(["-c", "nginx.conf"]);
        command
    })
}

#[test]
fn nginx_passes_requests_until_the_limit_and_then_says_429() {
    let tollgate = kit::tollgate(THREE_A_MINUTE);
    let nginx = nginx(tollgate.http().unwrap(), |site| site);
    let refused = kit::passes_three_and_says_429(nginx.address);
    assert!(refused.body.contains("#quota-exceeded"), "{refused:?}");
}

#[test]
fn a_client_cannot_tell_nginx_who_it_is() {
    let tollgate = kit::tollgate(THREE_A_MINUTE);
    let nginx = nginx(tollgate.http().unwrap(), |site| site);
    let statuses = (0..4).map(|nth| {
        let head = format!(
            "GET / HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 203.0.113.{nth}\r\nforwarded: for=203.0.113.{nth}\r\n"
        );
        ask(nginx.address, &head, "").status
    });
    assert_eq!(statuses.collect::<Vec<_>>(), [200, 200, 200, 429]);
}

#[test]
fn a_client_cannot_tell_nginx_where_it_goes() {
    let tollgate = kit::tollgate(
        "contracts:\n  - id: login\n    match: { path: /login, method: GET, host: a.test }\n    \
         policies: [{ name: hour, limit: 1, per: 1h }]\n",
    );
    let nginx = nginx(tollgate.http().unwrap(), |site| site);
    let head = "GET /%6Cogin?next=/ HTTP/1.1\r\nhost: A.test\r\nx-forwarded-uri: /other\r\nx-original-uri: /other\r\n\
        x-forwarded-method: PUT\r\nx-forwarded-host: b.test\r\n";
    assert_eq!(ask(nginx.address, head, "").status, 200);
    assert_eq!(ask(nginx.address, head, "").status, 429);
    assert_eq!(get(nginx.address, "/other").status, 200);
}

#[test]
fn a_403_of_the_page_stays_one() {
    let tollgate = kit::tollgate(THREE_A_MINUTE);
    let nginx = nginx(tollgate.http().unwrap(), |site| site);
    let forbidden = get(nginx.address, "/forbidden");
    assert_eq!(forbidden.status, 403, "{forbidden:?}");
    assert!(forbidden.body.starts_with("page: "), "{forbidden:?}");
}

#[test]
fn without_tollgate_nginx_passes_everything_or_nothing() {
    let open = nginx(kit::free_port(), |site| site);
    let passed = get(open.address, "/");
    assert_eq!(passed.status, 200, "{passed:?}");
    assert_eq!(passed.only_field("ratelimit"), None);
    let line = "error_page 502 504 = @tollgate_gone;";
    let closed = nginx(kit::free_port(), |site| {
        assert!(site.contains(line));
        site.replace(line, "")
    });
    assert_eq!(get(closed.address, "/").status, 500);
}
