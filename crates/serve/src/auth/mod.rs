//! Forward authorization: a proxy asks whether a request of its client may pass.
