//! What is asked of each feature, and what the answers must be.
//!
//! A bucket of eighty comes back in thirty days, so that nothing does while a test runs. Under modes that begin with
//! nothing a reset fills it first; where nodes divide it, the node that is asked has its part. Not here: nodes.

use std::time::{Duration, Instant};

use tollgate_contract::{Coordination, Feature};

use super::pair::{Pair, PairAct, PairAnswer, Stand};

/// Plans that keys may be on.
pub(crate) const PLANS: &str = "\
plans:
- { id: free, policies: [{ name: p, limit: 80, per: 30d }] }
- { id: pro, policies: [{ name: p, limit: 120, per: 30d }] }
";

/// A contract whose keys have owners, by which processes get to know each other.
pub(crate) const MEET: &str = "\
- { id: meet, match: { f: meet }, key: [user], policies: [{ name: p, limit: 80, per: 30d, coordination: owner }] }
";

/// The contracts that a feature is asked for by.
pub(crate) fn contracts(feature: Feature, id: &str, mode: &str) -> String {
    let one = |id: &str, what: &str| {
        format!(
            "- {{ id: {id}, match: {{ f: {of} }}, key: [user], {what} }}\n",
            of = id_of(id)
        )
    };
    let bucket = "limit: 80, per: 30d";
    let policies = |more: &str| format!("policies: [{{ name: p, {more}, {mode} }}]");
    match feature {
        Feature::SeveralPolicies => one(
            id,
            &format!(
                "policies: [{{ name: p, {bucket}, {mode} }}, {{ name: q, limit: 40, per: 30d, {mode} }}]"
            ),
        ),
        Feature::SeveralContracts => {
            one(id, &policies(bucket))
                + &one(&format!("{id}.too"), &policies("limit: 60, per: 30d"))
        }
        Feature::Plan | Feature::Overrides => {
            let (coordination, fields) = mode.split_once(", ").unwrap_or((mode, ""));
            let fields = match fields {
                "" => String::new(),
                fields => format!(", policies: [{{ name: p, {fields} }}]"),
            };
            one(id, &format!("{coordination}, plan: free{fields}"))
        }
        Feature::Waiting => one(
            id,
            &format!(
                "policies: [{{ name: p, limit: 80, per: 8s, burst: 20, on_limit: delay, max_wait: 2s, {mode} }}, {{ name: q, \
                 limit: 8000, per: 30d, {mode} }}]"
            ),
        ),
        Feature::Charge => one(id, &policies(&format!("{bucket}, max_debt: 50"))),
        Feature::Percent => one(id, &policies(&format!("{bucket}, enforce_percent: 50"))),
        Feature::CountRefused => one(id, &policies(&format!("{bucket}, count_refused: true"))),
        Feature::Durable => one(id, &policies(&format!("{bucket}, durable: true"))),
        Feature::Algorithm(algorithm) => one(
            id,
            &policies(&format!("{bucket}, algorithm: {}", algorithm.name())),
        ),
        _ => one(id, &policies(bucket)),
    }
}

/// What a key says to be bound by the contracts of a feature.
fn id_of(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

/// A feature that is asked for, of two nodes under one mode.
pub(crate) struct Case<'a> {
    pair: &'a mut dyn Pair,
    mode: Coordination,
    id: &'a str,
    user: String,
}

/// Asks for a feature.
pub(crate) fn ask(case: &mut Case<'_>, feature: Feature) {
    match feature {
        Feature::Algorithm(_) => algorithm(case),
        Feature::SeveralPolicies => several_policies(case),
        Feature::SeveralContracts => several_contracts(case),
        Feature::Plan => plan(case),
        Feature::Overrides => overrides(case),
        Feature::Waiting => waiting(case),
        Feature::Reserve => reserve(case),
        Feature::Settle => settle(case),
        Feature::Charge => charge(case),
        Feature::Refund => refund(case),
        Feature::Reset => reset(case),
        Feature::Durable => durable(case),
        Feature::Ids => ids(case),
        Feature::LiveChange => live_change(case),
        Feature::Percent => percent(case),
        Feature::CountRefused => count_refused(case),
        Feature::Peek => peek(case),
        Feature::Explain => explain(case),
    }
}

