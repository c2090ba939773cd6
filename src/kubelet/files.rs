//! Files in the root directory of a kubelet, two levels above its socket: the checkpoint of prepared claims, and the client
//! certificate.
//!
//! A kubelet that got its certificate by TLS bootstrap keeps it in `pki`, issued to `system:node:NAME`. Only the name in the
//! certificate is read.
//!
//! Upstream: `pkg/kubelet/certificate/kubelet.go`, `NewKubeletClientCertificateManager`.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::model::{NodeName, PreparedClaim};
use crate::wire::podresources::prepared_claims;

/// The kubelet's notes about claims, two folders above its socket.
const NOTES: &str = "dra_manager_state";

/// The longest notes that are read; those of a node with a thousand claims take some hundred kilobytes.
const LONGEST: u64 = 16 << 20;

/// The claims that the kubelet which listens at `socket` has noted as prepared.
///
/// # Errors
///
/// In words, why that is not known: the notes are not there, may not be read, or are not understood.
pub fn notes_beside(socket: &Path) -> Result<Vec<PreparedClaim>, String> {
    let root = socket.parent().and_then(Path::parent);
    let path = root.unwrap_or(socket).join(NOTES);
    let shown = path.display();
    let bytes = bounded(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    prepared_claims(&bytes).map_err(|why| format!("cannot parse {shown}: {why}"))
}

/// The bytes of a file that has an end, and is no pipe or device that may never say anything.
fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    let most = LONGEST.saturating_add(1);
    let read = fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    match u64::try_from(read) {
        Ok(read) if read <= LONGEST => Ok(bytes),
        Ok(_) | Err(_) => Err(io::Error::other("it is longer than 16 MiB")),
    }
}

/// The current certificate, in the kubelet's root folder.
const CERTIFICATE: &str = "pki/kubelet-client-current.pem";
/// Prefix of the node's name.
const PREFIX: &[u8] = b"system:node:";

/// The node to which the certificate of the kubelet that listens at `socket` is made out; nothing where it has none,
/// or none that is understood.
pub fn certificate_node(socket: &Path) -> Option<NodeName> {
    let root = socket.parent().and_then(Path::parent)?;
    let text = fs::read(root.join(CERTIFICATE)).ok()?;
    let blocks = pem::parse_many(text).ok()?;
    // The kubelet keeps its private key in the same file; it is never looked at.
    let certificates = blocks.iter().filter(|block| block.tag() == "CERTIFICATE");
    certificates
        .filter_map(|block| name_in(block.contents()))
        .next_back()
}

/// The name after the prefix in a string of a certificate, which is DER: before a string stand a byte for its type
/// and its length.
fn name_in(der: &[u8]) -> Option<NodeName> {
    let mut places = der
        .windows(PREFIX.len())
        .enumerate()
        .filter(|(_, found)| *found == PREFIX);
    places.find_map(|(at, _)| {
        // Up to 255 bytes this one byte is the whole length: from 128 on, DER puts 0x81 before it (X.690, 8.1.3).
        let length = usize::from(*der.get(at.checked_sub(1)?)?);
        let whole = der.get(at..at.checked_add(length)?)?;
        let name = std::str::from_utf8(whole.get(PREFIX.len()..)?).ok()?;
        (!name.is_empty()).then(|| NodeName::from(name))
    })
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    fn certificate(name: &str) -> String {
        let mut params = CertificateParams::default();
        let mut subject = DistinguishedName::new();
        subject.push(DnType::OrganizationName, "system:nodes");
        subject.push(DnType::CommonName, name);
        params.distinguished_name = subject;
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().pem()
    }

    fn found(text: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("pki")).unwrap();
        fs::write(folder.path().join(CERTIFICATE), text).unwrap();
        let socket = folder.path().join("pod-resources/kubelet.sock");
        certificate_node(&socket).map(|node| node.to_string())
    }

    #[test]
    fn the_certificate_names_the_node() {
        let name = "node-7.example.com";
        let own = certificate(&format!("system:node:{name}"));
        assert_eq!(found(&own).as_deref(), Some(name));
        // The name of a node is a domain name of any length.
        let long = "n".repeat(100);
        let long_one = certificate(&format!("system:node:{long}"));
        assert_eq!(found(&long_one).as_deref(), Some(&*long));
    }

    #[test]
    fn what_names_no_node_shows_none() {
        for text in [
            certificate("admin"),
            "no certificate".to_owned(),
            String::new(),
        ] {
            assert_eq!(found(&text), None, "{text}");
        }
        assert_eq!(certificate_node(Path::new("/nowhere/at/all")), None);
    }

    #[test]
    fn notes_without_an_end_are_not_read_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        let file = fs::File::create(&path).unwrap();
        file.set_len(LONGEST + 1).unwrap();
        assert!(bounded(&path).unwrap_err().to_string().contains("longer"));
        file.set_len(LONGEST).unwrap();
        assert!(bounded(&path).is_ok());
        assert!(bounded(folder.path()).is_err());
    }
}
