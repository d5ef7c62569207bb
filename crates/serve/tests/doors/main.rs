//! Every protocol of a server, from outside. One program for all of them, as each more takes long to build.

mod answers;
mod grpc;
mod http;
mod proxy;
mod resp;
mod tokens;
