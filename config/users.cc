#include "config/users.hh"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

#include "config/nearest.hh"
#include "config/secret.hh"
#include "config/text.hh"
#include "config/units.hh"

namespace lockkeeper::config {

namespace {

constexpr size_t users_max = 1'000;
constexpr size_t name_bytes_max = 64;
/// Of one user: a new password is set beside the old one until everybody has it.
constexpr size_t passwords_max = 8;
constexpr size_t rules_max = 1'000;
constexpr size_t rule_bytes_max = 256;
constexpr size_t selector_bytes_max = 4096;

constexpr std::string_view shape =
    "needs a name, passwords and rules, as in {name: billing, passwords: [env:BILLING_PASSWORD], "
    "rules: '~billing:* +@all -@admin'}";
constexpr std::string_view hashed = "sha256:";
constexpr std::array<std::string_view, 5> words = {"name", "passwords", "rules", "connections",
                                                   "rate"};

bool is_name(const std::string& text) {
    const auto shown = [](char c) { return c >= '!' && c <= '~'; };
    return !text.empty() && text.size() <= name_bytes_max && std::ranges::all_of(text, shown);
}

constexpr std::string_view blanks = " \t\n\r";

/// Of a word, or of several in parentheses.
size_t end_of_rule(std::string_view text, size_t begin) {
    size_t end = std::min(text.find_first_of(blanks, begin), text.size());
    while (text[begin] == '(' && text[end - 1] != ')') {
        const size_t next = text.find_first_not_of(blanks, end);
        if (next == std::string_view::npos) {
            break;
        }
        end = std::min(text.find_first_of(blanks, next), text.size());
    }
    return end;
}

/// `>password` and `<password` of Redis' language, also where they do not belong: nothing of such a
/// rule is shown.
bool has_password(std::string_view rule) {
    for (size_t at = 0; (at = rule.find_first_of("<>", at)) != std::string_view::npos; ++at) {
        const bool begins_word =
            at == 0 || rule[at - 1] == '(' || blanks.find(rule[at - 1]) != std::string_view::npos;
        if (begins_word) {
            return true;
        }
    }
    return false;
}

class user_reader {
public:
    explicit user_reader(const complaint& complain) : _complain(complain) {}

    std::vector<user_options> read(const YAML::Node& node) {
        if (!node.IsSequence() || node.size() == 0) {
            _complain(node.Mark(), fmt::format("'users' is a list; each entry {}", shape));
            return {};
        }
        if (node.size() > users_max) {
            _complain(node.Mark(), fmt::format("{} users, at most {}", node.size(), users_max));
            return {};
        }
        for (const auto& entry : node) {
            read_user(entry);
        }
        return std::move(_users);
    }

private:
    void read_user(const YAML::Node& node) {
        if (!node.IsMap() || !node["name"]) {
            return _complain(node.Mark(), fmt::format("a user {}", shape));
        }
        user_options user;
        user.line = node.Mark().line + 1;
        user.column = node.Mark().column + 1;
        std::vector<std::string> seen;
        for (const auto& field : node) {
            const auto word = field.first.as<std::string>();
            if (std::ranges::find(seen, word) != seen.end()) {
                _complain(field.first.Mark(), fmt::format("'{}' is given twice", word));
                continue;
            }
            seen.push_back(word);
            read_field(word, field.first, field.second, user);
        }
        if (!user.name.empty()) {
            _users.push_back(std::move(user));
        }
    }

    void read_field(const std::string& word, const YAML::Node& key, const YAML::Node& value,
                    user_options& user) {
        if (word == "name") {
            read_name(value, user);
        } else if (word == "passwords") {
            for_each(value, word, [&](const YAML::Node& one) { read_password(one, user); });
        } else if (word == "rules") {
            for_each(value, word, [&](const YAML::Node& one) { read_rules(one, user); });
        } else if (word == "connections") {
            read_count(value, word, 1'000'000, user.connections);
        } else if (word == "rate") {
            read_count(value, word, 100'000'000, user.rate);
        } else {
            const auto meant = nearest(word, words);
            _complain(
                key.Mark(),
                fmt::format("unknown option '{}' in a user{}", word,
                            meant.empty() ? fmt::format("; known here: {}", fmt::join(words, ", "))
                                          : fmt::format("; did you mean '{}'?", meant)));
        }
    }

    void read_name(const YAML::Node& node, user_options& user) {
        if (!node.IsScalar() || !is_name(node.Scalar())) {
            return _complain(node.Mark(),
                             fmt::format("the name of a user is 1 to {} letters, digits and signs, "
                                         "without blanks",
                                         name_bytes_max));
        }
        if (std::ranges::find(_users, node.Scalar(), &user_options::name) != _users.end()) {
            return _complain(node.Mark(), fmt::format("there are two users '{}'", node.Scalar()));
        }
        user.name = node.Scalar();
    }

