//! Messages of `envoy.service.rate_limit_quota.v3`. Made by `cargo xtask proto`; do not edit.

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RateLimitQuotaUsageReports {
    #[prost(string, tag = "1")]
    pub domain: String,
    #[prost(message, repeated, tag = "2")]
    pub bucket_quota_usages: Vec<rate_limit_quota_usage_reports::BucketQuotaUsage>,
}
pub mod rate_limit_quota_usage_reports {
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct BucketQuotaUsage {
        #[prost(message, optional, tag = "1")]
        pub bucket_id: Option<super::BucketId>,
        #[prost(message, optional, tag = "2")]
        pub time_elapsed: Option<super::super::super::super::super::google::protobuf::Duration>,
        #[prost(uint64, tag = "3")]
        pub num_requests_allowed: u64,
        #[prost(uint64, tag = "4")]
        pub num_requests_denied: u64,
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RateLimitQuotaResponse {
    #[prost(message, repeated, tag = "1")]
    pub bucket_action: Vec<rate_limit_quota_response::BucketAction>,
}
pub mod rate_limit_quota_response {
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct BucketAction {
        #[prost(message, optional, tag = "1")]
        pub bucket_id: Option<super::BucketId>,
        #[prost(oneof = "bucket_action::BucketAction", tags = "2, 3")]
        pub bucket_action: Option<bucket_action::BucketAction>,
    }
    pub mod bucket_action {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
        pub struct QuotaAssignmentAction {
            #[prost(message, optional, tag = "2")]
            pub assignment_time_to_live:
                Option<super::super::super::super::super::super::google::protobuf::Duration>,
            #[prost(message, optional, tag = "3")]
            pub rate_limit_strategy:
                Option<super::super::super::super::super::r#type::v3::RateLimitStrategy>,
        }
        #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
        pub struct AbandonAction {}
        #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Oneof)]
        pub enum BucketAction {
            #[prost(message, tag = "2")]
            QuotaAssignmentAction(QuotaAssignmentAction),
            #[prost(message, tag = "3")]
            AbandonAction(AbandonAction),
        }
    }
}
#[derive(Eq, Hash, PartialOrd, Ord, Clone, PartialEq, ::prost::Message)]
pub struct BucketId {
    #[prost(btree_map = "string, bytes", tag = "1")]
    pub bucket: ::prost::alloc::collections::BTreeMap<String, Vec<u8>>,
}
