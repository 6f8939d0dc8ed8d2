/// Any text as a configuration file: no crash, mistakes with a place in the text, and what was
/// understood reads the same after it was written again.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/load.hh"

namespace {

using namespace lockkeeper::config;

void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "broken: %s\n", what);
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto parsed = parse(text, "f.yaml");
    if (!parsed) {
        require(!parsed.error().empty(), "a refusal has a reason");
        for (const mistake& one : parsed.error()) {
            require(!one.text.empty() && one.line >= 0 && one.column >= 0, "a mistake has a place");
            require(one.show().starts_with("f.yaml"), "a mistake names its file");
        }
        return 0;
    }
    const std::string written = to_yaml(*parsed);
    const auto again = parse(written, "written.yaml");
    require(again.has_value(), "what we write can be read");
    require(to_yaml(*again) == written, "written twice, same text");
    return 0;
}
