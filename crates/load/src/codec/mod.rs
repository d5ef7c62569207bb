//! Codecs: requests and replies of one connection, without sockets.
//!
//! A codec appends requests to the output, and splits the input into replies. It reads no more of a reply than it takes
//! to find its end and its verdict.

mod fields;
mod http1;
mod http2;
mod judge;
mod resp;

use crate::errors::ErrorKind;
use crate::random::Draw;

pub(crate) use http1::Http1;
pub(crate) use http2::Http2;
pub(crate) use resp::Resp;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplyOutcome {
    pub(crate) allowed: u32,
    pub(crate) denied: u32,
    pub(crate) error: Option<(ErrorKind, String)>,
}

impl ReplyOutcome {
    pub(crate) const ALLOWED: Self = Self {
        allowed: 1,
        denied: 0,
        error: None,
    };
    pub(crate) const DENIED: Self = Self {
        allowed: 0,
        denied: 1,
        error: None,
    };

    pub(crate) fn of(allowed: bool) -> Self {
        if allowed { Self::ALLOWED } else { Self::DENIED }
    }

    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self {
            error: Some((ErrorKind::Refused, text.into())),
            ..Self::default()
        }
    }

    pub(crate) fn no_verdict() -> Self {
        Self {
            error: Some((ErrorKind::NoVerdict, "the reply has no verdict".to_owned())),
            ..Self::default()
        }
    }
}

/// The connection cannot be read any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodecError(pub(crate) String);

impl CodecError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Tickets of a protocol that answers in order.
#[derive(Default)]
pub(crate) struct InOrder {
    asked: u32,
    answered: u32,
}

impl InOrder {
    fn ask(&mut self) -> u32 {
        self.asked = self.asked.wrapping_add(1);
        self.asked.wrapping_sub(1)
    }

    fn answer(&mut self) -> Result<u32, CodecError> {
        if self.answered == self.asked {
            return Err(CodecError::new("a reply that nobody asked for"));
        }
        self.answered = self.answered.wrapping_add(1);
        Ok(self.answered.wrapping_sub(1))
    }
}

/// The state of a protocol on one connection.
pub(crate) trait Codec {
    /// Writes the start of a connection.
    fn greet(&mut self, out: &mut Vec<u8>);

    /// Appends a request and returns its ticket; `None` while the server permits no more.
    fn ask(&mut self, draw: &mut Draw, out: &mut Vec<u8>) -> Option<u32>;

    /// Reads the complete part of the input and returns its length. Replies go to `answered` with their ticket; the
    /// protocol's own responses are appended to `out`.
    fn read(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        answered: &mut dyn FnMut(u32, ReplyOutcome),
    ) -> Result<usize, CodecError>;
}
