//! Starting, answering, turning away.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use tollgate_parts::Wire;
use tollgate_serve::run::{StartError, start};
use tollgate_serve::settings::{ContractSource, ListenAddress, Listener, RuntimeKind};

use crate::run::kit::{server, settings, tcp, until};

#[test]
fn both_doors_answer_on_both_kinds_of_threads() {
    for kind in RuntimeKind::ALL {
        let running = server(|settings| settings.runtime.kind = kind);
        // More connections than threads, so that every thread is asked.
        for _ in 0..8 {
            let reply = tcp(running.http()).check("1");
            assert_eq!(reply.status, 200, "{reply:?}");
            assert!(reply.body.contains("\"allowed\":true"), "{reply:?}");
            assert_eq!(tcp(running.resp()).inline("PING"), "+PONG");
        }
        running.stop().unwrap();
    }
}

#[test]
fn a_connection_is_kept_for_many_requests() {
    let running = server(|_| {});
    let mut wire = tcp(running.http());
    for _ in 0..100 {
        assert_eq!(wire.check("1").status, 200);
    }
    assert_eq!(wire.get("/readyz").body, "ready\n");
    assert_eq!(wire.get("/livez").status, 200);
}

#[test]
fn several_listeners_and_unix_sockets_serve_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("http.sock");
    let resp = folder.path().join("resp.sock");
    let at = |path: &std::path::Path, mode| {
        Listener::plain(ListenAddress::Unix {
            path: path.to_owned(),
            mode,
        })
    };
    let running = server(|settings| {
        settings
            .http
            .extend([at(&path, 0o600), Listener::loopback()]);
        settings.resp = vec![at(&resp, 0o660)];
    });
    assert_eq!(running.listeners().len(), 4);
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&resp)), (0o600, 0o660));
    for _ in 0..4 {
        assert_eq!(Wire::unix(&path).check("1").status, 200);
        assert_eq!(Wire::unix(&resp).inline("PING"), "+PONG");
    }
    running.stop().unwrap();
    assert!(
        !path.exists() && !resp.exists(),
        "a server clears its sockets away"
    );
}

#[test]
fn nobody_is_let_in_beyond_the_most_connections() {
    let running = server(|settings| settings.limits.connections_max = 4);
    let mut held: Vec<_> = (0..4).map(|_| tcp(running.http())).collect();
    for wire in &mut held {
        assert_eq!(wire.check("1").status, 200);
    }
    let reply = tcp(running.http()).reply();
    assert_eq!(reply.status, 503, "{reply:?}");
    assert!(
        reply.field("content-type") == Some("application/problem+json"),
        "{reply:?}"
    );
    assert_eq!(tcp(running.resp()).inline(""), "-ERR too many connections");
    // Existing connections are not disturbed, and closed ones make room.
    assert_eq!(held[0].check("1").status, 200);
    held.clear();
    until("there is room again", || {
        tcp(running.http()).get("/livez").status == 200
    });
}

#[test]
fn no_port_opens_where_contracts_or_certificates_are_wrong() {
    // Taken, so that opening it would be the error.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listener = Listener::plain(ListenAddress::Tcp(taken.local_addr().unwrap()));
    let mut wrong = settings();
    wrong.http = vec![listener.clone()];
    wrong.contracts = ContractSource::Text("contrats: []".into());
    let error = start(wrong).map(|_| ()).unwrap_err();
    assert!(matches!(&error, StartError::Contracts(_)), "{error}");
    assert!(
        error.to_string().contains("did you mean `contracts`"),
        "{error}"
    );

    let mut secret = settings();
    secret.http = vec![listener.clone()];
    secret.http[0].tls = Some(tollgate_serve::settings::Tls {
        certificate: "/nowhere/cert.pem".into(),
        key: "/nowhere/key.pem".into(),
        client_ca: None,
    });
    let error = start(secret).map(|_| ()).unwrap_err();
    assert!(matches!(&error, StartError::Tls(_)), "{error}");
    assert!(error.to_string().contains("/nowhere/cert.pem"), "{error}");

    let mut good = settings();
    good.http = vec![listener];
    let error = start(good).map(|_| ()).unwrap_err();
    assert!(matches!(&error, StartError::Bind(_)), "{error}");
    assert!(error.to_string().contains("in use"), "{error}");
}

#[test]
fn a_server_that_is_dropped_lets_go_of_its_ports() {
    let running = server(|_| {});
    let address = running.http().unwrap();
    let _idle = tcp(running.http());
    drop(running);
    let again =
        server(|settings| settings.http = vec![Listener::plain(ListenAddress::Tcp(address))]);
    assert_eq!(again.http(), Some(address));
}
