#include "proxy/access/user.hh"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/text.hh"

namespace lockkeeper::proxy::access {

namespace {

using protocol::equals_ignoring_case;

constexpr std::string_view blanks = " \t\n\r";

}  // namespace

std::expected<void, std::string> user::apply(std::string_view rule, const catalogue& commands) {
    const auto is = [rule](std::string_view word) { return equals_ignoring_case(rule, word); };
    if (is("on") || is("off")) {
        _enabled = is("on");
    } else if (is("nopass")) {
        _nopass = true;
        _passwords.clear();
    } else if (is("resetpass")) {
        _nopass = false;
        _passwords.clear();
    } else if (is("clearselectors")) {
        _selectors.resize(1);
    } else if (is("reset")) {
        *this = user(std::move(_name));
    } else if (is("sanitize-payload") || is("skip-sanitize-payload")) {
        // About what we do not have.
    } else if (rule.starts_with('#')) {
        return apply_hash(rule.substr(1));
    } else if (rule.starts_with('(')) {
        return add_selector(rule, commands);
    } else {
        return _selectors.front().apply(rule, commands);
    }
    return {};
}

std::expected<void, std::string> user::add_selector(std::string_view rule,
                                                    const catalogue& commands) {
    if (!rule.ends_with(')')) {
        return std::unexpected("a selector ends with ')', as in (~lock:* +get)");
    }
    if (_selectors.size() > selectors_max) {
        return std::unexpected(fmt::format("more than {} selectors", selectors_max));
    }
    rule.remove_prefix(1);
    rule.remove_suffix(1);
    selector one;
    while (true) {
        rule.remove_prefix(std::min(rule.find_first_not_of(blanks), rule.size()));
        if (rule.empty()) {
            break;
        }
        const std::string_view word = rule.substr(0, rule.find_first_of(blanks));
        if (auto applied = one.apply(word, commands); !applied) {
            return std::unexpected(fmt::format("'{}': {}", word, applied.error()));
        }
        rule.remove_prefix(word.size());
    }
    _selectors.push_back(std::move(one));
    return {};
}

std::expected<void, std::string> user::apply_hash(std::string_view hex) {
    const auto digest = config::sha256_from_hex(hex);
    if (!digest) {
        return std::unexpected(
            "the password hash must be exactly 64 characters and contain only lowercase "
            "hexadecimal characters");
    }
    add_password(*digest);
    return {};
}

void user::add_password(const config::sha256_digest& digest) {
    _nopass = false;
    if (std::ranges::find(_passwords, digest) == _passwords.end()) {
        _passwords.push_back(digest);
    }
}

void user::set_limits(uint32_t connections, uint32_t rate) {
    _connections_max = connections;
    _rate_max = rate;
}

bool user::accepts(const config::sha256_digest& digest) const {
    bool right = _nopass;
    for (const config::sha256_digest& one : _passwords) {
        right = one.is(digest) || right;
    }
    return right;
}

bool user::allows_channel(std::string_view channel) const {
    return std::ranges::any_of(
        _selectors, [channel](const selector& one) { return one.allows_channel(channel); });
}

bool user::allows_channel_pattern(std::string_view pattern) const {
    return std::ranges::any_of(
        _selectors, [pattern](const selector& one) { return one.allows_channel_pattern(pattern); });
}

bool user::may_do_everything() const {
    return std::ranges::any_of(_selectors, &selector::may_do_everything);
}

std::vector<std::string> user::passwords() const {
    std::vector<std::string> digests;
    for (const config::sha256_digest& one : _passwords) {
        digests.push_back(to_hex(one));
    }
    return digests;
}

std::string user::describe() const {
    std::string text = fmt::format("user {} {}", _name, _enabled ? "on" : "off");
    text += _nopass ? " nopass" : "";
    for (const std::string& digest : passwords()) {
        text += " #" + digest;
    }
    text += " " + _selectors.front().describe();
    for (const selector& one : selectors().subspan(1)) {
        text += " (" + one.describe() + ")";
    }
    return text;
}

}  // namespace lockkeeper::proxy::access
