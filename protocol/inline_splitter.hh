#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::protocol {

enum class split_outcome : std::uint8_t { words, unbalanced_quotes, too_many_words };

/// Cuts a line that a person typed into words, as Redis does:
///
///     SET   plain  "two words"  'it\'s'  "\x41\n\r\t\b\a\"\\"
///
/// Blanks, tabs and CRs part words. Double quotes know escapes, single quotes only \'. A quote may
/// begin within a word, but a closing quote must be followed by a blank or the end of the line.
/// Words without quotes point into `line`; the others are unquoted into `storage`, which is cleared
/// first and must live as long as the words. A NUL is a byte as any other (Redis would wait for
/// ever for the end of that line). Zero words is a fair outcome.
split_outcome split_inline(std::string_view line, std::size_t words_max, std::string& storage,
                           std::vector<std::string_view>& words);

}  // namespace lockkeeper::protocol
