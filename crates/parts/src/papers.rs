//! Certificates: a private authority, its server and client certificates, and their files.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

/// The files are removed with it.
pub struct Papers {
    folder: TempDir,
}

impl Papers {
    /// The name in the client's certificate: the user of [`crate::Postgres`].
    pub const CLIENT: &str = "tollgate";

    /// For servers on this machine, by name and by address.
    pub fn new() -> Self {
        Self::of(&["localhost", "127.0.0.1"])
    }

    /// For servers of these names.
    pub fn of(servers: &[&str]) -> Self {
        let papers = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        let mut params = CertificateParams::default();
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        papers.write("ca.pem", &issuer.pem());
        for (role, names) in [("server", servers), ("client", &[Self::CLIENT])] {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let mut params = CertificateParams::new(names.clone()).expect("names");
            // A certificate with the name of its authority looks self-signed.
            let name = &mut params.distinguished_name;
            name.push(DnType::CommonName, names[0].as_str());
            let key = KeyPair::generate().expect("a key");
            let signed = params.signed_by(&key, &issuer).expect("a certificate");
            papers.write(&format!("{role}.pem"), &signed.pem());
            papers.write(&format!("{role}.key"), &key.serialize_pem());
        }
        papers
    }

    pub fn ca(&self) -> PathBuf {
        self.path("ca.pem")
    }

    pub fn server(&self) -> (PathBuf, PathBuf) {
        (self.path("server.pem"), self.path("server.key"))
    }

    pub fn client(&self) -> (PathBuf, PathBuf) {
        (self.path("client.pem"), self.path("client.key"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }
}

impl Default for Papers {
    fn default() -> Self {
        Self::new()
    }
}
