//! What a node is asked besides leases: it decides, charges, gives back, forgets, settles or says how policies stand.
//!
//! Each has a form that waits on its thread and one for tasks. Not here: the connection (`pump`).

use tollgate_limit::Span;
use tollgate_node::Key;

use super::replies::{CommandWords, RespValue, command, words};
use super::{Client, Outcome, Path, RemoteReceipt, Took};

/// Something that a node is asked about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeAsk<'a> {
    /// Who is counted.
    pub key: Key<'a>,
    /// For how much.
    pub cost: u64,
    /// The only contract that is asked, instead of all that bind the key.
    pub contract: Option<&'a str>,
}

/// What is to be done to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeWrite {
    /// Take without asking.
    Charge,
    /// Give back.
    Refund,
    /// Forget the key.
    Reset,
}

/// What a node said besides its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAnswer {
    /// The policy that refuses longest, or that has the least left.
    pub policy: Option<String>,
    /// Its limit.
    pub limit: u64,
    /// Whole tokens it has left.
    pub remaining: u64,
    /// Tokens that it is below zero.
    pub debt: u64,
    /// Until it is as if the key had never been seen.
    pub reset_after: Span,
    /// All policies that refuse, where they are several.
    pub violated: Vec<NodeStand>,
}

/// How a policy stands at a node, and what it would say to what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStand {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
    /// Its limit.
    pub limit: u64,
    /// Whole tokens it has left.
    pub remaining: u64,
    /// Tokens that it is below zero.
    pub debt: u64,
    /// Whether the cost would pass.
    pub is_allowed: bool,
    /// How long until it could, where a wait helps.
    pub retry_after: Option<Span>,
    /// For how long it would be held back.
    pub wait: Span,
    /// Until the policy is as if the key had never been seen.
    pub reset_after: Span,
}

impl NodeAsk<'_> {
    fn command(&self, name: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let cost = self.cost.to_string();
        let mut head = command([name, b"COST", cost.as_bytes()]);
        if let Some(contract) = self.contract {
            head.put(b"CONTRACT");
            head.put(contract.as_bytes());
        }
        head.put(b"KEY");
        head.write(&words(self.key), &mut bytes);
        bytes
    }
}

impl Client {
    /// Has a node decide, whatever is held here.
    pub fn check_at_node(&self, ask: &NodeAsk<'_>) -> Outcome {
        let reply = self.pump.ask(ask.command(b"TOLLGATE.CHECK"));
        self.decided(reply)
    }

    /// The same for tasks.
    pub async fn check_at_node_in_task(&self, ask: &NodeAsk<'_>) -> Outcome {
        let reply = self.pump.ask_in_task(ask.command(b"TOLLGATE.CHECK")).await;
        self.decided(reply)
    }

    /// Has a node do something to a key; `None` where nobody answers, else whether there was room for it. For tasks.
    pub async fn write_in_task(&self, write: NodeWrite, ask: &NodeAsk<'_>) -> Option<bool> {
        let name = match write {
            NodeWrite::Charge => &b"TOLLGATE.CHARGE"[..],
            NodeWrite::Refund => b"TOLLGATE.REFUND",
            NodeWrite::Reset => b"TOLLGATE.RESET",
        };
        let reply = self.pump.ask_in_task(ask.command(name)).await?;
        self.done(&reply)
    }

    /// How policies stand at a node; `None` where nobody answers. For tasks.
    pub async fn peek_in_task(&self, ask: &NodeAsk<'_>) -> Option<Vec<NodeStand>> {
        let reply = self.pump.ask_in_task(ask.command(b"TOLLGATE.PEEK")).await?;
        let RespValue::List(each) = &reply else {
            self.pump.malformed();
            return None;
        };
        let each = each.iter().map(stand).collect::<Option<_>>();
        if each.is_none() {
            self.pump.malformed();
        }
        each
    }

    /// Charges what a request really cost. A refund counts only in the lease that paid, while it lasts. What a node
    /// charged is settled there, without waiting for it.
    pub fn settle(&self, receipt: &RemoteReceipt, actual: u64) {
        if let Some(command) = self.settlement(receipt, actual) {
            drop(self.pump.post(command));
        }
    }

