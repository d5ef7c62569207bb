//! gRPC over HTTP/2 on plain TCP, asked by generated clients and by hand.

mod authz;
mod others;
mod protocol;
mod rls;
mod server;
mod services;
