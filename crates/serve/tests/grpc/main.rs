//! gRPC over HTTP/2 on plain TCP, asked by generated clients and by hand.

mod rls;
mod server;
