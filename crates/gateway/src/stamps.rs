//! Arrival times of received bytes: time stamps of TCP (`SO_TIMESTAMPING`, in software, on receipt).
//!
//! One read has one stamp, that of its last byte: bytes that arrived in pieces before a read count as
//! as young as the youngest. Not here: plausibility checks (`judge`).

use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::time::{Duration, SystemTime};

use nix::cmsg_space;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, TimestampingFlag, recvmsg, setsockopt, sockopt::Timestamping,
};
use nix::sys::time::TimeSpec;
use tokio::io::Interest;
use tokio::net::TcpStream;

pub(crate) struct Stamps {
    space: Vec<u8>,
    age: Option<Duration>,
}

impl Stamps {
    /// `None` if the system does not support stamps.
    pub(crate) fn begin(stream: &TcpStream) -> Option<Self> {
        let wanted = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        setsockopt(stream, Timestamping, &wanted).ok()?;
        Some(Self {
            space: cmsg_space!([TimeSpec; 3]),
            age: None,
        })
    }

    /// Age of the last byte of the last read, at that read.
    pub(crate) const fn age(&self) -> Option<Duration> {
        self.age
    }

    /// Appends at most `most` bytes; zero at the end. Cancel-safe.
    pub(crate) async fn read(
        &mut self,
        stream: &TcpStream,
        bytes: &mut Vec<u8>,
        most: usize,
    ) -> io::Result<usize> {
        let before = bytes.len();
        loop {
            stream.readable().await?;
            bytes.resize(before + most, 0);
            let received = stream.try_io(Interest::READABLE, || {
                self.receive(stream, &mut bytes[before..])
            });
            bytes.truncate(before + *received.as_ref().unwrap_or(&0));
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    fn receive(&mut self, stream: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
        let mut parts = [IoSliceMut::new(room)];
        let socket = stream.as_raw_fd();
        let received = recvmsg::<()>(
            socket,
            &mut parts,
            Some(&mut self.space),
            MsgFlags::MSG_DONTWAIT,
        )?;
        let mut said = received.cmsgs()?;
        self.age = said.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampsns(stamps) => Some(age(stamps.system.into())),
            _ => None,
        });
        Ok(received.bytes)
    }
}

/// `stamp` is since the epoch.
fn age(stamp: Duration) -> Duration {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    now.saturating_sub(stamp)
}
