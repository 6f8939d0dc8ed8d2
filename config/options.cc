#include "config/options.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/secret.hh"
#include "config/text.hh"
#include "config/units.hh"

namespace lockkeeper::config {

namespace {

using result = std::expected<void, std::string>;

// Each kind of value knows how to read and show itself; bounds are part of the type, so that the
// table below says everything about an option in one line.

template <auto Section, auto Member, uint64_t Least, uint64_t Most>
struct count {
    static result set(config& all, std::string_view text) {
        const auto value = parse_count(text);
        if (!value) {
            return std::unexpected(value.error());
        }
        if (*value < Least || *value > Most) {
            return std::unexpected(fmt::format("{} is not between {} and {}", *value, Least, Most));
        }
        using type = std::remove_reference_t<decltype(all.*Section.*Member)>;
        all.*Section.*Member = static_cast<type>(*value);
        return {};
    }
    static std::string show(const config& all) { return fmt::format("{}", all.*Section.*Member); }
};

template <auto Section, auto Member, uint64_t Least, uint64_t Most>
struct size {
    static result set(config& all, std::string_view text) {
        const auto value = parse_size(text);
        if (!value) {
            return std::unexpected(value.error());
        }
        if (*value < Least || *value > Most) {
            return std::unexpected(fmt::format("{} is not between {} and {}", show_size(*value),
                                               show_size(Least), show_size(Most)));
        }
        using type = std::remove_reference_t<decltype(all.*Section.*Member)>;
        all.*Section.*Member = static_cast<type>(*value);
        return {};
    }
    static std::string show(const config& all) { return show_size(all.*Section.*Member); }
};

template <auto Section, auto Member, int64_t Least, int64_t Most>
struct duration {
    static result set(config& all, std::string_view text) {
        const auto value = parse_duration(text);
        if (!value) {
            return std::unexpected(value.error());
        }
        if (value->count() < Least || value->count() > Most) {
            return std::unexpected(fmt::format("{} is not between {} and {}", show_duration(*value),
                                               show_duration(milliseconds(Least)),
                                               show_duration(milliseconds(Most))));
        }
        all.*Section.*Member = *value;
        return {};
    }
    static std::string show(const config& all) { return show_duration(all.*Section.*Member); }
};

template <auto Section, auto Member>
struct word {
    static result set(config& all, std::string_view text) {
        if (text.empty()) {
            return std::unexpected("must not be empty");
        }
        all.*Section.*Member = std::string(text);
        return {};
    }
    static std::string show(const config& all) { return show_text(all.*Section.*Member); }
};

/// Text that may be empty; in the file that is ''.
template <auto Section, auto Member>
struct path {
    static result set(config& all, std::string_view text) {
        all.*Section.*Member = std::string(text);
        return {};
    }
    static std::string show(const config& all) {
        return lockkeeper::config::quoted(all.*Section.*Member);
    }
};

/// A reference, which is read at once; in the file '' is none.
template <auto Section, auto Member>
struct secret {
    static result set(config& all, std::string_view text) {
        if (text.empty()) {
            all.*Section.*Member = {};
            return {};
        }
        if (!is_secret_reference(text)) {
            return std::unexpected("no secret stands in this file itself");
        }
        auto value = read_secret(text);
        if (!value) {
            return std::unexpected(value.error());
        }
        all.*Section.*Member = {std::string(text), std::move(*value)};
        return {};
    }
    static std::string show(const config& all) {
        return lockkeeper::config::quoted((all.*Section.*Member).reference);
    }
};

/// One of a few words; their order is that of the enumeration.
template <auto Section, auto Member, const auto& Words>
struct choice {
    static result set(config& all, std::string_view text) {
        const auto found = std::ranges::find(Words, text);
        if (found == std::end(Words)) {
            return std::unexpected(fmt::format("'{}' is not one of them", text));
        }
        using type = std::remove_reference_t<decltype(all.*Section.*Member)>;
        all.*Section.*Member = static_cast<type>(found - std::begin(Words));
        return {};
    }
    static std::string show(const config& all) {
        return std::string(Words[static_cast<size_t>(all.*Section.*Member)]);
    }
};

constexpr std::array<std::string_view, 2> truth_words = {"false", "true"};
constexpr std::array<std::string_view, 3> certificate_words = {"none", "optional", "required"};
constexpr std::array<std::string_view, 5> level_words = {"error", "warn", "info", "debug", "trace"};
constexpr std::array<std::string_view, 2> format_words = {"text", "json"};
constexpr std::array<std::string_view, 3> admission_words = {"automatic", "strict", "quick"};
constexpr std::array<std::string_view, 2> fence_recovery_words = {"clock", "strict"};

template <typename Kind>
constexpr option line(std::string_view section, std::string_view name, std::string_view accepts) {
    return {section, name, accepts, &Kind::set, &Kind::show};
}

constexpr auto server = &config::server;
constexpr auto http = &config::http;
constexpr auto tls = &config::tls;
constexpr auto logged = &config::log;
constexpr auto limits = &config::limits;
constexpr auto shutdown = &config::shutdown;
constexpr auto leases = &config::leases;
constexpr auto masters = &config::masters;
constexpr auto embedded = &config::embedded;
constexpr auto slow = &config::slow;
constexpr uint64_t mebibyte = 1024 * 1024;
constexpr int64_t hour = 3'600'000;

constexpr option table[] = {
    line<word<server, &server_options::address>>("server", "address", "an IPv4 or IPv6 address"),
    line<count<server, &server_options::port, 1, 65'535>>("server", "port", "1 to 65535"),
    line<choice<server, &server_options::protected_mode, truth_words>>("server", "protected_mode",
                                                                       "true or false"),
    line<count<server, &server_options::backlog, 1, 65'535>>("server", "backlog", "1 to 65535"),
    line<word<server, &server_options::redis_version>>("server", "redis_version",
                                                       "a version such as 7.2.4"),
    line<word<http, &http_options::address>>("http", "address", "an IPv4 or IPv6 address"),
    line<count<http, &http_options::port, 0, 65'535>>("http", "port", "1 to 65535, or 0 for none"),
    line<choice<http, &http_options::break_locks, truth_words>>("http", "break_locks",
                                                                "true or false"),
    line<count<tls, &tls_options::port, 0, 65'535>>("tls", "port", "0 to 65535"),
    line<path<tls, &tls_options::certificate>>("tls", "certificate", "a PEM file"),
    line<path<tls, &tls_options::key>>("tls", "key", "a PEM file"),
    line<path<tls, &tls_options::ca>>("tls", "ca", "a PEM file"),
    line<choice<tls, &tls_options::client_certificates, certificate_words>>(
        "tls", "client_certificates", "none, optional or required"),
    line<choice<tls, &tls_options::only, truth_words>>("tls", "only", "true or false"),
    line<choice<logged, &log_options::level, level_words>>("log", "level",
                                                           "error, warn, info, debug or trace"),
    line<choice<logged, &log_options::format, format_words>>("log", "format", "text or json"),
    line<count<limits, &limit_options::clients, 1, 1'000'000>>("limits", "clients", "1 to 1000000"),
    line<count<limits, &limit_options::arguments, 16, 1'048'576>>("limits", "arguments",
                                                                  "16 to 1048576"),
    line<size<limits, &limit_options::argument_bytes, 1024, 512 * mebibyte>>(
        "limits", "argument_bytes", "1KiB to 512MiB"),
    line<size<limits, &limit_options::query_bytes, 16 * 1024, 1024 * mebibyte>>(
        "limits", "query_bytes", "16KiB to 1GiB"),
    line<size<limits, &limit_options::output_bytes, 16 * 1024, 1024 * mebibyte>>(
        "limits", "output_bytes", "16KiB to 1GiB"),
    line<size<limits, &limit_options::output_slow_bytes, 1024, 1024 * mebibyte>>(
        "limits", "output_slow_bytes", "1KiB to 1GiB"),
    line<duration<limits, &limit_options::output_slow, 100, hour>>("limits", "output_slow",
                                                                   "100ms to 1h"),
    line<count<limits, &limit_options::pipelined_commands, 1, 1'000'000>>(
        "limits", "pipelined_commands", "1 to 1000000"),
    line<count<limits, &limit_options::subscriptions, 1, 1'000'000>>("limits", "subscriptions",
                                                                     "1 to 1000000"),
    line<count<limits, &limit_options::watched_keys, 1, 100'000>>("limits", "watched_keys",
                                                                  "1 to 100000"),
    line<duration<limits, &limit_options::handshake, 0, hour>>("limits", "handshake", "0 to 1h"),
    line<count<limits, &limit_options::failed_logins, 0, 1'000'000>>("limits", "failed_logins",
                                                                     "0 to 1000000"),
    line<count<limits, &limit_options::failed_logins_per_address, 0, 1'000'000>>(
        "limits", "failed_logins_per_address", "0 to 1000000"),
    line<duration<limits, &limit_options::idle, 0, 24 * hour>>("limits", "idle", "0 to 24h"),
    line<size<limits, &limit_options::key_bytes, 64, 64 * 1024>>("limits", "key_bytes",
                                                                 "64B to 64KiB"),
    line<count<limits, &limit_options::locks, 1, 100'000'000>>("limits", "locks", "1 to 100000000"),
    line<count<limits, &limit_options::waiters, 1, 100'000'000>>("limits", "waiters",
                                                                 "1 to 100000000"),
    line<count<limits, &limit_options::queues, 1, 100'000'000>>("limits", "queues",
                                                                "1 to 100000000"),
    line<duration<limits, &limit_options::wait, 0, 24 * hour>>("limits", "wait", "0 to 24h"),
    line<duration<shutdown, &shutdown_options::deadline, 0, hour>>("shutdown", "deadline",
                                                                   "0 to 1h"),
    line<duration<shutdown, &shutdown_options::delay, 0, hour>>("shutdown", "delay", "0 to 1h"),
    line<duration<leases, &lease_options::slack, 100, hour>>("leases", "slack", "100ms to 1h"),
    line<duration<leases, &lease_options::max_ttl, 1'000, 24 * hour>>("leases", "max_ttl",
                                                                      "1s to 24h"),
    line<duration<leases, &lease_options::untimed, 1'000, hour>>("leases", "untimed", "1s to 1h"),
    line<choice<leases, &lease_options::fences, truth_words>>("leases", "fences", "true or false"),
    line<duration<masters, &master_options::timeout, 10, 60'000>>("masters", "timeout",
                                                                  "10ms to 1m"),
    line<duration<masters, &master_options::connect_timeout, 10, 60'000>>(
        "masters", "connect_timeout", "10ms to 1m"),
    line<duration<masters, &master_options::ping, 50, 60'000>>("masters", "ping", "50ms to 1m"),
    line<duration<masters, &master_options::silence, 50, 60'000>>("masters", "silence",
                                                                  "50ms to 1m"),
    line<duration<masters, &master_options::reconnect, 10, 60'000>>("masters", "reconnect",
                                                                    "10ms to 1m"),
    line<choice<masters, &master_options::admission, admission_words>>(
        "masters", "admission", "automatic, strict or quick"),
    line<choice<masters, &master_options::fence_recovery, fence_recovery_words>>(
        "masters", "fence_recovery", "clock or strict"),
    line<path<masters, &master_options::tls_ca>>("masters", "tls_ca", "a PEM file"),
    line<path<masters, &master_options::tls_certificate>>("masters", "tls_certificate",
                                                          "a PEM file"),
    line<path<masters, &master_options::tls_key>>("masters", "tls_key", "a PEM file"),
    line<path<masters, &master_options::user>>("masters", "user", "a name"),
    line<secret<masters, &master_options::password>>("masters", "password",
                                                     "env:NAME or file:/path"),
    line<path<embedded, &embedded_options::state>>("embedded", "state", "a folder"),
    line<duration<embedded, &embedded_options::start_delay, 0, 24 * hour>>(
        "embedded", "start_delay", "0 to 24h"),
    line<duration<slow, &slow_options::wait, 1, 24 * hour>>("slow", "wait", "1ms to 24h"),
    line<duration<slow, &slow_options::hold, 1, 24 * hour>>("slow", "hold", "1ms to 24h"),
    line<count<slow, &slow_options::entries, 0, 10'000>>("slow", "entries", "0 to 10000"),
};

}  // namespace

std::span<const option> options() {
    return table;
}

const option* find_option(std::string_view section, std::string_view name) {
    for (const option& known : table) {
        if (known.section == section && known.name == name) {
            return &known;
        }
    }
    return nullptr;
}

}  // namespace lockkeeper::config
