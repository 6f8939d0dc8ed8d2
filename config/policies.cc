#include "config/policies.hh"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <expected>

#include "config/nearest.hh"
#include "config/patterns.hh"
#include "config/text.hh"
#include "config/units.hh"

namespace lockkeeper::config {

namespace {

/// Of all policies together: a key that none of them is for is held against every one.
constexpr size_t patterns_max = 256;

constexpr std::string_view shape =
    "needs keys and what holds for them, as in {keys: 'report:*', pollers: reserve}";

using result = std::expected<void, std::string>;

/// One line of the table below.
struct rule {
    std::string_view name;
    std::string_view accepts;
    result (*set)(policy_options&, std::string_view text);
    std::string (*show)(const policy_options&);
};

template <auto Member, int64_t Least, int64_t Most>
struct duration {
    static result set(policy_options& policy, std::string_view text) {
        const auto value = parse_duration(text);
        if (!value) {
            return std::unexpected(value.error());
        }
        if (value->count() < Least || value->count() > Most) {
            return std::unexpected(fmt::format("{} is not between {} and {}", show_duration(*value),
                                               show_duration(milliseconds(Least)),
                                               show_duration(milliseconds(Most))));
        }
        policy.*Member = *value;
        return {};
    }
    static std::string show(const policy_options& policy) { return show_duration(policy.*Member); }
};

template <auto Member, uint32_t Least, uint32_t Most>
struct count {
    static result set(policy_options& policy, std::string_view text) {
        const auto value = parse_count(text);
        if (!value) {
            return std::unexpected(value.error());
        }
        if (*value < Least || *value > Most) {
            return std::unexpected(fmt::format("{} is not between {} and {}", *value, Least, Most));
        }
        policy.*Member = static_cast<uint32_t>(*value);
        return {};
    }
    static std::string show(const policy_options& policy) {
        return fmt::format("{}", policy.*Member);
    }
};

/// One of a few words; their order is that of the enumeration.
template <auto Member, const auto& Words>
struct choice {
    static result set(policy_options& policy, std::string_view text) {
        const auto found = std::ranges::find(Words, text);
        if (found == std::end(Words)) {
            return std::unexpected(fmt::format("'{}' is not one of them", text));
        }
        using type = std::remove_reference_t<decltype(policy.*Member)>;
        policy.*Member = static_cast<type>(found - std::begin(Words));
        return {};
    }
    static std::string show(const policy_options& policy) {
        return std::string(Words[static_cast<size_t>(policy.*Member)]);
    }
};

constexpr std::array<std::string_view, 4> poller_words = {"barge", "reserve", "park", "auto"};
constexpr std::array<std::string_view, 2> deadlock_words = {"report", "refuse"};
constexpr std::array<std::string_view, 2> store_words = {"lease", "token"};
constexpr std::array<std::string_view, 2> truth_words = {"false", "true"};

template <typename Kind>
constexpr rule line(std::string_view name, std::string_view accepts) {
    return {name, accepts, &Kind::set, &Kind::show};
}

using options = policy_options;
constexpr int64_t second = 1'000;
constexpr int64_t hour = 3'600 * second;

constexpr std::array rules = {
    line<choice<&options::pollers, poller_words>>("pollers", "auto, barge, reserve or park"),
    line<duration<&options::park, 1, 10 * second>>("park", "1ms to 10s"),
    line<duration<&options::starvation_after, 10, hour>>("starvation_after", "10ms to 1h"),
    line<choice<&options::renew, truth_words>>("renew", "true or false"),
    line<duration<&options::max_hold, 0, 24 * hour>>("max_hold", "0 to 24h"),
    line<duration<&options::grace, 0, hour>>("grace", "0 to 1h"),
    line<duration<&options::lock_delay, 0, hour>>("lock_delay", "0 to 1h"),
    line<count<&options::max_waiters, 1, 1'000'000>>("max_waiters", "1 to 1000000"),
    line<choice<&options::deadlocks, deadlock_words>>("deadlocks", "report or refuse"),
    line<choice<&options::store, store_words>>("store", "lease or token"),
};

constexpr auto rule_names = [] {
    std::array<std::string_view, rules.size()> names;
    std::ranges::transform(rules, names.begin(), &rule::name);
    return names;
}();

class policy_reader {
public:
    explicit policy_reader(const complaint& complain) : _complain(complain) {}

