//! What machines say they hold in memory, against what the process takes. Alone in its program, as it looks at all of
//! that.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a broken set-up must stop the test"
)]

mod flooded;

use flooded::{KEYS, flooded};

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn what_machines_say_they_hold_is_about_what_the_process_takes() {
    // Nothing is given back before the end, so that it is not taken again.
    let mut all = Vec::new();
    for name in ["segments", "home", "window"] {
        // Silent keys, of which the other node has copies, and keys that were published to it.
        for cost in [1, 10] {
            let before = resident();
            let (one, other, _) = flooded(name, cost);
            let taken = resident() - before;
            let said = one.held() + other.held();
            println!(
                "{name} {cost}: {} B a key taken, {} + {} said, {} keys there, {:?}",
                taken / KEYS,
                one.held() / KEYS,
                other.held() / KEYS,
                other.keys_count(),
                other.footprint()
            );
            all.push((one, other));
            assert!(said * 10 >= taken * 9, "{name} {cost}: {said} of {taken}");
            assert!(said * 10 <= taken * 17, "{name} {cost}: {said} of {taken}");
        }
    }
}
