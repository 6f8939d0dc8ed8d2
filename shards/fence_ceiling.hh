#pragma once

#include <cstdint>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/posix.hh>
#include <seastar/core/semaphore.hh>
#include <string>

#include "shards/core/fence_counter.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// Seconds since 1970.
uint64_t wall_clock_seconds();

/// Makes fences of the embedded store grow over restarts. Lives on core 0; other cores ask there.
///
/// All cores begin above one floor and none goes beyond one ceiling, which stands in a file of the
/// folder `embedded.state` before any of them may: so whatever happens, the next start finds a
/// number that is not below any fence given, on whichever core its key is then. That cores give
/// equal numbers does not matter: a key is on one core for the life of a process, and fences are
/// compared for one key.
///
/// Without a folder the floor is the wall clock's and there is no ceiling.
class fence_ceiling {
public:
    /// The floor: fences begin above it. Throws std::runtime_error with words for the operator if
    /// the folder cannot be used, if another process does, or if the file is damaged: nobody knows
    /// then what was given, and to guess would break the promise that the folder is there for.
    ss::future<uint64_t> start(std::string folder, uint64_t unix_seconds = wall_clock_seconds());
    /// Waits for what is under way.
    ss::future<> stop();

    /// The highest fence that may be given by now.
    uint64_t ceiling() const { return _ceiling; }
    /// Makes room for fences up to `wanted`, and some more; the ceiling then, which is below
    /// `wanted` only at fence_limit. Fails if the file cannot be written; the ceiling stays.
    ss::future<uint64_t> raise(uint64_t wanted);

private:
    void lock_folder();
    ss::future<std::optional<uint64_t>> read_file();
    ss::future<> write_file(uint64_t ceiling);

    std::string _folder;
    std::optional<ss::file_desc> _lock;  ///< while it is open no other process uses the folder
    uint64_t _ceiling = 0;
    ss::semaphore _writing{1};
    ss::gate _gate;
};

/// Keeps the fences of one core supplied. Lives beside the core's lock table.
class fence_supply {
public:
    /// `ceiling` is core 0's, and outlives this.
    fence_supply(fence_counter& fences, fence_ceiling& ceiling)
        : _fences(fences), _ceiling(ceiling) {}

    /// To be called every 100 ms or so: asks for more when less than half a block is left, which
    /// lasts for 100 ms at five million grants a second. Costs nothing otherwise.
    void look();
    ss::future<> stop();

private:
    ss::future<> ask();

    fence_counter& _fences;
    fence_ceiling& _ceiling;
    bool _is_asking = false;
    ss::lowres_clock::time_point _not_before{};
    ss::gate _gate;
};

}  // namespace lockkeeper::shards