impl<'a> Case<'a> {
    pub(crate) fn new(pair: &'a mut dyn Pair, mode: Coordination, id: &'a str) -> Self {
        Self {
            pair,
            mode,
            id,
            user: "ann".to_owned(),
        }
    }

    fn act(&mut self, node: usize, act: PairAct<'_>) -> PairAnswer {
        let key = [("f", self.id), ("user", &*self.user)];
        self.pair.act(node, &key, act)
    }

    /// Does something that passes at once, at the first node.
    #[track_caller]
    fn does(&mut self, act: PairAct<'_>) {
        let done = self.act(0, act);
        let context = self.context();
        assert!(done.is_done, "{act:?} {context}");
    }

    #[track_caller]
    fn refuses(&mut self, act: PairAct<'_>) {
        let done = self.act(0, act);
        let context = self.context();
        assert!(!done.is_done, "{act:?} {context}");
    }

    fn context(&mut self) -> String {
        let stands = [self.stands(0), self.stands(1)];
        format!(
            "{} under {}, {}: {stands:?}",
            self.id,
            self.mode.name(),
            self.pair.what()
        )
    }

    fn stands(&mut self, node: usize) -> Vec<Stand> {
        let key = [("f", self.id), ("user", &*self.user)];
        self.pair.stands(node, &key)
    }

    /// How many tokens each policy has left at the first node.
    fn left(&mut self) -> Vec<u64> {
        self.stands(0).iter().map(|stand| stand.remaining).collect()
    }

    /// Has full buckets at the first node; how much they hold.
    #[track_caller]
    fn fill(&mut self) -> Vec<u64> {
        let begins_empty = matches!(
            self.mode,
            Coordination::Supply | Coordination::Split | Coordination::Lease
        );
        let is_full = |left: &[u64]| left.iter().all(|left| *left >= 10);
        self.eventually("full buckets", |case| {
            if begins_empty && !is_full(&case.left()) {
                case.act(0, PairAct::Check(1));
                case.act(0, PairAct::Reset);
            }
            is_full(&case.left())
        });
        self.left()
    }

    /// So much is left at the first node; at the other too, where they share it.
    #[track_caller]
    fn has(&mut self, left: &[u64]) {
        let context = self.context();
        assert_eq!(self.left(), left, "{context}");
        if self.pair.shares(self.mode) {
            self.eventually(&format!("the other knows that {left:?} are left"), |case| {
                let there: Vec<u64> = case.stands(1).iter().map(|stand| stand.remaining).collect();
                there == left
            });
        }
    }

    /// So much is owed; some modes round down what is, and a moment has passed.
    #[track_caller]
    fn owes(&mut self, debt: u64) {
        let stand = self.stands(0)[0].clone();
        let is_so = stand.debt == debt || stand.debt + 1 == debt;
        assert!(is_so && stand.remaining == 0, "{debt}: {}", self.context());
    }

    #[track_caller]
    fn eventually(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            let context = self.context();
            assert!(begun.elapsed() < PATIENCE, "never {what}: {context}");
            self.pair.pass();
        }
    }
}

/// Bounds a failure only.
const PATIENCE: Duration = Duration::from_secs(20);

fn algorithm(case: &mut Case<'_>) {
    let full = case.fill()[0];
    case.does(PairAct::Check(6));
    case.has(&[full - 6]);
    let mut passed = 6;
    while case.act(0, PairAct::Check(2)).is_done {
        passed += 2;
        assert!(passed <= 200, "{}", case.context());
    }
    assert_eq!(passed, full - full % 2, "{}", case.context());
    if case.mode == Coordination::Sync {
        // It hears of that when it has spent some too.
        case.eventually("the other refuses", |case| {
            !case.act(1, PairAct::Check(1)).is_done
        });
    }
    if case.pair.ends(case.mode) {
        case.eventually("the other has none", |case| {
            case.stands(1)[0].remaining == 0
        });
        assert!(
            !case.act(1, PairAct::Check(1)).is_done,
            "{}",
            case.context()
        );
    }
}

fn several_policies(case: &mut Case<'_>) {
    let full = case.fill();
    case.does(PairAct::Check(5));
    case.has(&[full[0] - 5, full[1] - 5]);
    // More than the second has: nothing is taken of the first.
    case.refuses(PairAct::Check(full[1]));
    case.has(&[full[0] - 5, full[1] - 5]);
}

