#include "bench/load/report.hh"

#include <fmt/format.h>

#include <numeric>

#include "bench/load/json_line.hh"

namespace lockkeeper::bench {

namespace {

using std::chrono::nanoseconds;

double seconds(nanoseconds span) {
    return std::chrono::duration<double>(span).count();
}

double microseconds(nanoseconds span) {
    return std::chrono::duration<double, std::micro>(span).count();
}

double microseconds(std::uint64_t count) {
    return static_cast<double>(count) / 1e3;
}

/// Nothing per nothing is nothing.
double ratio(double of, double to) {
    return to == 0 ? 0 : of / to;
}

std::uint64_t total(const std::map<std::string, std::uint64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& one) { return sum + one.second; });
}

void add_waits(json_line& json, std::string_view name, const histogram& waits) {
    json.open_object(name)
        .add("mean", waits.mean() / 1e3)
        .add("p10", microseconds(waits.quantile(0.10)))
        .add("p25", microseconds(waits.quantile(0.25)))
        .add("p50", microseconds(waits.quantile(0.50)))
        .add("p75", microseconds(waits.quantile(0.75)))
        .add("p90", microseconds(waits.quantile(0.90)))
        .add("p99", microseconds(waits.quantile(0.99)))
        .add("p999", microseconds(waits.quantile(0.999)))
        .add("max", microseconds(waits.max()))
        .close();
}

void add_options(json_line& json, const load_plan& plan) {
    const load_options& options = plan.options;
    json.add("label", options.label)
        .add("protocol", name_of(options.protocol))
        .add("mode", name_of(options.mode))
        .add("clients", options.clients)
        .add("depth", options.depth)
        .add("keys", plan.keys)
        .add("masters_asked", plan.masters)
        .add("threads", options.threads)
        .add("hold_us", microseconds(options.hold))
        .add("think_us", microseconds(options.think))
        .add("spin_us", microseconds(options.spin))
        .add("ttl_ms", options.ttl / std::chrono::milliseconds(1))
        .add("retry", to_text(plan.retry))
        .add("idle_connections", options.idle)
        .add("seed", plan.seed);
}

void add_machine(json_line& json, const load_result& result, double operations) {
    json.open_array("servers");
    for (const auto& one : result.servers) {
        json.open_object().add("pid", one.pid).add("name", one.name);
        if (one.cpu) {
            json.add("cpu_s", seconds(*one.cpu))
                .add("cpu_us_per_section", ratio(microseconds(*one.cpu), operations));
        }
        json.close();
    }
    json.close();
    json.add("generator_cpu_cores", ratio(seconds(result.generator_cpu), seconds(result.observed)));
    if (result.foreign_cpu) {
        json.add("foreign_cpu_cores",
                 ratio(seconds(*result.foreign_cpu), seconds(result.observed)));
    }
    json.open_array("masters");
    for (const auto& one : result.masters) {
        const std::uint64_t commands = total(one.commands);
        json.open_object()
            .add("address", one.address)
            .add("commands", commands)
            .add("commands_per_section", ratio(static_cast<double>(commands), operations))
            .open_object("by_name");
        for (const auto& [name, count] : one.commands) {
            json.add(name, count);
        }
        json.close().close();
    }
    json.close();
}

void add_faults(json_line& json, const load_plan& plan, const load_result& result) {
    tally all = result.measured;
    all.merge(result.outside);
    json.open_object("verify")
        .add("on", plan.options.verify)
        .add("intrusions", all.intrusions)
        .add("fences_fallen", all.fences_fallen)
        .add("locks_lost", all.locks_lost)
        .add("expired_holds", all.expired_holds)
        .close();
    json.add("clients_lost", result.clients_lost)
        .add("left_holding", result.left_holding)
        .add("left_waiting", result.left_waiting);
    json.open_object("errors");
    for (const auto& [text, count] : all.errors.by_text()) {
        json.add(text, count);
    }
    json.close();
}

}  // namespace

