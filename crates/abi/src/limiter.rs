//! What a handle stands for.
//!
//! Not here: pointers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tollgate_client::{
    Client, ClientConfig, ClientError, Contracts, DecisionPath, LimiterConfig, LimiterError,
    Outcome, RemoteReceipt, Span, SystemClock, WhenFull,
};

use crate::answer::Answer;
use crate::code::{Code, Fault};
use crate::key::Checked;

/// How a limiter is set up. All zero is the default.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The most bytes that all keys together may take; 0 is one gibibyte.
    pub bytes_max: u64,
    /// Counts in this process only, even where a contract asks for other nodes or a disk.
    pub alone: bool,
    /// Refuses a new key where there is no room, instead of forgetting the key closest to fresh.
    pub refuse_when_full: bool,
}

impl Options {
    fn config(self) -> LimiterConfig {
        let default = LimiterConfig::default();
        LimiterConfig {
            bytes_max: match self.bytes_max {
                0 => default.bytes_max,
                bytes => bytes,
            },
            when_full: if self.refuse_when_full {
                WhenFull::Refuse
            } else {
                default.when_full
            },
            alone: self.alone,
        }
    }
}

/// A limiter, by a contract or by leases of nodes. Any number of threads may use one at the same time.
#[derive(Debug)]
pub struct Limiter {
    source: Source,
    /// By which receipts know it.
    number: u64,
}

/// Who decides.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one for each handle, in a box of its own"
)]
enum Source {
    Here(tollgate_client::Limiter),
    Lent(Client),
}

/// What a request was charged, to be settled at the real cost. Any thread may settle and free it.
#[derive(Debug)]
pub struct Receipt {
    charged: Charged,
    /// The limiter's.
    number: u64,
    is_settled: AtomicBool,
}

#[derive(Debug)]
enum Charged {
    Here(tollgate_client::Receipt),
    Lent(RemoteReceipt),
}

impl Limiter {
    pub(crate) fn from_text(text: &str, options: Options) -> Result<Self, Fault> {
        let contracts = Contracts::parse(text)
            .map_err(|error| Fault::new(Code::BadContract, error.to_string()))?;
        let limiter =
            tollgate_client::Limiter::with(contracts, options.config(), SystemClock::new())
                .map_err(|error| fault(&error))?;
        Ok(Self::of(Source::Here(limiter)))
    }

    pub(crate) fn connect(config: ClientConfig) -> Result<Self, Fault> {
        let client = Client::connect(config).map_err(|error| {
            let code = match error {
                ClientError::System(_) => Code::Machine,
                ClientError::NoNodes
                | ClientError::BadNode(_)
                | ClientError::NoAuthority(_)
                | ClientError::Tls(_)
                | ClientError::Zero => Code::BadOptions,
            };
            Fault::new(code, error.to_string())
        })?;
        Ok(Self::of(Source::Lent(client)))
    }

    fn of(source: Source) -> Self {
        let number = NEXT.fetch_add(1, Relaxed);
        Self { source, number }
    }

    /// Waits for a node, where there are nodes and no lease is at hand.
    pub(crate) fn check(&self, key: &Checked<'_>, cost: u64) -> Answer {
        match &self.source {
            Source::Here(limiter) => Answer::of(limiter, &limiter.check(key.as_key(), cost)),
            Source::Lent(client) if cost == 0 => peek(client, key),
            Source::Lent(client) => lent(client, key, &client.check(key.as_key(), cost)),
        }
    }

    /// Never waits.
    pub(crate) fn try_check(&self, key: &Checked<'_>, cost: u64) -> Answer {
        match &self.source {
            Source::Here(_) => self.check(key, cost),
            Source::Lent(client) if cost == 0 => peek(client, key),
            Source::Lent(client) => lent(client, key, &client.try_check(key.as_key(), cost)),
        }
    }

