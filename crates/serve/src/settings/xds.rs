//! A management server that contracts come from: `xds://host:port?node=NAME`, or `xdss://` over TLS.

use std::path::PathBuf;

use super::ContractSource;

/// The address as configured. Errors in it are reported at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdsSource(String);

impl XdsSource {
    /// Whether it uses TLS.
    pub fn is_secure(&self) -> bool {
        self.0.starts_with(SECURE)
    }

    /// Host and port, and the name of this server there.
    pub fn parts(&self) -> Result<(&str, &str), String> {
        let wrong = || {
            let named = &self.0;
            format!(
                "`{named}` names no management server; write {SCHEME}host:port, or {SCHEME}host:port?node=NAME, with {SECURE} over TLS"
            )
        };
        let rest = self.0.strip_prefix(SCHEME);
        let rest = rest.or_else(|| self.0.strip_prefix(SECURE));
        let rest = rest.ok_or_else(wrong)?;
        let (at, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, port) = at.rsplit_once(':').ok_or_else(wrong)?;
        let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if host.is_empty() || !is_port || !is_plain(at) || at.contains(['/', '@', '#']) {
            return Err(wrong());
        }
        let node = match query {
            "" => NODE,
            query => query.strip_prefix("node=").ok_or_else(wrong)?,
        };
        let is_name = !node.is_empty() && node.len() <= NODE_BYTES_MAX && is_plain(node);
        is_name.then_some((at, node)).ok_or_else(wrong)
    }

    pub fn node(&self) -> String {
        self.parts().map_or(NODE, |(_, node)| node).to_owned()
    }
}

impl ContractSource {
    /// A file, or a management server if the name begins as one.
    pub fn named(name: PathBuf) -> Self {
        match name.to_str().filter(|text| is_xds(text)) {
            Some(text) => Self::Xds(XdsSource(text.to_owned())),
            None => Self::File(name),
        }
    }
}

fn is_xds(text: &str) -> bool {
    text.starts_with(SCHEME) || text.starts_with(SECURE)
}

const SCHEME: &str = "xds://";
const SECURE: &str = "xdss://";
/// The default name of a server.
const NODE: &str = "tollgate";
const NODE_BYTES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_management_servers_are_read() {
        let read = |text: &str| match ContractSource::named(text.into()) {
            ContractSource::Xds(source) => source
                .parts()
                .ok()
                .map(|(at, node)| (at.to_owned(), node.to_owned())),
            _ => None,
        };
        let pair = |at: &str, node: &str| Some((at.to_owned(), node.to_owned()));
        assert_eq!(
            read("xds://control:18000"),
            pair("control:18000", "tollgate")
        );
        assert_eq!(read("xds://[::1]:1?node=a-1"), pair("[::1]:1", "a-1"));
        assert_eq!(read("xdss://control:1"), pair("control:1", "tollgate"));
        for wrong in [
            "xds://",
            "xds://host",
            "xds://:1",
            "xds://host:0",
            "xds://host:x",
            "xds://host:1/path",
            "xds://host:1?node=",
            "xds://host:1?other=1",
            "xds://ho st:1",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(
            ContractSource::named("contracts.yaml".into()),
            ContractSource::File("contracts.yaml".into())
        );
    }
}
