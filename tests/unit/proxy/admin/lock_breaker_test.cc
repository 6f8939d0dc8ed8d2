#include "proxy/admin/lock_breaker.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::proxy::admin;

namespace {

bool is_own(const char* mark, const char* origin, const char* site) {
    lock_breaker::wish asked;
    asked.host = "127.0.0.1:9380";
    asked.mark = mark;
    asked.origin = origin;
    asked.site = site;
    return is_from_own_page(asked);
}

}  // namespace

BOOST_AUTO_TEST_CASE(our_page_and_programs_that_are_no_browsers_may_ask) {
    BOOST_TEST(is_own("break", "http://127.0.0.1:9380", "same-origin"));
    BOOST_TEST(is_own("break", "https://127.0.0.1:9380", "same-origin"));  // behind a proxy
    BOOST_TEST(is_own("break", "", ""));
}

BOOST_AUTO_TEST_CASE(other_sites_may_not) {
    BOOST_TEST(!is_own("break", "http://evil.example", "cross-site"));
    BOOST_TEST(!is_own("break", "http://evil.example", ""));
    BOOST_TEST(!is_own("break", "http://127.0.0.1:8080", "same-site"));
    BOOST_TEST(!is_own("break", "http://127.0.0.1:9380.evil.example", ""));
    BOOST_TEST(!is_own("break", "null", ""));
    BOOST_TEST(!is_own("break", "http://127.0.0.1:9380", "cross-site"));
}

BOOST_AUTO_TEST_CASE(a_form_has_no_header_of_ours) {
    BOOST_TEST(!is_own("", "http://127.0.0.1:9380", "same-origin"));
    BOOST_TEST(!is_own("", "", ""));
}
