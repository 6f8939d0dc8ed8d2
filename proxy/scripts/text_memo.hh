#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "proxy/idioms/recogniser.hh"

namespace lockkeeper::proxy::scripts {

/// The texts of EVAL that came last and were recognised. Clients that do not use EVALSHA send the
/// same few hundred bytes with every call; comparing them costs far less than hashing them again.
/// Owned by a core.
class text_memo {
public:
    static constexpr size_t texts_max = 32;
    /// Lock scripts are short. 32 of these are 128 KiB a core at most.
    static constexpr size_t text_bytes_max = 4096;

    const idioms::recognition* find(std::string_view text) const {
        const slot& place = _slots[index_of(text)];
        return !place.text.empty() && place.text == text ? &place.known : nullptr;
    }

    void remember(std::string_view text, const idioms::recognition& known) {
        if (text.size() <= text_bytes_max) {
            _slots[index_of(text)] = {std::string(text), known};
        }
    }

    void clear() { _slots = {}; }

private:
    struct slot {
        std::string text{};
        idioms::recognition known{};
    };

    /// Different scripts are mostly of different lengths; the acquire and the release of a library
    /// must not push each other out.
    static size_t index_of(std::string_view text) { return text.size() % texts_max; }

    std::array<slot, texts_max> _slots{};
};

}  // namespace lockkeeper::proxy::scripts
