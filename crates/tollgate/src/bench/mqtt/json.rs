//! A report of `bench mqtt` for programs: times in nanoseconds, rates per second.

use serde_json::{Value, json};
use tollgate_load::{Arrivals, Assign, MqttPace, MqttPlan, MqttReport, Qos, Version};

pub(super) fn text(plan: &MqttPlan, report: &MqttReport) -> String {
    let mut object = serde_json::to_value(report).unwrap_or(Value::Null);
    if let Value::Object(members) = &mut object {
        let rate = json!(report.messages_per_second());
        members.insert("messages_per_second".to_owned(), rate);
        members.insert("plan".to_owned(), self::plan(plan));
    }
    format!("{object}\n")
}

fn plan(plan: &MqttPlan) -> Value {
    let (pace, rate, arrivals) = match plan.pace {
        MqttPace::Closed => ("closed", None, None),
        MqttPace::Open { rate, arrivals } => ("open", Some(rate), Some(arrivals)),
    };
    let texts = |list: &[tollgate_load::ServerAddress]| -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    };
    json!({
        "targets": texts(&plan.targets),
        "assign": match plan.assign {
            Assign::Spread => "spread",
            Assign::Blind => "blind",
            Assign::Groups => "groups",
        },
        "subscribe": texts(&plan.watch.at),
        "subscribers": plan.watch.subscribers,
        "subscribe_qos": qos(plan.watch.qos),
        "publishers": plan.publishers,
        "idle": plan.idle,
        "loop": pace,
        "rate_each": rate,
        "arrivals": arrivals.map(|arrivals| match arrivals {
            Arrivals::Even => "periodic",
            Arrivals::Poisson => "poisson",
        }),
        "group": plan.groups.size,
        "batch": plan.groups.batch,
        "spread_s": plan.groups.spread.as_secs_f64(),
        "in_flight": plan.in_flight,
        "qos": qos(plan.messages.qos),
        "size": plan.messages.size,
        "topic": plan.messages.topic.to_string(),
        "version": match plan.login.version {
            Version::V311 => "3.1.1",
            Version::V5 => "5",
        },
        "threads": plan.threads,
        "warm_up_s": plan.timing.warm_up.as_secs_f64(),
        "duration_s": plan.timing.duration.as_secs_f64(),
        "patience_s": plan.timing.patience.as_secs_f64(),
        "seed": plan.seed,
    })
}

const fn qos(qos: Qos) -> u8 {
    match qos {
        Qos::AtMostOnce => 0,
        Qos::AtLeastOnce => 1,
        Qos::ExactlyOnce => 2,
    }
}
