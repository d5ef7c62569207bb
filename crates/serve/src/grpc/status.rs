//! How a call ended: a code, and a message for people.
//!
//! Not here: HTTP statuses of requests that are no call at all.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::access::Denied;
use http::header::{HeaderMap, HeaderName, HeaderValue};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GrpcStatus {
    code: GrpcCode,
    message: Cow<'static, str>,
    is_unfit: bool,
}

/// The subset of gRPC's codes in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrpcCode {
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    Unauthenticated = 16,
}

impl GrpcCode {
    const fn digits(self) -> &'static str {
        match self {
            Self::InvalidArgument => "3",
            Self::DeadlineExceeded => "4",
            Self::PermissionDenied => "7",
            Self::ResourceExhausted => "8",
            Self::OutOfRange => "11",
            Self::Unimplemented => "12",
            Self::Internal => "13",
            Self::Unavailable => "14",
            Self::Unauthenticated => "16",
        }
    }
}

impl GrpcStatus {
    pub(super) fn new(code: GrpcCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            is_unfit: false,
        }
    }

    pub(super) fn denied(denied: Denied) -> Self {
        let code = match denied {
            Denied::Scope(_) => GrpcCode::PermissionDenied,
            Denied::Missing | Denied::Wrong | Denied::Guessing(_) => GrpcCode::Unauthenticated,
        };
        Self::new(code, denied.to_string())
    }

    /// For an unreadable message. A question about a client's request is denied: the client may have caused it.
    pub(super) fn unfit(code: GrpcCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            is_unfit: true,
            ..Self::new(code, message)
        }
    }

    pub(super) const fn is_unfit(&self) -> bool {
        self.is_unfit
    }

    pub(super) const fn code(&self) -> GrpcCode {
        self.code
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn put(&self, into: &mut HeaderMap) {
        into.insert(GRPC_STATUS, HeaderValue::from_static(self.code.digits()));
        // Encoded messages are printable, so this succeeds.
        if let Ok(message) = HeaderValue::try_from(encoded(&self.message)) {
            into.insert(GRPC_MESSAGE, message);
        }
    }
}

/// The trailers of success.
pub(super) fn ok() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(GRPC_STATUS, HeaderValue::from_static("0"));
    trailers
}

/// The percent-encoding of `grpc-message`: unprintable bytes, and the percent sign.
fn encoded(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for byte in message.bytes().take(MESSAGE_BYTES_MAX) {
        match byte {
            b' '..=b'~' if byte != b'%' => out.push(char::from(byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// Limit on the length of a message.
const MESSAGE_BYTES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_percent_encoded() {
        assert_eq!(encoded("plain text"), "plain text");
        assert_eq!(encoded("100% ä\n"), "100%25 %C3%A4%0A");
    }

    #[test]
    fn a_status_is_two_fields() {
        let mut fields = HeaderMap::new();
        GrpcStatus::new(GrpcCode::Unavailable, "later").put(&mut fields);
        assert_eq!(fields["grpc-status"], "14");
        assert_eq!(fields["grpc-message"], "later");
    }
}
