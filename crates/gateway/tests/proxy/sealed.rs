//! TLS on both sides, with the tools of Mosquitto and a real broker.

use std::fs;
use std::path::Path;
use std::process::Command;

use tollgate_gateway::{GatewaySettings, UpstreamTls};
use tollgate_parts::{Mosquitto, Papers, until};
use tollgate_serve::settings::Tls;

use crate::NONE;
use crate::kit::{Extras, Gateway, MqttClient, connect};

/// Runs a Mosquitto tool with the authority and perhaps a certificate.
fn tool(name: &str, gateway: &Gateway, papers: &Papers, arguments: &[&str]) -> (bool, String) {
    let port = gateway.address.port().to_string();
    let mut command = Command::new("timeout");
    command.args(["30", name, "-h", "localhost", "-p", &port, "--cafile"]);
    let done = command.arg(papers.ca()).args(arguments).output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8(said).unwrap())
}

fn shown(papers: &Papers, asks: bool) -> Tls {
    let (certificate, key) = papers.server();
    Tls {
        certificate,
        key,
        client_ca: asks.then(|| papers.ca()),
    }
}

fn trusted(papers: &Papers) -> UpstreamTls {
    UpstreamTls {
        ca: Some(papers.ca()),
        ..UpstreamTls::default()
    }
}

#[test]
fn messages_pass_through_tls_on_both_sides() {
    let papers = Papers::new();
    let broker = Mosquitto::sealed(&papers, true);
    let change = |settings: &mut GatewaySettings| {
        settings.tls = Some(shown(&papers, false));
        settings.upstream_tls = Some(UpstreamTls {
            identity: Some(papers.client()),
            ..trusted(&papers)
        });
    };
    let gateway = Gateway::with(&broker.address(), NONE, change);
    let large = "x".repeat(300_000);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &large).unwrap();
    let file = file.path().to_str().unwrap();
    for version in ["mqttv311", "mqttv5"] {
        for qos in ["0", "1", "2"] {
            let topic = format!("kept/{version}/{qos}");
            let say = ["-V", version, "-q", qos, "-t", &topic, "-r", "-f", file];
            let (done, said) = tool("mosquitto_pub", &gateway, &papers, &say);
            assert!(done, "{said}");
            let ask = ["-V", version, "-q", qos, "-t", &topic, "-C", "1"];
            let (done, said) = tool("mosquitto_sub", &gateway, &papers, &ask);
            assert!(done && said.trim() == large, "{} bytes", said.len());
        }
    }
    // Plain TCP is refused.
    let mut plain = MqttClient::silent(gateway.address, true);
    plain.try_say(&connect(true, "plain", &Extras::default()));
    assert!(plain.try_hear().is_none_or(|(first, _)| first != 0x20));
    let unsealed = "tollgate_gateway_turned_away_total{reason=\"unsealed\"}";
    until("it is counted", || gateway.metric(unsealed) == 1);
    until("all have gone", || {
        gateway.metric("tollgate_gateway_connections_open") == 0
    });
    gateway.stop();
}

#[test]
fn a_gateway_may_ask_clients_for_a_certificate() {
    let papers = Papers::new();
    let broker = Mosquitto::start();
    let change = |settings: &mut GatewaySettings| settings.tls = Some(shown(&papers, true));
    let gateway = Gateway::with(&broker.address(), NONE, change);
    let say = ["-t", "a", "-m", "x"];
    assert!(!tool("mosquitto_pub", &gateway, &papers, &say).0);
    let (certificate, key) = papers.client();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (certificate, key) = (path(&certificate), path(&key));
    let say = [&say[..], &["--cert", &certificate, "--key", &key]].concat();
    let (done, said) = tool("mosquitto_pub", &gateway, &papers, &say);
    assert!(done, "{said}");
}

#[test]
fn a_broker_that_does_not_prove_who_it_is_gets_nobody() {
    let papers = Papers::of(&["broker.example"]);
    let strangers = Papers::of(&["broker.example"]);
    let broker = Mosquitto::sealed(&papers, false);
    let named = |ca: &Papers, name: &str| UpstreamTls {
        name: Some(name.to_owned()),
        ..trusted(ca)
    };
    let cases = [
        (named(&papers, "broker.example"), true),
        (named(&papers, "other.example"), false),
        (trusted(&papers), false),
        (named(&strangers, "broker.example"), false),
    ];
    for (at, (tls, is_good)) in cases.into_iter().enumerate() {
        let change = |settings: &mut GatewaySettings| settings.upstream_tls = Some(tls);
        let gateway = Gateway::with(&broker.address(), NONE, change);
        for (five, code) in [(false, 3), (true, 0x88)] {
            let mut client = MqttClient::silent(gateway.address, five);
            client.say(&connect(five, "a", &Extras::default()));
            let (first, body) = client.hear();
            let expected = if is_good { 0 } else { code };
            assert_eq!((first, body[1]), (0x20, expected), "case {at}");
        }
        let distrusted = "tollgate_gateway_turned_away_total{reason=\"distrusted\"}";
        assert_eq!(gateway.metric(distrusted), if is_good { 0 } else { 2 });
    }
}

#[test]
fn certificates_are_read_again_and_bad_ones_change_nothing() {
    let (papers, others) = (Papers::new(), Papers::new());
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let install = |papers: &Papers| {
        let (certificate, key) = papers.server();
        fs::copy(certificate, place("server.pem")).unwrap();
        fs::copy(key, place("server.key")).unwrap();
    };
    install(&papers);
    let broker = Mosquitto::start();
    let change = |settings: &mut GatewaySettings| {
        settings.tls = Some(Tls {
            certificate: place("server.pem"),
            key: place("server.key"),
            client_ca: None,
        });
    };
    let gateway = Gateway::with(&broker.address(), NONE, change);
    let is_good = |papers| tool("mosquitto_pub", &gateway, papers, &["-t", "a", "-m", "x"]).0;
    assert!(is_good(&papers) && !is_good(&others));
    install(&others);
    gateway.server.reload().unwrap();
    assert!(is_good(&others) && !is_good(&papers));
    fs::write(place("server.pem"), "no certificate").unwrap();
    let error = gateway.server.reload().unwrap_err();
    assert!(error.contains("server.pem"), "{error}");
    assert!(is_good(&others));
}
