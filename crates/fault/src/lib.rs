//! A proxy between processes that delays, loses, doubles, reorders and cuts what passes.
//!
//! Not here: what the bytes mean.
