use tollgate::report::*;
fn main() {
    let label = |c: &str, n: &str| PolicyLabel { contract: c.into(), name: n.into() };
    let labels = vec![label("free-users", "burst"), label("free-users", "hourly"), label("free-users", "monthly"), label("whole-api", "ceiling")];
    let mut s = Summary::new(labels.clone());
    let mut x = 88172645463325252u64;
    let mut roll = || { x ^= x << 13; x ^= x >> 7; x ^= x << 17; x };
    let n: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1_200_000);
    let mut lines = Lines::new(std::io::sink(), &labels);
    use tollgate::report::lines::Lines;
    let t = std::time::Instant::now();
    for i in 0..n {
        let p = i as f64 / n as f64;
        let time_ms = 1_700_000_000_000 + (p * 10_800_000.0 + 400_000.0 * (p * 18.0).sin()) as u64;
        let r = roll() % 1000;
        let hot = if (0.33..0.52).contains(&p) { 150 } else if p > 0.8 { 40 } else { 4 };
        let user = if roll() % 3 == 0 { roll() % 7 } else { roll() % 3000 };
        let (verdict, policy) = if r < hot { (Verdict::Denied { retry_after_ns: if r == 1 { None } else { Some((roll() % 900_000_000) as u128 ) }}, Some(if p > 0.8 { 1 } else { 0 })) }
            else if r < hot + hot / 3 { (Verdict::Delayed { wait_ns: (roll() % 12_000_000) as u128 }, Some(3)) }
            else if r > 985 { (Verdict::Unmatched, None) } else { (Verdict::Allowed, None) };
        let key = format_args!("user={} route=/tiles/<{}>", user, user % 5).to_string();
        let o = Outcome { time_ms, cost: 1 + r % 3, verdict, policy, remaining: Some(r), key: &key };
        s.add(&o);
        if std::env::args().nth(2).is_some() { lines.add(&o).unwrap(); }
    }
    eprintln!("{:?}", t.elapsed() / (n as u32));
    for _ in 0..3 { s.skip(); }
    let c = Caption { trace: "edge-2023-11-14.csv", contracts: "contracts/free.yaml" };
    write_whole(std::path::Path::new("/tmp/replay.html"), html::page(&s, c).as_bytes()).unwrap();
    print!("{}", human::report(&s, c, Look { colour: std::env::var("C").is_ok(), width: 96 }));
}
