//! `/json`, the rate limit service without gRPC.
