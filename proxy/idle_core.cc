#include "proxy/idle_core.hh"

#include <sched.h>

#include <memory>
#include <seastar/core/idle_cpu_handler.hh>

namespace lockkeeper::proxy {

idle_core::idle_core(std::chrono::nanoseconds looks_for)
    : _sleeps(std::make_unique<short_sleeps>(looks_for)) {
    ss::set_idle_cpu_handler([way = giving_way()](ss::work_waiting_on_reactor) mutable {
        if (const auto began = giving_way::clock::now(); way.is_due(began)) {
            ::sched_yield();
            way.gave_way(began, giving_way::clock::now());
        }
        return ss::idle_cpu_handler_result::no_more_work;
    });
}

ss::future<> idle_core::stop() {
    ss::set_idle_cpu_handler(
        [](ss::work_waiting_on_reactor) { return ss::idle_cpu_handler_result::no_more_work; });
    return ss::make_ready_future<>();
}

}  // namespace lockkeeper::proxy
