//! The client of a collector: one POST at a time, over HTTP/1.1 or as a gRPC call over HTTP/2.

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, Method, Request, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{TraceError, TraceProtocol, TraceSettings};

pub(super) struct Collector {
    uri: Uri,
    authority: String,
    connection: Option<Connection>,
    protocol: TraceProtocol,
}

enum Connection {
    Http(TcpStream),
    Grpc(SendRequest<Bytes>),
}

/// Why a message did not arrive, for the log.
type Failure = String;

impl Collector {
    /// Does not connect yet.
    pub(super) fn new(settings: &TraceSettings) -> Result<Self, TraceError> {
        let wrong = || TraceError::Endpoint(settings.endpoint.clone());
        let uri: Uri = settings.endpoint.parse().map_err(|_| wrong())?;
        let host = uri
            .host()
            .filter(|host| !host.is_empty())
            .ok_or_else(wrong)?;
        if uri.scheme_str() != Some("http") {
            return Err(wrong());
        }
        let (port, own_path) = match settings.protocol {
            TraceProtocol::Grpc => (4317, GRPC_PATH),
            TraceProtocol::Http => (4318, HTTP_PATH),
        };
        let authority = format!("{host}:{}", uri.port_u16().unwrap_or(port));
        let path = match uri.path() {
            "" | "/" => own_path,
            path if settings.protocol == TraceProtocol::Http => path,
            _ => return Err(wrong()),
        };
        let uri = format!("http://{authority}{path}")
            .parse()
            .map_err(|_| wrong())?;
        Ok(Self {
            uri,
            authority,
            connection: None,
            protocol: settings.protocol,
        })
    }

    /// Sends one message and waits for the answer.
    pub(super) async fn send(&mut self, message: Vec<u8>) -> Result<(), Failure> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        self.connection = match connection {
            Connection::Http(stream) => self.post(stream, &message).await?.map(Connection::Http),
            Connection::Grpc(calls) => Some(Connection::Grpc(self.call(calls, &message).await?)),
        };
        Ok(())
    }

    /// Drops the connection with everything under way on it.
    pub(super) fn forget(&mut self) {
        self.connection = None;
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let stream = TcpStream::connect(&self.authority).await.map_err(told)?;
        stream.set_nodelay(true).map_err(told)?;
        if self.protocol == TraceProtocol::Http {
            return Ok(Connection::Http(stream));
        }
        let (calls, driver) = h2::client::handshake(stream).await.map_err(told)?;
        tokio::spawn(async move {
            // The caller gets the error, too.
            let _ = driver.await;
        });
        Ok(Connection::Grpc(calls))
    }

    /// Returns the connection if the answer leaves it usable.
    async fn post(
        &self,
        mut stream: TcpStream,
        message: &[u8],
    ) -> Result<Option<TcpStream>, Failure> {
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
            self.uri.path(),
            self.authority,
            message.len()
        );
        stream.write_all(head.as_bytes()).await.map_err(told)?;
        stream.write_all(message).await.map_err(told)?;
        let mut answer = BytesMut::with_capacity(1_024);
        loop {
            if let Some((status, length)) = answer_of(&answer)? {
                if !(200..300).contains(&status) {
                    return Err(format!("the collector answered {status}"));
                }
                match length {
                    // An answer of unknown length ends with its connection; only its status is needed.
                    None => return Ok(None),
                    Some(length) if answer.len() >= length => return Ok(Some(stream)),
                    Some(_) => {}
                }
            }
            if answer.len() > ANSWER_MAX {
                return Err("the collector's answer is too long".into());
            }
            if stream.read_buf(&mut answer).await.map_err(told)? == 0 {
                return Err("the collector hung up".into());
            }
        }
    }

    async fn call(
        &self,
        calls: SendRequest<Bytes>,
        message: &[u8],
    ) -> Result<SendRequest<Bytes>, Failure> {
        let mut calls = calls.ready().await.map_err(told)?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.uri.clone())
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .map_err(told)?;
        let mut frame = BytesMut::with_capacity(message.len() + 5);
        frame.put_u8(0);
        frame.put_u32(u32::try_from(message.len()).map_err(told)?);
        frame.put_slice(message);
        let (answer, mut stream) = calls.send_request(request, false).map_err(told)?;
        stream.send_data(frame.freeze(), true).map_err(told)?;
        let answer = answer.await.map_err(told)?;
        // A call without a message has its status in the head.
        if let Some(status) = grpc_status(answer.headers()) {
            return status.map(|()| calls);
        }
        let mut body = answer.into_body();
        let mut read = 0;
        while let Some(data) = body.data().await {
            let length = data.map_err(told)?.len();
            read += length;
            if read > ANSWER_MAX {
                return Err("the collector's answer is too long".into());
            }
            body.flow_control().release_capacity(length).map_err(told)?;
        }
        let trailers = body.trailers().await.map_err(told)?.unwrap_or_default();
        let status = grpc_status(&trailers);
        status.unwrap_or_else(|| Err("the collector said not how the call ended".into()))?;
        Ok(calls)
    }
}

/// Status and whole length of an answer, once its head is there.
fn answer_of(bytes: &[u8]) -> Result<Option<(u16, Option<usize>)>, Failure> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut answer = httparse::Response::new(&mut fields);
    let head = match answer.parse(bytes).map_err(told)? {
        httparse::Status::Partial => return Ok(None),
        httparse::Status::Complete(head) => head,
    };
    let length = answer
        .headers
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case("content-length"))
        .and_then(|field| {
            std::str::from_utf8(field.value)
                .ok()?
                .trim()
                .parse::<usize>()
                .ok()
        });
    let length = length.map(|length| length.saturating_add(head));
    Ok(Some((answer.code.unwrap_or(0), length)))
}

/// The call's status, if these fields have it.
fn grpc_status(fields: &HeaderMap) -> Option<Result<(), Failure>> {
    let status = fields.get("grpc-status")?;
    if status.as_bytes() == b"0" {
        return Some(Ok(()));
    }
    let status = String::from_utf8_lossy(status.as_bytes()).into_owned();
    Some(Err(format!("the collector answered with status {status}")))
}

fn told(error: impl std::fmt::Display) -> Failure {
    error.to_string()
}

const GRPC_PATH: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const HTTP_PATH: &str = "/v1/traces";
/// Bytes of an answer that are read.
const ANSWER_MAX: usize = 64 << 10;
