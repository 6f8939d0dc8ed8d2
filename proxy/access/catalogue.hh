#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "proxy/access/categories.hh"

namespace lockkeeper::proxy::access {

/// What a command needs to be allowed with its keys. A key that is merely asked about (EXISTS) may
/// be any that some pattern names.
enum class key_need : uint8_t { mention, read, write, both };

/// A command, or a subcommand: "client|kill".
struct catalogued {
    std::string_view name;  ///< in lower case; good for ever
    uint32_t categories;
    key_need keys = key_need::mention;
};

/// Every command that rules can speak of, numbered. Categories and needs of those that Redis has
/// are Redis' own, so that rules written for it mean the same here; e2e/acl_matrix_test.py holds
/// them against a real server.
class catalogue {
public:
    /// Room in a user's set of allowed commands.
    static constexpr size_t capacity = 320;

    /// Knows the commands of Redis that we have, and the native verbs.
    catalogue();

    /// One that stands in no list of ours yet. No effect if it is known.
    void add(const catalogued& command);

    std::span<const catalogued> all() const { return _all; }
    /// By full name, in lower case.
    std::optional<size_t> find(std::string_view name) const;
    const catalogued& operator[](size_t number) const { return _all[number]; }
    /// Those of "client|..." for "client"; none for a command that is one by itself.
    std::vector<size_t> subcommands(std::string_view command) const;

private:
    std::vector<catalogued> _all;
    std::map<std::string_view, size_t> _by_name;
};

}  // namespace lockkeeper::proxy::access
