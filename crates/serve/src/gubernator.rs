//! The answers that clients of gubernator expect.
