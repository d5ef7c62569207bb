//! A report of `bench` for programs: times in nanoseconds, rates per second.

use serde_json::{Value, json};
use tollgate_load::{Arrivals, LoadPlan, LoadReport, Pace};

pub(super) fn text(plan: &LoadPlan, report: &LoadReport) -> String {
    let mut object = serde_json::to_value(report).unwrap_or(Value::Null);
    if let Value::Object(members) = &mut object {
        members.insert(
            "decisions_per_second".to_owned(),
            json!(report.decisions_per_second()),
        );
        members.insert(
            "replies_per_second".to_owned(),
            json!(report.replies_per_second()),
        );
        members.insert("plan".to_owned(), self::plan(plan));
    }
    format!("{object}\n")
}

fn plan(plan: &LoadPlan) -> Value {
    let (pace, rate, arrivals) = match plan.pace {
        Pace::Closed => ("closed", None, None),
        Pace::Open { rate, arrivals } => ("open", Some(rate), Some(arrivals)),
    };
    json!({
        "server": plan.server.to_string(),
        "others": plan.others.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "loop": pace,
        "rate": rate,
        "arrivals": arrivals.map(|arrivals| match arrivals {
            Arrivals::Even => "even",
            Arrivals::Poisson => "poisson",
        }),
        "connections": plan.connections,
        "pipeline": plan.depth,
        "threads": plan.threads,
        "keys": plan.keys.count,
        "warm_up_s": plan.warm_up.as_secs_f64(),
        "duration_s": plan.duration.as_secs_f64(),
        "seed": plan.seed,
    })
}
