//! Tokens of callers with scopes and expiry. Only digests are kept, so that no log and no core file can leak a secret.
//!
//! A token has one syntax everywhere: the secret, followed by scopes and expiry unless it is for everything for ever:
//! `0f3c… scopes=check,observe expires=2027-01-01T00:00:00Z`. Not here: what a scope covers (`access`).

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use subtle::{Choice, ConstantTimeEq};
use tollgate_contract::nearest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenScope {
    /// Check, peek, reserve, lease, and settle what was reserved.
    Check,
    /// Charge, refund, and reset.
    Write,
    /// Metrics, busiest keys, explanations, the cluster.
    Observe,
}

impl TokenScope {
    /// In the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Check, Self::Write, Self::Observe];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Write => "write",
            Self::Observe => "observe",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    pub const ALL: Self = Self(7);

    pub const fn has(self, scope: TokenScope) -> bool {
        self.0 & (1 << scope as u8) != 0
    }

    /// The scopes of words between commas.
    fn read(words: &str) -> Result<Self, String> {
        let mut scopes = Self(0);
        for word in words.split(',') {
            let mut all = TokenScope::ALL.into_iter();
            let Some(scope) = all.find(|scope| scope.name() == word) else {
                let names = TokenScope::ALL.map(TokenScope::name);
                // A word that resembles no scope may be a part of a secret.
                let hint = nearest(word, names.into_iter());
                let hint =
                    hint.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let names = names.join(", ");
                return Err(format!(
                    "scopes of a token are some of {names}, with commas between them{hint}"
                ));
            };
            scopes.0 |= 1 << scope as u8;
        }
        Ok(scopes)
    }
}

impl FromIterator<TokenScope> for Scopes {
    fn from_iter<I: IntoIterator<Item = TokenScope>>(scopes: I) -> Self {
        let bits = scopes.into_iter().map(|scope| 1 << scope as u8);
        Self(bits.fold(0, |all, bit: u8| all | bit))
    }
}

/// Holds the digest of the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    digest: [u8; SHA256_OUTPUT_LEN],
    scopes: Scopes,
    /// Expiry in nanoseconds since the epoch.
    expires_ns: Option<u64>,
    /// Tokens with one name belong to one caller.
    caller: u64,
}

impl Token {
    /// A token with all scopes that does not expire.
    pub fn new(text: &str) -> Self {
        Self::of(text.as_bytes())
    }

    /// The same with these scopes only.
    #[must_use]
    pub const fn scoped(self, scopes: Scopes) -> Self {
        Self { scopes, ..self }
    }

    /// The same with an expiry, in nanoseconds since the epoch.
    #[must_use]
    pub const fn until(self, expires_ns: u64) -> Self {
        let expires_ns = Some(expires_ns);
        Self { expires_ns, ..self }
    }

    /// The same for the caller with this name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        let caller = number(digest(&SHA256, name.as_bytes()).as_ref());
        Self { caller, ..self }
    }

    /// A presented token, to be compared with [`Self::is`].
    pub fn of(shown: &[u8]) -> Self {
        let mut bytes = [0; SHA256_OUTPUT_LEN];
        bytes.copy_from_slice(digest(&SHA256, shown).as_ref());
        Self {
            digest: bytes,
            scopes: Scopes::ALL,
            expires_ns: None,
            caller: number(digest(&SHA256, &bytes).as_ref()),
        }
    }

    /// Whether both have the same secret; takes constant time.
    pub fn is(&self, other: &Self) -> Choice {
        self.digest.ct_eq(&other.digest)
    }

    /// The caller's number: never zero, and the same after a restart.
    pub const fn caller(&self) -> u64 {
        self.caller
    }

    pub const fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// Expiry in nanoseconds since the epoch.
    pub const fn expires_ns(&self) -> Option<u64> {
        self.expires_ns
    }
}

/// The accepted tokens: those of the settings, and those of a file, which is read again when it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    said: Vec<Token>,
    file: Option<PathBuf>,
    of_file: Vec<Token>,
}

impl Tokens {
    /// These, and those of a file.
    pub(crate) fn read(said: Vec<Token>, file: Option<PathBuf>) -> Result<Self, String> {
        let of_file = file.as_deref().map(from_file).transpose()?;
        Ok(Self {
            said,
            of_file: of_file.unwrap_or_default(),
            file,
        })
    }

    pub fn of_file(path: &Path) -> Result<Self, String> {
        Self::read(Vec::new(), Some(path.to_owned()))
    }

    /// Adds one of the settings.
    pub(super) fn add_one(&mut self, token: Token) {
        self.said.push(token);
    }

    /// Adds those of a file, which is read again when it changes.
    pub(super) fn follow(&mut self, file: PathBuf) -> Result<(), String> {
        *self = Self::read(std::mem::take(&mut self.said), Some(file))?;
        Ok(())
    }

