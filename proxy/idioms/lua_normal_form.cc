#include "proxy/idioms/lua_normal_form.hh"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "proxy/idioms/lua_lexer.hh"

namespace lockkeeper::proxy::idioms {

namespace {

/// Works on the row of tokens, not on a tree. Each step decides by the neighbourhood of a token
/// only, so texts with the same row of tokens get the same decisions; what no step understands
/// stays as it is, and then only an equal text matches.
class normaliser {
public:
    explicit normaliser(std::vector<lua_token> tokens)
        : _tokens(std::move(tokens)),
          _partner(_tokens.size(), 0),
          _dropped(_tokens.size(), false),
          _caseless(_tokens.size(), false) {}

    std::optional<std::string> run() {
        if (!pair_brackets()) {
            return std::nullopt;
        }
        drop_condition_parentheses();
        collect_locals();
        return write();
    }

private:
    bool symbol_at(size_t i, std::string_view spelling) const {
        return i < _tokens.size() && _tokens[i].is_symbol(spelling);
    }
    bool keyword_at(size_t i, std::string_view spelling) const {
        return i < _tokens.size() && _tokens[i].is_keyword(spelling);
    }
    bool name_at(size_t i) const {
        return i < _tokens.size() && _tokens[i].kind == lua_token_kind::name;
    }

    /// False if they do not nest. Notes, for each token, whether the innermost open bracket is a
    /// brace.
    bool pair_brackets() {
        std::vector<size_t> open;
        _in_braces.assign(_tokens.size(), false);
        for (size_t i = 0; i < _tokens.size(); ++i) {
            _in_braces[i] = !open.empty() && _tokens[open.back()].is_symbol("{");
            if (_tokens[i].kind != lua_token_kind::symbol || _tokens[i].text.size() != 1) {
                continue;
            }
            const char c = _tokens[i].text.front();
            if (c == '(' || c == '{' || c == '[') {
                open.push_back(i);
            } else if (c == ')' || c == '}' || c == ']') {
                const char opening = c == ')' ? '(' : c == '}' ? '{' : '[';
                if (open.empty() || _tokens[open.back()].text.front() != opening) {
                    return false;
                }
                _partner[open.back()] = i;
                open.pop_back();
            }
        }
        return open.empty();
    }

    /// `if (x) then`, `elseif ((x)) then`, `while (x) do`.
    void drop_condition_parentheses() {
        for (size_t i = 0; i < _tokens.size(); ++i) {
            const bool loop = _tokens[i].is_keyword("while");
            if (!loop && !_tokens[i].is_keyword("if") && !_tokens[i].is_keyword("elseif")) {
                continue;
            }
            size_t first = i + 1;
            while (symbol_at(first, "(")) {
                const size_t last = _partner[first];
                size_t after = last + 1;
                while (after < _tokens.size() && _dropped[after]) {
                    ++after;
                }
                if (!keyword_at(after, loop ? "do" : "then")) {
                    break;
                }
                _dropped[first] = true;
                _dropped[last] = true;
                ++first;
            }
        }
    }

    /// Names bound by `local`, `for` and parameter lists. One name is one variable in the whole
    /// text: scopes that use a name twice are not told apart, which is the same for all texts with
    /// this row of tokens.
    void collect_locals() {
        for (size_t i = 0; i < _tokens.size(); ++i) {
            if (keyword_at(i, "local") && keyword_at(i + 1, "function")) {
                collect_names(i + 2);
            } else if (keyword_at(i, "local") || keyword_at(i, "for")) {
                collect_names(i + 1);
            } else if (keyword_at(i, "function")) {
                size_t list = i + 1;
                while (name_at(list) || symbol_at(list, ".") || symbol_at(list, ":")) {
                    ++list;
                }
                if (symbol_at(list, "(")) {
                    collect_names(list + 1);
                }
            }
        }
    }

    void collect_names(size_t i) {
        while (name_at(i)) {
            _locals.try_emplace(_tokens[i].text, unnumbered);
            if (!symbol_at(i + 1, ",")) {
                return;
            }
            i += 2;
        }
    }

    bool is_field(size_t i) const {
        if (i > 0 && (_tokens[i - 1].is_symbol(".") || _tokens[i - 1].is_symbol(":"))) {
            return true;
        }
        // { name = value }
        return _in_braces[i] && i > 0 && symbol_at(i + 1, "=") &&
               (_tokens[i - 1].is_symbol("{") || _tokens[i - 1].is_symbol(",") ||
                _tokens[i - 1].is_symbol(";"));
    }

    /// `redis.call` or `redis.pcall`, with its `(`, whose first token is at `i`.
    bool is_redis_call(size_t i) const {
        return name_at(i) && _tokens[i].text == "redis" && !_locals.contains("redis") &&
               !is_field(i) && symbol_at(i + 1, ".") && name_at(i + 2) &&
               (_tokens[i + 2].text == "call" || _tokens[i + 2].text == "pcall") &&
               symbol_at(i + 3, "(");
    }

