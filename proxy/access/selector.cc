#include "proxy/access/selector.hh"

#include <fmt/format.h>

#include <algorithm>

#include "config/nearest.hh"
#include "protocol/text.hh"
#include "shards/core/glob.hh"

namespace lockkeeper::proxy::access {

namespace {

using protocol::equals_ignoring_case;

std::unexpected<std::string> no_such_command(std::string_view word, const catalogue& commands) {
    std::vector<std::string_view> names;
    for (const catalogued& one : commands.all()) {
        names.push_back(one.name);
    }
    const auto meant = config::nearest(word, names);
    return std::unexpected(
        meant.empty() ? std::string("there is no such command")
                      : fmt::format("there is no such command; did you mean '{}'?", meant));
}

std::unexpected<std::string> no_such_category(std::string_view word) {
    std::vector<std::string_view> names;
    for (const named_category& one : categories()) {
        names.push_back(one.name);
    }
    const auto meant = config::nearest(word, names);
    return std::unexpected(fmt::format("there is no such category{}",
                                       meant.empty()
                                           ? fmt::format("; known: {}", fmt::join(names, ", "))
                                           : fmt::format("; did you mean '@{}'?", meant)));
}

}  // namespace

std::expected<void, std::string> selector::apply(std::string_view rule, const catalogue& commands) {
    const auto is = [rule](std::string_view word) { return equals_ignoring_case(rule, word); };
    if (is("allkeys") || is("~*")) {
        _all_keys = true;
        _keys.clear();
    } else if (is("resetkeys")) {
        _all_keys = false;
        _keys.clear();
    } else if (is("allchannels") || is("&*")) {
        _all_channels = true;
        _channels.clear();
    } else if (is("resetchannels")) {
        _all_channels = false;
        _channels.clear();
    } else if (is("allcommands") || is("+@all")) {
        allow_all(commands);
    } else if (is("nocommands") || is("-@all")) {
        allow_none();
    } else if (rule.starts_with('~') || rule.starts_with('%')) {
        return apply_key_pattern(rule);
    } else if (rule.starts_with('&')) {
        return add_channel_pattern(rule.substr(1));
    } else if (rule.starts_with('+') || rule.starts_with('-')) {
        return apply_command_rule(rule, commands);
    } else {
        return std::unexpected(
            "not a rule; rules are ~keys, %R~keys, %W~keys, &channels, +command, -command, "
            "+@category and -@category, and outside of parentheses on, off and nopass");
    }
    return {};
}

selector::refusal selector::apply_key_pattern(std::string_view rule) {
    if (rule.starts_with('~')) {
        return add_key_pattern(rule.substr(1), true, true);
    }
    bool read = false;
    bool write = false;
    for (size_t i = 1; i < rule.size(); ++i) {
        const char c = protocol::to_lower(rule[i]);
        if (c == '~' && (read || write)) {
            return add_key_pattern(rule.substr(i + 1), read, write);
        }
        if ((c == 'r' && read) || (c == 'w' && write) || (c != 'r' && c != 'w')) {
            break;
        }
        (c == 'r' ? read : write) = true;
    }
    return std::unexpected("keys are %R~pattern, %W~pattern or %RW~pattern");
}

selector::refusal selector::add_key_pattern(std::string_view pattern, bool read, bool write) {
    if (_all_keys) {
        return std::unexpected("every key is allowed already; 'resetkeys' starts again");
    }
    if (pattern == "*" && read && write) {
        _all_keys = true;
        _keys.clear();
        return {};
    }
    const auto known = std::ranges::find(_keys, pattern, &key_pattern::text);
    if (known != _keys.end()) {
        known->read = known->read || read;
        known->write = known->write || write;
    } else {
        _keys.push_back({std::string(pattern), read, write});
    }
    return {};
}

selector::refusal selector::add_channel_pattern(std::string_view pattern) {
    if (_all_channels) {
        return std::unexpected("every channel is allowed already; 'resetchannels' starts again");
    }
    if (std::ranges::find(_channels, pattern) == _channels.end()) {
        _channels.emplace_back(pattern);
    }
    return {};
}

void selector::allow_all(const catalogue& commands) {
    for (size_t i = 0; i < commands.all().size(); ++i) {
        _commands.set(i);
    }
    _every_command = true;
    _unknown = true;
    _command_rules = {"+@all"};
}

void selector::allow_none() {
    _commands.reset();
    _every_command = false;
    _unknown = false;
    _command_rules.clear();
}

/// Only the last word about a command or category counts.
void selector::remember(std::string_view rule) {
    std::erase_if(_command_rules, [rule](const std::string& earlier) {
        return equals_ignoring_case(std::string_view(earlier).substr(1), rule.substr(1));
    });
    _command_rules.push_back(protocol::to_lower(rule));
}

selector::refusal selector::apply_command_rule(std::string_view rule, const catalogue& commands) {
    const bool allow = rule.front() == '+';
    const std::string word = protocol::to_lower(rule.substr(1));
    std::vector<size_t> meant;
    if (word.starts_with('@')) {
        const uint32_t bit = find_category(word.substr(1));
        if (bit == 0) {
            return no_such_category(word.substr(1));
        }
        for (size_t i = 0; i < commands.all().size(); ++i) {
            if (commands[i].categories & bit) {
                meant.push_back(i);
            }
        }
    } else {
        const auto number = commands.find(word);
        if (!number) {
            return no_such_command(word, commands);
        }
        meant = commands.subcommands(word);
        meant.push_back(*number);
    }
    for (const size_t number : meant) {
        _commands.set(number, allow);
    }
    if (!allow) {
        _unknown = false;
    }
    _every_command = _commands.count() == commands.all().size();
    remember(rule);
    return {};
}

bool selector::allows_key(std::string_view key, key_need need) const {
    if (_all_keys) {
        return true;
    }
    const bool reads = need == key_need::read || need == key_need::both;
    const bool writes = need == key_need::write || need == key_need::both;
    return std::ranges::any_of(_keys, [&](const key_pattern& one) {
        return (one.read || !reads) && (one.write || !writes) && shards::glob_match(one.text, key);
    });
}

bool selector::allows_channel(std::string_view channel) const {
    return _all_channels || std::ranges::any_of(_channels, [channel](const std::string& one) {
               return shards::glob_match(one, channel);
           });
}

bool selector::allows_channel_pattern(std::string_view pattern) const {
    return _all_channels || std::ranges::find(_channels, pattern) != _channels.end();
}

bool selector::may_do_everything() const {
    return _every_command && _unknown && _all_keys && _all_channels;
}

std::string selector::command_rules() const {
    const bool from_all = !_command_rules.empty() && _command_rules.front() == "+@all";
    return fmt::format("{}{}",
                       from_all                 ? ""
                       : _command_rules.empty() ? "-@all"
                                                : "-@all ",
                       fmt::join(_command_rules, " "));
}

std::string selector::key_rules() const {
    if (_all_keys) {
        return "~*";
    }
    std::string text;
    for (const key_pattern& one : _keys) {
        text += fmt::format("{}{}{}", text.empty() ? "" : " ",
                            one.read && one.write ? "~"
                            : one.read            ? "%R~"
                                                  : "%W~",
                            one.text);
    }
    return text;
}

std::string selector::channel_rules() const {
    if (_all_channels) {
        return "&*";
    }
    std::string text;
    for (const std::string& one : _channels) {
        text += fmt::format("{}&{}", text.empty() ? "" : " ", one);
    }
    return text;
}

std::string selector::describe() const {
    const std::string keys = key_rules();
    const std::string channels = channel_rules();
    std::string text = keys.empty() ? "" : keys + " ";
    text += _all_channels ? "" : "resetchannels ";
    text += channels.empty() ? "" : channels + " ";
    return text + command_rules();
}

}  // namespace lockkeeper::proxy::access
