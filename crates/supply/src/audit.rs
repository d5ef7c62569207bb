//! The invariants, checked over all machines of a world at one instant.
//!
//! Not here: the envelope of admissions, which a world replays through a bucket of its own.

use tollgate_gossip::{ModeKey, NodeId};
use tollgate_limit::Instant;

use crate::figures::Inspection;
use crate::limits::Limits;
use crate::loans::{BookedLoan, Borrowed};
use crate::machine::Machine;
use crate::setup::Boot;

/// What a machine that runs says of a key at an instant, and how its clock relates to the truth.
#[derive(Clone)]
pub struct Witness<'a> {
    me: NodeId,
    boot: Boot,
    seen: Inspection,
    lent: Vec<BookedLoan>,
    borrowed: Vec<Borrowed>,
    /// From when on its home is valid.
    from: Instant,
    now: Instant,
    truth: &'a dyn Fn(Instant) -> i128,
}

impl<'a> Witness<'a> {
    /// Asks a machine whose clock shows `now`; `truth` is the true time, in nanoseconds, at which it shows an instant.
    pub fn of(
        machine: &Machine,
        key: ModeKey,
        now: Instant,
        truth: &'a dyn Fn(Instant) -> i128,
    ) -> Self {
        let (seen, lent, borrowed, from) = machine.books(key, now);
        Self {
            me: machine.me(),
            boot: machine.boot(),
            seen,
            lent,
            borrowed,
            from,
            now,
            truth,
        }
    }

    /// What the node may use.
    pub fn usable(&self) -> u64 {
        self.seen.usable
    }
}

/// What holds at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// What all nodes may use together.
    pub usable: u64,
    /// Tokens that all nodes have together, debts not taken off.
    pub tokens: u128,
    /// Loans that were compared.
    pub loans: u64,
}

/// An invariant that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenInvariant {
    /// All nodes together may use more than there is.
    Over {
        /// What they may use.
        usable: u128,
        /// What there is.
        rate: u64,
    },
    /// All nodes together can hold more tokens than the burst.
    Deep {
        /// What they can hold.
        depth: u128,
        /// What may be held.
        burst: u128,
    },
    /// A borrower counts on more than the lender's record says.
    Uncovered {
        /// Who lent.
        lender: NodeId,
        /// Who borrowed.
        borrower: NodeId,
        /// What the borrower counts on.
        amount: u64,
        /// What the lender knows of.
        record: u64,
    },
    /// A borrower counts on a loan for longer than the lender does.
    Outlives {
        /// Who lent.
        lender: NodeId,
        /// Who borrowed.
        borrower: NodeId,
        /// By how many nanoseconds.
        by: i128,
    },
}

/// Checks one key over all machines that run. `rate` and `burst` (in requests) are the largest in force.
pub fn audit(witnesses: &[Witness<'_>], rate: u64, burst: u64) -> Result<Audit, BrokenInvariant> {
    let mut audit = Audit::default();
    let (mut usable, mut depth) = (0_u128, 0_u128);
    for Witness { seen, .. } in witnesses {
        usable += u128::from(seen.usable);
        depth += seen.depth;
        audit.tokens += u128::try_from(seen.tokens).unwrap_or(0);
    }
    if usable > u128::from(rate) {
        return Err(BrokenInvariant::Over { usable, rate });
    }
    let burst = Limits::tokens(burst);
    if depth > burst {
        return Err(BrokenInvariant::Deep { depth, burst });
    }
    audit.usable = u64::try_from(usable).unwrap_or(u64::MAX);
    for borrower in witnesses {
        for loan in &borrower.borrowed {
            let lender = witnesses.iter().find(|witness| witness.me == loan.from);
            if let Some(lender) = lender {
                compare(lender, borrower, loan)?;
                audit.loans += 1;
            }
        }
    }
    Ok(audit)
}

/// Compares both books of one loan. A lender that has restarted has no book, but must not use its home before the loan
/// ends.
fn compare(
    lender: &Witness<'_>,
    borrower: &Witness<'_>,
    loan: &Borrowed,
) -> Result<(), BrokenInvariant> {
    let is_it = |lent: &&BookedLoan| lent.seq == loan.seq && lent.to == borrower.me;
    let is_same = lender.boot == loan.boot;
    let record = lender.lent.iter().find(is_it).filter(|_| is_same);
    let (amount, until) = match record {
        Some(lent) => (lent.amount(), lent.until),
        None if !is_same => (loan.amount(), lender.from),
        None => (0, lender.now),
    };
    if loan.amount() > amount {
        return Err(BrokenInvariant::Uncovered {
            lender: lender.me,
            borrower: borrower.me,
            amount: loan.amount(),
            record: amount,
        });
    }
    let by = (borrower.truth)(loan.until) - (lender.truth)(until);
    if loan.amount() > 0 && by >= 0 {
        return Err(BrokenInvariant::Outlives {
            lender: lender.me,
            borrower: borrower.me,
            by,
        });
    }
    Ok(())
}
