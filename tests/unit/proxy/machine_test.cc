#include "proxy/machine.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::proxy;

namespace {
constexpr uint64_t gibibyte = 1ULL << 30;
}

BOOST_AUTO_TEST_CASE(a_large_machine_gives_half_a_gibibyte_a_core) {
    BOOST_TEST(default_memory({.cores = 4, .memory_bytes = 64 * gibibyte, .aio_free = 0}) ==
               2 * gibibyte);
}

BOOST_AUTO_TEST_CASE(a_small_machine_gives_half_of_its_memory) {
    BOOST_TEST(default_memory({.cores = 8, .memory_bytes = gibibyte, .aio_free = 0}) ==
               gibibyte / 2);
}

BOOST_AUTO_TEST_CASE(linux_aio_is_chosen_while_its_requests_fit_into_the_kernels_limit) {
    machine here{.cores = 2, .memory_bytes = gibibyte, .aio_free = 65'536};
    BOOST_TEST(default_backend(here, 2, 5'000).name == "linux-aio");
    BOOST_TEST(default_backend(here, 2, 5'000).requests_per_core >= 5'000u);
    here.aio_free = 10'000;
    BOOST_TEST(default_backend(here, 2, 5'000).name == "epoll");
    BOOST_TEST(default_backend(here, 1, 5'000).name == "linux-aio");
}

BOOST_AUTO_TEST_CASE(this_machine_has_a_core_and_some_memory) {
    const machine here = inspect_machine();
    BOOST_TEST(here.cores >= 1u);
    BOOST_TEST(here.memory_bytes > memory_per_core_least);
}
