#pragma once

#include "proxy/scripts/call.hh"

namespace lockkeeper::proxy::scripts {

/// The caller's token in a string lock: all of `token`, or the first `token_length` bytes of
/// `value`, whose rest is free text of the client.
struct token {
    std::string_view value;  ///< what the key is to hold
    size_t bytes = std::string_view::npos;

    static attempt<token> of_caller(const call& c) {
        if (!c.has(idioms::role::token_length)) {
            return token{.value = c.text(idioms::role::token)};
        }
        const auto length = c.number(idioms::role::token_length);
        if (!length) {
            return fails(length.error());
        }
        return token{.value = c.text(idioms::role::value),
                     .bytes = *length > 0 ? static_cast<size_t>(*length) : 0};
    }

    /// A token of no bytes owns nothing, or everybody would own everything.
    bool owns(std::string_view held) const {
        return bytes != 0 && held.substr(0, bytes) == value.substr(0, bytes);
    }
};

}  // namespace lockkeeper::proxy::scripts
