//! Paths of other limiters: `/throttle`, `/v1/GetRateLimits` and their like.
