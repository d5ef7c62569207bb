//! `/v1/auth`, for proxies that ask before they pass a request on.
