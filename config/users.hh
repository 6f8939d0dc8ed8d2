#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/complaint.hh"
#include "config/config.hh"

namespace lockkeeper::config {

/// Reads the list under `users`. What the words of the rules mean is not known here: commands are
/// the server's (proxy/access/).
std::vector<user_options> read_users(const YAML::Node& node, const complaint& complain);

/// The names of a user's fields.
std::span<const std::string_view> user_words();

std::string show_users(const std::vector<user_options>& users);

}  // namespace lockkeeper::config
