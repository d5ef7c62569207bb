//! Windows and leaky buckets as clients of gubernator describe them.
