/// Any line: no crash, words within their limits and within their storage, and words that were
/// quoted again split into themselves.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/inline_splitter.hh"
#include "tests/fuzz/transcript.hh"

namespace {

using namespace lockkeeper::fuzz;
using lockkeeper::protocol::split_inline;
using lockkeeper::protocol::split_outcome;

bool lies_within(std::string_view part, std::string_view whole) {
    const std::less_equal<const char*> before;
    return before(whole.data(), part.data()) &&
           before(part.data() + part.size(), whole.data() + whole.size());
}

std::string quoted(const std::vector<std::string_view>& words) {
    constexpr char digits[] = "0123456789abcdef";
    std::string line;
    for (const std::string_view word : words) {
        line += '"';
        for (const char c : word) {
            const auto byte = static_cast<unsigned char>(c);
            line += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        }
        line += "\" ";
    }
    return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const moved_bytes copy({reinterpret_cast<const char*>(data), size});
    const std::string_view line = copy.view();
    std::string storage;
    std::vector<std::string_view> words;

    const split_outcome outcome = split_inline(line, 16, storage, words);
    require(words.size() <= 16, "words are limited");
    require(storage.size() <= line.size(), "unquoting never lengthens");
    std::size_t total = 0;
    for (const std::string_view word : words) {
        require(lies_within(word, line) || lies_within(word, storage), "a word lies in its place");
        total += word.size();
    }
    require(total <= line.size(), "words share no bytes");
    if (outcome != split_outcome::words) {
        return 0;
    }
    const std::string again = quoted(words);
    std::string other_storage;
    std::vector<std::string_view> other_words;
    require(split_inline(again, 16, other_storage, other_words) == split_outcome::words,
            "quoted words are a good line");
    require(other_words == words, "quoted words are the same words");
    return 0;
}
