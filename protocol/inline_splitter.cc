#include "protocol/inline_splitter.hh"

#include <optional>

namespace lockkeeper::protocol {

namespace {

/// What may stand between words. Vertical tabs and form feeds are skipped in front of a word but do
/// not end one: odd, but so does Redis.
bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}
bool ends_plain_word(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

char unescaped(char c) {
    switch (c) {
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        case 'b':
            return '\b';
        case 'a':
            return '\a';
        default:
            return c;
    }
}

/// Unquotes what follows the opening quote at `rest`, and drops it from `rest` together with the
/// closing quote. False if the quote is not closed, or closed in the middle of a word.
bool take_double_quoted(std::string_view& rest, std::string& storage) {
    std::size_t i = 0;
    while (i < rest.size() && rest[i] != '"') {
        if (rest[i] != '\\' || i + 1 == rest.size()) {
            storage.push_back(rest[i++]);
            continue;
        }
        if (rest[i + 1] == 'x' && i + 3 < rest.size()) {
            const int high = hex_digit(rest[i + 2]);
            const int low = hex_digit(rest[i + 3]);
            if (high >= 0 && low >= 0) {
                storage.push_back(static_cast<char>(high * 16 + low));
                i += 4;
                continue;
            }
        }
        storage.push_back(unescaped(rest[i + 1]));
        i += 2;
    }
    if (i >= rest.size() || (i + 1 < rest.size() && !is_blank(rest[i + 1]))) {
        return false;
    }
    rest.remove_prefix(i + 1);
    return true;
}

bool take_single_quoted(std::string_view& rest, std::string& storage) {
    std::size_t i = 0;
    while (i < rest.size() && rest[i] != '\'') {
        if (rest.substr(i, 2) == "\\'") {
            ++i;
        }
        storage.push_back(rest[i++]);
    }
    if (i >= rest.size() || (i + 1 < rest.size() && !is_blank(rest[i + 1]))) {
        return false;
    }
    rest.remove_prefix(i + 1);
    return true;
}

/// The word at the front of `rest`, which is dropped from it; nothing if quotes do not balance.
std::optional<std::string_view> take_word(std::string_view& rest, std::string& storage,
                                          std::size_t storage_max) {
    std::size_t plain = 0;
    while (plain < rest.size() && !ends_plain_word(rest[plain])) {
        const char c = rest[plain];
        if (c != '"' && c != '\'') {
            ++plain;
            continue;
        }
        // A quote ends the word with it, so at most one quoted part follows the plain one.
        // Unquoting never lengthens, so once reserved the storage does not move under its words.
        storage.reserve(storage_max);
        const std::size_t begin = storage.size();
        storage.append(rest, 0, plain);
        rest.remove_prefix(plain + 1);
        const bool closed =
            c == '"' ? take_double_quoted(rest, storage) : take_single_quoted(rest, storage);
        if (!closed) {
            return std::nullopt;
        }
        return std::string_view(storage).substr(begin);
    }
    const std::string_view word = rest.substr(0, plain);
    rest.remove_prefix(plain);
    return word;
}

}  // namespace

split_outcome split_inline(std::string_view line, std::size_t words_max, std::string& storage,
                           std::vector<std::string_view>& words) {
    words.clear();
    storage.clear();
    std::string_view rest = line;
    while (true) {
        while (!rest.empty() && is_blank(rest.front())) {
            rest.remove_prefix(1);
        }
        if (rest.empty()) {
            return split_outcome::words;
        }
        if (words.size() == words_max) {
            return split_outcome::too_many_words;
        }
        const auto word = take_word(rest, storage, line.size());
        if (!word) {
            return split_outcome::unbalanced_quotes;
        }
        words.push_back(*word);
    }
}

}  // namespace lockkeeper::protocol
