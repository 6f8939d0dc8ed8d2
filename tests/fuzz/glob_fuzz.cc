/// Any pattern and any text: no crash, the verdict of a matcher that simply tries everything, and
/// what must hold for all patterns.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/glob.hh"

namespace {

using lockkeeper::shards::glob_match;

void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "broken: %s\n", what);
        std::abort();
    }
}

/// Where the element at `at` ends and whether it takes `byte`; no star.
struct element {
    std::size_t end;
    bool takes;
};

element read_element(std::string_view pattern, std::size_t at, char byte) {
    if (pattern[at] == '?') {
        return {at + 1, true};
    }
    if (pattern[at] == '\\') {
        const std::size_t literal = at + 1 < pattern.size() ? at + 1 : at;
        return {literal + 1, pattern[literal] == byte};
    }
    if (pattern[at] != '[') {
        return {at + 1, pattern[at] == byte};
    }
    ++at;
    const bool negated = at < pattern.size() && pattern[at] == '^';
    at += negated ? 1 : 0;
    bool takes = false;
    while (at < pattern.size() && pattern[at] != ']') {
        if (pattern[at] == '\\' && at + 1 < pattern.size()) {
            takes = takes || pattern[at + 1] == byte;
            at += 2;
        } else if (at + 2 < pattern.size() && pattern[at + 1] == '-') {
            const char low = pattern[at] < pattern[at + 2] ? pattern[at] : pattern[at + 2];
            const char high = pattern[at] < pattern[at + 2] ? pattern[at + 2] : pattern[at];
            takes = takes || (low <= byte && byte <= high);
            at += 3;
        } else {
            takes = takes || pattern[at] == byte;
            ++at;
        }
    }
    return {at < pattern.size() ? at + 1 : at, takes != negated};
}

/// Which beginnings of the text each beginning of the pattern takes, element by element.
bool takes_by_trying(std::string_view pattern, std::string_view text) {
    if (text.empty()) {
        return pattern.empty() || pattern == "*";  // as Redis 7.0 has it
    }
    std::vector<bool> reached(text.size() + 1, false);
    reached[0] = true;
    for (std::size_t at = 0; at < pattern.size();) {
        std::vector<bool> next(text.size() + 1, false);
        std::size_t end = at + 1;
        if (pattern[at] == '*') {
            bool any = false;
            for (std::size_t i = 0; i <= text.size(); ++i) {
                any = any || reached[i];
                next[i] = any;
            }
        } else {
            for (std::size_t i = 0; i < text.size(); ++i) {
                const element one = read_element(pattern, at, text[i]);
                end = one.end;
                next[i + 1] = reached[i] && one.takes;
            }
        }
        reached = next;
        at = end;
    }
    return reached[text.size()];
}

std::string escaped(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        pattern += '\\';
        pattern += c;
    }
    return pattern;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 512) {
        return 0;
    }
    // The pattern up to the first NUL, the text behind it.
    const std::string input(reinterpret_cast<const char*>(data), size);
    const std::size_t middle = std::min(input.find('\0'), input.size());
    const std::string pattern = input.substr(0, middle);
    const std::string text = middle < input.size() ? input.substr(middle + 1) : std::string();

    require(glob_match(pattern, text) == takes_by_trying(pattern, text),
            "the same verdict as of a matcher that tries everything");
    require(glob_match("*", text), "a star takes all");
    require(glob_match(escaped(text), text), "an escaped text takes itself");
    if (!text.empty()) {
        require(glob_match("*" + escaped(text) + "*", "x" + text + "y"), "stars around take more");
    }
    return 0;
}
