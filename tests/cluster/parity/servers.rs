//! Which server is trusted, and what if it says nothing?

use std::net::TcpListener;

use serde_json::json;

use super::{
    case::{
        Case,
        Expected::{Differs, Refused, Waits, Works},
        Outcome, check,
    },
    witness::{NAME, PREFIX},
};

pub const CASES: &[Case] = &[
    Case {
        what: "`certificate-authority-data`",
        make: |stage, setup| {
            use base64::{Engine, engine::general_purpose::STANDARD};
            let data = STANDARD.encode(stage.authority.pem());
            setup.cluster = json!({"server": stage.url(), "certificate-authority-data": data});
        },
        expected: Works,
    },
    Case {
        what: "a certificate of another authority",
        make: |stage, setup| setup.cluster["certificate-authority"] = json!(stage.stranger_file),
        expected: Refused,
    },
    Case {
        what: "`--certificate-authority` instead of the one in the kubeconfig",
        make: |stage, setup| {
            setup.cluster["certificate-authority"] = json!(stage.stranger_file);
            setup.flag(format!("--certificate-authority={}", stage.authority_file));
        },
        expected: Works,
    },
    Case {
        what: "`certificate-authority` both in a file and in the kubeconfig",
        make: |_, setup| setup.cluster["certificate-authority-data"] = json!("YQ=="),
        expected: Refused,
    },
    Case {
        what: "`insecure-skip-tls-verify`",
        make: |stage, setup| {
            setup.cluster = json!({"server": stage.url(), "insecure-skip-tls-verify": true});
        },
        expected: Works,
    },
    Case {
        what: "`insecure-skip-tls-verify` and an authority",
        make: |_, setup| setup.cluster["insecure-skip-tls-verify"] = json!(true),
        expected: Refused,
    },
    Case {
        what: "`--insecure-skip-tls-verify` instead of the authority in the kubeconfig",
        make: |stage, setup| {
            setup.cluster["certificate-authority"] = json!(stage.stranger_file);
            setup.flag("--insecure-skip-tls-verify");
        },
        expected: Works,
    },
    Case {
        what: "`--insecure-skip-tls-verify` and `--certificate-authority`",
        make: |stage, setup| {
            setup.flag("--insecure-skip-tls-verify");
            setup.flag(format!("--certificate-authority={}", stage.authority_file));
        },
        expected: Refused,
    },
    Case {
        what: "`--certificate-authority` instead of `insecure-skip-tls-verify`",
        make: |stage, setup| {
            setup.cluster = json!({"server": stage.url(), "insecure-skip-tls-verify": true});
            setup.flag(format!("--certificate-authority={}", stage.stranger_file));
        },
        expected: Refused,
    },
    Case {
        what: "`--insecure-skip-tls-verify=false` together with `insecure-skip-tls-verify: true`",
        make: |stage, setup| {
            setup.cluster = json!({"server": stage.url(), "insecure-skip-tls-verify": true});
            setup.flag("--insecure-skip-tls-verify=false");
        },
        expected: Differs {
            kubectl: Outcome::Works,
            plugin: Outcome::Refused,
            why: "the certificate is verified; kubectl cannot distinguish `=false` from an absent flag, and \
                  skips verification",
        },
    },
    Case {
        what: "`tls-server-name`",
        make: |_, setup| setup.cluster["tls-server-name"] = json!(NAME),
        expected: Works,
    },
    Case {
        what: "`--tls-server-name`",
        make: |_, setup| setup.flag(format!("--tls-server-name={NAME}")),
        expected: Works,
    },
    Case {
        what: "`tls-server-name` that the certificate does not have",
        make: |_, setup| setup.cluster["tls-server-name"] = json!("other.test"),
        expected: Refused,
    },
    Case {
        what: "`--server` instead of the server in the kubeconfig: the `tls-server-name` of the kubeconfig is not used",
        make: |stage, setup| {
            setup.cluster["tls-server-name"] = json!("other.test");
            setup.flag(format!("--server={}", stage.url()));
        },
        expected: Works,
    },
    Case {
        what: "a server at an IPv6 address",
        make: |stage, setup| {
            setup.cluster["server"] = json!(format!("https://{}", stage.witness_6.address));
        },
        expected: Works,
    },
    Case {
        what: "`--server` with an IPv6 address",
        make: |stage, setup| setup.flag(format!("--server=https://{}", stage.witness_6.address)),
        expected: Works,
    },
    Case {
        what: "a server behind a path prefix",
        make: |stage, setup| {
            setup.cluster["server"] = json!(format!("{}{PREFIX}", stage.url()));
        },
        expected: Works,
    },
    Case {
        what: "a server behind a path prefix that ends with a slash",
        make: |stage, setup| {
            setup.cluster["server"] = json!(format!("{}{PREFIX}/", stage.url()));
        },
        expected: Works,
    },
    Case {
        what: "a server URL without a scheme",
        make: |stage, setup| setup.cluster["server"] = json!(stage.witness.address.to_string()),
        expected: Differs {
            kubectl: Outcome::Refused,
            plugin: Outcome::Works,
            why: "if certificates are configured, this program uses TLS; kubectl connects without TLS, and this server accepts only TLS",
        },
    },
    Case {
        what: "a server without TLS: no credentials are sent",
        make: |stage, setup| {
            setup.cluster = json!({"server": format!("http://{}", stage.open.address)});
        },
        expected: Works,
    },
    Case {
        what: "a server without TLS, with impersonation",
        make: |stage, setup| {
            setup.cluster = json!({"server": format!("http://{}", stage.open.address)});
            setup.flag("--as=bob");
        },
        expected: Works,
    },
    Case {
        what: "a server name that does not resolve",
        make: |stage, setup| setup.cluster["server"] = json!(stage.name()),
        expected: Refused,
    },
    Case {
        what: "a closed port",
        make: |_, setup| setup.cluster["server"] = json!("https://127.0.0.1:1"),
        expected: Refused,
    },
    Case {
        what: "a server that is not a valid URL",
        make: |_, setup| setup.cluster["server"] = json!("https://[::1"),
        expected: Refused,
    },
    Case {
        what: "a server that accepts the connection and sends no response, with `--request-timeout=1s`",
        make: |_, setup| {
            setup.cluster["server"] = json!(silent());
            setup.flag("--request-timeout=1s");
        },
        expected: Refused,
    },
    Case {
        what: "a server that accepts the connection and sends no response, with `--request-timeout=0`",
        make: |_, setup| {
            setup.cluster["server"] = json!(silent());
            setup.flag("--request-timeout=0");
            setup.waits = true;
        },
        expected: Waits,
    },
    Case {
        what: "a network that drops all packets, with `--request-timeout=1s`",
        make: |_, setup| {
            setup.cluster["server"] = json!("https://198.51.100.1:6443");
            setup.flag("--request-timeout=1s");
        },
        expected: Refused,
    },
    Case {
        what: "`--request-timeout=5`: whole seconds",
        make: |_, setup| setup.flag("--request-timeout=5"),
        expected: Works,
    },
    Case {
        what: "`--request-timeout` with an invalid duration",
        make: |_, setup| setup.flag("--request-timeout=soon"),
        expected: Refused,
    },
    Case {
        what: "`--disable-compression`",
        make: |_, setup| setup.flag("--disable-compression"),
        expected: Works,
    },
];

/// A server that takes connections for ever, and says nothing.
fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || listener.incoming().flatten().collect::<Vec<_>>());
    format!("https://{address}")
}

#[test]
fn servers_are_trusted_as_kubectl_trusts_them() {
    check("servers", CASES);
}
