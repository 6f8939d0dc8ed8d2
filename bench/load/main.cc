/// lockbench: how fast, how fairly and how safely does a server hand out locks? See --help.

#include <signal.h>

#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "bench/load/options.hh"
#include "bench/load/plan.hh"
#include "bench/load/report.hh"
#include "bench/load/run.hh"

namespace {

using namespace lockkeeper::bench;

enum exit_code : int { fine = 0, could_not_run = 1, bad_options = 2, violated = 3 };

void complain(const std::string& what) {
    std::fprintf(stderr, "lockbench: %s\n", what.c_str());
}

int load(load_options options) {
    const load_plan plan(std::move(options));
    const auto result = run_load(plan);
    if (!result) {
        complain(result.error());
        return could_not_run;
    }
    std::printf("%s\n", json_report(plan, *result).c_str());
    std::fprintf(stderr, "%s\n", readable_report(plan, *result).c_str());
    if (plan.options.verify && result->violations() != 0) {
        complain("a lock promise was broken: " + std::to_string(result->violations()) +
                 " violations");
        return violated;
    }
    if (result->operations(plan.options.mode) == 0 && !result->interrupted) {
        complain("nothing was completed in the measured time");
        return could_not_run;
    }
    return fine;
}

}  // namespace

int main(int argc, char** argv) {
    // Before any thread starts, so that only the main thread takes them, when it waits for them.
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);

    auto options = parse_options(std::span<const char* const>(argv + 1, argv + argc));
    if (!options) {
        complain(options.error());
        return bad_options;
    }
    if (options->help) {
        std::fputs(help_text().c_str(), stdout);
        return fine;
    }
    try {
        return load(*std::move(options));
    } catch (const std::exception& failure) {
        complain(failure.what());
        return could_not_run;
    }
}
