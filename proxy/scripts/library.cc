#include "proxy/scripts/library.hh"

#include <cassert>
#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/util/log.hh>

#include "shards/background.hh"

namespace lockkeeper::proxy::scripts {

namespace {

ss::logger log("scripts");

thread_local library* of_this_core = nullptr;

}  // namespace

library::library() {
    of_this_core = this;
}

library::~library() {
    of_this_core = nullptr;
}

library& library::here() {
    assert(of_this_core != nullptr);
    return *of_this_core;
}

idioms::recognition library::recognise(std::string_view text) {
    if (const auto* recent = _recent.find(text)) {
        return *recent;
    }
    const auto known = _known.load(text);
    if (known.script == nullptr) {
        return known;
    }
    _recent.remember(text, known);
    const bool everybody_knows = ss::smp::count == 1 || idioms::by_sha(known.sha) != nullptr;
    if (!everybody_knows && !_gate.is_closed()) {
        shards::background(_gate, log, "telling a script", [this, copy = std::string(text)] {
            return container().invoke_on_others(
                [copy](library& there) { there._known.load(copy); });
        });
    }
    return known;
}

ss::future<idioms::sha1_digest> library::load_everywhere(std::string text) {
    const auto known = _known.load(text);
    co_await container().invoke_on_others([text](library& there) { there._known.load(text); });
    co_return known.sha;
}

ss::future<> library::flush_everywhere() {
    return container().invoke_on_all([](library& there) {
        there._known.flush();
        there._recent.clear();
    });
}

}  // namespace lockkeeper::proxy::scripts
