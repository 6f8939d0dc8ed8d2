#include "config/load.hh"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/nearest.hh"
#include "config/options.hh"
#include "config/patterns.hh"
#include "config/policies.hh"
#include "config/proxies.hh"
#include "config/stripes.hh"
#include "config/text.hh"
#include "config/users.hh"

namespace lockkeeper::config {

namespace {

std::vector<std::string_view> known_sections() {
    std::vector<std::string_view> names;
    for (const option& known : options()) {
        if (names.empty() || names.back() != known.section) {
            names.push_back(known.section);
        }
    }
    return names;
}

std::vector<std::string_view> known_names(std::string_view section) {
    std::vector<std::string_view> names;
    for (const option& known : options()) {
        if (known.section == section) {
            names.push_back(known.name);
        }
    }
    return names;
}

std::string hint(std::string_view word, const std::vector<std::string_view>& candidates) {
    const auto meant = nearest(word, candidates);
    return meant.empty() ? fmt::format("; known here: {}", fmt::join(candidates, ", "))
                         : fmt::format("; did you mean '{}'?", meant);
}

bool is_used(const embedded_options& embedded) {
    return !embedded.state.empty() || embedded.start_delay > milliseconds::zero();
}

/// Walks the two levels of the file and collects every mistake on the way.
class reader {
public:
    explicit reader(std::string file) : _file(std::move(file)) {}

    std::expected<config, std::vector<mistake>> read(std::string_view text) {
        try {
            read_sections(YAML::Load(std::string(text)));
        } catch (const YAML::Exception& problem) {
            complain(problem.mark, problem.msg);
        }
        if (_locks_mark && !_config.data) {
            complain(*_locks_mark,
                     "'locks' has no effect without 'data': every key is a lock then");
        }
        if (_embedded_mark && !_config.stripes.empty() && is_used(_config.embedded)) {
            complain(*_embedded_mark,
                     "'embedded' has no effect with 'stripes': the masters remember locks and "
                     "fences then");
        }
        if (_mistakes.empty() && _config.limits.argument_bytes > _config.limits.query_bytes) {
            _mistakes.push_back(
                {_file, 0, 0,
                 "limits.argument_bytes is larger than limits.query_bytes: such an argument could "
                 "never be read; raise query_bytes"});
        }
        check_proxies();
        check_leases();
        check_tls();
        check_http();
        share_credentials();
        if (!_mistakes.empty()) {
            return std::unexpected(std::move(_mistakes));
        }
        return _config;
    }

private:
    void complain(const YAML::Mark& where, std::string text) {
        // yaml-cpp counts from 0 and says -1 for "somewhere".
        _mistakes.push_back({_file, where.line + 1, where.column + 1, std::move(text)});
    }

    void check_proxies() {
        if (!_proxies_mark || !_mistakes.empty()) {
            return;
        }
        if (_config.stripes.empty()) {
            return complain(*_proxies_mark,
                            "'proxies' has no effect without 'stripes': locks in memory belong to "
                            "one proxy alone");
        }
        if (_config.proxies->tls && _config.tls.port == 0) {
            return complain(*_proxies_mark,
                            "'tls' in 'proxies' needs 'tls' with a port and a certificate: that is "
                            "where the other proxies call");
        }
        if (!_config.proxies->tls && !_config.proxies->tls_ca.empty()) {
            return complain(*_proxies_mark,
                            "'tls_ca' in 'proxies' has no effect without 'tls: true'");
        }
        if (auto problem = unreachable_by_proxies(_config)) {
            complain(*_proxies_mark, std::move(*problem));
        }
    }

    /// What only the options together can get wrong.
    void check_leases() {
        if (!_mistakes.empty()) {
            return;
        }
        if (_config.leases.untimed > _config.leases.max_ttl) {
            _mistakes.push_back({_file, 0, 0,
                                 "leases.untimed is longer than leases.max_ttl: no lease may be; "
                                 "raise max_ttl or lower untimed"});
        }
        if (_config.masters.silence < _config.masters.timeout) {
            _mistakes.push_back({_file, 0, 0,
                                 "masters.silence is shorter than masters.timeout: a connection "
                                 "would be cut while a round still waits; raise silence"});
        }
    }

