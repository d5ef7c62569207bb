//! A charge beyond what is left takes what is left and leaves debt, under every coordination.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::io::Write;

use tollgate_serve::settings::{ContractSource, Settings};

use crate::lease::{eventually, pair};
use crate::pipelines::{MODES, RespClient, RespReply, settings};

fn contracts() -> String {
    let each = MODES.iter().map(|(name, how, _)| {
        // A new lender assumes that nothing was lent.
        let is_lent = how.contains("coordination: lease") && !how.contains("recovery");
        let fresh = if is_lent { ", recovery: fresh" } else { "" };
        // These begin with nothing.
        let per = if is_shared(name) { "20s" } else { "1h" };
        format!(
            "  - {{ id: {name}, match: {{ mode: {name} }}, key: [user], \
             policies: [{{ name: p, limit: 1000, per: {per}, max_debt: 150, {how}{fresh} }}] }}\n"
        )
    });
    format!("contracts:\n{}", each.collect::<String>())
}

/// Whether each node has a part of the limit.
fn is_shared(mode: &str) -> bool {
    matches!(mode, "supply" | "split")
}

impl RespClient {
    fn ask(&mut self, line: &str) -> RespReply {
        let line = format!("{line}\r\n");
        self.0.get_mut().write_all(line.as_bytes()).unwrap();
        self.next().unwrap()
    }
}

/// Waits until both nodes know who owns which keys: until then each may consider itself the owner of all.
fn agree_on_owners(sides: &mut [RespClient; 2]) {
    let mut users = 0_u32..;
    eventually("both nodes know the owners", || {
        users.by_ref().take(16).all(|user| {
            let key = format!("KEY mode owner user w{user}");
            let done = sides[0].ask(&format!("TOLLGATE.CHARGE COST 1 {key}"));
            let said = sides[1].ask(&format!("TOLLGATE.CHECK COST 0 {key}"));
            let remaining = said.field("remaining");
            done == RespReply::Number(1) && remaining == Some(&RespReply::Number(999))
        })
    });
}

#[test]
fn a_cost_of_responses_is_enforced_by_every_coordination() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        contracts: ContractSource::Text(contracts()),
        ..settings(folder.path())
    };
    let servers = pair(&settings, folder.path());
    let mut sides = servers
        .each_ref()
        .map(|server| RespClient::of(server.resp().unwrap()));
    agree_on_owners(&mut sides);
    for (mode, _, _) in MODES {
        // A share of a limit is enforced by itself.
        let (whole, most) = match mode {
            // Under sync nodes exchange once in an interval: until then each may admit a bucket of its own.
            "local" | "sync" => (1_000, 8),
            // Admissions of other nodes arrive a little later.
            "gossip" => (1_000, 6),
            mode if is_shared(mode) => (400, 6),
            _ => (1_000, 4),
        };
        let key = format!("KEY mode {mode} user ada");
        let figure = |side: &mut RespClient, name: &str| {
            let said = side.ask(&format!("TOLLGATE.CHECK COST 0 {key}"));
            match said.field(name) {
                Some(RespReply::Number(number)) => *number,
                other => panic!("{mode}: {name} is {other:?}"),
            }
        };
        for side in &mut sides {
            eventually(&format!("{mode}: all is there"), || {
                figure(side, "remaining") >= whole
            });
        }
        let mut passed = 0;
        // A response costs 300, and is charged when it is over.
        eventually(&format!("{mode}: nothing is left"), || {
            let mut are_refused = true;
            for side in &mut sides {
                let is_free = figure(side, "allowed") == 1 && figure(side, "wait_ms") == 0;
                are_refused &= !is_free;
                if is_free {
                    passed += 1;
                    assert!(passed <= most, "{mode}: {passed} passed");
                    let done = side.ask(&format!("TOLLGATE.CHARGE COST 300 {key}"));
                    assert_eq!(done, RespReply::Number(1), "{mode}");
                }
            }
            are_refused
        });
        let debts = sides.each_mut().map(|side| figure(side, "debt"));
        // A node that has not received the last charges of others cannot refund them.
        let most = if mode == "gossip" || mode == "sync" {
            450
        } else {
            150
        };
        assert!(debts.iter().all(|debt| *debt <= most), "{mode}: {debts:?}");
    }
}
