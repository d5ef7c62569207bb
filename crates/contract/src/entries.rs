//! What a request brings along, and the values it is counted by.

use core::slice;

/// A request as seen by contracts: its entries in order and, over the Envoy protocol, a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// The domain to look in. Contracts of the contract file have none and do not look at it; without one, every
    /// imported domain is asked.
    pub domain: Option<&'a str>,
    /// Keys with values, such as `("user", "42")`.
    pub entries: &'a [(&'a str, &'a str)],
}

impl<'a> Descriptor<'a> {
    /// Entries without a domain.
    pub const fn of(entries: &'a [(&'a str, &'a str)]) -> Self {
        Self {
            domain: None,
            entries,
        }
    }

    /// Entries in a domain.
    pub const fn in_domain(domain: &'a str, entries: &'a [(&'a str, &'a str)]) -> Self {
        Self {
            domain: Some(domain),
            entries,
        }
    }
}

/// The values that tell one counter of a contract from another, in order; borrowed, so that nothing is allocated.
#[derive(Clone, Debug)]
pub struct CounterIdentity<'a>(Values<'a>);

#[derive(Clone, Debug)]
enum Values<'a> {
    /// The value of each key, found by name.
    ByKey {
        key: slice::Iter<'a, String>,
        entries: &'a [(&'a str, &'a str)],
    },
    /// The value of each entry, or what stands for it.
    ByPlace {
        shared: slice::Iter<'a, Option<Box<str>>>,
        entries: slice::Iter<'a, (&'a str, &'a str)>,
    },
}

impl<'a> CounterIdentity<'a> {
    pub(crate) fn by_key(key: &'a [String], entries: &'a [(&'a str, &'a str)]) -> Self {
        Self(Values::ByKey {
            key: key.iter(),
            entries,
        })
    }

    pub(crate) fn by_place(
        shared: &'a [Option<Box<str>>],
        entries: &'a [(&'a str, &'a str)],
    ) -> Self {
        Self(Values::ByPlace {
            shared: shared.iter(),
            entries: entries.iter(),
        })
    }
}

impl<'a> Iterator for CounterIdentity<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        match &mut self.0 {
            Values::ByKey { key, entries } => {
                let key = key.next()?;
                entries
                    .iter()
                    .find(|(name, _)| name == key)
                    .map(|(_, value)| *value)
            }
            Values::ByPlace { shared, entries } => {
                let (shared, (_, value)) = (shared.next()?, entries.next()?);
                Some(shared.as_deref().unwrap_or(value))
            }
        }
    }
}

/// Whether some entry has the key.
pub(crate) fn has_key(entries: &[(&str, &str)], key: &str) -> bool {
    entries.iter().any(|(name, _)| *name == key)
}
