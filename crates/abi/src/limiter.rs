//! What a handle stands for.
//!
//! Not here: pointers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tollgate_client::{Contracts, LimiterConfig, LimiterError, SystemClock, WhenFull};

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

/// A limiter. Any number of threads may use one at the same time.
#[derive(Debug)]
pub struct Limiter {
    limiter: tollgate_client::Limiter,
    /// By which receipts know it.
    number: u64,
}

/// What a request was charged, to be settled at the real cost. Any thread may settle and free it.
#[derive(Debug)]
pub struct Receipt {
    charged: tollgate_client::Receipt,
    /// The limiter's.
    number: u64,
    is_settled: AtomicBool,
}

impl Limiter {
    pub(crate) fn from_text(text: &str, options: Options) -> Result<Self, Fault> {
        let contracts = Contracts::parse(text)
            .map_err(|error| Fault::new(Code::BadContract, error.to_string()))?;
        let limiter =
            tollgate_client::Limiter::with(contracts, options.config(), SystemClock::new())
                .map_err(|error| fault(&error))?;
        let number = NEXT.fetch_add(1, Relaxed);
        Ok(Self { limiter, number })
    }

    pub(crate) fn check(&self, key: &Checked<'_>, cost: u64) -> Answer {
        let answer = self.limiter.check(key.as_key(), cost);
        Answer::of(&self.limiter, &answer)
    }

    /// The same, with a receipt where the request passes.
    pub(crate) fn reserve(&self, key: &Checked<'_>, cost: u64) -> (Answer, Option<Receipt>) {
        let answer = self.limiter.check(key.as_key(), cost);
        let told = Answer::of(&self.limiter, &answer);
        let receipt = answer.is_allowed().then_some(Receipt {
            charged: answer.receipt,
            number: self.number,
            is_settled: AtomicBool::new(false),
        });
        (told, receipt)
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
        self.limiter.settle(&receipt.charged, actual);
        Ok(())
    }

    pub(crate) fn charge(&self, key: &Checked<'_>, cost: u64) {
        self.limiter.charge(key.as_key(), cost);
    }

    pub(crate) fn refund(&self, key: &Checked<'_>, cost: u64) {
        self.limiter.refund(key.as_key(), cost);
    }

    pub(crate) fn reset(&self, key: &Checked<'_>) {
        self.limiter.reset(key.as_key());
    }
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