    /// About several options together, and so about no line.
    void wrong(std::string text) { _mistakes.push_back({_file, 0, 0, std::move(text)}); }

    void check_tls() {
        if (!_mistakes.empty()) {
            return;
        }
        if (_config.masters.tls_certificate.empty() != _config.masters.tls_key.empty()) {
            wrong(
                "masters.tls_certificate and masters.tls_key go together: give both, as PEM files");
        }
        const tls_options& tls = _config.tls;
        if (tls.port == 0) {
            if (tls.only) {
                wrong("tls.only without tls.port: nobody could connect; give a port");
            }
            return;
        }
        if (tls.certificate.empty() || tls.key.empty()) {
            wrong("tls.port without tls.certificate and tls.key: give both, as PEM files");
        }
        if (tls.client_certificates != client_certificates::none && tls.ca.empty()) {
            wrong("tls.client_certificates without tls.ca: give the authorities that sign them");
        }
        if (tls.port == _config.server.port && !tls.only) {
            wrong("tls.port and server.port are the same: choose another, or set tls.only");
        }
    }

    void check_http() {
        if (!_mistakes.empty() || !_config.http.break_locks) {
            return;
        }
        if (_config.users.empty()) {
            wrong(
                "http.break_locks without users: nobody could show that he is an admin; give "
                "users");
        }
        if (!_config.leases.fences && !_config.stripes.empty()) {
            wrong(
                "http.break_locks without leases.fences: a lock that has changed hands since it "
                "was "
                "shown would look the same; have fences, or break locks by LK.BREAK");
        }
    }

    /// Masters whose addresses have no credentials use those of all.
    void share_credentials() {
        for (stripe_options& stripe : _config.stripes) {
            for (redis_address& master : stripe.masters) {
                if (master.password.empty() && !_config.masters.password.value.empty()) {
                    master.user = _config.masters.user;
                    master.password = _config.masters.password.value;
                    master.password_reference = _config.masters.password.reference;
                }
            }
        }
    }

    void read_sections(const YAML::Node& root) {
        if (root.IsNull()) {
            return;
        }
        if (!root.IsMap()) {
            complain(root.Mark(), "the file must hold sections such as 'server:'");
            return;
        }
        std::vector<std::string> seen;
        for (const auto& entry : root) {
            const auto name = entry.first.as<std::string>();
            if (is_repeated(seen, name, entry.first)) {
                continue;
            }
            if (name == "data") {
                read_data(entry.second);
                continue;
            }
            if (name == "locks") {
                read_locks(entry.second);
                continue;
            }
            if (name == "stripes") {
                _config.stripes = read_stripes(entry.second, _complaint);
                continue;
            }
            if (name == "policies") {
                _config.policies = read_policies(entry.second, _complaint);
                continue;
            }
            if (name == "http" && entry.second.IsScalar() && entry.second.Scalar() == "off") {
                _config.http.port = 0;
                continue;
            }
            if (name == "users") {
                _config.users = read_users(entry.second, _complaint);
                continue;
            }
            if (name == "proxies") {
                _proxies_mark = entry.first.Mark();
                _config.proxies = read_proxies(entry.second, _complaint);
                continue;
            }
            if (name == "embedded") {
                _embedded_mark = entry.first.Mark();
            }
            auto sections = known_sections();
            sections.insert(sections.end(),
                            {"data", "locks", "stripes", "policies", "users", "proxies"});
            if (std::ranges::find(sections, name) == sections.end()) {
                complain(entry.first.Mark(),
                         fmt::format("unknown section '{}'{}", name, hint(name, sections)));
                continue;
            }
            read_options(name, entry.second);
        }
    }

    void read_data(const YAML::Node& node) {
        if (!node.IsScalar()) {
            complain(node.Mark(), "'data' needs one address, as in redis://127.0.0.1:6379/0");
            return;
        }
        auto address = parse_redis_address(node.Scalar());
        if (!address) {
            complain(node.Mark(), fmt::format("'data': {}", address.error()));
            return;
        }
        if (address->tls) {
            complain(node.Mark(),
                     "'data': rediss:// (TLS) is not supported for data yet; use redis://");
            return;
        }
        _config.data = std::move(*address);
    }

