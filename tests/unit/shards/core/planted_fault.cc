#include "shards/core/planted.hh"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/sim/fault_names.hh"

/// For unit tests that are built with the mistakes of planted.hh: switches the one on that
/// LOCKKEEPER_FAULT names. That test must fail then.
namespace {

const bool switched_on = [] {
    const char* const wanted = std::getenv("LOCKKEEPER_FAULT");
    if (wanted == nullptr) {
        return false;
    }
    const auto known = lockkeeper::sim::fault_named(wanted);
    if (!known) {
        // Not a failure: those who expect one would take it for theirs.
        std::fprintf(stderr, "LOCKKEEPER_FAULT: there is no mistake named %s\n", wanted);
        std::quick_exit(0);
    }
    lockkeeper::shards::planted_fault = *known;
    return true;
}();

}  // namespace
