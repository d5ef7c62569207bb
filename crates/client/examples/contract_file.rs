//! `cargo run -p tollgate-client --example contract_file`
//!
//! Limits by a contract file: several policies, by plan and by user, all or nothing.

use tollgate_client::{Limiter, LimiterError, RefusedBy};

const CONTRACTS: &str = "
contracts:
  - id: free-users
    match: { plan: free }
    key: [user]
    policies:
      - { name: burst, limit: 3, per: 1s }
      - { name: daily, limit: 1000, per: 1d, algorithm: sliding-counters }
  - id: everybody
    policies:
      - { name: total, limit: 5, per: 1s }
";

fn main() -> Result<(), LimiterError> {
    let limiter = Limiter::from_text(CONTRACTS)?;
    let contracts = limiter.node().contracts();

    for (plan, user) in [
        ("free", "ada"),
        ("free", "ada"),
        ("free", "ada"),
        ("free", "ada"),
        ("paid", "bob"),
    ]
    .into_iter()
    .chain([("paid", "bob"), ("paid", "bob")])
    {
        let answer = limiter.check(&[("plan", plan), ("user", user)], 1);
        let by = match answer.refused_by {
            None => String::from("passes"),
            Some(RefusedBy::Policy { contract, policy }) => {
                let contract = contracts.get(contract);
                let policy = contract.and_then(|contract| contract.policies.get(policy));
                let name = |part: Option<&String>| part.cloned().unwrap_or_default();
                let (id, policy) = (
                    name(contract.map(|it| &it.id)),
                    name(policy.map(|it| &it.name)),
                );
                format!("refused by {id}/{policy}")
            }
            Some(_) => String::from("refused: no room"),
        };
        println!("{plan} {user}: {by}, {} left", answer.remaining);
    }

    // A file that is wrong says where.
    match Limiter::from_text(
        "contracts:\n  - id: a\n    policies:\n      - { name: x, limt: 3, per: 1s }\n",
    ) {
        Err(error) => println!("\n{error}"),
        Ok(_) => println!("\nno mistake found"),
    }
    Ok(())
}