    void read_locks(const YAML::Node& node) {
        _config.locks.clear();
        _locks_mark = node.Mark();
        if (!node.IsSequence() || node.size() == 0) {
            complain(node.Mark(),
                     "'locks' needs a list of key patterns, as in ['lock:*', '*:lock']");
            return;
        }
        for (const auto& entry : node) {
            if (auto pattern = read_pattern(entry, "locks", _complaint)) {
                _config.locks.push_back(std::move(*pattern));
            }
        }
    }

    void read_options(const std::string& section, const YAML::Node& node) {
        if (node.IsNull()) {
            return;
        }
        if (!node.IsMap()) {
            complain(node.Mark(), fmt::format("'{}' must hold options, as in '{}:'", section,
                                              known_names(section).front()));
            return;
        }
        std::vector<std::string> seen;
        for (const auto& entry : node) {
            const auto name = entry.first.as<std::string>();
            if (!is_repeated(seen, name, entry.first)) {
                read_option(section, name, entry.first, entry.second);
            }
        }
    }

    void read_option(const std::string& section, const std::string& name, const YAML::Node& key,
                     const YAML::Node& value) {
        const option* known = find_option(section, name);
        if (!known) {
            complain(key.Mark(), fmt::format("unknown option '{}' in '{}'{}", name, section,
                                             hint(name, known_names(section))));
            return;
        }
        if (!value.IsScalar()) {
            complain(key.Mark(), fmt::format("'{}' needs one value: {}", name, known->accepts));
            return;
        }
        const auto set = known->set(_config, value.Scalar());
        if (!set) {
            complain(value.Mark(),
                     fmt::format("'{}': {} (accepted: {})", name, set.error(), known->accepts));
        }
    }

    /// YAML lets a later line silently win over an earlier one; an operator wants to know.
    bool is_repeated(std::vector<std::string>& seen, const std::string& name,
                     const YAML::Node& key) {
        if (std::ranges::find(seen, name) != seen.end()) {
            complain(key.Mark(), fmt::format("'{}' is given twice", name));
            return true;
        }
        seen.push_back(name);
        return false;
    }

    std::string _file;
    config _config;
    std::optional<YAML::Mark> _locks_mark;
    std::optional<YAML::Mark> _embedded_mark;
    std::optional<YAML::Mark> _proxies_mark;
    std::vector<mistake> _mistakes;
    /// For the parts of the file that have readers of their own.
    const complaint _complaint = [this](const YAML::Mark& where, std::string text) {
        complain(where, std::move(text));
    };
};

}  // namespace

std::string mistake::show() const {
    return line > 0 ? fmt::format("{}:{}:{}: {}", file, line, column, text)
                    : fmt::format("{}: {}", file, text);
}

std::expected<config, std::vector<mistake>> parse(std::string_view text, std::string file_name) {
    return reader(std::move(file_name)).read(text);
}

std::expected<config, std::vector<mistake>> load(const std::string& path) {
    const auto unreadable = [&path](const char* why) {
        return std::unexpected(
            std::vector<mistake>{{path, 0, 0, fmt::format("cannot be read: {}", why)}});
    };
    // A folder opens like a file and then reads like an empty one.
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return unreadable(std::strerror(EISDIR));
    }
    std::ifstream file(path);
    std::ostringstream text;
    // An empty file is a valid one, but reading nothing sets the fail bit: look at the file, not at
    // the copy.
    if (!file.is_open() ||
        (file.peek() != std::ifstream::traits_type::eof() && !(text << file.rdbuf()))) {
        return unreadable(std::strerror(errno));
    }
    return parse(text.str(), path);
}

std::string to_yaml(const config& all) {
    std::string text;
    std::string_view section;
    for (const option& known : options()) {
        if (known.section != section) {
            section = known.section;
            text += fmt::format("{}:\n", section);
        }
        text += fmt::format("  {}: {}\n", known.name, known.show(all));
    }
    if (all.data) {
        text += fmt::format("data: {}\nlocks:\n", show_text(all.data->show()));
        for (const std::string& pattern : all.locks) {
            text += fmt::format("  - {}\n", lockkeeper::config::quoted(pattern));
        }
    }
    return text + show_stripes(all.stripes) + show_proxies(all.proxies) +
           show_policies(all.policies) + show_users(all.users);
}

}  // namespace lockkeeper::config
