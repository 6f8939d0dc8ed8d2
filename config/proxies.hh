#pragma once

#include <optional>
#include <string>

#include "config/complaint.hh"
#include "config/config.hh"

namespace lockkeeper::config {

/// `proxies:` tells the proxies of one fleet how to find and trust each other:
///
///     proxies:
///       secret: <the same long text at each of them>
///       advertise: 10.0.0.7:6380               # or env:NAME, or env:NAME:6380
///       peers: [10.0.0.8:6380, 10.0.0.9:6380]
///       tls: true
///       tls_ca: /etc/lockkeeper/ca.crt
///
/// What is left after the complaints. The address of `server` is advertised if none is given, with
/// the port of `tls` if links are encrypted.
std::optional<proxy_options> read_proxies(const YAML::Node& node, const complaint& complain);

/// As it stands in a file, without the secret; nothing if there is none.
std::string show_proxies(const std::optional<proxy_options>& proxies);

/// Why nobody could call us at the address of `server`, which is advertised if no other is; nothing
/// if that is not so.
std::optional<std::string> unreachable_by_proxies(const config& all);

}  // namespace lockkeeper::config
