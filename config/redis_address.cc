#include "config/redis_address.hh"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "config/secret.hh"

namespace lockkeeper::config {

namespace {

constexpr std::string_view plain = "redis://";
constexpr std::string_view encrypted = "rediss://";

template <typename Number>
bool read_number(std::string_view text, uint64_t most, Number& number) {
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || rest != end || value > most) {
        return false;
    }
    number = static_cast<Number>(value);
    return true;
}

/// %XX, so that a password may have any character.
std::expected<std::string, std::string> decode(std::string_view text) {
    std::string plain_text;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain_text += text[i];
            continue;
        }
        unsigned value = 0;
        const char* begin = text.data() + i + 1;
        if (i + 2 >= text.size() || std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2) {
            return std::unexpected("'%' must be followed by two hexadecimal digits");
        }
        plain_text += static_cast<char>(value);
        i += 2;
    }
    return plain_text;
}

/// user:password, :password, or password alone is not a thing in these addresses.
std::expected<void, std::string> read_credentials(std::string_view text, redis_address& address) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
        return std::unexpected("credentials need the form user:password@ or :password@");
    }
    const auto user = decode(text.substr(0, colon));
    const auto password = decode(text.substr(colon + 1));
    if (!user || !password) {
        return std::unexpected(user ? password.error() : user.error());
    }
    address.user = *user;
    address.password = *password;
    if (!is_secret_reference(address.password)) {
        return {};
    }
    auto secret = read_secret(address.password);
    if (!secret) {
        return std::unexpected(secret.error());
    }
    address.password_reference = std::exchange(address.password, std::move(*secret));
    return {};
}

/// host, host:port, [v6], [v6]:port
std::expected<void, std::string> read_host(std::string_view text, redis_address& address) {
    std::string_view port;
    if (text.starts_with('[')) {
        const size_t close = text.find(']');
        if (close == std::string_view::npos) {
            return std::unexpected("'[' without ']'");
        }
        address.host = text.substr(1, close - 1);
        port = text.substr(close + 1);
    } else {
        const size_t colon = text.find(':');
        address.host = text.substr(0, colon);
        port = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
    }
    if (address.host.empty()) {
        return std::unexpected("the host is missing");
    }
    const auto is_of_host = [](char c) {
        constexpr std::string_view also = ".-_:%";
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               also.contains(c);
    };
    if (!std::ranges::all_of(address.host, is_of_host)) {
        return std::unexpected("the host has letters that no host has");
    }
    if (!port.empty() &&
        (!port.starts_with(':') || !read_number(port.substr(1), 65'535, address.port) ||
         address.port == 0)) {
        return std::unexpected(fmt::format("'{}' is not a port", port));
    }
    return {};
}

}  // namespace

std::string show_endpoint(const redis_address& address) {
    const bool is_ipv6 = address.host.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", address.host, is_ipv6 ? "]" : "",
                       address.port);
}

std::string redis_address::show() const {
    const std::string_view shown =
        password_reference.empty() ? std::string_view("<password>") : password_reference;
    return fmt::format("{}{}{}/{}", tls ? encrypted : plain,
                       password.empty() ? "" : fmt::format("{}:{}@", user, shown),
                       show_endpoint(*this), database);
}

std::expected<redis_address, std::string> parse_redis_address(std::string_view text) {
    redis_address address;
    address.tls = text.starts_with(encrypted);
    if (!address.tls && !text.starts_with(plain)) {
        return std::unexpected("needs the form redis://[user:password@]host[:port][/database]");
    }
    text.remove_prefix(address.tls ? encrypted.size() : plain.size());
    // First of all: a password may be file:/path.
    if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
        if (auto read = read_credentials(text.substr(0, at), address); !read) {
            return std::unexpected(read.error());
        }
        text = text.substr(at + 1);
    }
    if (const size_t slash = text.rfind('/'); slash != std::string_view::npos) {
        const std::string_view database = text.substr(slash + 1);
        if (!database.empty() && !read_number(database, 1'000'000, address.database)) {
            return std::unexpected(fmt::format("'{}' is not a database number", database));
        }
        text = text.substr(0, slash);
    }
    if (auto read = read_host(text, address); !read) {
        return std::unexpected(read.error());
    }
    return address;
}

}  // namespace lockkeeper::config
