#include "proxy/login_failures.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::proxy;
using namespace std::chrono_literals;

namespace {

constexpr login_failures::clock::time_point start{1h};

}  // namespace

BOOST_AUTO_TEST_CASE(failures_of_a_minute_are_counted_by_address) {
    login_failures failures;
    BOOST_TEST(failures.note("a", start) == 1u);
    BOOST_TEST(failures.note("a", start + 30s) == 2u);
    BOOST_TEST(failures.note("b", start + 30s) == 1u);
    BOOST_TEST(failures.are_too_many("a", 2, start + 60s));
    BOOST_TEST(!failures.are_too_many("a", 3, start + 60s));
    BOOST_TEST(!failures.are_too_many("b", 2, start + 60s));
    BOOST_TEST(!failures.are_too_many("c", 1, start + 60s));
    BOOST_TEST(!failures.are_too_many("a", 2, start + 61s));
    BOOST_TEST(failures.note("a", start + 61s) == 1u);
}

BOOST_AUTO_TEST_CASE(without_a_bound_there_are_never_too_many) {
    login_failures failures;
    for (int i = 0; i < 100; ++i) {
        failures.note("a", start);
    }
    BOOST_TEST(!failures.are_too_many("a", 0, start));
}

BOOST_AUTO_TEST_CASE(many_addresses_push_nobody_out) {
    login_failures failures;
    for (size_t i = 0; i < login_failures::addresses_max; ++i) {
        failures.note(std::to_string(i), start);
    }
    BOOST_TEST(failures.are_too_many("0", 1, start));
    BOOST_TEST(!failures.are_too_many("0", 2, start));
    // No room for others: they are not believed.
    failures.note("more", start);
    BOOST_TEST(failures.are_too_many("more", 1'000, start));
    BOOST_TEST(failures.are_too_many("others", 1'000, start));
    // Room again.
    BOOST_TEST(failures.note("more", start + 61s) == 1u);
    BOOST_TEST(!failures.are_too_many("others", 1, start + 61s));
}
