/// Any bytes as the text of a script: no crash, the same verdict for the same meaning, and a cache
/// that keeps its limit.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proxy/idioms/lua_normal_form.hh"
#include "proxy/idioms/recogniser.hh"

namespace {

using namespace lockkeeper::proxy::idioms;

void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "broken: %s\n", what);
        std::abort();
    }
}

void blanks_do_not_change_the_form(std::string_view text) {
    const auto form = lua_normal_form(text);
    if (!form || text.size() + 32 > normal_form_text_max) {
        return;
    }
    require(lua_normal_form("--[[ before ]] \r\n" + std::string(text) + "\n-- after") == form,
            "blanks around the text change nothing");
}

void the_cache_agrees_with_the_recogniser(std::string_view text) {
    constexpr std::size_t limit = 3;
    static script_cache cache(limit);
    const auto fresh = recognise(text);
    const auto loaded = cache.load(text);
    require(fresh.sha == loaded.sha && fresh.script == loaded.script,
            "same verdict from the cache");
    const std::string sha = to_hex(loaded.sha);
    require(cache.exists(sha), "what was loaded exists");
    const auto found = cache.find(sha);
    require(found.loaded && found.script == loaded.script, "what was loaded is found");
    require(cache.size() <= limit, "the cache keeps its limit");
    if (by_sha(sha) == nullptr && !text.empty() && text.front() == '\n') {
        cache.flush();
        require(!cache.exists(sha), "a flush forgets");
    }
}

void calls_are_checked(std::string_view text) {
    const auto table = scripts_by_sha();
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::size_t{0};
    };
    const known_script& script = *table[(byte(0) * 256 + byte(1)) % table.size()].script;
    const std::size_t numkeys = byte(2);
    const std::size_t argc = byte(3);
    if (check_call(script, numkeys, argc) == call_check::fits) {
        require(numkeys >= script.keys.count && argc >= script.arguments.count,
                "what fits has every role");
    }
    const auto hex = parse_sha1(text);
    require(!hex || by_sha(text) == by_sha(*hex), "a digest is a digest");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    blanks_do_not_change_the_form(text);
    the_cache_agrees_with_the_recogniser(text);
    calls_are_checked(text);
    return 0;
}
