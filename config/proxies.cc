#include "config/proxies.hh"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "config/nearest.hh"
#include "config/secret.hh"
#include "config/text.hh"

namespace lockkeeper::config {

namespace {

/// As many random letters resist guessing for good; words of people are shorter.
constexpr size_t secret_bytes_min = 16;
constexpr size_t secret_bytes_max = 1'024;
constexpr size_t peers_max = 64;

bool is_same(const redis_address& one, const redis_address& other) {
    return one.host == other.host && one.port == other.port;
}

class proxies_reader {
public:
    explicit proxies_reader(const complaint& complain) : _complain(complain) {}

    std::optional<proxy_options> read(const YAML::Node& node) {
        if (!node.IsMap()) {
            _complain(node.Mark(),
                      "'proxies' must hold options, as in {secret: ..., advertise: host:port}");
            return std::nullopt;
        }
        for (const auto& field : node) {
            read_field(field.first, field.second);
        }
        if (!node["secret"]) {
            _complain(node.Mark(),
                      "'proxies' needs a 'secret': by it the proxies of a fleet know each other");
        }
        return _options;
    }

private:
    void read_field(const YAML::Node& name, const YAML::Node& value) {
        const auto word = name.as<std::string>();
        if (word == "secret") {
            return read_shared_secret(value);
        }
        if (word == "advertise") {
            return read_own_address(value);
        }
        if (word == "peers") {
            return read_peers(value);
        }
        if (word == "tls") {
            return read_tls(value);
        }
        if (word == "tls_ca") {
            return read_authorities(value);
        }
        constexpr std::string_view known[] = {"secret", "advertise", "peers", "tls", "tls_ca"};
        const auto meant = nearest(word, known);
        _complain(name.Mark(),
                  fmt::format("unknown option '{}' in 'proxies'{}", word,
                              meant.empty() ? "; known here: secret, advertise, peers, tls, tls_ca"
                                            : fmt::format("; did you mean '{}'?", meant)));
    }

    void read_shared_secret(const YAML::Node& value) {
        std::string secret = value.IsScalar() ? value.Scalar() : "";
        if (is_secret_reference(secret)) {
            auto found = read_secret(secret);
            if (!found) {
                return _complain(value.Mark(), fmt::format("'secret': {}", found.error()));
            }
            secret = std::move(*found);
        }
        if (secret.size() < secret_bytes_min || secret.size() > secret_bytes_max) {
            return _complain(value.Mark(), fmt::format("'secret' needs {} to {} bytes: who knows "
                                                       "it can act for every client",
                                                       secret_bytes_min, secret_bytes_max));
        }
        _options.secret = std::move(secret);
    }

    static std::optional<redis_address> parse_address(const std::string& text) {
        auto address = parse_redis_address("redis://" + text);
        const bool has_port = text.find(':', text.rfind(']') + 1) != std::string::npos;
        if (!address || !has_port || text.contains('/') || text.contains('@')) {
            return std::nullopt;
        }
        return *address;
    }

    std::optional<redis_address> read_address(const YAML::Node& value, std::string_view what) {
        const auto address = parse_address(value.IsScalar() ? value.Scalar() : "");
        if (!address) {
            _complain(value.Mark(),
                      fmt::format("'{}' needs the form host:port, as in 10.0.0.7:6380", what));
        }
        return address;
    }

    /// Each proxy has another one, and may be told only when it starts: env:NAME stands for
    /// host:port, env:NAME:PORT for a host alone, such as a pod's address.
    void read_own_address(const YAML::Node& value) {
        constexpr std::string_view of_environment = "env:";
        const std::string text = value.IsScalar() ? value.Scalar() : "";
        if (!text.starts_with(of_environment)) {
            _options.advertise = read_address(value, "advertise");
            return;
        }
        const size_t end = text.find(':', of_environment.size());
        const auto host = read_secret(text.substr(0, end));
        if (!host) {
            return _complain(value.Mark(), fmt::format("'advertise': {}", host.error()));
        }
        std::string whole = *host;
        if (end != std::string::npos) {
            const bool is_bare_ipv6 = host->contains(':') && !host->starts_with('[');
            whole = (is_bare_ipv6 ? "[" + *host + "]" : *host) + text.substr(end);
        }
        _options.advertise = parse_address(whole);
        if (!_options.advertise) {
            _complain(value.Mark(),
                      fmt::format("'advertise': {} does not make host:port, as in 10.0.0.7:6380; "
                                  "env:NAME stands for both, env:NAME:6380 for the host",
                                  text));
        }
    }

    void read_tls(const YAML::Node& value) {
        const std::string text = value.IsScalar() ? value.Scalar() : "";
        if (text != "true" && text != "false") {
            return _complain(value.Mark(), "'tls' is true or false");
        }
        _options.tls = text == "true";
    }

    void read_authorities(const YAML::Node& value) {
        if (!value.IsScalar() || value.Scalar().empty()) {
            return _complain(value.Mark(), "'tls_ca' is the path of a PEM file");
        }
        _options.tls_ca = value.Scalar();
    }

    void read_peers(const YAML::Node& value) {
        if (!value.IsSequence() || value.size() == 0 || value.size() > peers_max) {
            return _complain(value.Mark(),
                             fmt::format("'peers' is a list of 1 to {} addresses, as in "
                                         "[10.0.0.8:6380, 10.0.0.9:6380]",
                                         peers_max));
        }
        for (const auto& entry : value) {
            auto address = read_address(entry, "peers");
            if (!address) {
                continue;
            }
            const auto is_it = [&](const redis_address& other) { return is_same(*address, other); };
            if (std::ranges::any_of(_options.peers, is_it)) {
                _complain(entry.Mark(), fmt::format("peer {} is given twice", entry.Scalar()));
                continue;
            }
            _options.peers.push_back(std::move(*address));
        }
    }

    const complaint& _complain;
    proxy_options _options;
};

}  // namespace

std::optional<proxy_options> read_proxies(const YAML::Node& node, const complaint& complain) {
    return proxies_reader(complain).read(node);
}

std::string show_proxies(const std::optional<proxy_options>& proxies) {
    if (!proxies) {
        return "";
    }
    std::string text = "proxies:\n  secret: <secret>\n";
    if (proxies->advertise) {
        text += fmt::format("  advertise: {}\n", show_text(show_endpoint(*proxies->advertise)));
    }
    if (proxies->tls) {
        text += "  tls: true\n";
    }
    if (!proxies->tls_ca.empty()) {
        text += fmt::format("  tls_ca: {}\n", show_text(proxies->tls_ca));
    }
    if (!proxies->peers.empty()) {
        text += "  peers:\n";
    }
    for (const redis_address& peer : proxies->peers) {
        text += fmt::format("    - {}\n", show_text(show_endpoint(peer)));
    }
    return text;
}

std::optional<std::string> unreachable_by_proxies(const config& all) {
    const std::string& address = all.server.address;
    if (!all.proxies || all.proxies->advertise || (address != "0.0.0.0" && address != "::")) {
        return std::nullopt;
    }
    return fmt::format("'proxies' needs 'advertise', as in 10.0.0.7:{}: nobody can reach us at {}",
                       all.proxies->tls ? all.tls.port : all.server.port, address);
}

}  // namespace lockkeeper::config
