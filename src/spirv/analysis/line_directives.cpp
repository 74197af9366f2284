#include "spirv/analysis/line_directives.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tally::spirv {
namespace {

// Empty lines that numbers may add to the texts of a module.
constexpr uint64_t kMaxAddedLines = 2 * uint64_t{kMaxNumberedLine};
// Where a line may be, if directives depend on conditions.
constexpr size_t kMaxPositions = 8;
constexpr uint32_t kOtherFile = ~0u;

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\v\f");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\v\f") - first + 1);
}

// Calls `visit(line)` for each line, without its end.
template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// True if the compiler may have made code of the line.
bool may_have_code(std::string_view line) {
  line = trimmed(line);
  return !line.empty() && !line.starts_with('#') && !line.starts_with("//");
}

// The text after the `#` of a directive; empty if the line is not a directive.
std::string_view after_hash(std::string_view line) {
  line = trimmed(line);
  return line.starts_with('#') ? trimmed(line.substr(1)) : std::string_view();
}

// `#line 5 "a"`, or `# 5 "a"` as preprocessors write it.
bool is_line_directive(std::string_view words) {
  if (words.empty()) return false;
  if (words[0] >= '0' && words[0] <= '9') return true;
  return words.starts_with("line") && (words.size() == 4 || words[4] == ' ' || words[4] == '\t');
}

bool has_line_directive(std::string_view text) {
  bool found = false;
  for_each_line(text, [&](std::string_view line) {
    found =
        found || (line.find('#') != std::string_view::npos && is_line_directive(after_hash(line)));
  });
  return found;
}

size_t line_count(std::string_view text) {
  const auto ends = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  return ends + (!text.empty() && text.back() != '\n');
}

struct LineDirective {
  uint64_t line = 0;
  enum class Name { Same, Given, Number } kind = Name::Same;
  std::string name;
};

// The text after `#` or `#line`.
std::optional<LineDirective> parse_numbers(std::string_view rest) {
  LineDirective directive;
  rest = trimmed(rest);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), directive.line);
  if (error != std::errc()) return std::nullopt;
  rest = trimmed(rest.substr(static_cast<size_t>(end - rest.data())));
  if (rest.empty() || rest.starts_with("//")) return directive;
  if (rest.starts_with('"')) {
    const size_t close = rest.find('"', 1);
    if (close == std::string_view::npos) return std::nullopt;
    directive.kind = LineDirective::Name::Given;
    directive.name = rest.substr(1, close - 1);
    if (directive.name.starts_with("./")) directive.name.erase(0, 2);
    return directive;
  }
  const bool is_number = rest.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) return std::nullopt;
  directive.kind = LineDirective::Name::Number;
  return directive;
}

// "C:\\dir\\a.hlsl" as compilers of C's family read it.
std::string without_escapes(std::string_view name) {
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '\\' && i + 1 < name.size()) ++i;
    result += name[i];
  }
  return result;
}

// Assigns the lines of all texts to files and numbers.
class LineNumbers {
 public:
  explicit LineNumbers(std::vector<SourceFile>& files) : files_(files), lines_(files.size()) {
    for (uint32_t f = 0; f < files.size(); ++f) names_.emplace(files[f].name, f);
  }

  void read(uint32_t file) {
    own_ = file;
    positions_ = {{file, 1}};
    depth_ = 0;
    in_comment_ = false;
    is_readable_ = true;
    found_.clear();
    for_each_line(files_[file].text, [this](std::string_view line) {
      if (is_readable_) read_line(line);
    });
    if (!is_readable_) return;
    for (const auto& [position, text] : found_) note(position, text);
  }

  // The texts as they are now numbered.
  void write(const std::vector<std::vector<uint32_t>>& code) {
    uint64_t left = kMaxAddedLines;
    std::vector<std::string> texts(files_.size());
    for (size_t f = 0; f < files_.size(); ++f) {
      if (!lines_[f].empty()) texts[f] = text_of(lines_[f], code[f], left);
    }
    for (size_t f = 0; f < files_.size(); ++f) files_[f].text = std::move(texts[f]);
  }

 private:
  struct Position {
    uint32_t file;
    uint64_t line;
    bool operator==(const Position&) const = default;
  };
  struct Line {
    std::string_view text;
    bool is_ambiguous = false;
  };
  using Lines = std::map<uint32_t, Line>;

  void read_line(std::string_view line) {
    const std::vector<Position> next = in_comment_ ? std::vector<Position>() : directive(line);
    for (Position& position : positions_) {
      if (next.empty() || position.file == own_) found_.emplace_back(position, line);
      ++position.line;
    }
    if (!next.empty() && depth_ == 0) positions_.clear();
    for (const Position& position : next) {
      if (std::ranges::find(positions_, position) == positions_.end())
        positions_.push_back(position);
    }
    if (positions_.size() > kMaxPositions) is_readable_ = false;
    skip_comments(line);
  }

