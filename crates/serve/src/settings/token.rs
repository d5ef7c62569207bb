//! A secret that callers show. Only its digest is kept, so that no log and no core file can give it away.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use subtle::{Choice, ConstantTimeEq};

/// A secret that callers show.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    digest: [u8; SHA256_OUTPUT_LEN],
}

impl Token {
    /// The token with this text.
    pub fn new(text: &str) -> Self {
        Self::of(text.as_bytes())
    }

    /// What somebody showed, to be compared with [`Self::is`].
    pub fn of(shown: &[u8]) -> Self {
        let mut bytes = [0; SHA256_OUTPUT_LEN];
        bytes.copy_from_slice(digest(&SHA256, shown).as_ref());
        Self { digest: bytes }
    }

    /// Whether both are the same; takes the same time whatever they are.
    pub fn is(&self, other: &Self) -> Choice {
        self.digest.ct_eq(&other.digest)
    }
}

impl From<&str> for Token {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A token that can be sent in a header field, or what is wrong with it; never the text itself.
pub(crate) fn checked(text: &str) -> Result<Token, &'static str> {
    if text.is_empty() {
        return Err("the token is empty");
    }
    if text.len() > TOKEN_BYTES_MAX {
        return Err("the token has more than 1024 bytes");
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("a token has only visible ASCII characters and no spaces");
    }
    Ok(Token::new(text))
}

/// The tokens of a file, one on every line; empty lines and lines that begin with `#` are passed over.
pub(crate) fn from_file(path: &Path) -> Result<Vec<Token>, String> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| format!("{shown} cannot be read: {error}");
    let file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    if mode & OTHERS != 0 {
        return Err(format!(
            "{shown} can be read by everybody on this machine; say `chmod 600 {shown}`"
        ));
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let tokens: Result<Vec<_>, _> = lines.map(checked).collect();
    let tokens = tokens.map_err(|what| format!("{shown}: {what}"))?;
    if tokens.is_empty() {
        return Err(format!("{shown} has no token in it"));
    }
    Ok(tokens)
}

/// Bits of a file's mode that let anybody read or write.
const OTHERS: u32 = 0o006;
/// The least bytes of a secret.
pub const TOKEN_BYTES_MIN: usize = 16;
const TOKEN_BYTES_MAX: usize = 1024;
const FILE_BYTES_MAX: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_tokens_only_where_others_cannot() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        std::fs::write(&path, "# ours\nfirst\n\nsecond\n").unwrap();
        let allow = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
        allow(0o644).unwrap();
        assert!(from_file(&path).unwrap_err().contains("chmod 600"));
        allow(0o600).unwrap();
        assert_eq!(
            from_file(&path).unwrap(),
            [Token::new("first"), Token::new("second")]
        );
        std::fs::write(&path, "#\n").unwrap();
        assert!(from_file(&path).unwrap_err().contains("no token"));
        std::fs::write(&path, "with space\n").unwrap();
        let error = from_file(&path).unwrap_err();
        assert!(
            error.contains("no spaces") && !error.contains("with space"),
            "{error}"
        );
    }

    #[test]
    fn only_the_same_text_is_the_same_token() {
        let token = Token::new("open sesame");
        assert!(bool::from(token.is(&Token::of(b"open sesame"))));
        for other in ["", "open", "open sesame ", "Open sesame"] {
            assert!(!bool::from(token.is(&Token::new(other))), "{other}");
        }
    }

    #[test]
    fn a_token_is_never_shown() {
        assert!(!format!("{:?}", Token::new("open sesame")).contains("sesame"));
    }
}
