#include "proxy/admin/basic_credentials.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::proxy::admin;

namespace {

/// user|password, or nothing.
std::string read(std::string_view header) {
    const auto found = read_credentials(header);
    return found ? found->user + "|" + found->password : "nothing";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_user_and_a_password_are_read) {
    BOOST_TEST(read("Basic YWRtaW46c2VjcmV0") == "admin|secret");
    BOOST_TEST(read("basic YTpi") == "a|b");
    BOOST_TEST(read("Basic YTpiYw==") == "a|bc");
    BOOST_TEST(read("Basic YTpiY2Q=") == "a|bcd");
    BOOST_TEST(read("Basic Og==") == "|");
}

BOOST_AUTO_TEST_CASE(a_password_may_have_colons_and_any_bytes) {
    BOOST_TEST(read("Basic YTpiOmM=") == "a|b:c");
    BOOST_TEST(read("Basic YTr//w==") == "a|\xff\xff");
}

BOOST_AUTO_TEST_CASE(anything_else_is_nothing) {
    for (const char* header : {"", "Basic", "Basic ", "Bearer YTpi", "Basic YTpi=", "Basic YTp",
                               "Basic Y%pi", "Basic YTpi YTpi", "Basic ====", "Basic YWI="}) {
        BOOST_TEST(read(header) == "nothing", header);
    }
    BOOST_TEST(read("Basic " + std::string(1 << 20, 'A')) == "nothing");
}
