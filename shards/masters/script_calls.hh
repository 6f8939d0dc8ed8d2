#pragma once

#include <expected>
#include <seastar/core/future.hh>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shards/masters/master.hh"

namespace lockkeeper::shards {

/// Loads scripts into a master, as part of its handshake: their SHA-1s, in order. An error is a
/// reason for operators. `who` outlives the future.
///
/// A master forgets its scripts when it restarts, and a text that carries its run_id belongs to one
/// life of it. So a call that is answered with NOSCRIPT (refusal_of) must not be repeated with the
/// text: the caller begins the handshake anew.
ss::future<std::expected<std::vector<std::string>, std::string>> load_scripts(
    master& who, std::vector<std::string> texts, send_options how);

/// EVALSHA with its keys and arguments.
void add_script_call(command_batch& commands, std::string_view sha,
                     std::span<const std::string_view> keys,
                     std::span<const std::string_view> arguments);

}  // namespace lockkeeper::shards
