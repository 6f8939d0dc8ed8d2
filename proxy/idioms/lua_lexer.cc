#include "proxy/idioms/lua_lexer.hh"

#include <algorithm>
#include <array>

namespace lockkeeper::proxy::idioms {

namespace {

// Not <cctype>: that depends on the locale and dislikes bytes above 127.
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name_part(char c) {
    return is_name_start(c) || is_digit(c);
}
bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_line_end(char c) {
    return c == '\n' || c == '\r';
}

constexpr std::array<std::string_view, 21> keywords = {
    "and",   "break", "do",  "else", "elseif", "end",    "false", "for",  "function", "if",    "in",
    "local", "nil",   "not", "or",   "repeat", "return", "then",  "true", "until",    "while",
};
static_assert(std::ranges::is_sorted(keywords));

/// Longest first.
constexpr std::array<std::string_view, 25> symbols = {
    "...", "..", "==", "~=", "<=", ">=", "+", "-", "*", "/", "%", "^", "#",
    "<",   ">",  "=",  "(",  ")",  "{",  "}", "[", "]", ";", ":", ",",
};

/// A cursor over the text. Each `take_` reads one thing at the cursor and moves behind it.
class lexer {
public:
    explicit lexer(std::string_view text) : _text(text) {}

    /// False: an unfinished comment.
    bool skip_blanks() {
        while (!at_end()) {
            if (is_space(peek())) {
                ++_at;
            } else if (rest().starts_with("--")) {
                _at += 2;
                if (!skip_comment()) {
                    return false;
                }
            } else {
                break;
            }
        }
        return true;
    }

    bool at_end() const { return _at >= _text.size(); }

    std::optional<lua_token> take() {
        const char first = peek();
        if (is_name_start(first)) {
            return take_word();
        }
        if (is_digit(first) || (first == '.' && is_digit(peek(1)))) {
            return take_number();
        }
        if (first == '"' || first == '\'') {
            return take_quoted();
        }
        if (const auto level = long_bracket_level()) {
            const auto content = take_long_bracket(*level);
            if (!content) {
                return std::nullopt;
            }
            return lua_token{lua_token_kind::long_string, *content};
        }
        return take_symbol();
    }

private:
    char peek(size_t ahead = 0) const {
        return _at + ahead < _text.size() ? _text[_at + ahead] : '\0';
    }
    std::string_view rest() const { return _text.substr(_at); }

    /// The number of `=` in a long bracket that opens at the cursor.
    std::optional<size_t> long_bracket_level() const {
        if (peek() != '[') {
            return std::nullopt;
        }
        size_t level = 0;
        while (peek(1 + level) == '=') {
            ++level;
        }
        if (peek(1 + level) != '[') {
            return std::nullopt;
        }
        return level;
    }

    std::optional<std::string_view> take_long_bracket(size_t level) {
        _at += level + 2;
        const size_t begin = _at;
        const std::string closing = "]" + std::string(level, '=') + "]";
        const size_t end = _text.find(closing, begin);
        if (end == std::string_view::npos) {
            return std::nullopt;
        }
        _at = end + closing.size();
        return _text.substr(begin, end - begin);
    }

    bool skip_comment() {
        if (const auto level = long_bracket_level()) {
            return take_long_bracket(*level).has_value();
        }
        while (!at_end() && !is_line_end(peek())) {
            ++_at;
        }
        return true;
    }

    lua_token take_word() {
        const size_t begin = _at;
        while (is_name_part(peek())) {
            ++_at;
        }
        const auto word = _text.substr(begin, _at - begin);
        const bool reserved = std::ranges::binary_search(keywords, word);
        return {reserved ? lua_token_kind::keyword : lua_token_kind::name, word};
    }

    /// Lua's lexer takes more than what is a number, and then looks whether it is one. So `1..2` is
    /// one piece.
    lua_token take_number() {
        const size_t begin = _at;
        while (is_digit(peek()) || peek() == '.') {
            ++_at;
        }
        if (peek() == 'e' || peek() == 'E') {
            ++_at;
            if (peek() == '+' || peek() == '-') {
                ++_at;
            }
        }
        while (is_name_part(peek())) {
            ++_at;
        }
        return {lua_token_kind::number, _text.substr(begin, _at - begin)};
    }

