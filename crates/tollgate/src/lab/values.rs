//! Values of the lab's options: durations, rates, shares and names, parsed exactly.
//!
//! Not here: which option takes which, and what they mean together.

use tollgate_contract::nearest;
use tollgate_gossip::{Bucket, Ratio};
use tollgate_kit::gcd;
use tollgate_lab::Contender;
use tollgate_limit::Span;

/// Tokens regained per `per_ns` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refill {
    pub tokens: u64,
    pub per_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Millionths(pub u32);

/// A ratio, with its spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Beta {
    pub ratio: Ratio,
    pub text: String,
}

/// Designs in the order given; each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Designs(pub Vec<Contender>);

/// `300ms`, `2.4s`, `1min`; a duration without a unit is refused unless it is zero.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    let split = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let (over, under) = fraction(number).ok_or_else(|| bad_span(text))?;
    if over == 0 && unit.is_empty() {
        return Ok(Span::ZERO);
    }
    let unit_ns = unit_ns(unit).ok_or_else(|| bad_span(text))?;
    let nanos = over
        .checked_mul(u128::from(unit_ns))
        .ok_or_else(|| bad_span(text))?
        / under;
    if nanos > SPAN_NS_MAX {
        return Err("longer than 10 years".to_owned());
    }
    Ok(Span::from_nanos(nanos))
}

/// `0.3` (per second), `1/3`, `18/min`, `3/10s`.
pub(crate) fn refill(text: &str) -> Result<Refill, String> {
    let bad =
        || format!("{text:?} is not a rate; write 0.3 (tokens per second), 1/3, 18/min or 3/10s");
    let mut parts = text.split('/').map(str::trim);
    let number = parts.next().ok_or_else(bad)?;
    let (mut over, mut under) = fraction(number).ok_or_else(bad)?;
    let mut per = u128::from(SECOND_NS);
    let rest: Vec<&str> = parts.collect();
    let (divisor, time) = match *rest.as_slice() {
        [] => (None, None),
        [one] if fraction(one).is_some() => (Some(one), None),
        [one] => (None, Some(one)),
        [divisor, time] => (Some(divisor), Some(time)),
        _ => return Err(bad()),
    };
    if let Some(divisor) = divisor {
        let (more, less) = fraction(divisor)
            .filter(|(over, _)| *over > 0)
            .ok_or_else(bad)?;
        over = over.checked_mul(less).ok_or_else(bad)?;
        under = under.checked_mul(more).ok_or_else(bad)?;
    }
    if let Some(time) = time {
        let one = unit_ns(time).map(u128::from);
        per = one
            .or_else(|| span(time).ok().map(Span::as_nanos))
            .ok_or_else(bad)?;
    }
    let per = per.checked_mul(under).ok_or_else(bad)?;
    if over == 0 {
        return Err(
            "a bucket that regains nothing never opens again; give a rate above 0".to_owned(),
        );
    }
    let shared = gcd(over, per);
    let fit = |value: u128| u64::try_from(value / shared).ok();
    let (tokens, per_ns) = fit(over)
        .zip(fit(per))
        .ok_or_else(|| format!("{text} is too fine"))?;
    let refill = Refill { tokens, per_ns };
    Bucket::new(1, tokens, per_ns).map_err(|error| error.to_string())?;
    Ok(refill)
}

/// `5%` or `0.05`, up to `100%`.
pub(crate) fn share(text: &str) -> Result<Millionths, String> {
    let bad = || format!("{text:?} is not a share; write 5% or 0.05");
    let (number, percent) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (text, false),
    };
    let (over, under) = fraction(number).ok_or_else(bad)?;
    let whole = if percent { 10_000 } else { 1_000_000 };
    let millionths = over.checked_mul(whole).ok_or_else(bad)? / under;
    match u32::try_from(millionths) {
        Ok(millionths) if millionths <= 1_000_000 => Ok(Millionths(millionths)),
        _ if !percent => Err(format!(
            "{text} is more than all; {text} percent is {text}%"
        )),
        _ => Err(format!("{text} is more than all")),
    }
}

/// `1.25` or `5/4`, with its spelling.
pub(crate) fn beta(text: &str) -> Result<Beta, String> {
    let ratio = ratio(text)?;
    let text = text.to_owned();
    Ok(Beta { ratio, text })
}

/// `1.25` or `5/4`.
fn ratio(text: &str) -> Result<Ratio, String> {
    let bad = || format!("{text:?} is not a ratio; write 1.25 or 5/4");
    let (over, under) = match text.split_once('/') {
        None => fraction(text).ok_or_else(bad)?,
        Some((over, under)) => {
            let (over, less) = fraction(over).ok_or_else(bad)?;
            let (under, more) = fraction(under)
                .filter(|(under, _)| *under > 0)
                .ok_or_else(bad)?;
            let cross = |a: u128, b: u128| a.checked_mul(b);
            cross(over, more).zip(cross(under, less)).ok_or_else(bad)?
        }
    };
    let shared = gcd(over, under).max(1);
    let fit =
        |value: u128| u32::try_from(value / shared).map_err(|_| format!("{text} is too fine"));
    let (over, under) = (fit(over)?, fit(under)?);
    if u64::from(over) > 1000 * u64::from(under) {
        return Err("more than 1000 shares".to_owned());
    }
    Ok(Ratio::new(over, under))
}

