//! Bans: identities, protocols and expiry.

use serde_json::json;
use tollgate_catalogue::Kind;
use tollgate_parts::Wire;

use crate::catalogue::kit::{CatalogueServer, DEADLINE, Editor, body, edit, in_seconds, stage};

fn ban(server: &CatalogueServer, editor: &Editor, id: &str, text: &str) {
    editor.put(Kind::Ban, id, text);
    let revision = editor.run(editor.database.revision()).unwrap();
    let live = server.running.shared().catalogue().clone();
    assert!(editor.run(live.reach(revision, DEADLINE)));
}

#[test]
fn whoever_is_banned_is_denied_and_not_counted_until_the_ban_is_removed() {
    let (_folder, mut server, editor) = stage();
    assert_eq!(server.ask("ann", 1), (true, 10, 9));
    let text = "{ identity: user=ann, reason: fraud }";
    ban(&server, &editor, "user=ann", text);
    let denied = server.post("/v1/check", &body(&[("user", "ann")], 1));
    let said = (&denied["allowed"], &denied["policy"]);
    assert_eq!(said, (&json!(false), &json!("ban")));
    assert_eq!(denied["retry_after_ms"], json!(null), "no wait helps");
    let why = server.post("/v1/explain", &body(&[("user", "ann")], 1));
    let ban =
        json!([{ "identity": "user=ann", "contract": null, "until_ms": null, "reason": "fraud" }]);
    assert_eq!(
        (&why["bans"], &why["allowed"]),
        (&ban, &json!(false)),
        "{why}"
    );
    let summary = "denied: `user=ann` is banned without an end: fraud";
    assert_eq!(why["summary"], summary);
    let problem = server.post("/v1/check?status=1", &body(&[("user", "ann")], 1));
    assert_eq!(
        (&problem["status"], &problem["title"]),
        (&json!(403), &json!("Forbidden")),
        "{problem}"
    );
    assert_eq!(server.ask("bob", 1), (true, 10, 9));
    assert!(!server.ask_for(&[("user", "ann"), ("more", "x")], 1).0);
    editor.delete(Kind::Ban, "user=ann");
    server.until_limit("ann", 10);
    assert_eq!(server.ask("ann", 0), (true, 10, 9), "nothing was counted");
}

#[test]
fn a_ban_ends_by_itself() {
    let (_folder, mut server, editor) = stage();
    let text = format!("{{ identity: user=ann, until: \"{}\" }}", in_seconds(2));
    ban(&server, &editor, "user=ann", &text);
    server.until_limit("ann", 10);
    assert!(server.ask("ann", 1).0);
}

#[test]
fn ranges_and_single_contracts_are_banned() {
    let (_folder, mut server, editor) = stage();
    let ips = "{ id: ips, key: [ip], plan: free }";
    editor.put(Kind::Contract, "ips", ips);
    for range in ["ip=10.0.0.0/8", "ip=2001:db8::/32"] {
        ban(
            &server,
            &editor,
            range,
            &format!("{{ identity: \"{range}\" }}"),
        );
    }
    for (address, is_free) in [
        ("10.1.2.3", false),
        ("::ffff:10.9.9.9", false),
        ("11.1.2.3", true),
        ("2001:DB8::7", false),
        ("2001:db9::7", true),
        ("no address", true),
    ] {
        let is_allowed = server.ask_for(&[("ip", address)], 1).0;
        assert_eq!(is_allowed, is_free, "{address}");
    }
    let alone = "{ identity: user=ann, contract: ips }";
    ban(&server, &editor, "user=ann@ips", alone);
    assert!(server.ask("ann", 1).0, "another contract");
    assert!(!server.ask_for(&[("user", "ann"), ("ip", "12.0.0.1")], 1).0);
}

#[test]
fn bare_keys_and_other_doors_are_banned_too() {
    let (_folder, mut server, editor) = stage();
    ban(&server, &editor, "user=ann", "{ identity: user=ann }");
    let reserve = json!({ "key": { "user": "ann" }, "cost": 1, "id": "r1" });
    let denied = server.post("/v1/reserve", &reserve);
    assert_eq!(denied["allowed"], json!(false), "{denied}");
    let bare = server.post("/v1/check", &json!({ "key": "ann", "cost": 1 }));
    assert_eq!(bare["policy"], json!("ban"), "{bare}");
    let mut resp = Wire::to(server.running.resp().unwrap());
    resp.send("TOLLGATE.CHECK KEY ann\r\n");
    while !resp.line().contains("ban") {}
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (_folder, _server, editor) = stage();
    for (text, why) in [
        ("{ identity: ann }", "as `user=42`"),
        (
            "{ identity: user=ann, contract: user }",
            "did you mean `users`",
        ),
        (
            "{ identity: user=ann, until: tomorrow }",
            "no time since 1970",
        ),
        ("{ identity: user=ann, for: 1h }", "`for`"),
    ] {
        let edit = edit(Kind::Ban, "user=ann", None);
        let refused = editor.run(editor.database.put(&edit, text)).unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
    }
    let plan = "{ id: p, policies: [{ name: ban, limit: 1, per: 1s }] }";
    let edit = edit(Kind::Plan, "p", None);
    let refused = editor.run(editor.database.put(&edit, plan));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("no policy is called `ban`"), "{refused}");
}
