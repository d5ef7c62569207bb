//! The body of an answer that hyper sends: one of ours, which is whole, or one of gRPC.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::timed::AtWork;
use crate::grpc;

/// The body of an answer.
pub(super) enum Sent {
    /// What is left to send of a whole one.
    Whole(Option<Bytes>),
    /// One of gRPC, which may be sent for as long as the client likes.
    Grpc {
        body: grpc::Body,
        /// Until it is sent.
        _at_work: AtWork,
    },
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Grpc { body, .. } => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Grpc { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(length as u64)
            }
            Self::Grpc { body, .. } => body.size_hint(),
        }
    }
}
