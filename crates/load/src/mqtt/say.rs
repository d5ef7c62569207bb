//! Broker codes in words, and errors that say what to do next.

use std::fmt;
use std::io;

use tollgate_mqtt::reason;

/// Why a run could not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MqttError {
    /// The plan is invalid.
    Plan(String),
    /// A broker cannot be reached, or closes connections before the start.
    Connect {
        /// Where.
        address: String,
        /// What happened.
        error: String,
    },
    /// A broker refuses a client.
    Refused {
        /// Where.
        address: String,
        /// Its code.
        code: u8,
    },
    /// The server does not speak MQTT.
    Malformed {
        /// Where.
        address: String,
        /// What is wrong.
        error: String,
    },
    /// A system call failed.
    System(String),
}

impl From<io::Error> for MqttError {
    fn from(error: io::Error) -> Self {
        Self::System(error.to_string())
    }
}

impl fmt::Display for MqttError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(text) | Self::System(text) => f.write_str(text),
            Self::Connect { address, error } => {
                write!(f, "no connection to {address}: {error}\n{}", advice(error))
            }
            Self::Refused { address, code } => write!(
                f,
                "{address} refuses a client: {}\n{}",
                reason(*code),
                after_refusal(*code)
            ),
            Self::Malformed { address, error } => write!(
                f,
                "who answers at {address} does not speak MQTT: {error}\nName the port of a broker without TLS; 1883 is usual."
            ),
        }
    }
}

impl std::error::Error for MqttError {}

fn advice(error: &str) -> &'static str {
    if error.contains("os error 24") {
        "There are more connections than open files are allowed: raise the limit with `ulimit -n`, or open fewer."
    } else if error.contains("os error 99") {
        "There are no more local ports: use several addresses of the broker as --target, or open fewer connections."
    } else if error.contains("refused") {
        "Start the broker, or name where it listens with --target and --subscribe host:port."
    } else {
        "Look at the broker's log: it may allow fewer connections, or want a user and a password."
    }
}

const fn after_refusal(code: u8) -> &'static str {
    match code {
        4 | 5 | 0x86 | 0x87 => {
            "Give --user and --password that it knows and that may publish and subscribe."
        }
        1 | 0x84 => "Try the other --version.",
        2 | 0x85 => "Choose another --client-prefix.",
        0x9F => "It wants connections to come more slowly.",
        _ => "Look at the log of the broker, or of the gateway before it.",
    }
}

/// A code of CONNACK, SUBACK, an acknowledgement or DISCONNECT.
pub(crate) fn reason(code: u8) -> String {
    let words = match code {
        1 | reason::UNSUPPORTED_VERSION => "it does not speak this version",
        2 | 0x85 => "it does not like the client identifier",
        3 | reason::SERVER_UNAVAILABLE => "the server cannot be had",
        4 | 0x86 => "the user or the password is wrong",
        5 | 0x87 => "that is not allowed",
        reason::SERVER_BUSY => "the server has too much to do",
        reason::SERVER_SHUTTING_DOWN => "the server stops",
        0x8D => "the keep-alive ran out",
        0x8E => "another client took the identifier",
        0x93 => "more messages under way than it accepts",
        reason::PACKET_TOO_LARGE => "a packet is too large",
        reason::QUOTA_EXCEEDED => "a limit was reached",
        reason::USE_ANOTHER_SERVER => "use another server",
        _ => return format!("code 0x{code:02x}"),
    };
    format!("{words} (code 0x{code:02x})")
}
