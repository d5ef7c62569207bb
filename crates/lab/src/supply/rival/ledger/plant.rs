//! Bugs that are planted to see whether the judges find them.
//!
//! Not here: the rules they break.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    /// What a silent node had is passed on before its lease has ended.
    InheritEarly,
    /// What is given is sent before it is written down.
    GrantFirst,
    /// What comes twice is credited twice.
    CreditTwice,
    /// What came is confirmed before it is written down.
    AckFirst,
    /// What one fenced incarnation sent to another is sent on to nobody.
    ForgetFenced,
}

impl Plant {
    pub(crate) const ALL: [Self; 5] = [
        Self::InheritEarly,
        Self::GrantFirst,
        Self::CreditTwice,
        Self::AckFirst,
        Self::ForgetFenced,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::InheritEarly => "inherit before the lease ends",
            Self::GrantFirst => "grant before journal",
            Self::CreditTwice => "duplicate credited",
            Self::AckFirst => "acknowledge before journal",
            Self::ForgetFenced => "grants between the fenced forgotten",
        }
    }
}