    std::optional<lua_token> take_quoted() {
        const char quote = peek();
        ++_at;
        const size_t begin = _at;
        while (!at_end() && peek() != quote) {
            if (is_line_end(peek())) {
                return std::nullopt;
            }
            if (peek() == '\\') {
                ++_at;
                if (at_end()) {
                    return std::nullopt;
                }
                if (is_digit(peek()) && !escaped_number_fits()) {
                    return std::nullopt;
                }
                // A line end of two bytes is escaped as one.
                if (rest().starts_with("\r\n") || rest().starts_with("\n\r")) {
                    ++_at;
                }
            }
            ++_at;
        }
        if (at_end()) {
            return std::nullopt;
        }
        const lua_token token{lua_token_kind::quoted_string, _text.substr(begin, _at - begin)};
        ++_at;
        return token;
    }

    bool escaped_number_fits() const {
        int value = 0;
        for (size_t i = 0; i < 3 && is_digit(peek(i)); ++i) {
            value = 10 * value + (peek(i) - '0');
        }
        return value <= 255;
    }

    std::optional<lua_token> take_symbol() {
        for (std::string_view symbol : symbols) {
            if (rest().starts_with(symbol)) {
                const auto spelling = _text.substr(_at, symbol.size());
                _at += symbol.size();
                return lua_token{lua_token_kind::symbol, spelling};
            }
        }
        if (peek() == '.') {
            return lua_token{lua_token_kind::symbol, _text.substr(_at++, 1)};
        }
        return std::nullopt;
    }

    std::string_view _text;
    size_t _at = 0;
};

/// Reads the escape whose backslash was just passed; returns how many bytes of `rest` it took.
size_t unescape(std::string_view rest, std::string& out) {
    const char c = rest.front();
    if (is_digit(c)) {
        int value = 0;
        size_t taken = 0;
        while (taken < 3 && taken < rest.size() && is_digit(rest[taken])) {
            value = 10 * value + (rest[taken] - '0');
            ++taken;
        }
        out += static_cast<char>(value);
        return taken;
    }
    if (is_line_end(c)) {
        out += '\n';
        return rest.starts_with("\r\n") || rest.starts_with("\n\r") ? 2 : 1;
    }
    constexpr std::string_view letters = "abfnrtv";
    constexpr std::string_view meanings = "\a\b\f\n\r\t\v";
    const size_t letter = letters.find(c);
    out += letter == std::string_view::npos ? c : meanings[letter];
    return 1;
}

/// In long brackets a first line end is skipped, and every line end is one newline.
std::string long_string_value(std::string_view text) {
    std::string out;
    bool first = true;
    while (!text.empty()) {
        if (is_line_end(text.front())) {
            const bool two = text.starts_with("\r\n") || text.starts_with("\n\r");
            text.remove_prefix(two ? 2 : 1);
            if (!first) {
                out += '\n';
            }
        } else {
            out += text.front();
            text.remove_prefix(1);
        }
        first = false;
    }
    return out;
}

}  // namespace

std::optional<std::vector<lua_token>> lua_tokens(std::string_view text, size_t tokens_max) {
    std::vector<lua_token> tokens;
    lexer lexer(text);
    while (true) {
        if (!lexer.skip_blanks()) {
            return std::nullopt;
        }
        if (lexer.at_end()) {
            return tokens;
        }
        const auto token = lexer.take();
        if (!token || tokens.size() == tokens_max) {
            return std::nullopt;
        }
        tokens.push_back(*token);
    }
}

std::string lua_string_value(const lua_token& token) {
    if (token.kind == lua_token_kind::long_string) {
        return long_string_value(token.text);
    }
    std::string out;
    std::string_view text = token.text;
    while (!text.empty()) {
        const char c = text.front();
        text.remove_prefix(1);
        if (c == '\\' && !text.empty()) {
            text.remove_prefix(unescape(text, out));
        } else {
            out += c;
        }
    }
    return out;
}

}  // namespace lockkeeper::proxy::idioms
