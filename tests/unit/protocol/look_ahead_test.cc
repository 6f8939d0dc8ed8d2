#include "protocol/look_ahead.hh"

#include <array>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "protocol/request_parser.hh"

using namespace lockkeeper::protocol;

namespace {

std::vector<std::string> seen(std::string_view bytes) {
    std::array<std::string_view, 8> found;
    const auto count = look_ahead(bytes, found);
    return {found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count)};
}

using names = std::vector<std::string>;

std::string command(const std::vector<std::string>& words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const auto& word : words) {
        bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(first_arguments_in_order) {
    BOOST_TEST(
        (seen(command({"SET", "a", "v", "NX"}) + command({"PING"}) +
              command({"GET", std::string(99, 'k')})) == names{"a", "", std::string(99, 'k')}));
}

BOOST_AUTO_TEST_CASE(as_many_as_there_is_room_for) {
    std::string bytes;
    for (int i = 0; i < 20; ++i) {
        bytes += command({"GET", std::to_string(i)});
    }
    BOOST_TEST((seen(bytes) == names{"0", "1", "2", "3", "4", "5", "6", "7"}));
}

BOOST_AUTO_TEST_CASE(whatever_is_not_plain_ends_it) {
    const auto plain = command({"GET", "a"});
    for (const std::string odd : {"PING\r\n", "*1\r\n", "*2\r\n$3\r\nGET\r\n", "*x\r\n", "*-1\r\n",
                                  "*1000\r\n$3", "$3\r\nGET", "*2\r\n$3\r\nGET\r\n$100\r\n",
                                  "*2\r\n$3\r\nGET\r\n$9\r\nabc\r\n", "*", "", "\r\n\r\n\r\n"}) {
        BOOST_TEST((seen(plain + odd) == names{"a"}), odd);
        BOOST_TEST(seen(odd).empty(), odd);
    }
}

// Cut anywhere, it finds what the parser finds, as far as the bytes go.
BOOST_AUTO_TEST_CASE(agrees_with_the_parser) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::string bytes;
        for (int i = 0; i < 6; ++i) {
            std::vector<std::string> words;
            for (auto n = random() % 5 + 1; n > 0; --n) {
                words.emplace_back(random() % 30, 'x');
            }
            bytes += command(words);
        }
        const std::string_view cut = std::string_view(bytes).substr(0, random() % bytes.size());
        request_parser parser;
        names parsed;
        for (auto rest = cut;;) {
            const auto [outcome, taken] = parser.parse(rest);
            if (outcome != request_outcome::request) {
                break;
            }
            parsed.emplace_back(parser.request().size() > 1 ? parser.request()[1] : "");
            rest.remove_prefix(taken);
        }
        BOOST_TEST((seen(cut) == parsed));
    }
}
