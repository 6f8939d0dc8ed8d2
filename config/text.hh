#pragma once

#include <string>
#include <string_view>

namespace lockkeeper::config {

/// Text as a YAML scalar that reads back as the same bytes, whatever they are: in single quotes,
/// as people write it, and in double ones with escapes if it has control bytes.
std::string quoted(std::string_view text);

/// The same without quotes for a word that needs none.
std::string show_text(std::string_view text);

}  // namespace lockkeeper::config
