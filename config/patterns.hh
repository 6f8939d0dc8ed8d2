#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/complaint.hh"

namespace lockkeeper::config {

/// One pattern of keys, as in Redis' KEYS; nothing after a complaint. `option` names where it
/// stands, for people.
std::optional<std::string> read_pattern(const YAML::Node& node, std::string_view option,
                                        const complaint& complain);

}  // namespace lockkeeper::config
