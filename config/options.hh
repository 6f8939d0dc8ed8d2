#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "config/config.hh"

namespace lockkeeper::config {

/// One line of the table of options: how a scalar of the file gets into `config`, and how it is
/// shown.
struct option {
    std::string_view section;
    std::string_view name;
    /// What is accepted, for people: "1 to 65535".
    std::string_view accepts;
    std::expected<void, std::string> (*set)(config&, std::string_view text);
    std::string (*show)(const config&);
};

/// Every option, in the order of the file.
std::span<const option> options();

/// nullptr if there is none of that name.
const option* find_option(std::string_view section, std::string_view name);

}  // namespace lockkeeper::config