    /// As [`Self::check`], with a receipt where the request passes and can be settled.
    pub(crate) fn reserve(&self, key: &Checked<'_>, cost: u64) -> (Answer, Option<Receipt>) {
        let (answer, charged) = match &self.source {
            Source::Here(limiter) => {
                let answer = limiter.check(key.as_key(), cost);
                let told = Answer::of(limiter, &answer);
                (told, Some(Charged::Here(answer.receipt)))
            }
            Source::Lent(client) => {
                let outcome = client.check(key.as_key(), cost);
                let told = lent(client, key, &outcome);
                (told, outcome.receipt.map(Charged::Lent))
            }
        };
        let receipt = charged.filter(|_| answer.allowed).map(|charged| Receipt {
            charged,
            number: self.number,
            is_settled: AtomicBool::new(false),
        });
        (answer, receipt)
    }

    pub(crate) fn settle(&self, receipt: &Receipt, actual: u64) -> Result<(), Fault> {
        if receipt.number != self.number {
            let text = "the receipt is another limiter's; settle it at the one that gave it";
            return Err(Fault::new(Code::BadReceipt, text));
        }
        if receipt.is_settled.swap(true, Relaxed) {
            let text = "the receipt was settled before; charge or refund what has changed since";
            return Err(Fault::new(Code::BadReceipt, text));
        }
        match (&self.source, &receipt.charged) {
            (Source::Here(limiter), Charged::Here(charged)) => limiter.settle(charged, actual),
            (Source::Lent(client), Charged::Lent(charged)) => client.settle(charged, actual),
            // A number is of one limiter, which gives one kind.
            (Source::Here(_), Charged::Lent(_)) | (Source::Lent(_), Charged::Here(_)) => {}
        }
        Ok(())
    }

    pub(crate) fn charge(&self, key: &Checked<'_>, cost: u64) -> Result<(), Fault> {
        self.here("charge")?.charge(key.as_key(), cost);
        Ok(())
    }

    pub(crate) fn refund(&self, key: &Checked<'_>, cost: u64) -> Result<(), Fault> {
        self.here("refund")?.refund(key.as_key(), cost);
        Ok(())
    }

    pub(crate) fn reset(&self, key: &Checked<'_>) -> Result<(), Fault> {
        self.here("reset")?.reset(key.as_key());
        Ok(())
    }

    /// Gives back what is held of a key, where anything is lent at all.
    pub(crate) fn release(&self, key: &Checked<'_>) {
        if let Source::Lent(client) = &self.source {
            client.release(key.as_key());
        }
    }

    fn here(&self, what: &str) -> Result<&tollgate_client::Limiter, Fault> {
        match &self.source {
            Source::Here(limiter) => Ok(limiter),
            Source::Lent(_) => {
                let text = format!("a limiter by leases cannot {what}; ask a node by HTTP or RESP");
                Err(Fault::new(Code::Unsupported, text))
            }
        }
    }
}

fn lent(client: &Client, key: &Checked<'_>, outcome: &Outcome) -> Answer {
    let held = client.inspect(key.as_key());
    Answer::lent(outcome, held.map_or(0, |held| held.tokens))
}

/// What is held of a key: nobody is asked, so that nothing is charged.
fn peek(client: &Client, key: &Checked<'_>) -> Answer {
    let tokens = client.inspect(key.as_key()).map_or(0, |held| held.tokens);
    let outcome = Outcome {
        is_allowed: tokens > 0,
        path: DecisionPath::Lease,
        wait: Span::ZERO,
        retry_after: None,
        receipt: None,
        node: None,
    };
    Answer::lent(&outcome, tokens)
}

fn fault(error: &LimiterError) -> Fault {
    let text = match error {
        LimiterError::NeedsCompany {
            contract,
            policy,
            wish,
        } => format!(
            "policy `{policy}` of contract `{contract}` asks for {wish}, which a limiter in a process does not have: ask a \
             node, or set `alone` to count in this process only"
        ),
        other => other.to_string(),
    };
    let code = match error {
        LimiterError::Policy(_) | LimiterError::Contract(_) => Code::BadContract,
        LimiterError::File(_) => Code::File,
        LimiterError::NeedsCompany { .. } => Code::NeedsCompany,
        LimiterError::NoRandomness(_) => Code::Machine,
    };
    Fault::new(code, text)
}

/// The number of the next limiter.
static NEXT: AtomicU64 = AtomicU64::new(1);
