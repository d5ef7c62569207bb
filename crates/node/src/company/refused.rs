//! Why a frame of another node was not taken.

use core::fmt;

use tollgate_mode::Malformed;

/// Why a frame was not taken. Nothing changed, but a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GossipRefused {
    /// No policy here has that tag: contracts differ, or the policy is not counted together.
    UnknownTag,
    /// The frame makes no sense.
    Malformed(Malformed),
}

impl fmt::Display for GossipRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTag => f.write_str("no policy is counted under this tag"),
            Self::Malformed(why) => why.fmt(f),
        }
    }
}

impl core::error::Error for GossipRefused {}
