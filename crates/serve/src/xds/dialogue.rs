//! The conversation with a management server: subscription, version in force, refusals and reasons.
//!
//! Not here: the stream.

use tollgate_wire::google::Status;
use tollgate_wire::xds::{DiscoveryRequest, DiscoveryResponse, Node, RATE_LIMIT_CONFIG};

use super::text::XdsRules;

/// What is remembered between messages, and between streams.
pub(super) struct Dialogue {
    node: String,
    version: String,
    rules: Option<XdsRules>,
}

impl Dialogue {
    pub(super) const fn new(node: String) -> Self {
        Self {
            node,
            version: String::new(),
            rules: None,
        }
    }

    /// The first message of a stream.
    pub(super) fn hello(&self) -> DiscoveryRequest {
        DiscoveryRequest {
            node: Some(Node {
                id: self.node.clone(),
                cluster: CLUSTER.into(),
                user_agent_name: CLUSTER.into(),
            }),
            ..self.request()
        }
    }

    /// Whether these rules are in force already.
    pub(super) fn is_in_force(&self, rules: &XdsRules) -> bool {
        self.rules.as_ref() == Some(rules)
    }

    pub(super) fn set_in_force(&mut self, rules: XdsRules) {
        self.rules = Some(rules);
    }

    /// Acknowledges a response, or rejects it with the reason.
    pub(super) fn answer(
        &mut self,
        response: &DiscoveryResponse,
        outcome: Result<(), String>,
    ) -> DiscoveryRequest {
        if outcome.is_ok() {
            self.version.clone_from(&response.version_info);
        }
        DiscoveryRequest {
            response_nonce: response.nonce.clone(),
            error_detail: outcome.err().map(refusal),
            ..self.request()
        }
    }

    fn request(&self) -> DiscoveryRequest {
        DiscoveryRequest {
            version_info: self.version.clone(),
            type_url: RATE_LIMIT_CONFIG.into(),
            ..DiscoveryRequest::default()
        }
    }
}

fn refusal(mut why: String) -> Status {
    let end = (0..=MESSAGE_BYTES_MAX).rev();
    let end = end.into_iter().find(|end| why.is_char_boundary(*end));
    why.truncate(end.unwrap_or(0));
    Status {
        code: INVALID_ARGUMENT,
        message: why,
        details: Vec::new(),
    }
}

const CLUSTER: &str = "tollgate";
const INVALID_ARGUMENT: i32 = 3;
/// Limit on an error message.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn response(version: &str, nonce: &str) -> DiscoveryResponse {
        DiscoveryResponse {
            version_info: version.into(),
            nonce: nonce.into(),
            ..DiscoveryResponse::default()
        }
    }

    #[test]
    fn a_refusal_names_the_version_that_stays_in_force() {
        let mut dialogue = Dialogue::new("n".into());
        assert_eq!(dialogue.hello().version_info, "");
        let said = dialogue.answer(&response("1", "a"), Ok(()));
        assert_eq!((&*said.version_info, &*said.response_nonce), ("1", "a"));
        assert_eq!(said.error_detail, None);
        let said = dialogue.answer(&response("2", "b"), Err("ü".repeat(4_000)));
        assert_eq!((&*said.version_info, &*said.response_nonce), ("1", "b"));
        assert_eq!(
            said.error_detail.map(|why| why.message.len()),
            Some(MESSAGE_BYTES_MAX)
        );
        // The next stream begins with it.
        assert_eq!(dialogue.hello().version_info, "1");
    }
}
