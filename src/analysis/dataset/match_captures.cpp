#include "analysis/dataset/match_captures.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/diff/code_alignment.h"
#include "analysis/diff/matching.h"

namespace tally::analysis {
namespace {

// Indexed by item: its number, which a matched item of the other profile has as well.
struct Numbers {
  std::vector<uint32_t> now, old;
};

Numbers number_items(const Matching& matching, size_t now, size_t old) {
  Numbers numbers{std::vector<uint32_t>(now, kNone), std::vector<uint32_t>(old, kNone)};
  uint32_t next = 0;
  for (const ItemMatch& pair : matching.pairs)
    numbers.old[pair.before] = numbers.now[pair.after] = next++;
  for (auto* list : {&numbers.now, &numbers.old}) {
    for (uint32_t& number : *list)
      if (number == kNone) number = next++;
  }
  return numbers;
}

void add_column(DataCapture& capture, std::string_view table, const std::vector<uint32_t>& match) {
  const auto found =
      std::ranges::find_if(capture.tables, [&](const DataTable& t) { return t.name() == table; });
  if (found == capture.tables.end()) return;
  DataColumn& column = found->add("match", DataColumn::Kind::Index);
  for (const uint32_t number : match) column.push_index(number);
}

// `row_items`: by row, its item.
std::vector<uint32_t> numbers_of_rows(const std::vector<uint32_t>& numbers,
                                      const std::vector<uint32_t>& row_items) {
  std::vector<uint32_t> result;
  for (const uint32_t item : row_items) result.push_back(item == kNone ? kNone : numbers[item]);
  return result;
}

std::vector<uint32_t> items_of(const std::vector<uint32_t>& rows,
                               const std::vector<uint32_t>& items) {
  std::vector<uint32_t> result;
  for (const uint32_t row : rows) result.push_back(row == kNone ? kNone : items[row]);
  return result;
}

class CodeMatch {
 public:
  CodeMatch(const CaptureToMatch& now, const CaptureToMatch& old) : now_(now), old_(old) {
    now_items_ = items_of(now.rows.shaders, now.profile.index.shaders);
    old_items_ = items_of(old.rows.shaders, old.profile.index.shaders);
  }

  void run() {
    const Matching matching = match_shaders(old_.profile.shaders, now_.profile.shaders);
    const Numbers numbers =
        number_items(matching, now_.profile.shaders.size(), old_.profile.shaders.size());
    now_numbers_ = numbers_of_rows(numbers.now, now_items_);
    old_numbers_ = numbers_of_rows(numbers.old, old_items_);
    add_column(now_.capture, "shaders", now_numbers_);
    add_column(old_.capture, "shaders", old_numbers_);
    for (const ItemMatch& pair : matching.pairs) {
      alignments_.emplace(pair.before, CodeAlignment(old_.profile.shaders[pair.before],
                                                     now_.profile.shaders[pair.after]));
    }
    match_lines();
    match_functions();
  }

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, bool>;  // shader, file, line; only old

  // Lines have the place that they have in the new version.
  void match_lines() {
    std::map<Key, uint32_t> number_of;
    const auto number = [&](uint32_t shader, CodeAlignment::Place place, bool only_old) {
      if (shader == kNone) return kNone;
      return number_of
          .try_emplace({shader, place.first, place.second, only_old},
                       static_cast<uint32_t>(number_of.size()))
          .first->second;
    };
    std::vector<uint32_t> now, old;
    for (const CaptureCode::Place& line : now_.rows.lines)
      now.push_back(number(now_numbers_[line.shader], {line.file, line.line}, false));
    for (const CaptureCode::Place& line : old_.rows.lines) {
      const CodeAlignment::Place place{line.file, line.line};
      const auto alignment = alignments_.find(old_items_[line.shader]);
      const auto aligned =
          alignment == alignments_.end() ? std::nullopt : alignment->second.after_of(place);
      old.push_back(aligned ? number(old_numbers_[line.shader], aligned->after, false)
                            : number(old_numbers_[line.shader], place, true));
    }
    add_column(now_.capture, "lines", now);
    add_column(old_.capture, "lines", old);
  }

  // Matches items by their names.
  void match_functions() {
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> number_of;  // by shader and name
    for (const auto& [side, numbers] :
         {std::pair(&now_, &now_numbers_), std::pair(&old_, &old_numbers_)}) {
      std::vector<uint32_t> match;
      const DataTable& functions = *side->capture.find("functions");
      const DataColumn& shader = *functions.find("shader");
      const DataColumn& name = *functions.find("name");
      for (size_t row = 0; row < functions.rows(); ++row) {
        const uint32_t of = (*numbers)[shader.at(row)];
        const auto next = static_cast<uint32_t>(number_of.size());
        match.push_back(
            of == kNone ? kNone : number_of.try_emplace({of, name.at(row)}, next).first->second);
      }
      add_column(side->capture, "functions", match);
    }
  }

  const CaptureToMatch& now_;
  const CaptureToMatch& old_;
  std::vector<uint32_t> now_items_, old_items_;      // by row of a shader
  std::vector<uint32_t> now_numbers_, old_numbers_;  // by row of a shader
  std::map<uint32_t, CodeAlignment> alignments_;     // by item of the old profile
};

void match_list(std::string_view table, const std::vector<Item>& now, const std::vector<Item>& old,
                const std::vector<uint32_t>& now_items, const std::vector<uint32_t>& old_items,
                DataCapture& now_capture, DataCapture& old_capture) {
  const Numbers numbers = number_items(match_items(old, now), now.size(), old.size());
  add_column(now_capture, table, numbers_of_rows(numbers.now, now_items));
  add_column(old_capture, table, numbers_of_rows(numbers.old, old_items));
}

// In both captures or in none: only then are equal numbers the same thing.
void match_commands(const CaptureToMatch& now, const CaptureToMatch& old) {
  if (now.rows.commands.empty() || old.rows.commands.empty()) return;
  match_list("commands", now.profile.commands, old.profile.commands,
             items_of(now.rows.commands, now.profile.index.commands),
             items_of(old.rows.commands, old.profile.index.commands), now.capture, old.capture);
}

}  // namespace

void match_captures(const CaptureToMatch& now, const CaptureToMatch& old) {
  CodeMatch(now, old).run();
  match_list("pipelines", now.profile.pipelines, old.profile.pipelines,
             items_of(now.rows.pipelines, now.profile.index.pipelines),
             items_of(old.rows.pipelines, old.profile.index.pipelines), now.capture, old.capture);
  match_list("merged_passes", now.profile.passes, old.profile.passes, now.profile.index.passes,
             old.profile.index.passes, now.capture, old.capture);
  match_commands(now, old);
}

}  // namespace tally::analysis
