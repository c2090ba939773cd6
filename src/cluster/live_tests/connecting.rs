//! Servers that cannot be reached, and credentials that must not leave.

use std::sync::Arc;

use tokio::net::TcpListener;

use super::server::{Notices, Server, client, with_programs};
use crate::cluster::{ApiClient, ClusterError, Connection, ConnectionOptions, Observer, discover};

#[tokio::test]
async fn server_that_is_not_there_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let closed = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    for url in [closed.as_str(), "http://no-such-host.invalid:1"] {
        let options = ConnectionOptions {
            server: Some(url.to_owned()),
            ..ConnectionOptions::default()
        };
        let (client, _) = client(&options).await;
        let error = discover(&client).await.expect_err("no server");
        assert!(matches!(error, ClusterError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains(url), "{error}");
    }
}

#[tokio::test]
async fn credentials_are_never_sent_in_the_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    let plugin = format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, args: ['-c', 'echo > {}'], interactiveMode: Never}}}}",
        runs.display()
    );
    let token = folder.path().join("token");
    std::fs::write(&token, "hunter2").expect("a file");
    for user in [
        "{token: hunter2, as: eve}",
        "{username: bob, password: hunter2, as: eve}",
        &format!("{{tokenFile: '{}', as: eve}}", token.display()),
        &plugin.replace("{exec", "{as: eve, exec"),
        "{client-certificate-data: aHVudGVyMg==, client-key-data: aHVudGVyMg==, as: eve}",
        "{auth-provider: {name: oidc, config: {id-token: hunter2}}, as: eve}",
    ] {
        let path = folder.path().join("config");
        let server = Server::start().await;
        let content = format!(
            "clusters: [{{name: c, cluster: {{server: '{}'}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\ncurrent-context: c\n\
             users: [{{name: u, user: {user}}}]\n",
            server.url
        );
        std::fs::write(&path, content).expect("a kubeconfig");
        let options = ConnectionOptions {
            kubeconfig: Some(path),
            ..ConnectionOptions::default()
        };
        let notices = Arc::<Notices>::default();
        let loaded = Connection::load(&options, &with_programs(), &*notices).await;
        let observer: Arc<dyn Observer> = Arc::<Notices>::clone(&notices);
        let client = ApiClient::new(loaded.expect("a connection"), observer).expect("a client");
        discover(&client).await.expect("an answer");
        let heads = server.heads().concat();
        assert!(!heads.contains("authorization"), "{user}: {heads}");
        // The impersonated user is no secret, and kubectl prints it, too.
        assert!(heads.contains("impersonate-user: eve"), "{heads}");
        assert!(!runs.exists(), "the plugin is not asked");
        let told = notices.texts();
        assert_eq!(told.len(), 1, "{user}: {told:?}");
        assert!(!told[0].contains("hunter2"), "{told:?}");
    }
}
