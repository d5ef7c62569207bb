//! Parses the queries of paths that take flags.

/// Whether a flag is set. Refuses unknown parameters, so that a typo is not a silent no.
pub(super) fn flag(query: &str, name: &str) -> Result<bool, String> {
    let mut set = false;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        if key != name {
            let key = super::request::shown(key);
            return Err(format!("There is no parameter `{key}`, only `{name}`."));
        }
        set = match value {
            "1" | "true" => true,
            "0" | "false" => false,
            _ => return Err(format!("`{name}` is 1 or 0.")),
        };
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::flag;

    #[test]
    fn a_flag_is_set_unset_or_wrong() {
        for (query, is) in [
            ("", Some(false)),
            ("status=1", Some(true)),
            ("status=true&", Some(true)),
            ("status=0", Some(false)),
            ("status=1&status=0", Some(false)),
            ("status", None),
            ("status=2", None),
            ("statsu=1", None),
        ] {
            assert_eq!(flag(query, "status").ok(), is, "{query}");
        }
    }
}
