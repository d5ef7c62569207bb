//! Sockets: binding them, accepting connections, handing each to its protocol, and closing all of it in order.
//!
//! Not here: protocols (`http`, `resp`), and the threads this runs on (`run`).

mod accept;
mod bind;
mod crowd;
mod room;
mod tls;
mod unix;

use crate::meter::Door;

pub(crate) use accept::{ListenerContext, ThreadListener, accept};
pub use bind::BindError;
pub(crate) use bind::{BoundListener, Socket, bind};
pub(crate) use crowd::ConnectionLimit;
pub(crate) use room::connections;
pub(crate) use tls::Certificates;
pub use tls::{TlsError, certificates, key, server_config};

/// The protocol of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// HTTP of every version, and gRPC.
    Http,
    /// HTTP, for the admin API alone.
    Admin,
    Resp,
}

impl Speech {
    /// The label that connections here are counted under.
    const fn door(self) -> Door {
        match self {
            Self::Http | Self::Admin => Door::Http,
            Self::Resp => Door::Resp,
        }
    }
}