    std::vector<policy_options> read(const YAML::Node& node) {
        if (!node.IsSequence() || node.size() == 0) {
            _complain(node.Mark(), fmt::format("'policies' is a list; each entry {}", shape));
            return {};
        }
        for (const auto& entry : node) {
            read_policy(entry);
        }
        if (_patterns > patterns_max) {
            _complain(node.Mark(),
                      fmt::format("{} patterns in all policies, at most {}: a key is held against "
                                  "one after the other; use wider ones",
                                  _patterns, patterns_max));
        }
        return std::move(_policies);
    }

private:
    void read_policy(const YAML::Node& node) {
        if (!node.IsMap() || !node["keys"]) {
            return _complain(node.Mark(), fmt::format("a policy {}", shape));
        }
        policy_options policy;
        std::vector<std::string> seen;
        for (const auto& field : node) {
            const auto word = field.first.as<std::string>();
            if (std::ranges::find(seen, word) != seen.end()) {
                _complain(field.first.Mark(), fmt::format("'{}' is given twice", word));
            } else if (word == "keys") {
                read_keys(field.second, policy);
            } else {
                read_rule(word, field.first, field.second, policy);
            }
            seen.push_back(word);
        }
        _policies.push_back(std::move(policy));
    }

    void read_keys(const YAML::Node& node, policy_options& policy) {
        if (node.IsScalar()) {
            return read_key(node, policy);
        }
        if (!node.IsSequence() || node.size() == 0) {
            return _complain(node.Mark(),
                             "'keys' needs a pattern or a list of them, as in ['report:*']");
        }
        for (const auto& entry : node) {
            read_key(entry, policy);
        }
    }

    /// A pattern that can never decide is a mistake: whoever wrote it meant another order.
    void read_key(const YAML::Node& node, policy_options& policy) {
        auto pattern = read_pattern(node, "keys", _complain);
        if (!pattern) {
            return;
        }
        ++_patterns;
        if (is_known("*")) {
            return _complain(node.Mark(), fmt::format("'{}' never decides: '*' above it is for "
                                                      "every key; put '*' last",
                                                      *pattern));
        }
        if (is_known(*pattern) || std::ranges::find(policy.keys, *pattern) != policy.keys.end()) {
            return _complain(
                node.Mark(),
                fmt::format("'{}' is given twice: the first policy of a key decides", *pattern));
        }
        policy.keys.push_back(std::move(*pattern));
    }

    /// In a policy before this one.
    bool is_known(std::string_view pattern) const {
        return std::ranges::any_of(_policies, [pattern](const policy_options& policy) {
            return std::ranges::find(policy.keys, pattern) != policy.keys.end();
        });
    }

    void read_rule(const std::string& word, const YAML::Node& key, const YAML::Node& value,
                   policy_options& policy) {
        const auto known = std::ranges::find(rules, word, &rule::name);
        if (known == rules.end()) {
            return _complain(key.Mark(), unknown(word));
        }
        if (!value.IsScalar()) {
            return _complain(key.Mark(),
                             fmt::format("'{}' needs one value: {}", word, known->accepts));
        }
        if (const auto set = known->set(policy, value.Scalar()); !set) {
            _complain(value.Mark(),
                      fmt::format("'{}': {} (accepted: {})", word, set.error(), known->accepts));
        }
    }

    static std::string unknown(std::string_view word) {
        std::vector<std::string_view> known = {"keys"};
        known.insert(known.end(), rule_names.begin(), rule_names.end());
        const auto meant = nearest(word, known);
        return fmt::format("unknown option '{}' in a policy{}", word,
                           meant.empty() ? fmt::format("; known here: {}", fmt::join(known, ", "))
                                         : fmt::format("; did you mean '{}'?", meant));
    }

    const complaint& _complain;
    std::vector<policy_options> _policies;
    size_t _patterns = 0;
};

}  // namespace

std::vector<policy_options> read_policies(const YAML::Node& node, const complaint& complain) {
    return policy_reader(complain).read(node);
}

std::span<const std::string_view> policy_words() {
    return rule_names;
}

std::string show_policies(const std::vector<policy_options>& policies) {
    std::string text = policies.empty() ? "" : "policies:\n";
    for (const policy_options& policy : policies) {
        text += "  - keys:\n";
        for (const std::string& pattern : policy.keys) {
            text += fmt::format("      - {}\n", lockkeeper::config::quoted(pattern));
        }
        for (const rule& known : rules) {
            text += fmt::format("    {}: {}\n", known.name, known.show(policy));
        }
    }
    return text;
}

}  // namespace lockkeeper::config
