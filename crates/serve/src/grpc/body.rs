//! The body of an answer: one message and its trailers, nothing, or the stream of a tonic service.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::status;

pub struct Body(Kind);

enum Kind {
    /// A framed message, then the trailers of success.
    Message(Bytes),
    /// The trailers of success.
    Trailers,
    Empty,
    Stream(tonic::body::Body),
}

impl Body {
    pub(super) const EMPTY: Self = Self(Kind::Empty);

    /// A framed message, and the trailers of success.
    pub(super) const fn message(framed: Bytes) -> Self {
        Self(Kind::Message(framed))
    }

    /// Whether there is at most one message.
    pub(crate) const fn is_one(&self) -> bool {
        !matches!(self.0, Kind::Stream(_))
    }

    pub(super) const fn stream(body: tonic::body::Body) -> Self {
        Self(Kind::Stream(body))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let kind = &mut self.get_mut().0;
        if let Kind::Stream(body) = kind {
            // A tonic service reports errors in its trailers; a broken stream just ends.
            let frame = Pin::new(body).poll_frame(context);
            return frame.map(|frame| frame.and_then(Result::ok).map(Ok));
        }
        Poll::Ready(match std::mem::replace(kind, Kind::Empty) {
            Kind::Message(framed) => {
                *kind = Kind::Trailers;
                Some(Ok(Frame::data(framed)))
            }
            Kind::Trailers => Some(Ok(Frame::trailers(status::ok()))),
            Kind::Empty | Kind::Stream(_) => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Message(_) | Kind::Trailers => false,
            Kind::Empty => true,
            Kind::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Message(_) | Kind::Trailers | Kind::Stream(_) => SizeHint::default(),
        }
    }
}
