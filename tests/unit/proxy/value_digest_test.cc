#include "proxy/value_digest.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::proxy;

namespace {

std::string_view text(const value_digest& digest) {
    return {digest.data(), digest.size()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_digest_is_that_of_redis_leading_zeros_included) {
    BOOST_TEST(text(digest_of("")) == "2d06800538d394c2");
    BOOST_TEST(text(digest_of("token")) == "ae23c8ed1a12e619");
    BOOST_TEST(text(digest_of("v8lf0c11xh8ymlqztfd3eeq16kfn4sspw7fqmnuuq3k3t75em5wdizgcdw7uc26nnf96"
                              "1u2jkfzkjytls2kwlj7626sd")) == "00006c38adf31777");
}

BOOST_AUTO_TEST_CASE(a_digest_may_be_written_in_either_case) {
    BOOST_TEST((parse_digest("AE23C8ED1a12e619") == digest_of("token")));
}

BOOST_AUTO_TEST_CASE(what_is_not_sixteen_hexadecimal_digits_is_no_digest) {
    for (const std::string_view wrong :
         {"", "ae23c8ed1a12e61", "ae23c8ed1a12e6190", "ae23c8ed1a12e61g", "ae23c8ed1a12e61@",
          "ae23c8ed1a12e61 "}) {
        BOOST_TEST(!parse_digest(wrong).has_value(), wrong);
    }
}
