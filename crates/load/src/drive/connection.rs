//! One connection: what is under way on it, and its buffers.

use std::collections::VecDeque;
use std::io::{self, ErrorKind as Io, Read, Write};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

use super::DIAL_PATIENCE;
use super::record::{DriveRecord, Flight};
use crate::address::{Dialled, Resolved};
use crate::codec::{Codec, CodecError};
use crate::random::Draw;

pub(crate) struct LoadConnection<C> {
    codec: C,
    stream: Socket,
    flights: VecDeque<Flight>,
    out: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
    filled: usize,
}

/// Why a connection cannot go on.
pub(crate) enum Lost {
    Closed(String),
    Malformed(String),
}

impl From<CodecError> for Lost {
    fn from(broken: CodecError) -> Self {
        Self::Malformed(broken.0)
    }
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        Self::Closed(error.to_string())
    }
}

impl<C: Codec> LoadConnection<C> {
    /// Dials, and greets the server.
    pub(crate) fn open(
        mut codec: C,
        server: &Resolved,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        let stream = Socket::open(server, registry, token)?;
        let mut out = Vec::with_capacity(BUFFER);
        codec.greet(&mut out);
        Ok(Self {
            codec,
            stream,
            flights: VecDeque::new(),
            out,
            sent: 0,
            input: vec![0; BUFFER],
            filled: 0,
        })
    }

    /// Dials again, after everything under way was lost.
    pub(crate) fn reopen(
        &mut self,
        server: &Resolved,
        registry: &Registry,
        token: Token,
    ) -> io::Result<()> {
        self.stream = Socket::open(server, registry, token)?;
        self.out.clear();
        self.codec.greet(&mut self.out);
        (self.sent, self.filled) = (0, 0);
        Ok(())
    }

    /// Queues a request that is due at that time; `false` while there is no room.
    pub(crate) fn ask(&mut self, due: u64, now: u64, draw: &mut Draw) -> bool {
        let Some(ticket) = self.codec.ask(draw, &mut self.out) else {
            return false;
        };
        self.flights.push_back(Flight {
            ticket,
            due,
            sent: now,
        });
        true
    }

    pub(crate) fn under_way(&self) -> usize {
        self.flights.len()
    }

    /// Takes everything under way, as it will not be answered.
    pub(crate) fn give_up(&mut self) -> VecDeque<Flight> {
        std::mem::take(&mut self.flights)
    }

    /// Sends what is queued, as far as the socket accepts it.
    pub(crate) fn flush(&mut self) -> Result<(), Lost> {
        while let Some(rest) = self.out.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(0) => return Err(Lost::Closed("nothing more could be sent".to_owned())),
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == Io::WouldBlock => return Ok(()),
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Reads all input, and records the replies; `now` is read once for each piece.
    pub(crate) fn read(
        &mut self,
        record: &mut DriveRecord,
        now: impl Fn() -> u64,
    ) -> Result<(), Lost> {
        loop {
            let free = self.input.get_mut(self.filled..).unwrap_or_default();
            let room = free.len();
            let read = match self.stream.read(free) {
                Ok(0) => return Err(Lost::Closed("the server closed the connection".to_owned())),
                Ok(read) => read,
                Err(error) if error.kind() == Io::WouldBlock => return Ok(()),
                Err(error) if error.kind() == Io::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            self.filled += read;
            self.take(record, now())?;
            // A piece that left room was the last one for now.
            if read < room {
                return Ok(());
            }
        }
    }

    fn take(&mut self, record: &mut DriveRecord, now: u64) -> Result<(), Lost> {
        let flights = &mut self.flights;
        let mut answered = |ticket, outcome| {
            let at = flights.iter().position(|flight| flight.ticket == ticket);
            if let Some(flight) = at.and_then(|at| flights.remove(at)) {
                record.answered(flight, now, outcome);
            }
        };
        let input = self.input.get(..self.filled).unwrap_or_default();
        let used = self.codec.read(input, &mut self.out, &mut answered)?;
        self.input.copy_within(used..self.filled, 0);
        self.filled -= used;
        if self.filled == self.input.len() {
            if self.filled >= REPLY_MAX {
                return Err(Lost::Malformed("a reply that is too large".to_owned()));
            }
            self.input.resize(self.filled * 2, 0);
        }
        Ok(())
    }

    /// Whether something waits to be sent.
    pub(crate) fn has_unsent(&self) -> bool {
        self.sent < self.out.len()
    }
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn open(server: &Resolved, registry: &Registry, token: Token) -> io::Result<Self> {
        let mut socket = match server.dial(DIAL_PATIENCE)? {
            Dialled::Tcp(stream) => {
                stream.set_nonblocking(true)?;
                Self::Tcp(TcpStream::from_std(stream))
            }
            Dialled::Unix(stream) => {
                stream.set_nonblocking(true)?;
                Self::Unix(UnixStream::from_std(stream))
            }
        };
        let source: &mut dyn Source = match &mut socket {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
        };
        source.register(registry, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(socket)
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(bytes),
            Self::Unix(stream) => stream.read(bytes),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }
}

const BUFFER: usize = 64 << 10;
const REPLY_MAX: usize = 16 << 20;
