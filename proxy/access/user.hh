#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hh"
#include "config/sha256.hh"
#include "proxy/access/catalogue.hh"
#include "proxy/access/selector.hh"

namespace lockkeeper::proxy::access {

/// A user of the server: how it logs in and what it may do. Made once from its rules, then only
/// asked; every core has its own copy. A new one is off and may do nothing, as in Redis.
class user {
public:
    explicit user(std::string name) : _name(std::move(name)) {}

    /// One word of Redis' language of rules: `on`, `~lock:*`, `%R~*`, `&news:*`, `+get`,
    /// `-client|kill`, `+@read`..., or several in parentheses: a selector. Tells why not.
    std::expected<void, std::string> apply(std::string_view rule, const catalogue& commands);
    void add_password(const config::sha256_digest& digest);
    void set_limits(uint32_t connections, uint32_t rate);

    const std::string& name() const { return _name; }
    bool is_enabled() const { return _enabled; }
    bool needs_password() const { return !_nopass; }
    /// For an enabled user; takes the same time for every wrong password.
    bool accepts(const config::sha256_digest& digest) const;

    /// What it may do: a command that one of them allows. The first one has what stands outside of
    /// parentheses.
    std::span<const selector> selectors() const { return _selectors; }
    bool allows_channel(std::string_view channel) const;
    bool allows_channel_pattern(std::string_view pattern) const;
    /// Nothing needs to be checked.
    bool may_do_everything() const;

    uint32_t connections_max() const { return _connections_max; }
    uint32_t rate_max() const { return _rate_max; }

    // In words, as Redis tells them.
    std::vector<std::string> passwords() const;  ///< their digests, in hexadecimal
    /// A line of ACL LIST.
    std::string describe() const;

private:
    /// Each is asked in turn for each command.
    static constexpr size_t selectors_max = 16;

    std::expected<void, std::string> apply_hash(std::string_view hex);
    std::expected<void, std::string> add_selector(std::string_view rule, const catalogue& commands);

    std::string _name;
    bool _enabled = false;
    bool _nopass = false;
    std::vector<config::sha256_digest> _passwords;
    std::vector<selector> _selectors{1};  ///< never empty
    uint32_t _connections_max = 0;
    uint32_t _rate_max = 0;
};

}  // namespace lockkeeper::proxy::access
