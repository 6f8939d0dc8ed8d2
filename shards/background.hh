#pragma once

#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/util/log.hh>

namespace lockkeeper::shards {

namespace ss = seastar;

/// Starts a fiber that nobody waits for by name: the gate owns it, and whoever closes the gate
/// waits for it. A failure is logged, not lost. This is the only place where a future may be
/// dropped.
template <typename Fiber>
void background(ss::gate& owner, ss::logger& log, const char* what, Fiber&& fiber) {
    (void)ss::with_gate(owner, std::forward<Fiber>(fiber))
        .handle_exception(
            [&log, what](std::exception_ptr problem) { log.warn("{}: {}", what, problem); });
}

/// For what cannot be called off, such as the lookup of a name: whoever wanted it has gone and
/// nobody waits for its end. It must touch nothing of its former owner.
template <typename T>
void abandon(ss::future<T> unwanted) {
    (void)std::move(unwanted).discard_result().handle_exception([](const std::exception_ptr&) {});
}

}  // namespace lockkeeper::shards