fn several_contracts(case: &mut Case<'_>) {
    let full = case.fill();
    assert_eq!(full.len(), 2, "{}", case.context());
    case.does(PairAct::Check(6));
    case.has(&[full[0] - 6, full[1] - 6]);
    case.refuses(PairAct::Check(full[1]));
    case.has(&[full[0] - 6, full[1] - 6]);
}

fn plan(case: &mut Case<'_>) {
    let text = format!(
        "{{ identity: user=pro-{id}, contract: {id}, plan: pro }}",
        id = case.id
    );
    own_terms(case, &text, "pro", 120);
}

fn overrides(case: &mut Case<'_>) {
    let text = format!(
        "{{ identity: user=own-{id}, contract: {id}, overrides: [{{ name: p, limit: 100 }}] }}",
        id = case.id
    );
    own_terms(case, &text, "own", 100);
}

/// A key has other terms than the others, from the beginning and from some time on.
fn own_terms(case: &mut Case<'_>, assignment: &str, whose: &str, limit: u64) {
    let full = case.fill()[0];
    case.does(PairAct::Check(6));
    case.has(&[full - 6]);
    case.pair.assign(assignment);
    case.user = format!("{whose}-{}", case.id);
    case.eventually("other terms", |case| case.stands(0)[0].limit == limit);
    case.eventually("other terms there", |case| case.stands(1)[0].limit == limit);
    case.does(PairAct::Check(6));
    case.has(&[limit - 6]);
    "ann".clone_into(&mut case.user);
    case.has(&[full - 6]);
    // The first key comes under them too, with what it has used.
    case.pair
        .assign(&assignment.replacen(&format!("user={whose}-{}", case.id), "user=ann", 1));
    case.eventually("other terms", |case| case.stands(0)[0].limit == limit);
    if matches!(
        case.mode,
        Coordination::Gossip | Coordination::Sync | Coordination::Supply | Coordination::Split
    ) {
        // With what its owner knows of that.
        assert!(case.left()[0] <= limit, "{}", case.context());
    } else {
        case.has(&[limit - 6]);
    }
}

fn waiting(case: &mut Case<'_>) {
    case.eventually("full buckets", |case| {
        if case.left()[1] < 100 {
            case.act(0, PairAct::Check(1));
            case.act(0, PairAct::Reset);
        }
        let left = case.left();
        left[0] >= 10 && left[1] >= 100
    });
    let full = case.left()[1];
    let (mut taken, mut waited) = (0, 0);
    loop {
        let PairAnswer { is_done, wait_ms } = case.act(0, PairAct::Check(2));
        if !is_done {
            break;
        }
        taken += 2;
        assert!(wait_ms <= 2_000, "{}", case.context());
        waited += u32::from(wait_ms > 0);
        assert!(taken < 200, "{}", case.context());
    }
    assert!(waited > 0, "{waited} waited; {}", case.context());
    assert_eq!(case.left()[1], full - taken, "the other was charged");
}

fn reserve(case: &mut Case<'_>) {
    let full = case.fill()[0];
    let id = |what: &str| format!("{what}-{}", case.id);
    let (first, second) = (id("first"), id("second"));
    case.does(PairAct::Reserve(&first, 6));
    case.has(&[full - 6]);
    case.does(PairAct::Commit(&first, 4));
    case.has(&[full - 4]);
    case.does(PairAct::Commit(&first, 4));
    case.refuses(PairAct::Commit(&first, 5));
    case.does(PairAct::Reserve(&second, 5));
    case.has(&[full - 9]);
    case.does(PairAct::Cancel(&second));
    case.has(&[full - 4]);
}

fn settle(case: &mut Case<'_>) {
    let full = case.fill()[0];
    case.does(PairAct::Check(6));
    case.does(PairAct::Settle(9));
    case.has(&[full - 9]);
    case.does(PairAct::Check(6));
    case.does(PairAct::Settle(2));
    case.has(&[full - 11]);
}

fn charge(case: &mut Case<'_>) {
    let full = case.fill()[0];
    case.does(PairAct::Charge(full + 20));
    case.owes(20);
    case.refuses(PairAct::Check(1));
    case.does(PairAct::Charge(100));
    case.owes(50);
    case.has(&[0]);
}

