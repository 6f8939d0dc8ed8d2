#pragma once

#include <bitset>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/access/catalogue.hh"

namespace lockkeeper::proxy::access {

/// Commands, and the keys and channels that they may be given for: what Redis calls a selector.
/// All of a command must be allowed by the same one. A new one allows nothing.
///
/// Commands that are not in the catalogue can only be those of an upstream for data
/// (`allows_unknown`): they are given by `+@all` alone and taken by whatever forbids anything after
/// it, for nobody can say what they do.
class selector {
public:
    /// One word about keys, channels or commands. Tells why not.
    std::expected<void, std::string> apply(std::string_view rule, const catalogue& commands);

    bool allows(size_t command) const { return _commands.test(command); }
    bool allows_unknown() const { return _unknown; }
    bool allows_key(std::string_view key, key_need need) const;
    bool allows_channel(std::string_view channel) const;
    /// A subscription to a pattern may hear of anything that matches it: the very same pattern must
    /// be allowed.
    bool allows_channel_pattern(std::string_view pattern) const;
    /// Nothing needs to be checked.
    bool may_do_everything() const;

    // In words, as Redis tells them.
    std::string command_rules() const;
    std::string key_rules() const;
    std::string channel_rules() const;
    /// All three, as in a line of ACL LIST.
    std::string describe() const;

private:
    struct key_pattern {
        std::string text;
        bool read;
        bool write;
    };
    using refusal = std::expected<void, std::string>;

    refusal apply_key_pattern(std::string_view rule);
    refusal add_key_pattern(std::string_view pattern, bool read, bool write);
    refusal add_channel_pattern(std::string_view pattern);
    refusal apply_command_rule(std::string_view rule, const catalogue& commands);
    void allow_all(const catalogue& commands);
    void allow_none();
    void remember(std::string_view rule);

    std::bitset<catalogue::capacity> _commands;
    bool _every_command = false;  ///< of the catalogue
    bool _unknown = false;
    bool _all_keys = false;
    bool _all_channels = false;
    std::vector<key_pattern> _keys;
    std::vector<std::string> _channels;
    std::vector<std::string> _command_rules;  ///< since all or none were allowed
};

}  // namespace lockkeeper::proxy::access
