#include "proxy/admin/json.hh"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace std::chrono_literals;
using lockkeeper::proxy::admin::json;
using lockkeeper::proxy::admin::percent_encoded;

namespace {

std::string quoted(std::string_view bytes) {
    return json().text(bytes).take();
}

}  // namespace

BOOST_AUTO_TEST_CASE(commas_come_by_themselves) {
    json out;
    out.begin_object().member("a", 1).member("b", "x").name("c").begin_array();
    out.number(1).number(2).begin_object().end().begin_array().end().end();
    out.member("d", true).member("e", 1500us).member("f", uint64_t{1} << 53).end();
    BOOST_TEST(out.take() ==
               R"({"a":1,"b":"x","c":[1,2,{},[]],"d":true,"e":1500,"f":9007199254740992})");
}

BOOST_AUTO_TEST_CASE(quotes_backslashes_and_controls_are_escaped) {
    BOOST_TEST(quoted("a\"b\\c") == R"("a\"b\\c")");
    BOOST_TEST(quoted(std::string_view("\0\n\x1f\x7f", 4)) == R"("\u0000\u000a\u001f\u007f")");
}

BOOST_AUTO_TEST_CASE(text_stays_as_it_is) {
    BOOST_TEST(quoted("schlüssel 鍵 🔒") == "\"schlüssel 鍵 🔒\"");
    BOOST_TEST(quoted("</script>") == "\"</script>\"");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_text_are_shown_as_numbers) {
    BOOST_TEST(quoted("\xff") == R"("\\xff")");
    BOOST_TEST(quoted("a\xc3") == R"("a\\xc3")");                  // cut short
    BOOST_TEST(quoted("\xc0\xaf") == R"("\\xc0\\xaf")");           // longer than needed
    BOOST_TEST(quoted("\xed\xa0\x80") == R"("\\xed\\xa0\\x80")");  // a surrogate
    BOOST_TEST(quoted("\xf4\x90\x80\x80") == R"("\\xf4\\x90\\x80\\x80")");
    BOOST_TEST(quoted("\xe0\x80\x80") == R"("\\xe0\\x80\\x80")");
}

BOOST_AUTO_TEST_CASE(every_byte_can_be_part_of_an_address) {
    BOOST_TEST(percent_encoded("aZ09-._~") == "aZ09-._~");
    BOOST_TEST(percent_encoded(std::string_view(" /?#&+%\0\xff", 9)) ==
               "%20%2F%3F%23%26%2B%25%00%FF");
}
