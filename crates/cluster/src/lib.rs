//! Who is in the cluster, and what nodes say to each other, up to the bytes before they are sealed.
//!
//! Not here: sockets, clocks, randomness, cryptography.
