#include "proxy/command_line.hh"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <iostream>
#include <seastar/core/reactor_config.hh>
#include <seastar/util/conversions.hh>

#include "config/defaults.hh"
#include "config/load.hh"
#include "config/nearest.hh"
#include "config/options.hh"
#include "proxy/configuration_source.hh"
#include "proxy/machine.hh"
#include "proxy/version.hh"

namespace lockkeeper::proxy {

namespace bpo = boost::program_options;

namespace {

int complain(std::string_view text) {
    std::cerr << "lockkeeper: " << text << '\n';
    return usage_error;
}

/// Seastar pins threads to CPUs and may spin; a proxy shares its machine. What each default trades
/// is told in docs/operations.md.
ss::app_template::seastar_options seastar_defaults(const machine& here) {
    ss::app_template::seastar_options options;
    options.name = "Lockkeeper";
    options.description = fmt::format(
        "Lockkeeper {}: a lock proxy for Redis.\n"
        "usage: lockkeeper [--config FILE] [--address A] [--port N] [Seastar options]\n"
        "Common Seastar options: -c CORES, -m MEMORY, --overprovisioned, --reactor-backend NAME;\n"
        "--help-seastar lists them all.\n",
        version);
    // app.cc turns the signals into a drain.
    options.auto_handle_sigint_sigterm = false;
    options.smp_opts.memory.set_default_value(fmt::format("{}M", default_memory(here) >> 20));
    options.smp_opts.thread_affinity.set_default_value(false);
    options.reactor_opts.idle_poll_time_us.set_default_value(200);
    // A thread of its own ends each quota, at the cost of a switch; our tasks are short anyway.
    options.reactor_opts.task_quota_ms.set_default_value(2.0);
    options.reactor_opts.blocked_reactor_notify_ms.set_default_value(100);
    // Above this many ready tasks a core stops looking at sockets and timers, and dumps the tasks
    // into the log. A few for each of thousands of clients are no alarm: a stop wakes them all.
    options.reactor_opts.max_task_backlog.set_default_value(100'000);
    return options;
}

void add_own_options(ss::app_template& app) {
    app.add_options()                                                                             //
        ("config", bpo::value<std::string>(), "read this YAML file")                              //
        ("address", bpo::value<std::string>(), "listen here (over the file's server.address)")    //
        ("port", bpo::value<std::string>(), "listen on this port (over the file's server.port)")  //
        ("http-port", bpo::value<std::string>(),
         "metrics, health and the live page on this port, 0 for none (over the file's "
         "http.port)")  //
        ("no-protected-mode",
         "serve other machines without a password (over the file's server.protected_mode)")  //
        ("check", "check the configuration, say what is wrong, and exit")                    //
        ("fleet", "with --check: look at every master too")                                  //
        ("print-defaults",
         "print a configuration with every option, explained, and what each accepts, and exit")  //
        ("version", "print the version and exit");
}

/// boost names the option; we add the one that was probably meant.
std::string explain(const bpo::error& problem, const bpo::options_description& all) {
    if (dynamic_cast<const bpo::too_many_positional_options_error*>(&problem)) {
        return "a word that belongs to no option; try --help";
    }
    const auto* unknown = dynamic_cast<const bpo::unknown_option*>(&problem);
    if (!unknown) {
        return fmt::format("{}; try --help", problem.what());
    }
    std::vector<std::string> names;
    for (const auto& known : all.options()) {
        names.push_back("--" + known->long_name());
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    const auto meant = config::nearest(unknown->get_option_name(), views);
    return meant.empty()
               ? fmt::format("unknown option '{}'; try --help", unknown->get_option_name())
               : fmt::format("unknown option '{}'; did you mean '{}'?", unknown->get_option_name(),
                             meant);
}

/// The bounds are in the program alone, so that there is one place for them.
std::string what_options_accept() {
    std::string text = "\n# What each option accepts:\n";
    for (const config::option& known : config::options()) {
        text += fmt::format("#   {:<34} {}\n", fmt::format("{}.{}", known.section, known.name),
                            known.accepts);
    }
    return text;
}

configuration_source source_of(const bpo::variables_map& given) {
    configuration_source source;
    const auto text = [&given](const char* name) {
        return given.contains(name) ? std::optional(given[name].as<std::string>()) : std::nullopt;
    };
    source.file = text("config");
    source.address = text("address");
    source.port = text("port");
    source.http_port = text("http-port");
    source.no_protected_mode = given.contains("no-protected-mode");
    return source;
}

/// Prints every mistake.
std::optional<config::config> read_settings(const configuration_source& source) {
    auto settings = source.read();
    if (!settings) {
        for (const std::string& mistake : settings.error()) {
            complain(mistake);
        }
        return std::nullopt;
    }
    return std::move(*settings);
}

void choose_backend(ss::reactor_options& options, unsigned cores, unsigned clients) {
    options.max_networking_io_control_blocks.set_default_value(
        aio_requests((clients + cores - 1) / cores));
    options.reactor_backend.select_default_candidate(default_backend);
}

unsigned cores_wanted(const bpo::variables_map& given, const machine& here) {
    return given.contains("smp") ? given["smp"].as<unsigned>() : here.cores;
}

/// Seastar aborts without a word when its memory is too small to start with.
std::optional<std::string> memory_problem(const bpo::variables_map& given, const machine& here,
                                          unsigned cores) {
    uint64_t total = default_memory(here);
    try {
        if (given.contains("memory")) {
            total = ss::parse_memory_size(given["memory"].as<std::string>());
        }
    } catch (const std::exception&) {
        return fmt::format("--memory {}: not a size such as 512M or 2G",
                           given["memory"].as<std::string>());
    }
    if (total / cores < memory_per_core_least) {
        return fmt::format(
            "{} MiB of memory is too little for {} core{}: give at least -m {}M, or fewer cores "
            "with -c",
            total >> 20, cores, cores == 1 ? "" : "s", (memory_per_core_least >> 20) * cores);
    }
    if (total > here.memory_bytes) {
        return fmt::format("-m {}M is more than this machine has ({} MiB)", total >> 20,
                           here.memory_bytes >> 20);
    }
    return std::nullopt;
}

}  // namespace

command_line read_command_line(int argc, char** argv) {
    const machine here = inspect_machine();
    auto app = std::make_unique<ss::app_template>(seastar_defaults(here));
    add_own_options(*app);

    bpo::options_description all;
    all.add(app->get_options_description()).add(app->get_conf_file_options_description());
    bpo::variables_map given;
    try {
        bpo::store(bpo::command_line_parser(argc, argv).options(all).positional({}).run(), given);
        bpo::notify(given);
    } catch (const bpo::error& problem) {
        return {.serve = {}, .exit_code = complain(explain(problem, all))};
    }

    if (given.contains("version")) {
        std::cout << "lockkeeper " << version << '\n';
        return {};
    }
    if (given.contains("print-defaults")) {
        std::cout << config::default_file() << what_options_accept();
        return {};
    }
    if (given.contains("fleet") && !given.contains("check")) {
        return {.serve = {}, .exit_code = complain("--fleet goes with --check")};
    }
    auto source = source_of(given);
    const auto settings = read_settings(source);
    if (!settings) {
        return {.serve = {}, .exit_code = usage_error};
    }
    if (given.contains("check") && !given.contains("fleet")) {
        std::cout << "The configuration is good. In full:\n" << config::to_yaml(*settings);
        return {};
    }
    const unsigned cores = cores_wanted(given, here);
    if (cores == 0 || cores > here.cores) {
        return {.serve = {},
                .exit_code = complain(fmt::format("-c {}: this machine lets us use 1 to {} cores",
                                                  cores, here.cores))};
    }
    // A set of CPUs says how many cores there are in a form that only Seastar reads; it checks for
    // itself then.
    if (const auto problem = memory_problem(given, here, cores);
        problem && !given.contains("cpuset")) {
        return {.serve = {}, .exit_code = complain(*problem)};
    }

    // How many sockets there may be depends on the number of cores and clients, known only now.
    auto defaults = seastar_defaults(here);
    choose_backend(defaults.reactor_opts, cores, settings->limits.clients);
    app = std::make_unique<ss::app_template>(std::move(defaults));
    add_own_options(*app);
    return {.serve = command_line::server{*settings, std::move(source), std::move(app)},
            .check_fleet = given.contains("fleet")};
}

}  // namespace lockkeeper::proxy
