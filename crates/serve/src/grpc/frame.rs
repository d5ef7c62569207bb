//! Messages in their frames: a byte that says whether it is compressed, four with its length, the message.
//!
//! Not here: how long a message may take to come.

use std::pin::Pin;

use bytes::{Buf, Bytes};
use http_body::Body;
use prost::Message;

use super::status::{GrpcCode, GrpcStatus};

/// The one message of a unary call, without its frame.
pub(super) async fn read<B>(mut body: Pin<&mut B>, bytes_max: usize) -> Result<Bytes, GrpcStatus>
where
    B: Body<Data = Bytes>,
{
    let mut whole = Bytes::new();
    let mut parts: Vec<u8> = Vec::new();
    while let Some(data) = next(body.as_mut()).await? {
        let length = whole.len().max(parts.len()).saturating_add(data.len());
        if length > bytes_max.saturating_add(HEAD) {
            return Err(too_large(bytes_max));
        }
        if length == data.len() {
            whole = data;
        } else {
            if parts.is_empty() {
                parts.extend_from_slice(&std::mem::take(&mut whole));
            }
            parts.extend_from_slice(&data);
        }
        if body.is_end_stream() {
            break;
        }
    }
    let whole = if parts.is_empty() {
        whole
    } else {
        parts.into()
    };
    unframed(whole)
}

/// The next piece of a body; `None` at its end.
async fn next<B>(mut body: Pin<&mut B>) -> Result<Option<Bytes>, GrpcStatus>
where
    B: Body<Data = Bytes>,
{
    loop {
        let frame = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await;
        match frame {
            None => return Ok(None),
            Some(Err(_)) => return Err(GrpcStatus::new(GrpcCode::Internal, "the call broke off")),
            // What is no data is trailers, which nobody asked for.
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

fn unframed(mut framed: Bytes) -> Result<Bytes, GrpcStatus> {
    let Some((head, message)) = framed.split_first_chunk::<HEAD>() else {
        return Err(malformed("a message needs a frame of five bytes"));
    };
    let [compressed, length @ ..] = *head;
    match compressed {
        0 => {}
        1 => {
            let what = "compressed messages are not read here";
            return Err(GrpcStatus::new(GrpcCode::Unimplemented, what));
        }
        _ => return Err(malformed("a frame begins with 0 or 1")),
    }
    if usize::try_from(u32::from_be_bytes(length)) != Ok(message.len()) {
        return Err(malformed("the length of the frame is not that of the call"));
    }
    framed.advance(HEAD);
    Ok(framed)
}

/// A message that a call brought.
pub(super) fn decode<M: Message + Default>(message: Bytes) -> Result<M, GrpcStatus> {
    M::decode(message)
        .map_err(|error| GrpcStatus::unfit(GrpcCode::InvalidArgument, error.to_string()))
}

/// A message in its frame.
pub(super) fn encode(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut out = Vec::with_capacity(HEAD + length);
    out.push(0);
    // An answer of four gibibytes cannot be: questions are bounded, and answers by them.
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    message.encode_raw(&mut out);
    out.into()
}

fn malformed(what: impl Into<std::borrow::Cow<'static, str>>) -> GrpcStatus {
    GrpcStatus::new(GrpcCode::InvalidArgument, what)
}

fn too_large(bytes_max: usize) -> GrpcStatus {
    let what = format!("a message may have at most {bytes_max} bytes");
    GrpcStatus::unfit(GrpcCode::ResourceExhausted, what)
}

/// Bytes of a frame before its message.
const HEAD: usize = 5;
