//! Streams between nodes: TLS 1.3 both ways, with keys that only members have.
//!
//! Each seal key gives an Ed25519 key, the same on every node. A node shows the one of the key it seals with, as a raw
//! public key (RFC 7250): there is no certificate, no name and no date to check, only whether the key is one of ours.
//! Tickets are off, so that a rotation ends what it should. Not here: connections, and who the peer says it is.

use std::fmt;
use std::sync::Arc;

use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring as provider,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer,
    UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error,
    PeerIncompatible, ServerConfig, SignatureScheme, version,
};

use super::keys::{KEY_LEN, KeyRing, derive};

/// What a server is called in the handshake; nobody checks it.
pub const SERVER_NAME: &str = "tollgate.invalid";
/// The protocol that is asked for in the handshake.
pub const ALPN: &[u8] = b"tollgate-cluster/1";

impl KeyRing {
    /// How streams to peers are opened.
    pub fn tls_client(&self) -> Result<Arc<ClientConfig>, Error> {
        let provider = Arc::new(provider::default_provider());
        let shown = AlwaysResolvesClientRawPublicKeys::new(self.shown(&provider)?);
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(self.verifier(&provider)))
            .with_client_cert_resolver(Arc::new(shown));
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        Ok(Arc::new(config))
    }

    /// How streams of peers are accepted.
    pub fn tls_server(&self) -> Result<Arc<ServerConfig>, Error> {
        let provider = Arc::new(provider::default_provider());
        let shown = AlwaysResolvesServerRawPublicKeys::new(self.shown(&provider)?);
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&version::TLS13])?
            .with_client_cert_verifier(Arc::new(self.verifier(&provider)))
            .with_cert_resolver(Arc::new(shown));
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }

    /// The key that this node shows.
    fn shown(&self, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, Error> {
        let no_key = || Error::General(String::from("no key to show"));
        let first = self.seals().first().ok_or_else(no_key)?;
        let seed = stream_seed(&first.bytes);
        let public = public(&seed).ok_or_else(no_key)?;
        let mut pkcs8 = PKCS8_HEAD.to_vec();
        pkcs8.extend(seed);
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8));
        let signer = provider.key_provider.load_private_key(private)?;
        let shown = CertificateDer::from(public);
        Ok(Arc::new(CertifiedKey::new(vec![shown], signer)))
    }

    fn verifier(&self, provider: &CryptoProvider) -> Members {
        let seals = self.seals().iter();
        Members {
            keys: seals
                .filter_map(|key| public(&stream_seed(&key.bytes)))
                .collect(),
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

/// Accepts who shows one of our keys and can sign with it.
struct Members {
    keys: Vec<Vec<u8>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Members({} keys)", self.keys.len())
    }
}

impl Members {
    fn knows(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        // Public keys: no secret is compared.
        if self.keys.iter().any(|key| key == shown.as_ref()) {
            return Ok(());
        }
        Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }

    fn signed(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
    }
}

/// What both kinds of verifiers say of signatures: their traits have the same methods, and no ancestor in common.
macro_rules! signs_as_members_do {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::PeerIncompatible(
                PeerIncompatible::Tls12NotOfferedOrEnabled,
            ))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.signed(message, cert, dss)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Members {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.knows(end_entity)?;
        Ok(ServerCertVerified::assertion())
    }

    signs_as_members_do!();
}

impl ClientCertVerifier for Members {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.knows(end_entity)?;
        Ok(ClientCertVerified::assertion())
    }

    signs_as_members_do!();
}

fn stream_seed(key: &[u8; KEY_LEN]) -> [u8; KEY_LEN] {
    derive(key, b"stream key")
}

/// The public key of a seed, as TLS shows it.
fn public(seed: &[u8; KEY_LEN]) -> Option<Vec<u8>> {
    let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
    let mut spki = SPKI_HEAD.to_vec();
    spki.extend(pair.public_key().as_ref());
    Some(spki)
}

/// What stands before an Ed25519 public key in its `SubjectPublicKeyInfo` (RFC 8410).
const SPKI_HEAD: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
/// What stands before an Ed25519 seed in its PKCS #8 (RFC 8410).
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use rustls::{ClientConnection, ServerConnection};

    use super::*;

    /// Shakes hands in memory, and sends one byte each way.
    fn shake(client: &KeyRing, server: &KeyRing) -> Result<(), Error> {
        let name = ServerName::try_from(SERVER_NAME).unwrap();
        let mut client = ClientConnection::new(client.tls_client()?, name)?;
        let mut server = ServerConnection::new(server.tls_server()?)?;
        client.writer().write_all(b"c").unwrap();
        server.writer().write_all(b"s").unwrap();
        let mut wire = Vec::new();
        for _ in 0..10 {
            wire.clear();
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            let mut from = &wire[..];
            while !from.is_empty() {
                server.read_tls(&mut from).unwrap();
                server.process_new_packets()?;
            }
            wire.clear();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            let mut from = &wire[..];
            while !from.is_empty() {
                client.read_tls(&mut from).unwrap();
                client.process_new_packets()?;
            }
        }
        let mut byte = [0];
        client.reader().read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"s");
        server.reader().read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"c");
        Ok(())
    }

    #[test]
    fn members_shake_hands() {
        let ring = KeyRing::fresh().unwrap();
        shake(&ring, &ring).unwrap();
    }

    #[test]
    fn another_cluster_is_refused_whoever_calls() {
        let (one, other) = (KeyRing::fresh().unwrap(), KeyRing::fresh().unwrap());
        assert!(shake(&one, &other).is_err());
        assert!(shake(&other, &one).is_err());
    }

    #[test]
    fn every_step_of_a_rotation_shakes_hands_with_the_next() {
        let start = KeyRing::fresh().unwrap();
        let (learn, _) = start.rotate().unwrap();
        let (switch, _) = learn.rotate().unwrap();
        let (done, _) = switch.rotate().unwrap();
        for (one, other) in [(&start, &learn), (&learn, &switch), (&switch, &done)] {
            shake(one, other).unwrap();
            shake(other, one).unwrap();
        }
        assert!(shake(&start, &done).is_err());
    }

    #[test]
    fn a_client_without_a_key_is_refused() {
        let ring = KeyRing::fresh().unwrap();
        let stranger = KeyRing::fresh().unwrap();
        // It knows our public key, so that the server's passes, and has none of its own that we know.
        let mut mixed = stranger.write();
        let ours = ring.write();
        let seal = ours.lines().find(|line| line.starts_with("seal:")).unwrap();
        mixed.push_str(seal);
        let mixed = KeyRing::parse(&mixed).unwrap();
        assert!(shake(&mixed, &ring).is_err());
    }
}
