#include "proxy/machine.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::proxy;

namespace {
constexpr uint64_t gibibyte = 1ULL << 30;
}

BOOST_AUTO_TEST_CASE(a_large_machine_gives_half_a_gibibyte_a_core) {
    BOOST_TEST(default_memory({.cores = 4, .memory_bytes = 64 * gibibyte}) == 2 * gibibyte);
}

BOOST_AUTO_TEST_CASE(a_small_machine_gives_half_of_its_memory) {
    BOOST_TEST(default_memory({.cores = 8, .memory_bytes = gibibyte}) == gibibyte / 2);
}

BOOST_AUTO_TEST_CASE(linux_aio_gets_requests_for_all_that_sockets_wait_for) {
    BOOST_TEST(aio_requests(5'000) > 15'000u);
}

BOOST_AUTO_TEST_CASE(this_machine_has_a_core_and_some_memory) {
    const machine here = inspect_machine();
    BOOST_TEST(here.cores >= 1u);
    BOOST_TEST(here.memory_bytes > memory_per_core_least);
}
