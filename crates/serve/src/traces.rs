//! Traces for OpenTelemetry, where they are asked for.

/// Where traces go, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSettings {
    /// The collector, as in `http://127.0.0.1:4317`.
    pub endpoint: String,
    /// How it is spoken to.
    pub protocol: TraceProtocol,
    /// Of how many decisions one is traced; zero traces none, and only requests off the hot path.
    pub one_in: u32,
}

/// How the collector is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceProtocol {
    /// OTLP over gRPC.
    #[default]
    Grpc,
    /// OTLP as protobuf over HTTP.
    Http,
}

/// Sends traces while it lives.
pub struct Traces {}
