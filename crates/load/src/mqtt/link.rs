//! One connection to a broker: its socket and its buffers, which are empty while nothing is under way.
//!
//! Not here: what packets mean.

use std::fmt;
use std::io::{ErrorKind as Io, Read, Write};
use std::net::SocketAddr;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use tollgate_mqtt::{Header, Malformed};

use super::say::{self, MqttError};

/// Why a connection cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It could not be opened, because of the system or the network.
    Connect(String),
    Closed(String),
    /// The input is not MQTT.
    Malformed(String),
    /// The broker refused the client or its request, with this code.
    Refused(u8),
}

impl Lost {
    /// The error of a run that cannot start for this.
    pub(crate) fn fatal(&self, address: String) -> MqttError {
        match self {
            Self::Connect(error) | Self::Closed(error) => MqttError::Connect {
                address,
                error: error.clone(),
            },
            Self::Malformed(error) => MqttError::Malformed {
                address,
                error: error.clone(),
            },
            Self::Refused(code) => MqttError::Refused {
                address,
                code: *code,
            },
        }
    }
}

impl From<Malformed> for Lost {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed.to_string())
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(text) | Self::Closed(text) => f.write_str(text),
            Self::Malformed(text) => write!(f, "what came is not MQTT: {text}"),
            Self::Refused(code) => write!(f, "the broker refuses: {}", say::reason(*code)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    Down,
    /// Dialled, CONNECT sent or queued.
    Greeting,
    /// SUBSCRIBE sent.
    Asking,
    Up,
}

pub(crate) struct MqttConnection {
    stream: Option<TcpStream>,
    pub(crate) state: ConnectionState,
    pub(crate) out: Vec<u8>,
    written: usize,
    /// The start of an incomplete packet.
    rest: Vec<u8>,
    /// When it was dialled, and when the broker last sent something.
    pub(crate) since: u64,
    pub(crate) spoke: u64,
}

impl MqttConnection {
    pub(crate) const fn new() -> Self {
        Self {
            stream: None,
            state: ConnectionState::Down,
            out: Vec::new(),
            written: 0,
            rest: Vec::new(),
            since: 0,
            spoke: 0,
        }
    }

    /// Dials; what is queued is sent once connected.
    pub(crate) fn open(
        &mut self,
        address: SocketAddr,
        registry: &Registry,
        token: Token,
        now: u64,
    ) -> Result<(), Lost> {
        let lost = |error: std::io::Error| Lost::Connect(error.to_string());
        let mut stream = TcpStream::connect(address).map_err(lost)?;
        stream.set_nodelay(true).map_err(lost)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        registry.register(&mut stream, token, both).map_err(lost)?;
        self.stream = Some(stream);
        self.state = ConnectionState::Greeting;
        self.out.clear();
        self.rest.clear();
        self.written = 0;
        (self.since, self.spoke) = (now, now);
        Ok(())
    }

    /// Closes the socket and frees the buffers.
    pub(crate) fn close(&mut self) {
        *self = Self::new();
    }

    /// Bytes that were not sent yet.
    pub(crate) fn unsent(&self) -> usize {
        self.out.len() - self.written
    }

    /// Sends what is queued, as far as the socket accepts it.
    pub(crate) fn flush(&mut self, now: u64) -> Result<(), Lost> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        while let Some(bytes) = self.out.get(self.written..).filter(|b| !b.is_empty()) {
            match stream.write(bytes) {
                Ok(0) => return Err(Lost::Closed("nothing more could be sent".to_owned())),
                Ok(written) => {
                    self.written += written;
                    self.spoke = now;
                }
                Err(error) if matches!(error.kind(), Io::WouldBlock | Io::NotConnected) => {
                    return Ok(());
                }
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) => return Err(self.failed(&error)),
            }
        }
        self.written = 0;
        self.out.clear();
        // Thousands of connections must not keep buffers of a burst.
        if self.out.capacity() > OUT_KEPT {
            self.out = Vec::new();
        }
        Ok(())
    }

    fn failed(&self, error: &std::io::Error) -> Lost {
        match self.state {
            ConnectionState::Greeting if error.kind() == Io::ConnectionRefused => {
                Lost::Connect(error.to_string())
            }
            _ => Lost::Closed(error.to_string()),
        }
    }

    /// Reads into `scratch` behind the kept start of a packet: returns the length, and whether more may have come.
    pub(crate) fn receive(&mut self, scratch: &mut [u8]) -> Result<(usize, bool), Lost> {
        let kept = self.rest.len();
        let Some(stream) = &mut self.stream else {
            return Ok((0, false));
        };
        let Some((front, free)) = scratch.split_at_mut_checked(kept) else {
            return Err(Malformed::TooLarge.into());
        };
        front.copy_from_slice(&self.rest);
        let room = free.len();
        loop {
            match stream.read(free) {
                Ok(0) => return Err(Lost::Closed("the broker closed the connection".to_owned())),
                Ok(read) => {
                    self.rest.clear();
                    return Ok((kept + read, read == room));
                }
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) if matches!(error.kind(), Io::WouldBlock | Io::NotConnected) => {
                    return Ok((0, false));
                }
                Err(error) => return Err(self.failed(&error)),
            }
        }
    }

    /// Keeps the start of a packet until the rest arrives.
    pub(crate) fn keep(&mut self, rest: &[u8]) {
        self.rest.clear();
        self.rest.extend_from_slice(rest);
    }
}

/// The packet at the front of bytes; `None` if it is incomplete.
pub(crate) fn packet(bytes: &[u8], most: usize) -> Result<Option<(Header, &[u8])>, Malformed> {
    let Some(header) = Header::read(bytes)? else {
        return Ok(None);
    };
    let length = usize::try_from(header.packet()).unwrap_or(usize::MAX);
    if length > most {
        return Err(Malformed::TooLarge);
    }
    Ok(bytes.get(..length).map(|packet| (header, packet)))
}

const OUT_KEPT: usize = 16 << 10;
