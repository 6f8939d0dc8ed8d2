#pragma once

#include <cstdint>

#include "protocol/request.hh"

namespace lockkeeper::proxy {

class client;
struct command_spec;

/// Who carries a command out when there is an upstream for data.
enum class destination : uint8_t {
    here,      ///< about locks, or about the connection
    upstream,  ///< about data, or unknown to us
    both,      ///< subscriptions and scripts: locks and data have them alike
    mixed,     ///< keys of locks and of data in one command: nobody can
};

/// `spec` is null for a command that we do not know. Without an upstream everything is ours.
destination destination_of(client& who, const command_spec* spec, const protocol::request& args);

}  // namespace lockkeeper::proxy
