#include "config/secret.hh"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace lockkeeper::config {

namespace {

constexpr std::string_view of_environment = "env:";
constexpr std::string_view of_file = "file:";
/// A secret is a line; something longer is the wrong file.
constexpr size_t bytes_max = 4096;

std::expected<std::string, std::string> from_environment(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') {
        return std::unexpected(fmt::format("the environment has no '{}', or an empty one", name));
    }
    return value;
}

std::expected<std::string, std::string> from_file(const std::string& path) {
    const auto unreadable = [&path](std::string_view why) {
        return std::unexpected(fmt::format("'{}' cannot be read: {}", path, why));
    };
    std::error_code problem;
    if (!std::filesystem::is_regular_file(path, problem)) {
        return unreadable(problem ? problem.message() : "not a file");
    }
    std::ifstream file(path, std::ios::binary);
    if (!file.is_open()) {
        return unreadable(std::strerror(errno));
    }
    std::string text(bytes_max + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(file.gcount()));
    if (text.size() > bytes_max) {
        return unreadable("it is larger than 4 KiB, which no secret is");
    }
    if (text.ends_with('\n')) {
        text.pop_back();
    }
    if (text.ends_with('\r')) {
        text.pop_back();
    }
    if (text.empty()) {
        return unreadable("it is empty");
    }
    return text;
}

}  // namespace

bool is_secret_reference(std::string_view text) {
    return text.starts_with(of_environment) || text.starts_with(of_file);
}

std::expected<std::string, std::string> read_secret(std::string_view reference) {
    if (reference.starts_with(of_environment)) {
        return from_environment(std::string(reference.substr(of_environment.size())));
    }
    return from_file(std::string(reference.substr(of_file.size())));
}

}  // namespace lockkeeper::config
