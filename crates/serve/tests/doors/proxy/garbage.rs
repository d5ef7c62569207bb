//! Any request of a proxy gets a decision or a refusal, and every answer can be sent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proptest::prelude::*;
use tollgate_contract::{Contracts, Dialect};
use tollgate_node::NodeConfig;
use tollgate_serve::auth::{AuthError, AuthJudge, Fields, Inquiry};
use tollgate_serve::engine::{Engine, Secrets, Started};
use tollgate_serve::settings::{AuthSettings, EntrySource, Settings};

#[derive(Debug)]
struct Lines(Vec<(String, Vec<u8>)>);

impl Fields for Lines {
    fn each<'a>(&'a self, name: &str, take: &mut dyn FnMut(&'a [u8])) {
        for (_, value) in self
            .0
            .iter()
            .filter(|(is, _)| is.eq_ignore_ascii_case(name))
        {
            take(value);
        }
    }
}

fn lines() -> impl Strategy<Value = Lines> {
    let name = prop_oneof![Just("X-User"), Just("x-forwarded-for"), Just("forwarded")];
    let value = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        "[0-9a-f:., \"\\[\\]]{0,40}".prop_map(String::into_bytes),
    ];
    let line = (name.prop_map(str::to_owned), value);
    prop::collection::vec(line, 0..6).prop_map(Lines)
}

fn given() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop_oneof![
        Just("cost".to_owned()),
        Just("deny".to_owned()),
        Just("delay".to_owned()),
        Just("entries".to_owned()),
        Just("contract".to_owned()),
        any::<String>(),
    ];
    let value = prop_oneof![
        any::<String>(),
        "[0-9]{1,20}",
        "hold|tell|deny|403|user,path"
    ];
    prop::collection::vec((name, value), 0..6)
}

proptest! {
    #[test]
    fn any_bytes_are_answered(
        method in any::<String>(),
        host in prop::collection::vec(any::<u8>(), 0..20),
        uri in prop_oneof![prop::collection::vec(any::<u8>(), 0..60), "[/.%?&=a-z0-9#:]{0,60}".prop_map(String::into_bytes)],
        lines in lines(),
        given in given(),
    ) {
        let contracts = "contracts:\n  - id: a\n    headers: kong\n    policies: [{ name: č, limit: 1, per: 1m }]\n  \
            - id: b\n    key: [user]\n    policies: [{ name: b, limit: 1, per: 1s, on_limit: delay }]\n";
        let contracts = Contracts::parse(contracts).unwrap();
        let engine = Engine::new(contracts, NodeConfig::default(), &Secrets::draw().unwrap());
        let sources = [
            ("user".to_owned(), EntrySource::Header("x-user".to_owned())),
            ("tenant".to_owned(), EntrySource::Query("t".to_owned())),
        ];
        let settings = Settings {
            auth: AuthSettings { entries: sources.to_vec(), ..AuthSettings::default() },
            ..Settings::default()
        };
        let judge = AuthJudge::new(&settings);
        let inquiry = Inquiry {
            client: Some(judge.client(None, &lines)),
            method: &method,
            host: &host,
            uri: &uri,
            fields: &lines,
        };
        for _ in 0..3 {
            let turn = engine.turn();
            let pairs = given.iter().map(|(name, value)| (Cow::Borrowed(&**name), Cow::Borrowed(&**value)));
            match judge.judge(&turn, &inquiry, pairs) {
                Err(AuthError::Malformed(_)) | Ok(Started::Now(Err(_))) => {}
                Err(AuthError::Unfit(unfit)) => prop_assert!(unfit.status.is_client_error()),
                Ok(Started::Later(_)) => prop_assert!(false, "nothing is decided elsewhere"),
                Ok(Started::Now(Ok(ruling))) => {
                    let report = ruling.report(&turn);
                    let status = ruling.status(&report).as_u16();
                    prop_assert_eq!(ruling.is_allowed(), status == 200);
                    prop_assert!(ruling.hold() <= settings.auth.hold_max);
                    let mut seen = BTreeMap::new();
                    ruling.each_field(&report, Dialect::Ietf, |name, value| {
                        seen.insert(name, value.to_vec());
                    });
                    for (name, value) in seen {
                        prop_assert!(value.iter().all(|byte| matches!(byte, b' '..=b'~')), "{}: {:?}", name, value);
                    }
                }
            }
        }
    }
}
