//! Which way leads to the server?

use serde_json::json;

use super::case::{
    Case,
    Expected::{Refused, Works},
    check,
};

pub const CASES: &[Case] = &[
    Case {
        what: "`proxy-url`",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.cluster["proxy-url"] = json!(format!("http://{}", stage.tunnel.address));
        },
        expected: Works,
    },
    Case {
        what: "`proxy-url` with a name and a password",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.cluster["proxy-url"] =
                json!(format!("http://alice:p%40ss@{}", stage.tunnel.address));
        },
        expected: Works,
    },
    Case {
        what: "`proxy-url` for a server on this machine",
        make: |stage, setup| {
            setup.cluster["proxy-url"] = json!(format!("http://{}", stage.tunnel.address));
        },
        expected: Works,
    },
    Case {
        what: "`--proxy-url` instead of `proxy-url`",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.cluster["proxy-url"] = json!("http://127.0.0.1:1");
            setup.flag(format!("--proxy-url=http://{}", stage.tunnel.address));
        },
        expected: Works,
    },
    Case {
        what: "`proxy-url: socks5://`: the proxy resolves the server's name",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.cluster["proxy-url"] = json!(format!("socks5://{}", stage.socks.address));
        },
        expected: Works,
    },
    Case {
        what: "`proxy-url: socks5://` with a name and a password",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.cluster["proxy-url"] =
                json!(format!("socks5://alice:pw@{}", stage.socks.address));
        },
        expected: Works,
    },
    Case {
        what: "`proxy-url` without a scheme",
        make: |stage, setup| {
            setup.cluster["proxy-url"] = json!(stage.tunnel.address.to_string());
        },
        expected: Refused,
    },
    Case {
        what: "`proxy-url: ftp://`",
        make: |stage, setup| {
            setup.cluster["proxy-url"] = json!(format!("ftp://{}", stage.tunnel.address));
        },
        expected: Refused,
    },
    Case {
        what: "`proxy-url` without a listening proxy",
        make: |_, setup| setup.cluster["proxy-url"] = json!("http://127.0.0.1:1"),
        expected: Refused,
    },
    Case {
        what: "`HTTPS_PROXY`",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.variable("HTTPS_PROXY", format!("http://{}", stage.tunnel.address));
        },
        expected: Works,
    },
    Case {
        what: "`https_proxy`",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.variable("https_proxy", format!("http://{}", stage.tunnel.address));
        },
        expected: Works,
    },
    Case {
        what: "`HTTPS_PROXY` without a scheme",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.variable("HTTPS_PROXY", stage.tunnel.address.to_string());
        },
        expected: Works,
    },
    Case {
        what: "`HTTPS_PROXY=socks5://`",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.variable("HTTPS_PROXY", format!("socks5://{}", stage.socks.address));
        },
        expected: Works,
    },
    Case {
        what: "`HTTPS_PROXY=socks5h://`",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.variable("HTTPS_PROXY", format!("socks5h://{}", stage.socks.address));
        },
        expected: Works,
    },
    Case {
        what: "`HTTPS_PROXY` for a server on this machine: it is not used",
        make: |_, setup| setup.variable("HTTPS_PROXY", "http://127.0.0.1:1"),
        expected: Works,
    },
    Case {
        what: "`HTTP_PROXY` for a server with TLS: it is not used",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.variable("HTTP_PROXY", format!("http://{}", stage.tunnel.address));
        },
        expected: Refused,
    },
    Case {
        what: "`HTTPS_PROXY` with the server's name in `NO_PROXY`",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.variable("HTTPS_PROXY", format!("http://{}", stage.tunnel.address));
            setup.variable("NO_PROXY", "example.com, parity.test");
        },
        expected: Refused,
    },
    Case {
        what: "`HTTPS_PROXY` with other names and networks in `NO_PROXY`",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.variable("HTTPS_PROXY", format!("http://{}", stage.tunnel.address));
            setup.variable(
                "NO_PROXY",
                "example.com,10.0.0.0/8,.api.parity.test,parity.test:1",
            );
        },
        expected: Works,
    },
    Case {
        what: "`HTTPS_PROXY` with the server's network in `NO_PROXY`",
        make: |stage, setup| {
            setup.cluster["server"] = json!("https://198.51.100.7:1");
            setup.variable("HTTPS_PROXY", format!("http://{}", stage.tunnel.address));
            setup.variable("no_proxy", "198.51.100.0/24");
            setup.flag("--request-timeout=1s");
        },
        expected: Refused,
    },
    Case {
        what: "`proxy-url` together with `HTTPS_PROXY` and `NO_PROXY=*`: `proxy-url` wins",
        make: |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            setup.cluster["proxy-url"] = json!(format!("http://{}", stage.tunnel.address));
            setup.variable("HTTPS_PROXY", "http://127.0.0.1:1");
            setup.variable("NO_PROXY", "*");
        },
        expected: Works,
    },
];

#[test]
fn proxy_is_the_same_as_for_kubectl() {
    check("proxies", CASES);
}