    /// The same with the file read again.
    pub(crate) fn again(&self) -> Result<Self, String> {
        Self::read(self.said.clone(), self.file.clone())
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether none is set, so that everyone may ask.
    pub const fn is_empty(&self) -> bool {
        self.said.is_empty() && self.of_file.is_empty()
    }

    /// Including expired ones.
    pub fn iter(&self) -> impl Iterator<Item = &Token> {
        self.said.iter().chain(&self.of_file)
    }
}

impl From<Vec<Token>> for Tokens {
    fn from(said: Vec<Token>) -> Self {
        Self {
            said,
            ..Self::default()
        }
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

/// The first bytes of a digest.
fn number(digest: &[u8]) -> u64 {
    let first = digest.first_chunk().copied().unwrap_or_default();
    u64::from_le_bytes(first).max(1)
}

/// A token that fits in a header field; the error never contains the text itself.
pub(crate) fn checked(text: &str) -> Result<Token, String> {
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let secret = words.next().unwrap_or_default();
    if secret.len() < TOKEN_BYTES_MIN {
        return Err(format!(
            "a token has at least {TOKEN_BYTES_MIN} bytes; `openssl rand -hex 16` makes one"
        ));
    }
    if secret.len() > TOKEN_BYTES_MAX {
        return Err(format!("the token has more than {TOKEN_BYTES_MAX} bytes"));
    }
    let is_plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_graphic());
    let mut token = Token::new(secret);
    for word in words {
        token = match word.split_once('=') {
            Some(("scopes", scopes)) => token.scoped(Scopes::read(scopes)?),
            Some(("expires", time)) => token.until(time_of(time)?),
            Some(("name", name)) if !name.is_empty() => token.named(name),
            _ => return Err(FORM.to_owned()),
        };
    }
    is_plain(secret)
        .then_some(token)
        .ok_or_else(|| FORM.to_owned())
}

fn time_of(text: &str) -> Result<u64, String> {
    let time = text.parse::<Timestamp>().ok();
    let nanos = time.and_then(|time| u64::try_from(time.as_nanosecond()).ok());
    nanos.ok_or_else(|| "`expires` of a token is a time, as `2027-01-01T00:00:00Z`".to_owned())
}

/// The tokens of a file, one a line; empty lines and those that begin with `#` are skipped.
fn from_file(path: &Path) -> Result<Vec<Token>, String> {
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

/// Mode bits that let others read or write.
const OTHERS: u32 = 0o006;
const FORM: &str = "a token has only visible ASCII characters and no spaces; behind it may stand `scopes=check,write,observe`, \
                    `expires=2027-01-01T00:00:00Z` and `name=checkout`";
/// The shortest permitted secret.
pub const TOKEN_BYTES_MIN: usize = 16;
const TOKEN_BYTES_MAX: usize = 1024;
const FILE_BYTES_MAX: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "first-of-two-tokens";
    const SECOND: &str = "second-of-two-tokens";

    #[test]
    fn reads_tokens_only_where_others_cannot() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        std::fs::write(&path, format!("# ours\n{FIRST}\n\n{SECOND}\n")).unwrap();
        let allow = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
        allow(0o644).unwrap();
        assert!(from_file(&path).unwrap_err().contains("chmod 600"));
        allow(0o600).unwrap();
        assert_eq!(
            from_file(&path).unwrap(),
            [Token::new(FIRST), Token::new(SECOND)]
        );
        std::fs::write(&path, "#\n").unwrap();
        assert!(from_file(&path).unwrap_err().contains("no token"));
        std::fs::write(&path, "sixteen-bytes-and with space\n").unwrap();
        let error = from_file(&path).unwrap_err();
        assert!(
            error.contains("no spaces") && !error.contains("with space"),
            "{error}"
        );
    }

    #[test]
    fn a_token_says_what_it_is_for_and_when_it_ends() {
        let secret = "0123456789abcdef";
        let (check, look) = (TokenScope::Check, TokenScope::Observe);
        let plain = checked(secret).unwrap();
        assert_eq!((plain.scopes(), plain.expires_ns()), (Scopes::ALL, None));
        let text = format!("{secret} scopes=check,observe  expires=1970-01-01T00:00:01Z");
        let token = checked(&text).unwrap();
        assert_eq!(token.scopes(), [check, look].into_iter().collect());
        assert!(token.scopes().has(look) && !token.scopes().has(TokenScope::Write));
        assert_eq!(token.expires_ns(), Some(1_000_000_000));
        assert!(bool::from(token.is(&plain)));
        let named = |secret: &str| checked(&format!("{secret} name=shop")).unwrap().caller();
        assert_eq!(named(secret), named(FIRST));
        assert!(named(secret) != plain.caller() && plain.caller() == token.caller());
        for (text, said) in [
            ("0123456789abcde", "openssl rand -hex 16"),
            ("", "at least 16 bytes"),
            ("0123456789abcdef scopes=chek", "did you mean `check`?"),
            ("0123456789abcdef scopes=", "some of check, write, observe"),
            ("0123456789abcdef expires=soon", "2027-01-01T00:00:00Z"),
            ("0123456789abcdef until=soon", "`expires="),
            ("0123456789abcd\u{e9}f", "visible ASCII"),
        ] {
            let error = checked(text).unwrap_err();
            assert!(error.contains(said) && !error.contains("0123"), "{error}");
        }
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
