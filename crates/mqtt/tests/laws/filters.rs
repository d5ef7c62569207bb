//! Topic filters against a matcher that recurses on the rest of both.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate_mqtt::{BadFilter, Filters, LEVELS_MAX, TopicFilter};

/// The model: recursion on the rest of both.
fn matches_slowly(filter: &[&str], topic: &[&str], is_first: bool) -> bool {
    let hidden = is_first && topic[0].starts_with('$');
    match (filter, topic) {
        ([], []) => true,
        (["#"], _) => !hidden,
        ([level, filter @ ..], [name, topic @ ..]) => {
            let is_one = if *level == "+" {
                !hidden
            } else {
                level == name
            };
            is_one && matches_slowly(filter, topic, false)
        }
        _ => false,
    }
}

fn some_filter() -> impl Strategy<Value = String> {
    let level = select(&["a", "b", "", "+", "+", "$a", "#"][..]);
    vec(level, 1..6).prop_map(|levels| levels.join("/"))
}

fn some_topic() -> impl Strategy<Value = String> {
    let topics = vec(select(&["a", "b", "", "$a"][..]), 1..6).prop_map(|names| names.join("/"));
    topics.prop_filter("a topic", |topic| !topic.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn filters_match_as_the_model_does(texts in vec(some_filter(), 1..9), topic in some_topic()) {
        let names: Vec<_> = topic.split('/').collect();
        let (mut filters, mut expected) = (Filters::default(), Vec::new());
        for text in &texts {
            let levels: Vec<_> = text.split('/').collect();
            let has_hash_inside = levels[..levels.len() - 1].contains(&"#");
            match TopicFilter::parse(text) {
                Err(error) => {
                    let is_known = if text.is_empty() { BadFilter::Empty } else { BadFilter::Hash };
                    prop_assert_eq!(error, is_known);
                    prop_assert!(has_hash_inside || text.is_empty());
                }
                Ok(filter) => {
                    prop_assert!(!has_hash_inside);
                    let expects = matches_slowly(&levels, &names, true);
                    prop_assert_eq!(filter.matches(&topic), expects, "{} {}", text, &topic);
                    let shared = TopicFilter::parse(&format!("$share/group/{text}")).unwrap();
                    prop_assert_eq!(shared.matches(&topic), expects);
                    prop_assert_eq!(shared.share(), Some("group"));
                    prop_assert_eq!(filter.share(), None);
                    let place = filters.add(&filter);
                    expected.extend(expects.then_some(place));
                }
            }
        }
        let mut found = Vec::new();
        filters.matching(&topic, |place| found.push(place));
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_text_is_a_filter_or_refused(text in "[a+#/$\0share]{0,12}|\\PC{0,12}", topic in "\\PC{0,12}") {
        if let Ok(filter) = TopicFilter::parse(&text) {
            let _ = filter.matches(&topic);
            prop_assert_eq!(filter.as_str(), &text);
        }
    }
}

#[test]
fn examples_of_the_standard_match_as_it_says() {
    for (filter, topic, expected) in [
        ("sport/tennis/player1/#", "sport/tennis/player1", true),
        (
            "sport/tennis/player1/#",
            "sport/tennis/player1/score/wimbledon",
            true,
        ),
        ("sport/#", "sport", true),
        ("#", "sport", true),
        ("sport/tennis/+", "sport/tennis/player1/ranking", false),
        ("sport/+", "sport", false),
        ("sport/+", "sport/", true),
        ("+/+", "/finance", true),
        ("/+", "/finance", true),
        ("+", "/finance", false),
        ("#", "$SYS/broker", false),
        ("+/monitor/Clients", "$SYS/monitor/Clients", false),
        ("$SYS/#", "$SYS/broker", true),
        ("$SYS/monitor/+", "$SYS/monitor/Clients", true),
    ] {
        let found = TopicFilter::parse(filter).unwrap().matches(topic);
        assert_eq!(found, expected, "{filter} {topic}");
    }
}

#[test]
fn silly_filters_are_refused() {
    for (text, error) in [
        ("", BadFilter::Empty),
        ("a\0", BadFilter::Nul),
        ("sport/tennis#", BadFilter::Hash),
        ("sport/#/ranking", BadFilter::Hash),
        ("sport+", BadFilter::Plus),
        ("++", BadFilter::Plus),
        ("$share", BadFilter::Share),
        ("$share/", BadFilter::Share),
        ("$share/group", BadFilter::Share),
        ("$share/group/", BadFilter::Share),
        ("$share//a", BadFilter::Share),
        ("$share/a+/a", BadFilter::Share),
    ] {
        assert_eq!(TopicFilter::parse(text), Err(error), "{text}");
    }
    assert_eq!(
        TopicFilter::parse(&"a".repeat(65_536)),
        Err(BadFilter::Long)
    );
    assert_eq!(
        TopicFilter::parse(&"/".repeat(LEVELS_MAX)),
        Err(BadFilter::Deep)
    );
    assert!(TopicFilter::parse(&"/".repeat(LEVELS_MAX - 1)).is_ok());
    assert!(TopicFilter::parse("$SYS/+").is_ok_and(|filter| !filter.is_plain()));
    assert!(TopicFilter::parse("a/b").is_ok_and(|filter| filter.is_plain()));
}