  void note(const Position& position, std::string_view text) {
    const auto& [file, number] = position;
    if (file == kOtherFile || number == 0 || number > kMaxNumberedLine) return;
    if (text.ends_with('\r')) text.remove_suffix(1);
    const auto [known, is_new] =
        lines_[file].try_emplace(static_cast<uint32_t>(number), Line{text});
    Line& line = known->second;
    if (is_new || line.text == text || !may_have_code(text)) return;
    if (may_have_code(line.text)) {
      line.is_ambiguous = true;
    } else {
      line.text = text;
    }
  }

  // Where the next line is, if the line is a #line. Follows conditions.
  std::vector<Position> directive(std::string_view line) {
    const std::string_view words = after_hash(line);
    if (words.starts_with("if")) ++depth_;
    if (words.starts_with("endif") && depth_ > 0) --depth_;
    if (!is_line_directive(words)) return {};
    const auto parsed = parse_numbers(words.starts_with("line") ? words.substr(4) : words);
    if (!parsed) is_readable_ = false;
    return parsed ? positions_after(*parsed) : std::vector<Position>();
  }

  std::vector<Position> positions_after(const LineDirective& directive) const {
    std::vector<Position> next;
    if (directive.kind == LineDirective::Name::Given) {
      next.push_back({file_named(directive.name), directive.line});
      return next;
    }
    for (const Position& position : positions_) next.push_back({position.file, directive.line});
    if (directive.kind == LineDirective::Name::Number) next.push_back({own_, directive.line});
    return next;
  }

  uint32_t file_named(const std::string& name) const {
    auto found = names_.find(name);
    if (found == names_.end()) found = names_.find(without_escapes(name));
    return found == names_.end() ? kOtherFile : found->second;
  }

  void skip_comments(std::string_view line) {
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string_view two = line.substr(i, 2);
      if (in_comment_ && two == "*/")
        in_comment_ = false, ++i;
      else if (!in_comment_ && two == "//")
        return;
      else if (!in_comment_ && two == "/*")
        in_comment_ = true, ++i;
    }
  }

  static std::string text_of(const Lines& lines, const std::vector<uint32_t>& code,
                             uint64_t& left) {
    std::string text;
    uint32_t last = 0;
    const auto add = [&](uint32_t number, std::string_view line) {
      const uint64_t added = number - last - 1;
      if (added > left) return;
      left -= added;
      text.append(added, '\n');
      text += line;
      text += '\n';
      last = number;
    };
    auto at = code.begin();
    const auto add_code_before = [&](uint32_t number) {
      for (; at != code.end() && *at < number; ++at) add(*at, kNoText);
    };
    for (const auto& [number, line] : lines) {
      add_code_before(number);
      const bool has_code = at != code.end() && *at == number;
      add(number, line.is_ambiguous ? has_code ? kNoText : std::string_view() : line.text);
      if (has_code) ++at;
    }
    add_code_before(kMaxNumberedLine + 1);
    return text;
  }

  std::vector<SourceFile>& files_;
  std::unordered_map<std::string, uint32_t> names_;
  std::vector<Lines> lines_;  // by file
  std::vector<std::pair<Position, std::string_view>> found_;
  // State of the text that is being read.
  uint32_t own_ = 0;
  std::vector<Position> positions_;  // of the next line
  int depth_ = 0;                    // of conditions
  bool in_comment_ = false, is_readable_ = true;
};

}  // namespace

void number_lines(std::vector<SourceFile>& files, std::span<const SourceLocation> code) {
  std::vector<std::vector<uint32_t>> lines(files.size());  // with code, by file
  for (const SourceLocation& location : code) {
    if (location.file < lines.size()) lines[location.file].push_back(location.line);
  }
  bool is_numbered = true;
  for (size_t f = 0; f < files.size(); ++f) {
    std::ranges::sort(lines[f]);
    lines[f].erase(std::unique(lines[f].begin(), lines[f].end()), lines[f].end());
    const std::string& text = files[f].text;
    const bool is_beyond = !text.empty() && !lines[f].empty() && lines[f].back() > line_count(text);
    is_numbered = is_numbered && !is_beyond && !has_line_directive(text);
  }
  if (is_numbered) return;
  LineNumbers numbers(files);
  for (uint32_t f = 0; f < files.size(); ++f) {
    if (!files[f].text.empty()) numbers.read(f);
  }
  numbers.write(lines);
}

}  // namespace tally::spirv
