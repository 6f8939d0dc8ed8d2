#pragma once

#include <string>
#include <vector>

#include "config/complaint.hh"
#include "config/config.hh"

namespace lockkeeper::config {

/// `stripes:` is a list of names with masters, each of which may be wrong in a way of its own:
///
///     stripes:
///       - name: a
///         masters: [redis://10.0.0.1, redis://10.0.0.2, redis://10.0.0.3]
///
/// What is left after the complaints.
std::vector<stripe_options> read_stripes(const YAML::Node& node, const complaint& complain);

/// As it stands in a file, without passwords; nothing if there are none.
std::string show_stripes(const std::vector<stripe_options>& stripes);

}  // namespace lockkeeper::config