    /// The same for tasks; says whether it is done.
    pub async fn settle_in_task(&self, receipt: &RemoteReceipt, actual: u64) -> bool {
        let Some(command) = self.settlement(receipt, actual) else {
            return true;
        };
        let reply = self.pump.ask_in_task(command).await;
        reply.and_then(|reply| self.done(&reply)).unwrap_or(false)
    }

    /// Settles in a lease, or says what a node has to be told.
    fn settlement(&self, receipt: &RemoteReceipt, actual: u64) -> Option<Vec<u8>> {
        match &receipt.0 {
            Took::Lease { print, took } => {
                let settle = |slot: &mut super::slot::KeySlot, now| {
                    slot.holding.settle(took, actual, now);
                };
                self.slots.known(*print, settle);
                self.pump.wake();
                None
            }
            Took::Node(receipt) => {
                let (mut bytes, cost) = (Vec::new(), actual.to_string());
                let settle = [b"TOLLGATE.SETTLE", receipt.as_bytes(), cost.as_bytes()];
                command(settle).write(&CommandWords::default(), &mut bytes);
                Some(bytes)
            }
            Took::Pool { key, cost } => {
                let (name, difference) = if actual < *cost {
                    (&b"TOLLGATE.REFUND"[..], cost - actual)
                } else {
                    (&b"TOLLGATE.CHARGE"[..], actual - cost)
                };
                if difference == 0 {
                    return None;
                }
                let (mut bytes, cost) = (Vec::new(), difference.to_string());
                command([name, b"COST", cost.as_bytes(), b"KEY"]).write(key, &mut bytes);
                Some(bytes)
            }
        }
    }

    fn done(&self, reply: &RespValue) -> Option<bool> {
        let done = reply.number().map(|number| number == 1);
        if done.is_none() {
            self.pump.malformed();
        }
        done
    }

    /// A node's verdict; as configured where there is none.
    pub(super) fn decided(&self, reply: Option<RespValue>) -> Outcome {
        let Some(reply) = reply else {
            return self.slots.away();
        };
        let Some(allowed) = reply.field("allowed").and_then(RespValue::number) else {
            self.pump.malformed();
            return self.slots.away();
        };
        Outcome {
            is_allowed: allowed == 1,
            path: Path::Asked,
            wait: span(&reply, "wait_ms").unwrap_or(Span::ZERO),
            retry_after: span(&reply, "retry_after_ms"),
            receipt: text(&reply, "receipt").map(|text| RemoteReceipt(Took::Node(text.into()))),
            node: Some(Box::new(NodeAnswer {
                policy: text(&reply, "policy"),
                limit: count(&reply, "limit"),
                remaining: count(&reply, "remaining"),
                debt: count(&reply, "debt"),
                reset_after: span(&reply, "reset_after_ms").unwrap_or(Span::ZERO),
                violated: match reply.field("violated") {
                    Some(RespValue::List(each)) => each.iter().filter_map(stand).collect(),
                    _ => Vec::new(),
                },
            })),
        }
    }
}

fn stand(value: &RespValue) -> Option<NodeStand> {
    Some(NodeStand {
        contract: text(value, "contract")?,
        policy: text(value, "policy")?,
        limit: count(value, "limit"),
        remaining: count(value, "remaining"),
        debt: count(value, "debt"),
        is_allowed: count(value, "allowed") == 1,
        retry_after: span(value, "retry_after_ms"),
        wait: span(value, "wait_ms").unwrap_or(Span::ZERO),
        reset_after: span(value, "reset_after_ms").unwrap_or(Span::ZERO),
    })
}

fn text(value: &RespValue, name: &str) -> Option<String> {
    match value.field(name)? {
        RespValue::Text(text) => String::from_utf8(text.clone()).ok(),
        _ => None,
    }
}

fn count(value: &RespValue, name: &str) -> u64 {
    let number = value.field(name).and_then(RespValue::number);
    number
        .and_then(|number| u64::try_from(number).ok())
        .unwrap_or(0)
}

fn span(value: &RespValue, name: &str) -> Option<Span> {
    let millis = value.field(name).and_then(RespValue::number)?;
    let millis = u128::try_from(millis).ok()?;
    Some(Span::from_nanos(millis.saturating_mul(1_000_000)))
}