    /// One value, or a list of them.
    template <typename Read>
    void for_each(const YAML::Node& node, const std::string& word, const Read& read) {
        if (node.IsScalar()) {
            return read(node);
        }
        if (!node.IsSequence()) {
            return _complain(node.Mark(), fmt::format("'{}' needs one value or a list", word));
        }
        for (const auto& one : node) {
            if (!one.IsScalar()) {
                _complain(one.Mark(), fmt::format("'{}' needs one value or a list", word));
                continue;
            }
            read(one);
        }
    }

    /// What is wrong is said without the text: it may be the password.
    void read_password(const YAML::Node& node, user_options& user) {
        if (user.passwords.size() == passwords_max) {
            return _complain(node.Mark(), fmt::format("more than {} passwords", passwords_max));
        }
        const std::string& text = node.Scalar();
        if (text.starts_with(hashed)) {
            const auto digest = sha256_from_hex(std::string_view(text).substr(hashed.size()));
            if (!digest) {
                return _complain(node.Mark(),
                                 "'passwords': sha256: needs 64 hexadecimal digits in lower case, "
                                 "as 'printf %s PASSWORD | sha256sum' prints them");
            }
            user.passwords.push_back({.reference = "", .digest = *digest});
            return;
        }
        if (!is_secret_reference(text)) {
            return _complain(node.Mark(),
                             "'passwords': no password stands in this file itself; use env:NAME, "
                             "file:/path or sha256:DIGITS");
        }
        const auto secret = read_secret(text);
        if (!secret) {
            return _complain(node.Mark(), fmt::format("'passwords': {}", secret.error()));
        }
        user.passwords.push_back({.reference = text, .digest = sha256_of(*secret)});
    }

    void read_rules(const YAML::Node& node, user_options& user) {
        const std::string& text = node.Scalar();
        for (size_t at = 0; at < text.size();) {
            const size_t begin = text.find_first_not_of(blanks, at);
            if (begin == std::string::npos) {
                return;
            }
            at = end_of_rule(text, begin);
            read_rule(text.substr(begin, at - begin), node.Mark(), user);
        }
    }

    void read_rule(std::string rule, const YAML::Mark& where, user_options& user) {
        if (has_password(rule)) {
            return _complain(where,
                             "'rules': no password stands in this file itself; use 'passwords', as "
                             "in passwords: [env:NAME]");
        }
        const size_t most = rule.starts_with('(') ? selector_bytes_max : rule_bytes_max;
        if (rule.size() > most) {
            return _complain(
                where, fmt::format("'rules': a rule of {} bytes, at most {}", rule.size(), most));
        }
        if (user.rules.size() == rules_max) {
            return _complain(where, fmt::format("'rules': more than {}", rules_max));
        }
        user.rules.push_back({std::move(rule), where.line + 1, where.column + 1});
    }

    void read_count(const YAML::Node& node, const std::string& word, uint64_t most,
                    uint32_t& value) {
        if (!node.IsScalar()) {
            return _complain(node.Mark(), fmt::format("'{}' needs one number", word));
        }
        const auto count = parse_count(node.Scalar());
        if (!count) {
            return _complain(node.Mark(), fmt::format("'{}': {}", word, count.error()));
        }
        if (*count > most) {
            return _complain(node.Mark(),
                             fmt::format("'{}': {} is not between 0 and {}", word, *count, most));
        }
        value = static_cast<uint32_t>(*count);
    }

    const complaint& _complain;
    std::vector<user_options> _users;
};

}  // namespace

std::vector<user_options> read_users(const YAML::Node& node, const complaint& complain) {
    return user_reader(complain).read(node);
}

std::span<const std::string_view> user_words() {
    return words;
}

std::string show_users(const std::vector<user_options>& users) {
    std::string text = users.empty() ? "" : "users:\n";
    for (const user_options& user : users) {
        text += fmt::format("  - name: {}\n", lockkeeper::config::quoted(user.name));
        text += user.passwords.empty() ? "" : "    passwords:\n";
        for (const password& one : user.passwords) {
            text += fmt::format(
                "      - {}\n",
                lockkeeper::config::quoted(one.reference.empty() ? "sha256:" + to_hex(one.digest)
                                                                 : one.reference));
        }
        text += user.rules.empty() ? "" : "    rules:\n";
        for (const placed_text& rule : user.rules) {
            text += fmt::format("      - {}\n", lockkeeper::config::quoted(rule.text));
        }
        text += fmt::format("    connections: {}\n    rate: {}\n", user.connections, user.rate);
    }
    return text;
}

}  // namespace lockkeeper::config
