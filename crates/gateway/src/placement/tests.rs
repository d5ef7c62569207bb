//! Which gateway a client belongs to, by every sort of line.

use super::*;

const LIST: &str = "
# two gateways, the second twice as large
gateway g1 a.example:1884
gateway g2 b.example:1884 2   # larger
client boiler-7 g2
member x1 night
member x2 night
member x3 night
groups client plant-{group}-{member}
groups property line
";

fn at(list: &Placement, client: &str, line: Option<&'static str>) -> Option<String> {
    let place = list.place(client, |name| line.filter(|_| name == "line"))?;
    list.at(place).map(|(name, _)| name.to_owned())
}

#[test]
fn members_of_a_group_are_spread_by_weight_wherever_it_begins() {
    let list = Placement::parse(LIST).unwrap();
    for group in ["a", "b", "c", "d"] {
        let at = |number: u32| at(&list, &format!("plant-{group}-{number}"), None).unwrap();
        let first = (0..30).filter(|number| at(*number) == "g1").count();
        assert_eq!(first, 10, "{group}");
        // Any three in a row are spread as all are.
        let some = (7..10).filter(|number| at(*number) == "g1").count();
        assert_eq!(some, 1, "{group}");
    }
    let night = ["x1", "x2", "x3"].map(|client| at(&list, client, None).unwrap());
    assert_eq!(night.iter().filter(|name| *name == "g1").count(), 1);
}

#[test]
fn a_client_belongs_where_a_line_says_and_else_nowhere() {
    let list = Placement::parse(LIST).unwrap();
    assert_eq!(at(&list, "boiler-7", None).as_deref(), Some("g2"));
    assert_eq!(at(&list, "stranger", None), None);
    assert!(at(&list, "stranger", Some("7")).is_some());
    assert_eq!(at(&list, "plant--1", None), None);
    assert_eq!(list.at(1), Some(("g2", "b.example:1884")));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_line() {
    for (text, what) in [
        ("", "names no gateway"),
        ("gateway g1", "line 1"),
        ("gateway g1 a", "host:port"),
        ("gateway g1 a:0", "host:port"),
        ("gateway g1 a:1 0", "weight"),
        (
            "gateway g1 a:1\ngateway g1 b:1",
            "line 2: gateway `g1` is there twice",
        ),
        ("client x g1", "no line above"),
        ("gateway g1 a:1\nclient x g1\nclient x g1", "line 3"),
        ("groups client plant", "{group}"),
        ("groups client {group}{member}", "{group}"),
        ("groups client {group}-{member}-{group}", "{group}"),
        ("hello", "write"),
    ] {
        let said = Placement::parse(text).unwrap_err().to_string();
        assert!(said.contains(what), "{text}: {said}");
    }
}

#[test]
fn nobody_is_sent_to_a_gateway_without_weight_but_whom_a_line_names() {
    let text = "gateway g1 a:1\ngateway g2 b:1 0\ngateway g3 c:1\nclient x g2\nothers\n";
    let list = Placement::parse(text).unwrap();
    assert_eq!(at(&list, "x", None).as_deref(), Some("g2"));
    let found = |number: u32| at(&list, &format!("client-{number}"), None).unwrap();
    let first = (0..1000).filter(|number| found(*number) == "g1").count();
    let third = (0..1000).filter(|number| found(*number) == "g3").count();
    assert!(first + third == 1000 && (400..=600).contains(&first));
    // Clients without an identifier look the same.
    assert_eq!(at(&list, "", None), None);
    assert_ne!(
        list.mark(),
        Placement::parse("gateway g1 a:1").unwrap().mark()
    );
}
