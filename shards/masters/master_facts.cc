#include "shards/masters/master_facts.hh"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "protocol/text.hh"

namespace lockkeeper::shards {

namespace {

constexpr size_t shown_bytes_max = 200;

// In the order of the questions.
constexpr size_t info_at = 0;
constexpr size_t role_at = 1;
constexpr size_t config_at = 2;

// One CONFIG GET each: servers before Redis 7.0 take a single name.
constexpr std::string_view settings[] = {"appendonly", "appendfsync", "maxmemory",
                                         "maxmemory-policy", "save"};

std::string shown(std::string_view text) {
    return protocol::sanitised(text, shown_bytes_max);
}

std::optional<uint64_t> number(std::string_view text) {
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, value);
    return problem == std::errc{} && rest == end ? std::optional(value) : std::nullopt;
}

/// The value of "field:value" on a line of INFO.
std::optional<std::string_view> info_field(std::string_view info, std::string_view field) {
    while (!info.empty()) {
        const size_t end = info.find('\n');
        std::string_view line = info.substr(0, end);
        info.remove_prefix(end == std::string_view::npos ? info.size() : end + 1);
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if (line.starts_with(field) && line.substr(field.size()).starts_with(':')) {
            return line.substr(field.size() + 1);
        }
    }
    return std::nullopt;
}

std::string info_text(std::string_view info, std::string_view field) {
    return std::string(info_field(info, field).value_or(""));
}

/// The value of CONFIG GET, a map in RESP3 and a flat array in RESP2; nothing if it was refused or
/// is not known there.
std::optional<std::string> setting(const protocol::reply& reply, std::string_view name) {
    const auto items = reply.items();
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (protocol::equals_ignoring_case(items[i].text(), name)) {
            return std::string(items[i + 1].text());
        }
    }
    return std::nullopt;
}

master_role role_named(std::string_view name) {
    if (name == "master") {
        return master_role::master;
    }
    if (name == "slave" || name == "replica") {
        return master_role::replica;
    }
    return name == "sentinel" ? master_role::sentinel : master_role::unknown;
}

/// ROLE, or INFO if an ACL forbids ROLE. If they differ, the role has just changed: it is no
/// master.
master_role role_of(const protocol::reply& role, std::string_view info) {
    const master_role in_info = role_named(info_text(info, "role"));
    if (role.items().empty()) {
        return in_info;
    }
    const master_role told = role_named(role.items().front().text());
    const bool agree = in_info == master_role::unknown || in_info == told;
    return agree || told != master_role::master ? told : in_info;
}

void read_memory(std::string_view info, std::optional<uint64_t>& most,
                 std::optional<std::string>& eviction) {
    most = number(info_text(info, "maxmemory"));
    if (const auto policy = info_field(info, "maxmemory_policy")) {
        eviction = std::string(*policy);
    }
}

void read_info(std::string_view info, master_facts& facts) {
    facts.run_id = info_text(info, "run_id");
    facts.version = info_text(info, "redis_version");
    facts.mode = info_text(info, "redis_mode");
    facts.loading = info_field(info, "loading") == "1";
    // Who becomes a master keeps the name of the history that it had as a replica, up to here.
    if (const auto before = info_field(info, "second_repl_offset")) {
        facts.promoted = *before != "-1";
    }
    if (const auto enabled = info_field(info, "aof_enabled")) {
        facts.append_only = *enabled == "1";
    }
    read_memory(info, facts.memory_max, facts.eviction);
}

void read_config(std::span<const protocol::reply> replies, master_facts& facts) {
    const auto value = [replies](size_t i) { return setting(replies[i], settings[i]); };
    const auto append_only = value(0);
    const auto memory_max = value(2);
    const auto policy = value(3);
    facts.append_fsync = value(1);
    facts.save = value(4);
    if (append_only) {
        facts.append_only = *append_only == "yes";
    }
    if (memory_max) {
        facts.memory_max = number(*memory_max);
    }
    if (policy) {
        facts.eviction = policy;
    }
    facts.config_verified = append_only && facts.append_fsync && memory_max && policy && facts.save;
}

}  // namespace

command_batch facts_questions() {
    command_batch questions;
    questions.add("INFO").add("ROLE");
    for (const std::string_view name : settings) {
        questions.add("CONFIG", "GET", name);
    }
    return questions;
}

std::expected<master_facts, std::string> read_facts(std::span<const protocol::reply> replies) {
    if (replies.size() != config_at + std::size(settings)) {
        return std::unexpected("it did not answer all questions of the handshake");
    }
    if (replies[info_at].is_error()) {
        return std::unexpected(fmt::format("it refuses INFO: {}", shown(replies[info_at].text())));
    }
    const std::string_view info = replies[info_at].text();
    master_facts facts;
    read_info(info, facts);
    if (facts.run_id.empty()) {
        return std::unexpected(
            "its INFO has no run_id: one life of it cannot be told from another");
    }
    facts.role = role_of(replies[role_at], info);
    read_config(replies.subspan(config_at), facts);
    return facts;
}

command_batch changing_facts_questions() {
    command_batch questions;
    questions.add("ROLE").add("INFO", "memory");
    return questions;
}

changing_facts read_changing_facts(std::span<const protocol::reply> replies) {
    changing_facts facts;
    if (replies.size() != changing_facts_questions().replies()) {
        return facts;
    }
    if (!replies[0].items().empty()) {
        facts.role = role_named(replies[0].items().front().text());
    }
    if (!replies[1].is_error()) {
        read_memory(replies[1].text(), facts.memory_max, facts.eviction);
    }
    return facts;
}

std::optional<std::chrono::microseconds> read_time(const protocol::reply& reply) {
    const auto items = reply.items();
    if (items.size() != 2) {
        return std::nullopt;
    }
    const auto seconds = protocol::parse_integer(items[0].text());
    const auto microseconds = protocol::parse_integer(items[1].text());
    // Far enough for any clock, and no overflow below.
    constexpr int64_t seconds_max = int64_t{1} << 42;
    if (!seconds || !microseconds || *seconds < 0 || *seconds > seconds_max || *microseconds < 0 ||
        *microseconds >= 1'000'000) {
        return std::nullopt;
    }
    return std::chrono::seconds(*seconds) + std::chrono::microseconds(*microseconds);
}

}  // namespace lockkeeper::shards