std::string json_report(const load_plan& plan, const load_result& result) {
    const tally& measured = result.measured;
    const double elapsed = seconds(result.elapsed);
    const auto operations = static_cast<double>(result.operations(plan.options.mode));
    json_line json;
    json.open_object();
    add_options(json, plan);
    json.add("elapsed_s", elapsed)
        .add("interrupted", result.interrupted)
        .add("sections", measured.sections)
        .add("sections_per_s", ratio(static_cast<double>(measured.sections), elapsed))
        .add("hand_offs", measured.hand_offs)
        .add("hand_offs_per_s", ratio(static_cast<double>(measured.hand_offs), elapsed))
        .add("grants", measured.grants)
        .add("refusals", measured.refusals)
        .add("commands", measured.commands)
        .add("commands_per_section", ratio(static_cast<double>(measured.commands), operations));
    add_waits(json, "wait_us", measured.wait);
    json.open_object("wait_turns")
        .add("mean", measured.turns.mean())
        .add("p99", measured.turns.quantile(0.99))
        .add("max", measured.turns.max())
        .close();
    json.add("waiting_at_end", result.waiting_at_end)
        .add("longest_wait_at_end_us", microseconds(result.longest_wait_at_end))
        .add("jain", result.jain)
        .add("starved", result.starved)
        .add("starved_after_s", seconds(plan.options.starved_after));
    if (plan.options.mode == load_mode::renew) {
        json.add("renewals", measured.renewals)
            .add("renewals_per_s", ratio(static_cast<double>(measured.renewals), elapsed));
        add_waits(json, "renewal_us", measured.renewal);
    }
    if (result.order) {
        json.open_object("order")
            .add("all_were_queued", result.all_were_queued)
            .add("served", result.order->served)
            .add("out_of_place", result.order->out_of_place)
            .add("inversions", result.order->inversions)
            .add("displacement_max", result.order->displacement_max)
            .close();
    }
    add_machine(json, result, operations);
    add_faults(json, plan, result);
    json.close();
    return json.text();
}

std::string readable_report(const load_plan& plan, const load_result& result) {
    const tally& measured = result.measured;
    const load_options& options = plan.options;
    const double elapsed = seconds(result.elapsed);
    const bool renews = options.mode == load_mode::renew;
    const auto operations = static_cast<double>(result.operations(options.mode));
    const histogram& waits = renews ? measured.renewal : measured.wait;
    std::string text = fmt::format(
        "{}{} {}, {} clients: {:.0f} {}/s, {:.0f} hand-offs/s, wait mean {:.0f} p50 {:.0f} p99 "
        "{:.0f} p99.9 {:.0f} max {:.0f} us, Jain {:.3f}, starved {}, commands/section {:.2f}, "
        "generator {:.2f} cores",
        options.label.empty() ? "" : options.label + ": ", name_of(options.protocol),
        name_of(options.mode), options.clients, ratio(operations, elapsed),
        renews ? "renewals" : "sections", ratio(static_cast<double>(measured.hand_offs), elapsed),
        waits.mean() / 1e3, microseconds(waits.quantile(0.5)), microseconds(waits.quantile(0.99)),
        microseconds(waits.quantile(0.999)), microseconds(waits.max()), result.jain, result.starved,
        ratio(static_cast<double>(measured.commands), operations),
        ratio(seconds(result.generator_cpu), seconds(result.observed)));
    for (const auto& one : result.servers) {
        text += one.cpu ? fmt::format(", {} {:.1f} us CPU/section", one.name,
                                      ratio(microseconds(*one.cpu), operations))
                        : fmt::format(", process {} is not there", one.pid);
    }
    if (result.order) {
        text +=
            fmt::format("\n  order: {} served, {} out of place, {} inversions{}",
                        result.order->served, result.order->out_of_place, result.order->inversions,
                        result.all_were_queued ? "" : "; NOT all were queued in time");
    }
    if (options.verify) {
        text += fmt::format("\n  verified: {} violations", result.violations());
    }
    tally all = measured;
    all.merge(result.outside);
    for (const auto& [error, count] : all.errors.by_text()) {
        text += fmt::format("\n  {} times: {}", count, error);
    }
    if (result.left_holding + result.left_waiting != 0) {
        text += fmt::format("\n  not drained in time: {} held, {} waited", result.left_holding,
                            result.left_waiting);
    }
    return text;
}

}  // namespace lockkeeper::bench
