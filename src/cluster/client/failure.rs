//! What do kube's errors and the server's refusals mean?
//!
//! The border: beyond it there is no `kube::Error`, whose texts repeat each other and may show more
//! than they should.

use std::error::Error as StdError;
use std::io::ErrorKind;
use std::sync::Arc;

use http::StatusCode;
use kube::client::AuthError;
use serde::Deserialize;

use super::api::Read;
use super::retry::Failure;
use crate::cluster::error::Server;
use crate::cluster::{ClusterError, Permission};
use crate::wire::{DecodeError, decode_protobuf_object};

/// What the server says about a refusal.
#[derive(Debug, Default, Deserialize)]
struct Account {
    #[serde(default)]
    message: String,
    #[serde(default)]
    reason: String,
}

impl Account {
    /// From a `Status` in either encoding, else the text itself as far as it is short.
    fn parse(body: &[u8]) -> Self {
        if let Err(DecodeError::Status {
            reason, message, ..
        }) = decode_protobuf_object(body)
        {
            return Self { message, reason };
        }
        if let Ok(account) = serde_json::from_slice(body) {
            return account;
        }
        let text = String::from_utf8_lossy(body);
        let line = text.lines().next().unwrap_or_default();
        Self {
            message: line.chars().take(200).collect(),
            reason: String::new(),
        }
    }
}

/// What an answer that is not a success means for `read`.
pub(in crate::cluster) fn refusal(
    server: &Arc<Server>,
    read: &Read,
    status: StatusCode,
    body: &[u8],
) -> Failure {
    let account = Account::parse(body);
    let path = read.path.clone();
    Failure::Final(match status {
        StatusCode::GONE => return Failure::Expired,
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
            return Failure::Broken(format!("{status}: {}", account.message));
        }
        StatusCode::UNAUTHORIZED => ClusterError::Unauthorized {
            server: Arc::clone(server),
        },
        StatusCode::FORBIDDEN => ClusterError::Forbidden {
            permission: Permission::clone(&read.permission),
            user: user_in(&account.message),
        },
        StatusCode::NOT_FOUND => ClusterError::NotFound { path },
        StatusCode::CONFLICT if account.reason == "AlreadyExists" => {
            ClusterError::AlreadyExists { path }
        }
        StatusCode::UNPROCESSABLE_ENTITY => ClusterError::Invalid {
            path,
            message: account.message,
        },
        StatusCode::CONFLICT => ClusterError::Conflict {
            path,
            message: account.message,
        },
        _ => ClusterError::Refused {
            server: Arc::clone(server),
            path,
            status: status.as_u16(),
            message: if account.message.is_empty() {
                account.reason
            } else {
                account.message
            },
        },
    })
}

/// The user in `… is forbidden: User "alice" cannot list …`.
fn user_in(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("User \"")?;
    let (user, _) = rest.split_once('"')?;
    Some(user.to_owned())
}

/// What it means that a client could not be made.
pub(in crate::cluster) fn unusable(server: &Arc<Server>, error: &kube::Error) -> ClusterError {
    let server = Arc::clone(server);
    if let Some(auth) = find::<AuthError>(error) {
        return credentials(server, auth);
    }
    if let kube::Error::RustlsTls(error) = error {
        let reason = error.to_string();
        return ClusterError::Tls { server, reason };
    }
    if let kube::Error::ProxyProtocolUnsupported { proxy_url } = error {
        let scheme = proxy_url.scheme_str().unwrap_or_default();
        let reason = format!("proxies of the kind {scheme:?} are not supported");
        return ClusterError::Unreachable { server, reason };
    }
    let reason = if let kube::Error::HttpError(_) = error {
        "a user, group or token holds characters that no header can hold".to_owned()
    } else {
        innermost(error)
    };
    ClusterError::Credentials { server, reason }
}

/// What it means that a request got no answer.
pub(in crate::cluster) fn unanswered(server: &Arc<Server>, error: &kube::Error) -> Failure {
    let server = Arc::clone(server);
    if let Some(auth) = find::<AuthError>(error) {
        return credentials(server, auth).into();
    }
    let reason = innermost(error);
    let kind = find::<std::io::Error>(error).map(std::io::Error::kind);
    let connecting = chain(error).any(|error| error.to_string().contains("(Connect)"));
    if kind == Some(ErrorKind::InvalidData) || reason.contains("certificate") {
        return ClusterError::Tls { server, reason }.into();
    }
    match kind {
        Some(
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof,
        ) => Failure::Broken(reason),
        Some(_) | None if connecting => ClusterError::Unreachable { server, reason }.into(),
        Some(_) | None => Failure::Broken(reason),
    }
}

/// What broke while a body arrived.
pub(in crate::cluster) fn interrupted(error: &kube::Error) -> Failure {
    Failure::Broken(innermost(error))
}

/// The credentials do not work; the texts of commands and their output stay out of it.
fn credentials(server: Arc<Server>, error: &AuthError) -> ClusterError {
    let reason = if let AuthError::AuthExecRun { out, .. } = error {
        format!("the command of its auth-provider ended with {}", out.status)
    } else if let AuthError::InvalidBearerToken(_) = error {
        "the token holds characters that no header can hold".to_owned()
    } else {
        error.to_string()
    };
    ClusterError::Credentials { server, reason }
}

fn chain(error: &kube::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let first: &(dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |error| {
        let error: &(dyn StdError + 'static) = *error;
        error.source()
    })
}

/// The first error of type `E` in the chain, also inside of I/O errors, which hide theirs.
fn find<E: StdError + 'static>(error: &kube::Error) -> Option<&E> {
    chain(error).find_map(|error| {
        error.downcast_ref::<E>().or_else(|| {
            let inner = error.downcast_ref::<std::io::Error>()?.get_ref()?;
            inner.downcast_ref::<E>()
        })
    })
}

/// The text of the cause of it all.
fn innermost(error: &kube::Error) -> String {
    let Some(last) = chain(error).last() else {
        return String::new();
    };
    let inner = last
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref);
    match inner {
        Some(inner) => inner.to_string(),
        None => last.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_is_taken_from_the_servers_words() {
        let message = r#"resourceslices.resource.k8s.io is forbidden: User "alice" cannot list resource "resourceslices""#;
        assert_eq!(user_in(message).as_deref(), Some("alice"));
        assert_eq!(user_in("forbidden"), None);
    }

    #[test]
    fn refusal_is_read_from_json_and_from_text() {
        let json = br#"{"kind":"Status","message":"no","reason":"Invalid","code":422}"#;
        assert_eq!(Account::parse(json).message, "no");
        assert_eq!(
            Account::parse(b"upstream is down\nsecond line").message,
            "upstream is down"
        );
    }
}
