#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockkeeper::shards {

/// What masters are asked in Lua because it must be one step there.
enum class master_script : uint8_t {
    raise,     ///< lift a fence counter, if the key is ours
    renew,     ///< extend a key and perhaps take fences, if it is ours
    release,   ///< delete a key, if it is ours
    pend,      ///< begin the admission of this incarnation
    admit,     ///< end it
    mark,      ///< keep the lease horizon ahead
    horizon,   ///< tell standing and lease horizon
    counters,  ///< tell these and the highest fence
};
inline constexpr size_t master_scripts_count = 8;

/// For whom scripts are written.
struct incarnation {
    std::string run_id{};       ///< of the master's process
    std::string fingerprint{};  ///< of the fleet's configuration
};

/// The texts for one incarnation, in the order of master_script. Both of its parts stand in the
/// texts: a SHA-1 belongs to one life of one master, and after a restart the master does not know
/// it any more, whatever it has on disk. Then a new handshake is due, never a second try with the
/// text.
///
/// Throws std::invalid_argument unless both are letters and digits: they come from outside.
std::array<std::string, master_scripts_count> script_texts(const incarnation& whose);

}  // namespace lockkeeper::shards
