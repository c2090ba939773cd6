//! The connection flags, as the cluster takes them.

use super::context::ConnectionSettings;
use super::flags::connection::ConnectionArgs;
use crate::cluster::{ConnectionOptions, DEFAULT_REQUEST_TIMEOUT};

/// Connection flags, as a context takes them.
pub(super) fn settings(args: ConnectionArgs) -> ConnectionSettings {
    let namespace = args.namespace.clone();
    ConnectionSettings {
        namespace: namespace.filter(|_| args.names_namespace()),
        verbosity: args.verbosity,
        options: options(args),
    }
}

/// Connection flags, as the cluster takes them.
pub(super) fn options(args: ConnectionArgs) -> ConnectionOptions {
    ConnectionOptions {
        kubeconfig: args.kubeconfig,
        context: args.context,
        cluster: args.cluster,
        user: args.user,
        namespace: args.namespace,
        server: args.server,
        tls_server_name: args.tls_server_name,
        insecure_skip_tls_verify: args.insecure_skip_tls_verify,
        certificate_authority: args.certificate_authority,
        client_certificate: args.client_certificate,
        client_key: args.client_key,
        token: args.token,
        username: args.username,
        password: args.password,
        proxy_url: args.proxy_url,
        kuberc: args.kuberc,
        as_user: args.as_user,
        as_group: args.as_group,
        as_uid: args.as_uid,
        as_user_extra: args.as_user_extra,
        // `--request-timeout 0` means no limit, which is something else than no flag.
        request_timeout: args
            .request_timeout
            .unwrap_or(Some(DEFAULT_REQUEST_TIMEOUT)),
        disable_compression: args.disable_compression == Some(true),
        purpose: None,
    }
}
