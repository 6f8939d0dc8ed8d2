#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/complaint.hh"
#include "config/config.hh"

namespace lockkeeper::config {

/// `policies:` is a list of key patterns with what holds for them; the first that matches decides:
///
///     policies:
///       - keys: ['report:*', 'export:*']
///         pollers: reserve
///       - keys: '*'
///         max_hold: 1h
///
/// What is left after the complaints.
std::vector<policy_options> read_policies(const YAML::Node& node, const complaint& complain);

/// Everything that a policy may say, besides its keys, in the order of the file.
std::span<const std::string_view> policy_words();

/// As they stand in a file, with all defaults; nothing if there are none.
std::string show_policies(const std::vector<policy_options>& policies);

}  // namespace lockkeeper::config
