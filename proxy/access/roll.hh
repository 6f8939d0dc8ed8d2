#pragma once

#include <string>
#include <vector>

#include "config/load.hh"
#include "proxy/access/user.hh"

namespace lockkeeper::proxy::access {

/// All users of a configuration, `default` first. Without any in the file, `default` may do
/// everything without a password, as in a fresh Redis; with some, it is off unless it is among
/// them. `mistakes` gets what is wrong with their rules, as places in `file`.
std::vector<user> make_users(const config::config& settings, const catalogue& commands,
                             const std::string& file, std::vector<config::mistake>& mistakes);

}  // namespace lockkeeper::proxy::access
