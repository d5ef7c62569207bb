//! Header fields that tell clients of their quota.
