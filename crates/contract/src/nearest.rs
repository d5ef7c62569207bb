//! The name that was probably meant.

use crate::snippet::quote;

/// What to say after an unknown name: the nearest valid one, or all of them where they are few.
pub fn hint(name: &str, valid: &[&str]) -> String {
    if let Some(near) = nearest(name, valid.iter().copied()) {
        return format!(", did you mean `{near}`?");
    }
    match valid {
        [one] => format!("; there is only `{one}`"),
        [first @ .., last] if valid.len() <= LIST_MAX => {
            let first: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
            format!("; there are {} and `{last}`", first.join(", "))
        }
        _ => String::new(),
    }
}

/// What to say of a field that there is not.
pub(crate) fn unknown_field(name: &str, valid: &[&str]) -> String {
    let hint = match name {
        "design" => "; nodes that gossip have one design: leave it out".to_owned(),
        _ => hint(name, valid),
    };
    format!("unknown field {}{hint}", quote(name))
}

/// The valid name that is fewest slips of the finger away, if it is few enough; the first among equals.
pub fn nearest<'a>(name: &str, valid: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = folded(name)?;
    let far = (name.len() / 3).max(1);
    valid
        .filter_map(|candidate| {
            let slips = distance(&name, &folded(candidate)?);
            (slips <= far).then_some((slips, candidate))
        })
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Letters without case, one kind of joint; `None` for what is too long to be a slip.
fn folded(name: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = name.chars().take(LENGTH_MAX + 1).collect();
    let fold = |letter: char| match letter {
        '_' | ' ' => '-',
        letter => letter.to_ascii_lowercase(),
    };
    (letters.len() <= LENGTH_MAX).then(|| letters.into_iter().map(fold).collect())
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before = vec![0; to.len() + 1];
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != other);
            let mut best = replaced.min(above[column + 1] + 1).min(line[column] + 1);
            if row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *other {
                best = best.min(before[column - 1] + 1);
            }
            line.push(best);
        }
        before = core::mem::replace(&mut above, line);
    }
    above.last().copied().unwrap_or(0)
}

const LENGTH_MAX: usize = 64;
const LIST_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_a_swap_as_one_slip() {
        let letters = |name| folded(name).unwrap();
        assert_eq!(distance(&letters("limit"), &letters("limti")), 1);
        assert_eq!(distance(&letters("limit"), &letters("")), 5);
        assert_eq!(distance(&letters("gcra"), &letters("per")), 3);
    }

    #[test]
    fn suggests_only_what_is_close() {
        assert_eq!(nearest("limt", ["per", "limit"].into_iter()), Some("limit"));
        assert_eq!(
            nearest("Token_Bucket", ["token-bucket"].into_iter()),
            Some("token-bucket")
        );
        assert_eq!(nearest("weight", ["per", "limit"].into_iter()), None);
        assert_eq!(nearest(&"x".repeat(1000), ["x"].into_iter()), None);
    }

    #[test]
    fn lists_the_valid_names_when_nothing_is_close() {
        assert_eq!(
            hint("zzzzzz", &["a-one", "b-two"]),
            "; there are `a-one` and `b-two`"
        );
        assert_eq!(
            hint("a-onne", &["a-one", "b-two"]),
            ", did you mean `a-one`?"
        );
    }
}
