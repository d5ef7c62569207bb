//! Messages of `proto/`, by package; what fields mean is said there. Made by `cargo xtask proto`; do not edit.

pub mod envoy {
    pub mod config {
        pub mod core {
            pub mod v3;
        }
    }
    pub mod extensions {
        pub mod common {
            pub mod ratelimit {
                pub mod v3;
            }
        }
    }
    pub mod r#type {
        pub mod v3;
    }
    pub mod service {
        pub mod auth {
            pub mod v3;
        }
        pub mod discovery {
            pub mod v3;
        }
        pub mod rate_limit_quota {
            pub mod v3;
        }
        pub mod ratelimit {
            pub mod v3;
        }
    }
}
pub mod google {
    pub mod protobuf;
    pub mod rpc;
}
pub mod pb {
    pub mod gubernator;
}
pub mod ratelimit {
    pub mod config {
        pub mod ratelimit {
            pub mod v3;
        }
    }
}
pub mod throttlecrab;
pub mod tollgate {
    pub mod v1;
}
