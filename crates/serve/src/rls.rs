//! The answers of a rate limit service, as Envoy asks it.
