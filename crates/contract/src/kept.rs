//! Policies as they were given, in few bytes, so that they can be laid over another plan later.
//!
//! A file may have 100,000 contracts, and few of them are ever asked for again: what is kept is one text per contract,
//! read back when somebody has other terms. Only checked policies are kept. Not here: the places they were typed at.

use crate::fields::Field;
use crate::merge::Given;
use crate::snippet::Place;
use crate::text::Text;

/// Checked policies in the order given: for each field its letter, its text and an end; then the policy's end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptPolicies(Box<str>);

impl KeptPolicies {
    pub(crate) fn of(policies: &[Given]) -> Self {
        let mut text = String::new();
        for policy in policies {
            for (field, value) in policy.fields() {
                text.push(letter(*field, value.plain));
                text.push_str(&value.value);
                text.push(FIELD_END);
            }
            text.push(POLICY_END);
        }
        Self(text.into())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The policies again; whatever is wrong with what is made of them is wrong at `place`.
    pub(crate) fn given(&self, place: Place) -> Vec<Given> {
        let policies = self.0.split_terminator(POLICY_END);
        policies.map(|policy| given(policy, place)).collect()
    }
}

fn given(policy: &str, place: Place) -> Given {
    let fields = policy.split_terminator(FIELD_END).filter_map(|field| {
        let mut letters = field.chars();
        let (field, plain) = meant(letters.next()?)?;
        let value = letters.as_str().into();
        Some((
            field,
            Text {
                value,
                place,
                plain,
            },
        ))
    });
    Given::new(place, fields.collect())
}

fn letter(field: Field, plain: bool) -> char {
    char::from(FIRST + 2 * field.place() + u8::from(plain))
}

fn meant(letter: char) -> Option<(Field, bool)> {
    let code = u8::try_from(letter).ok()?.checked_sub(FIRST)?;
    Some((Field::at(usize::from(code / 2))?, code % 2 == 1))
}

// No checked value has a control character.
const FIELD_END: char = '\u{1f}';
const POLICY_END: char = '\u{1e}';
const FIRST: u8 = b'0';

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::given;
    use crate::problems::Problems;
    use crate::raw::RawPolicies;
    use crate::yaml;

    #[test]
    fn keeps_what_was_typed_and_hardly_more() {
        let text = "[{ name: burst, limit: 20, per: 1s, burst: 40, coordination: gossip },
            { name: 'a b', limit: 1, per: day, algorithm: fixed-window, time_zone: Europe/Ljubljana, durable: true }]";
        let raw: RawPolicies = yaml::read(text).unwrap();
        let policies = given(&raw, &mut Problems::default());
        let kept = KeptPolicies::of(&policies);
        assert!(kept.bytes().len() < text.len(), "{}", kept.bytes().len());
        let again = kept.given(Place::default());
        assert_eq!(again.len(), policies.len());
        for (again, policy) in again.iter().zip(&policies) {
            let said = |given: &Given| -> Vec<(Field, String, bool)> {
                let fields = given.fields().iter();
                fields
                    .map(|(field, text)| (*field, text.value.to_string(), text.plain))
                    .collect()
            };
            assert_eq!(said(again), said(policy));
        }
        assert_eq!(KeptPolicies::of(&again), kept);
        assert!(
            Field::names().len() * 2 + usize::from(FIRST) <= 256,
            "there is a letter for each"
        );
    }
}