    /// Strings of this call whose case means nothing: the command, and the options of SET.
    void note_caseless_strings(size_t open) {
        const size_t close = _partner[open];
        const auto whole_argument = [&](size_t i) {
            return _tokens[i].is_string() && (symbol_at(i + 1, ",") || i + 1 == close);
        };
        if (open + 1 >= close || !whole_argument(open + 1)) {
            return;
        }
        _caseless[open + 1] = true;
        if (lower(lua_string_value(_tokens[open + 1])) != "set") {
            return;
        }
        size_t argument = 0;
        for (size_t i = open + 1; i < close; ++i) {
            if (symbol_at(i, "(") || symbol_at(i, "[") || symbol_at(i, "{")) {
                i = _partner[i];
            } else if (symbol_at(i, ",")) {
                ++argument;
                // command, key and value come before the options
                if (argument >= 3 && whole_argument(i + 1) &&
                    is_set_option(lua_string_value(_tokens[i + 1]))) {
                    _caseless[i + 1] = true;
                }
            }
        }
    }

    static bool is_set_option(const std::string& text) {
        constexpr std::array<std::string_view, 8> options = {"nx",   "xx",   "ex",      "px",
                                                             "exat", "pxat", "keepttl", "get"};
        return std::ranges::find(options, lower(text)) != options.end();
    }

    static std::string lower(std::string text) {
        for (char& c : text) {
            if (c >= 'A' && c <= 'Z') {
                c = static_cast<char>(c - 'A' + 'a');
            }
        }
        return text;
    }

    std::string write() {
        std::string out;
        for (size_t i = 0; i < _tokens.size(); ++i) {
            if (_dropped[i]) {
                continue;
            }
            if (is_redis_call(i)) {
                note_caseless_strings(i + 3);
                out += "redis . call ";
                i += 2;
                continue;
            }
            write_token(i, out);
        }
        return out;
    }

    /// Every kind begins with its own mark, and strings tell their length: no two rows are written
    /// alike.
    void write_token(size_t i, std::string& out) {
        const lua_token& token = _tokens[i];
        switch (token.kind) {
            case lua_token_kind::symbol:
                if (token.text == ";") {
                    write_semicolon(i, out);
                    return;
                }
                [[fallthrough]];
            case lua_token_kind::keyword:
                out += token.text;
                out += ' ';
                return;
            case lua_token_kind::number:
                out += lower(std::string(token.text));
                out += ' ';
                return;
            case lua_token_kind::name:
                write_name(i, out);
                out += ' ';
                return;
            case lua_token_kind::quoted_string:
            case lua_token_kind::long_string: {
                std::string value = lua_string_value(token);
                if (_caseless[i]) {
                    value = lower(std::move(value));
                }
                out += '"';
                out += std::to_string(value.size());
                out += ':';
                out += value;
                out += ' ';
                return;
            }
        }
    }

    /// Between statements it means nothing, unless a parenthesis after it would become a call. In a
    /// table it is a comma.
    void write_semicolon(size_t i, std::string& out) {
        if (_in_braces[i]) {
            out += ", ";
        } else if (symbol_at(i + 1, "(")) {
            out += "; ";
        }
    }

    void write_name(size_t i, std::string& out) {
        const auto local = _locals.find(_tokens[i].text);
        if (local == _locals.end() || is_field(i)) {
            out += _tokens[i].text;
            return;
        }
        if (local->second == unnumbered) {
            local->second = _numbered++;
        }
        out += '$';
        out += std::to_string(local->second);
    }

    static constexpr size_t unnumbered = static_cast<size_t>(-1);

    std::vector<lua_token> _tokens;
    std::vector<size_t> _partner;  ///< of an opening bracket: where it closes
    std::vector<bool> _dropped;
    std::vector<bool> _caseless;  ///< strings whose case means nothing
    std::vector<bool> _in_braces;
    // Ordered: a stranger chooses the names, and must not choose collisions.
    std::map<std::string_view, size_t> _locals;
    size_t _numbered = 0;
};

}  // namespace

std::optional<std::string> lua_normal_form(std::string_view text) {
    if (text.size() > normal_form_text_max) {
        return std::nullopt;
    }
    auto tokens = lua_tokens(text, normal_form_tokens_max);
    if (!tokens || tokens->empty()) {
        return std::nullopt;
    }
    return normaliser(std::move(*tokens)).run();
}

std::optional<sha1_digest> lua_normal_hash(std::string_view text) {
    const auto form = lua_normal_form(text);
    if (!form) {
        return std::nullopt;
    }
    return sha1(*form);
}

}  // namespace lockkeeper::proxy::idioms
