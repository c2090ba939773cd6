//! Addresses, networks and URLs as Kubernetes parses them.

// Addresses as values, from the part of the library that talks to nobody.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::error::Fault;

/// Reads an address; nothing if it is none, has a zone, or is an IPv4 address written as IPv6.
///
/// Upstream: `parseIPAddr`.
pub(super) fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok().filter(|address| !is_mapped(address))
}

fn is_mapped(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.to_ipv4_mapped().is_some(),
    }
}

/// Whether `address` is for one of any hosts of the world.
///
/// Upstream: `netip.Addr.IsGlobalUnicast`.
pub(super) fn is_global_unicast(address: &IpAddr) -> bool {
    *address != IpAddr::V4(Ipv4Addr::BROADCAST)
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local(address)
}

/// Whether `address` is for one host on the link.
pub(super) fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}

/// Whether `address` is for several hosts on the link.
pub(super) fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

/// A network, with the address that it was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cidr {
    pub(super) address: IpAddr,
    pub(super) bits: u32,
}

impl Cidr {
    /// Reads a network; nothing if it is none.
    ///
    /// Upstream: `parseCIDR`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.rsplit_once('/')?;
        let address = self::address(address)?;
        let digits = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let plain = digits && (bits.len() == 1 || !bits.starts_with('0'));
        let bits = bits.parse().ok().filter(|_| plain)?;
        (bits <= width(&address)).then_some(Self { address, bits })
    }

    /// The network itself, without the rest of the address.
    pub(super) fn masked(&self) -> Self {
        let free = width(&self.address).saturating_sub(self.bits);
        let cut = |number: u128| {
            // A shift by all 128 bits overflows; a prefix of no bits leaves nothing of the address.
            let shifted = number.checked_shr(free).unwrap_or_default();
            shifted.checked_shl(free).unwrap_or_default()
        };
        let number = cut(number(&self.address));
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(u32::try_from(number).unwrap_or_default())),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(number)),
        };
        Self {
            address,
            bits: self.bits,
        }
    }

    /// Whether `address` is in it.
    pub(super) fn contains(&self, address: &IpAddr) -> bool {
        let other = Self {
            address: *address,
            bits: self.bits,
        };
        self.address.is_ipv4() == address.is_ipv4() && other.masked() == self.masked()
    }
}

fn width(address: &IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn number(address: &IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// A URL of the plainest kind: `scheme://host[:port][/path][?query]` of unreserved characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) scheme: String,
    /// With the port.
    pub(super) host: String,
    pub(super) path: String,
    /// Names and values as they are written.
    pub(super) query: Vec<(String, String)>,
}

impl Url {
    /// Reads a URL; nothing if it is none.
    ///
    /// Refuses whatever is not of the plainest kind.
    ///
    /// Upstream: `url.ParseRequestURI`.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Fault> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?=&".contains(&byte);
        if text.is_empty() {
            return Ok(None);
        }
        if !text.bytes().all(plain) {
            return Err(Fault::unsupported(format!("the URL {text}")));
        }
        let (before, query) = match text.split_once('?') {
            Some((before, query)) => (before, Some(query)),
            None => (text, None),
        };
        let (scheme, host, path) = match before.split_once("://") {
            Some((scheme, rest)) => {
                let end = rest.find('/').unwrap_or(rest.len());
                (scheme, &rest[..end], &rest[end..])
            }
            None if before.starts_with("//") => {
                return Err(Fault::unsupported(format!("the URL {text}")));
            }
            None if before.starts_with('/') => ("", "", before),
            None if !before.contains(':') => return Ok(None),
            None => return Err(Fault::unsupported(format!("the URL {text}"))),
        };
        let port = host.split_once(':').map_or("", |(_, port)| port);
        let simple = scheme.bytes().all(|byte| byte.is_ascii_lowercase())
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && !host.ends_with(':')
            && (host.is_empty() == scheme.is_empty());
        if !simple {
            return Err(Fault::unsupported(format!("the URL {text}")));
        }
        Ok(Some(Self {
            scheme: scheme.to_owned(),
            host: host.to_owned(),
            path: path.to_owned(),
            query: query.into_iter().flat_map(pairs).collect(),
        }))
    }

    pub(super) fn port(&self) -> &str {
        self.host.split_once(':').map_or("", |(_, port)| port)
    }

    pub(super) fn hostname(&self) -> &str {
        self.host
            .split_once(':')
            .map_or(&self.host, |(name, _)| name)
    }
}

fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.to_owned(), value.to_owned())
    })
}
