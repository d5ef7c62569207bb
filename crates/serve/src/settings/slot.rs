//! Setters and getters for values of settings, by type.
//!
//! Not here: which setting goes where (`kinds`).

use std::str::FromStr;

use tollgate_contract::file::quote;
use tollgate_http::Trust;

use super::{Tokens, token};

/// A place for an optional value.
pub(super) trait SettingSlot<T> {
    fn put(&mut self, value: T);
    fn get(&self) -> Option<T>;
}

impl<T: Copy> SettingSlot<T> for T {
    fn put(&mut self, value: T) {
        *self = value;
    }

    fn get(&self) -> Option<T> {
        Some(*self)
    }
}

impl<T: Copy> SettingSlot<T> for Option<T> {
    fn put(&mut self, value: T) {
        *self = Some(value);
    }

    fn get(&self) -> Self {
        *self
    }
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl SettingSlot<u64> for $type {
            fn put(&mut self, value: u64) {
                *self = Self::try_from(value).unwrap_or(Self::MAX);
            }

            fn get(&self) -> Option<u64> {
                u64::try_from(*self).ok()
            }
        }
    )*};
}
whole!(u8, u32, usize);

impl SettingSlot<u64> for Option<usize> {
    fn put(&mut self, value: u64) {
        self.insert(0).put(value);
    }

    fn get(&self) -> Option<u64> {
        self.as_ref().and_then(SettingSlot::get)
    }
}

/// The number of trusted proxies in a row.
impl SettingSlot<u64> for Trust {
    fn put(&mut self, value: u64) {
        *self = Self::Hops(usize::try_from(value).unwrap_or(usize::MAX));
    }

    fn get(&self) -> Option<u64> {
        match self {
            Self::Hops(hops) => hops.get(),
            Self::Nobody | Self::Networks(_) => None,
        }
    }
}

/// A place for a value that is parsed from a text.
pub(super) trait Typed {
    /// Parses it; the error says what is wrong.
    fn read(&mut self, text: &str) -> Result<(), String>;
    /// The value for display.
    fn shown(&self) -> String;
}

impl<T: FromStr<Err = String> + ToString> Typed for T {
    fn read(&mut self, text: &str) -> Result<(), String> {
        *self = text.parse()?;
        Ok(())
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

/// A place for several values that are parsed from texts.
pub(super) trait Items {
    /// Parses and adds one; the error says what is wrong.
    fn add(&mut self, text: &str) -> Result<(), String>;
    fn clear(&mut self);
    /// The values for display.
    fn shown(&self) -> String;
}

impl<T: FromStr<Err: ToString> + ToString> Items for Vec<T> {
    fn add(&mut self, text: &str) -> Result<(), String> {
        let item = text.parse().map_err(|error: T::Err| error.to_string())?;
        self.push(item);
        Ok(())
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn shown(&self) -> String {
        let each: Vec<String> = self.iter().map(ToString::to_string).collect();
        each.join(",")
    }
}

impl Items for Tokens {
    fn add(&mut self, text: &str) -> Result<(), String> {
        self.add_one(token::checked(text)?);
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    fn shown(&self) -> String {
        let count = self.iter().count();
        if count == 0 {
            String::new()
        } else {
            count.to_string()
        }
    }
}

/// Networks of trusted proxies.
impl Items for Trust {
    fn add(&mut self, text: &str) -> Result<(), String> {
        let network = text.parse().map_err(|_| {
            let typed = quote(text);
            format!("{typed} is no network; write for example 10.0.0.0/8")
        })?;
        match self {
            Self::Networks(list) => list.push(network),
            trust => *trust = Self::Networks(vec![network]),
        }
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::Nobody;
    }

    fn shown(&self) -> String {
        String::new()
    }
}

/// A place for one of several named values.
pub(super) trait NamedSlot {
    fn names(&self) -> &'static [&'static str];
    /// The position of the one in force.
    fn place(&self) -> Option<usize>;
    /// Puts the one at this position in force.
    fn choose(&mut self, place: usize);
}
