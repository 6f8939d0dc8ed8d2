#include "bench/load/observer.hh"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lockkeeper::bench {

namespace {

using std::chrono::nanoseconds;

nanoseconds ticks(std::uint64_t count) {
    static const long per_second = ::sysconf(_SC_CLK_TCK);
    return nanoseconds(std::chrono::seconds(1)) * static_cast<std::int64_t>(count) / per_second;
}

/// In nanoseconds, where the kernel keeps them; /proc/PID/stat counts hundredths of a second.
std::optional<nanoseconds> precise_cpu_time_of(const std::string& folder) {
    std::error_code failure;
    nanoseconds sum{};
    bool any = false;
    for (const auto& thread : std::filesystem::directory_iterator(folder + "/task", failure)) {
        std::ifstream file(thread.path() / "schedstat");
        std::int64_t on_cpu = 0;
        if (file >> on_cpu) {
            sum += nanoseconds(on_cpu);
            any = true;
        }
    }
    return any ? std::optional(sum) : std::nullopt;
}

}  // namespace

std::optional<nanoseconds> cpu_time_of(pid_t pid) {
    const std::string folder = "/proc/" + std::to_string(pid);
    if (const auto precise = precise_cpu_time_of(folder)) {
        return precise;
    }
    std::ifstream file(folder + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) {
        return std::nullopt;
    }
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    for (int i = 0; i != 11; ++i) {
        fields >> skipped;
    }
    std::uint64_t user = 0;
    std::uint64_t system = 0;
    fields >> user >> system;
    return ticks(user + system);
}

nanoseconds own_cpu_time() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

nanoseconds machine_cpu_time() {
    std::ifstream file("/proc/stat");
    std::string name;
    std::uint64_t user = 0;
    std::uint64_t nice = 0;
    std::uint64_t system = 0;
    std::uint64_t idle = 0;
    std::uint64_t waiting = 0;
    std::uint64_t interrupts = 0;
    std::uint64_t soft_interrupts = 0;
    std::uint64_t stolen = 0;  // by other guests of the same host: they use the machine, too
    file >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >>
        stolen;
    return ticks(user + nice + system + interrupts + soft_interrupts + stolen);
}

std::string name_of_process(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

std::map<std::string, std::uint64_t> parse_command_calls(std::string_view info) {
    constexpr std::string_view start = "cmdstat_";
    constexpr std::string_view calls = ":calls=";
    std::map<std::string, std::uint64_t> counts;
    while (!info.empty()) {
        const std::string_view line = info.substr(0, info.find('\n'));
        info.remove_prefix(std::min(line.size() + 1, info.size()));
        const std::size_t at = line.find(calls);
        if (!line.starts_with(start) || at == std::string_view::npos) {
            continue;
        }
        std::uint64_t count = 0;
        const std::string_view digits = line.substr(at + calls.size());
        std::from_chars(digits.data(), digits.data() + digits.size(), count);
        counts[std::string(line.substr(start.size(), at - start.size()))] = count;
    }
    return counts;
}

std::optional<std::uint64_t> parse_info_number(std::string_view info, std::string_view name) {
    const std::string line_start = std::string(name) + ":";
    std::size_t at = info.find(line_start);
    while (at != std::string_view::npos && at != 0 && info[at - 1] != '\n') {
        at = info.find(line_start, at + 1);
    }
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    std::uint64_t number = 0;
    const std::string_view digits = info.substr(at + line_start.size());
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return parsed.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

std::optional<std::map<std::string, std::uint64_t>> commands_seen_by(control& server) {
    const auto by_name = server.call("INFO", "commandstats");
    if (!by_name) {
        return std::nullopt;
    }
    auto counts = parse_command_calls(by_name->text());
    counts.erase("info");
    if (!counts.empty()) {
        return counts;
    }
    const auto all = server.call("INFO", "stats");
    if (!all) {
        return std::nullopt;
    }
    if (const auto total = parse_info_number(all->text(), "total_commands_processed")) {
        counts["all"] = *total;
    }
    return counts;
}

}  // namespace lockkeeper::bench
