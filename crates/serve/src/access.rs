//! Who may ask: tokens and certificates.
