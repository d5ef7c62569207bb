//! What this server said before, and nobody else: HMAC-SHA-256 under a secret that all nodes on one database share.

use ring::hmac;
use tokio::sync::OnceCell;
use tollgate_catalogue_sql::Error;
use tollgate_serve::engine::base64;

use crate::admin::Books;

/// A secret, learnt when it is first needed.
#[derive(Default)]
pub(crate) struct Seal(OnceCell<hmac::Key>);

impl Seal {
    /// The key, by the name under which the database keeps it.
    pub(crate) async fn key(&self, books: &Books, name: &str) -> Result<&hmac::Key, Error> {
        // Asked for once, so that every other call may be small.
        let learn = Box::pin(async {
            let mut fresh = [0; 32];
            getrandom::fill(&mut fresh).map_err(|why| Error::Away(why.to_string()))?;
            let text = base64::encode(&fresh);
            let text = match books {
                Books::Database(database) => database.setting(name, &text).await?,
                Books::File(_) => text,
            };
            let bytes = base64::decode(&text, 64).filter(|bytes| bytes.len() >= 32);
            let broken = || Error::Broken(format!("the setting `{name}` is no secret"));
            let bytes = bytes.ok_or_else(broken)?;
            Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
        });
        self.0.get_or_try_init(|| learn).await
    }
}

/// The words with their seal.
pub(crate) fn sealed(key: &hmac::Key, purpose: &str, words: &[u8]) -> String {
    let tag = hmac::sign(key, &bound(purpose, words));
    format!("{}.{}", base64::encode(words), base64::encode(tag.as_ref()))
}

/// The words of a sealed text, where they are ours; compared in a time that tells nothing.
pub(crate) fn opened(key: &hmac::Key, purpose: &str, text: &str) -> Option<Vec<u8>> {
    let (words, tag) = text.split_once('.')?;
    let words = base64::decode(words, WORDS_BYTES_MAX)?;
    let tag = base64::decode(tag, 32)?;
    hmac::verify(key, &bound(purpose, &words), &tag).ok()?;
    Some(words)
}

/// What is sealed for one purpose is nothing for another.
fn bound(purpose: &str, words: &[u8]) -> Vec<u8> {
    [purpose.as_bytes(), b"\0", words].concat()
}

/// The most bytes that are sealed.
const WORDS_BYTES_MAX: usize = 1 << 10;