/// `counter,links`, or `all`.
pub(crate) fn designs(text: &str) -> Result<Designs, String> {
    let mut designs = Vec::new();
    for name in text.split(',').map(str::trim) {
        let named = match name {
            "all" => Contender::all(),
            name => vec![Contender::named(name).ok_or_else(|| unknown_design(name))?],
        };
        for design in named {
            if !designs.contains(&design) {
                designs.push(design);
            }
        }
    }
    Ok(Designs(designs))
}

fn unknown_design(name: &str) -> String {
    let designs = Contender::all().into_iter().chain(Contender::OTHERS);
    let names: Vec<&str> = designs.map(Contender::name).chain(["all"]).collect();
    let near = nearest(name, names.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
    format!(
        "no design is called {name:?}; {near}there are {}",
        names.join(", ")
    )
}

/// A decimal number as a fraction; `None` for anything else, and beyond eighteen digits.
fn fraction(text: &str) -> Option<(u128, u128)> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{part}");
    if digits.is_empty()
        || digits.len() > DIGITS_MAX
        || !digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let under = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    Some((digits.parse().ok()?, under))
}

fn unit_ns(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" => 1000,
        "ms" => 1_000_000,
        "s" | "sec" | "second" => SECOND_NS,
        "m" | "min" | "minute" => 60 * SECOND_NS,
        "h" | "hour" => 3600 * SECOND_NS,
        "d" | "day" => 86_400 * SECOND_NS,
        _ => return None,
    })
}

fn bad_span(text: &str) -> String {
    format!("{text:?} is not a length of time; write 300ms, 2.4s or 5min")
}

const SECOND_NS: u64 = 1_000_000_000;
const SPAN_NS_MAX: u128 = 315_576_000 * SECOND_NS as u128;
const DIGITS_MAX: usize = 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn rate(text: &str, tokens: u64, per_ns: u64) {
        assert_eq!(refill(text), Ok(Refill { tokens, per_ns }), "{text}");
    }

    #[test]
    fn rates_are_exact() {
        rate("0.3", 3, 10_000_000_000);
        rate("1/3", 1, 3_000_000_000);
        rate("18/min", 3, 10_000_000_000);
        rate("3/10s", 3, 10_000_000_000);
        rate("1/3/min", 1, 180_000_000_000);
        rate("2", 1, 500_000_000);
        rate("0.1/0.3", 1, 3_000_000_000);
        for bad in [
            "",
            "x",
            "1/",
            "/s",
            "1/0",
            "-1",
            "1e3",
            "1/s/s",
            "0",
            "0.0",
            "1/0s",
            "1/2/3/s",
            "99999999999999999999",
        ] {
            assert!(refill(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_have_units() {
        let nanos = |text| span(text).map(Span::as_nanos);
        assert_eq!(nanos("300ms"), Ok(300_000_000));
        assert_eq!(nanos("2.4s"), Ok(2_400_000_000));
        assert_eq!(nanos("0"), Ok(0));
        for bad in ["300", "ms", "-1s", "1 s", "1y", "", "1.s.", "99999999d"] {
            assert!(nanos(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shares_are_parts_of_all() {
        assert_eq!(share("5%"), Ok(Millionths(50_000)));
        assert_eq!(share("0.05"), Ok(Millionths(50_000)));
        assert_eq!(share("100%"), Ok(Millionths(1_000_000)));
        assert_eq!(share("0"), Ok(Millionths(0)));
        for bad in ["5", "101%", "-1%", "%", "", "a", "1.1"] {
            assert!(share(bad).is_err(), "{bad}");
        }
        assert!(share("5").is_err_and(|text| text.contains("5%")));
    }

    #[test]
    fn ratios_are_kept_as_they_are_written() {
        assert_eq!(ratio("1.25"), Ok(Ratio::new(5, 4)));
        assert_eq!(ratio("5/4"), Ok(Ratio::new(5, 4)));
        assert_eq!(ratio("0"), Ok(Ratio::new(0, 1)));
        for bad in ["1/0", "x", "", "1001", "-1"] {
            assert!(ratio(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_that_is_almost_right_is_recognised() {
        let all = designs("counter,all").map(|designs| designs.0.len());
        assert_eq!(all, Ok(Contender::all().len()));
        assert!(designs("qeue").is_err_and(|text| text.contains("did you mean queue?")));
    }
}
