#include "config/nearest.hh"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lockkeeper::config {

namespace {

/// How many letters were added, dropped, replaced or swapped with their neighbour. Three rows of
/// the usual table are enough; a swap looks two rows back.
size_t edits_between(std::string_view left, std::string_view right) {
    const size_t width = right.size() + 1;
    std::vector<size_t> before(width);
    std::vector<size_t> above(width);
    std::vector<size_t> row(width);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= left.size(); ++i) {
        std::swap(before, above);
        std::swap(above, row);
        row[0] = i;
        for (size_t j = 1; j < width; ++j) {
            const size_t replaced = above[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
    }
    return row.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
    // A third of the word may be wrong; beyond that a guess misleads more than it helps.
    size_t best_edits = std::max<size_t>(1, word.size() / 3) + 1;
    std::string_view best;
    for (const std::string_view candidate : candidates) {
        const size_t edits = edits_between(word, candidate);
        if (edits < best_edits) {
            best_edits = edits;
            best = candidate;
        }
    }
    return best;
}

}  // namespace lockkeeper::config
