#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/idioms/sha1.hh"

namespace lockkeeper::proxy::idioms {

/// Longer texts have no normal form: no lock script comes near.
inline constexpr size_t normal_form_text_max = 64 * 1024;
/// Nor have texts of more tokens. Bounds memory and time of one look at a stranger's text.
inline constexpr size_t normal_form_tokens_max = 4096;

/// The text of a Lua 5.1 script as a row of tokens in which differences without meaning are gone:
/// white space, comments, semicolons, quotes and escapes of strings, names of local variables,
/// parentheses around a whole condition, `redis.pcall` for `redis.call`, the case of command names
/// and of SET's options. Two texts with the same form do the same (up to how an error of a command
/// is reported). nullopt: too long, or no Lua. It is no parser: a form does not prove that the text
/// compiles.
std::optional<std::string> lua_normal_form(std::string_view text);

/// SHA-1 of the form, under which a form stands in scripts.tsv.
std::optional<sha1_digest> lua_normal_hash(std::string_view text);

}  // namespace lockkeeper::proxy::idioms
