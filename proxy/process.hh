#pragma once

#include <seastar/core/lowres_clock.hh>
#include <string>

#include "shards/core/key_hash.hh"

/// What is drawn or noted once, when the process starts.
namespace lockkeeper::proxy {

/// 40 hexadecimal digits, other ones at every start: how clients and operators tell two lives of a
/// server apart.
const std::string& run_id();

seastar::lowres_clock::time_point start_of_process();

/// Secret and new at every start: nobody outside can choose keys that collide.
shards::hash_seed draw_hash_seed();

}  // namespace lockkeeper::proxy
