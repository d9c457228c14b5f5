//! The user's own certificate, for addresses that other machines reach.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::WebError;

/// Loads the certificate with its chain, and its key.
pub(crate) fn load(certificate: &Path, key: &Path) -> Result<TlsAcceptor, WebError> {
    let bad = |file: &Path, why: String| WebError::BadCertificate { file: file.to_path_buf(), why };
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| bad(certificate, error.to_string()))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, error.to_string()))?;
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| bad(certificate, error.to_string()))?;
    let config = config.with_no_client_auth().with_single_cert(chain, secret);
    let mut config = config.map_err(|error| bad(certificate, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    use super::*;

    fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
    }

    #[tokio::test]
    async fn connection_is_encrypted_with_the_users_certificate() {
        let acceptor = load(&fixture("certificate.pem"), &fixture("key.pem")).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(fixture("certificate.pem")).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        let (ours, theirs) = tokio::io::duplex(16 << 10);
        let (server, client) =
            tokio::join!(acceptor.accept(ours), connector.connect("box.example".try_into().unwrap(), theirs));
        assert!(server.is_ok() && client.is_ok(), "{client:?}");
        let (ours, theirs) = tokio::io::duplex(16 << 10);
        let (_, client) = tokio::join!(
            acceptor.accept(ours),
            connector.connect("evil.example".try_into().unwrap(), theirs)
        );
        assert!(client.is_err(), "the name is not in the certificate");
    }

    #[test]
    fn unusable_certificate_is_named() {
        for (certificate, key, named) in [
            ("missing.pem", "key.pem", "missing.pem"),
            ("certificate.pem", "missing.pem", "missing.pem"),
            ("certificate.pem", "certificate.pem", "certificate.pem"),
            ("key.pem", "key.pem", "key.pem"),
        ] {
            let Err(error) = load(&fixture(certificate), &fixture(key)) else {
                panic!("{certificate} {key}")
            };
            assert!(error.to_string().contains(named), "{error}");
        }
    }
}
