#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::proxy::idioms {

enum class lua_token_kind : uint8_t {
    keyword,
    name,
    number,
    quoted_string,  ///< between quotes; escapes are not yet undone
    long_string,    ///< between long brackets; no escapes
    symbol,         ///< operators and punctuation
};

/// A piece of the text it was read from, which must outlive it.
struct lua_token {
    lua_token_kind kind;
    std::string_view text;  ///< of strings: without quotes or brackets

    bool is(lua_token_kind wanted, std::string_view spelling) const {
        return kind == wanted && text == spelling;
    }
    bool is_symbol(std::string_view spelling) const { return is(lua_token_kind::symbol, spelling); }
    bool is_keyword(std::string_view spelling) const {
        return is(lua_token_kind::keyword, spelling);
    }
    bool is_string() const {
        return kind == lua_token_kind::quoted_string || kind == lua_token_kind::long_string;
    }
};

/// The tokens of a Lua 5.1 text, without white space and comments. nullopt: more than `tokens_max`,
/// or something that Lua's own lexer refuses too.
std::optional<std::vector<lua_token>> lua_tokens(std::string_view text, size_t tokens_max);

/// The bytes that a string token stands for.
std::string lua_string_value(const lua_token& token);

}  // namespace lockkeeper::proxy::idioms
