#include "shards/core/glob.hh"

#include <algorithm>
#include <cstddef>

namespace lockkeeper::shards {
namespace {

struct step {
    bool matched;
    size_t next;  ///< where the pattern goes on
};

/// `at` is behind the `[`.
step match_class(std::string_view pattern, size_t at, signed char byte) {
    const bool negated = at < pattern.size() && pattern[at] == '^';
    at += negated ? 1 : 0;
    bool found = false;
    while (at < pattern.size() && pattern[at] != ']') {
        const size_t left = pattern.size() - at;
        if (pattern[at] == '\\' && left >= 2) {
            found |= pattern[at + 1] == byte;
            at += 2;
        } else if (left >= 3 && pattern[at + 1] == '-') {
            // The list form returns values: that of two arguments would refer to these temporaries.
            const auto [low, high] = std::minmax(
                {static_cast<signed char>(pattern[at]), static_cast<signed char>(pattern[at + 2])});
            found |= low <= byte && byte <= high;
            at += 3;
        } else {
            found |= pattern[at] == byte;
            ++at;
        }
    }
    return {found != negated, std::min(at + 1, pattern.size())};
}

/// One element of the pattern, no star, against one byte.
step match_one(std::string_view pattern, size_t at, char byte) {
    switch (pattern[at]) {
        case '?':
            return {true, at + 1};
        case '[':
            return match_class(pattern, at + 1, static_cast<signed char>(byte));
        case '\\':
            at += at + 1 < pattern.size() ? 1 : 0;
            break;
        default:
            break;
    }
    return {pattern[at] == byte, at + 1};
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
    if (text.empty()) {
        return pattern.empty() || pattern == "*";
    }
    // Every element but the star takes exactly one byte. So if the elements behind a star fail,
    // only that star may take one byte more: what an earlier star might take instead cannot help.
    size_t behind_star = std::string_view::npos;
    size_t star_took = 0;
    size_t at = 0;
    size_t byte = 0;
    while (byte < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            behind_star = ++at;
            star_took = byte;
            continue;
        }
        if (at < pattern.size()) {
            const step taken = match_one(pattern, at, text[byte]);
            if (taken.matched) {
                at = taken.next;
                ++byte;
                continue;
            }
        }
        if (behind_star == std::string_view::npos) {
            return false;
        }
        at = behind_star;
        byte = ++star_took;
    }
    return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace lockkeeper::shards