fn refund(case: &mut Case<'_>) {
    let full = case.fill()[0];
    case.does(PairAct::Check(6));
    case.does(PairAct::Refund(4));
    case.has(&[full - 2]);
}

fn reset(case: &mut Case<'_>) {
    let full = case.fill()[0];
    case.does(PairAct::Check(6));
    case.has(&[full - 6]);
    case.does(PairAct::Reset);
    if matches!(case.mode, Coordination::Supply | Coordination::Split) {
        // Its part may have grown.
        assert!(case.left()[0] >= full, "{}", case.context());
    } else {
        case.has(&[full]);
    }
}

fn durable(case: &mut Case<'_>) {
    let full = case.fill()[0];
    case.does(PairAct::Check(6));
    case.has(&[full - 6]);
    case.pair.restart(0);
    // A clean stop tells the others everything and is then written: nothing counts twice.
    case.eventually("the counts are there", |case| case.left() == [full - 6]);
    case.has(&[full - 6]);
}

fn ids(case: &mut Case<'_>) {
    let full = case.fill()[0];
    let id = |what: &str| format!("{what}-{}", case.id);
    let (check, charge, refund) = (id("check"), id("charge"), id("refund"));
    for _ in 0..2 {
        case.does(PairAct::CheckOnce(&check, 6));
        case.does(PairAct::ChargeOnce(&charge, 3));
        case.does(PairAct::RefundOnce(&refund, 2));
        case.has(&[full - 7]);
    }
}

fn live_change(case: &mut Case<'_>) {
    let full = case.fill()[0];
    case.does(PairAct::Check(6));
    case.has(&[full - 6]);
    let (id, mode) = (case.id, super::written(case.mode));
    let contract = format!(
        "{{ id: {id}, match: {{ f: {id} }}, key: [user], policies: [{{ name: p, limit: 60, per: 30d, {mode} }}] }}"
    );
    case.pair.change(id, &contract);
    case.eventually("another limit", |case| case.stands(0)[0].limit == 60);
    let left = case.left()[0];
    match case.mode {
        // Begins anew.
        Coordination::Gossip => assert_eq!(left, 60),
        Coordination::Split => assert_eq!(left, 0),
        // What is left stays, as far as the bucket holds it.
        Coordination::Supply => assert!(left <= 60, "{}", case.context()),
        Coordination::Lease | Coordination::Sync => assert_eq!(left, 60, "{}", case.context()),
        // By `inherit`.
        _ => assert_eq!(left, 54, "{}", case.context()),
    }
}

fn percent(case: &mut Case<'_>) {
    // More than there ever is passes where the policy only watches, at both nodes.
    let (mut bound, mut watched) = (0, 0);
    for user in 0..24 {
        case.user = format!("u{user}");
        let key = [("f", case.id), ("user", &*case.user)];
        let enforced = [0, 1].map(|node| case.pair.foresees(node, &key, 1)[0].is_enforced);
        assert_eq!(enforced[0], enforced[1], "{}", case.user);
        let done = case.act(0, PairAct::Check(1_000));
        assert_eq!(done.is_done, !enforced[0], "{}", case.context());
        *(if enforced[0] {
            &mut bound
        } else {
            &mut watched
        }) += 1;
    }
    assert!(bound > 2 && watched > 2, "{bound} {watched}");
}

fn count_refused(case: &mut Case<'_>) {
    let full = case.fill()[0];
    for _ in 0..full / 2 {
        case.does(PairAct::Check(2));
    }
    assert_eq!(case.left(), [full % 2], "{}", case.context());
    case.refuses(PairAct::Check(2));
    case.owes(2 - full % 2);
}

fn peek(case: &mut Case<'_>) {
    let full = case.fill()[0];
    for _ in 0..3 {
        case.does(PairAct::Check(0));
        assert_eq!(case.stands(1).len(), 1);
        case.has(&[full]);
    }
}

fn explain(case: &mut Case<'_>) {
    let full = case.fill()[0];
    let key = [("f", case.id), ("user", &*case.user)];
    for (cost, passes) in [(6, true), (1_000, false)] {
        let said = case.pair.foresees(0, &key, cost);
        assert_eq!(said.len(), 1);
        assert_eq!(
            (said[0].is_enforced, said[0].is_allowed),
            (true, passes),
            "{}",
            case.context()
        );
    }
    case.has(&[full]);
}
