//! Credentials that expire while the plugin runs.

use std::path::Path;

use futures::future::join_all;

use super::server::{Server, with_programs};
use super::ways;
use crate::cluster::client::write::document;
use crate::cluster::{ApiClient, ClusterError};

const PATH: &str = "/version";

/// A client of `server` whose user is as `user` says.
async fn client(server: &Server, folder: &Path, user: &str) -> ApiClient {
    let cluster = format!(
        "{{server: '{}', insecure-skip-tls-verify: true}}",
        server.url
    );
    let client = ways::client(folder, &cluster, user, &with_programs()).await;
    client.expect("a client")
}

/// A plugin that gives `token-1`, then `token-2`, and so on.
fn plugin(folder: &Path) -> String {
    let runs = folder.join("runs");
    let runs = runs.display();
    let script = format!(
        "echo run >> {runs}; echo \"{{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1\\\",\\\"kind\\\":\\\"ExecCredential\\\",\\\"status\\\":{{\\\"token\\\":\\\"token-$(wc -l < {runs} | tr -d ' ')\\\"}}}}\""
    );
    format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never, args: ['-c', '{}']}}}}",
        script.replace('\'', "''")
    )
}

async fn ask(client: &ApiClient) -> Result<serde_json::Value, ClusterError> {
    document(client, PATH.to_owned()).await
}

#[tokio::test]
async fn expired_credentials_are_renewed_and_the_request_is_sent_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_secure().await;
    let client = client(&server, folder.path(), &plugin(folder.path())).await;
    ask(&client).await.expect("the first token is good");
    server.expire("Bearer token-1");
    ask(&client).await.expect("the second is, too");
    assert_eq!(
        server.authorizations(PATH),
        ["Bearer token-1", "Bearer token-1", "Bearer token-2"]
    );
}

#[tokio::test]
async fn requests_that_expire_together_get_one_renewal() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_secure().await;
    let client = client(&server, folder.path(), &plugin(folder.path())).await;
    ask(&client).await.expect("the first token is good");
    server.expire("Bearer token-1");
    let answers = join_all((0..4).map(|_| ask(&client))).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let asked = server.authorizations(PATH);
    let runs = std::fs::read_to_string(folder.path().join("runs")).expect("the plugin has run");
    assert_eq!(runs.lines().count(), 2, "{asked:?}");
}

#[tokio::test]
async fn credentials_that_never_worked_are_not_asked_for_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_secure().await;
    server.expire("Bearer token-1");
    let client = client(&server, folder.path(), &plugin(folder.path())).await;
    let error = ask(&client).await.expect_err("it is wrong");
    assert!(
        matches!(error, ClusterError::Unauthorized { .. }),
        "{error}"
    );
    assert_eq!(server.authorizations(PATH), ["Bearer token-1"]);
}

#[tokio::test]
async fn a_token_file_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    std::fs::write(&token, "old\n").expect("a file");
    let server = Server::start_secure().await;
    let user = format!("{{tokenFile: '{}'}}", token.display());
    let client = client(&server, folder.path(), &user).await;
    ask(&client).await.expect("the token is good");
    server.expire("Bearer old");
    std::fs::write(&token, "new\n").expect("a file");
    ask(&client).await.expect("the new one is");
    assert_eq!(
        server.authorizations(PATH),
        ["Bearer old", "Bearer old", "Bearer new"]
    );
}
