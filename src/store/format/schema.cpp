#include "store/format/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "store/format/rows.h"

namespace tally::store {

const std::vector<TableText>& schema_tables() {
  static const std::vector<TableText> tables = [] {
    std::vector<TableText> all;
    AllRows::for_each(
        [&]<typename Row>(std::type_identity<Row>) { all.push_back(table_text<Row>()); });
    return all;
  }();
  return tables;
}

std::string schema_sql() {
  std::string sql;
  for (const TableText& table : schema_tables()) sql += create_sql(table);
  return sql + views_sql("CREATE VIEW");
}

std::string older_tables_sql(int64_t version) {
  std::string sql;
  for (const TableText& table : schema_tables()) sql += older_table_sql(table, version);
  return sql;
}

std::string temporary_views_sql() { return views_sql("CREATE TEMP VIEW"); }

// The views of a capture.

namespace {

// A view may use those before it.
struct View {
  const char* name;
  const char* select;
};
constexpr View kViews[] = {
    {"pass_name", R"sql(
SELECT pass.id AS pass,
       coalesce(nullif(render_pass.name, ''), nullif(framebuffer.name, ''), label.name, '') AS name
FROM pass
LEFT JOIN object AS render_pass ON render_pass.id = pass.render_pass
LEFT JOIN object AS framebuffer ON framebuffer.id = pass.framebuffer
LEFT JOIN label ON label.id = pass.label)sql"},
    {"frame_value", R"sql(
SELECT v.frame AS frame, v.first_counter + j.key AS counter, j.value AS value
FROM frame_values AS v JOIN json_each(v.value) AS j
WHERE j.value IS NOT NULL)sql"},
    // The commands of a batch, each with the JSON path of its values in a column of many.
    {"batch_command", R"sql(
WITH RECURSIVE element (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM element WHERE i < 1023)
SELECT id * 1024 + i AS command, id AS batch, coalesce(value_set, id) AS value_batch, i,
       '$[' || i || ']' AS path
FROM command_batch JOIN element ON i < size)sql"},
    {"command", R"sql(
SELECT e.command AS id, b.execution AS execution,
       CASE json_type(b.positions) WHEN 'array' THEN json_extract(b.positions, e.path)
                                   ELSE b.positions + e.i END AS position,
       b.function AS function,
       (SELECT json_group_object(key, CASE p.type WHEN 'array' THEN json_extract(p.value, e.path)
                                                  ELSE p.value END)
        FROM json_each(b.parameters) AS p) AS parameters,
       b.pipeline AS pipeline, b.pass AS pass, b.subpass AS subpass, b.counted AS counted,
       json_extract(b.labels, iif(json_type(b.labels) = 'array', e.path, '$')) AS label,
       json_extract(b.gpu_begin_ns, iif(json_type(b.gpu_begin_ns) = 'array', e.path, '$'))
         AS gpu_begin_ns,
       json_extract(b.gpu_time_ns, iif(json_type(b.gpu_time_ns) = 'array', e.path, '$'))
         AS gpu_time_ns
FROM batch_command AS e JOIN command_batch AS b ON b.id = e.batch)sql"},
    {"block_count", R"sql(
SELECT command, batch, value_batch, sub, stage, block, executions FROM (
  SELECT e.command AS command, e.batch AS batch, c.batch AS value_batch, c.sub AS sub, c.stage AS stage, c.block AS block,
         json_extract(c.executions, iif(json_type(c.executions) = 'array', e.path, '$'))
           AS executions
  FROM batch_count AS c JOIN batch_command AS e ON e.value_batch = c.batch)
WHERE executions <> 0)sql"},
    {"block_other", R"sql(
SELECT e.command AS command, e.batch AS batch, o.sub AS sub, o.stage AS stage, o.block AS block,
       o.metric AS metric,
       json_extract(o.value, iif(json_type(o.value) = 'array', e.path, '$')) AS value
FROM batch_other AS o JOIN batch_command AS e ON e.value_batch = o.batch)sql"},
    {"command_list", R"sql(
SELECT command.id AS command, frame.number AS frame, frame.id AS frame_id, frame.device AS device,
       submission.id AS submission, submission.number AS submission_number,
       execution.position AS execution_position, execution.id AS execution,
       command.position AS position, function.kind AS kind, function.name AS call,
       command.parameters AS parameters,
       command.pipeline AS pipeline, pipeline.hash AS pipeline_hash, pipeline.name AS pipeline_name,
       command.pass AS pass, pass_name.name AS pass_name, command.subpass AS subpass, command.label AS label,
       execution.runs AS runs, command.counted AS counted, command.gpu_time_ns AS gpu_time_ns
FROM command
JOIN execution ON execution.id = command.execution
JOIN submission ON submission.id = execution.submission
JOIN frame ON frame.id = submission.frame
JOIN function ON function.id = command.function
LEFT JOIN pipeline ON pipeline.id = command.pipeline
LEFT JOIN pass_name ON pass_name.pass = command.pass)sql"},
    // sub: null for the only shader of its stage, which has the values of every sub.
    {"batch_shader", R"sql(
SELECT command_batch.id AS batch, shader.stage AS stage, pipeline_shader.shader AS shader,
       CASE WHEN EXISTS (SELECT 1 FROM pipeline_shader AS other
                         JOIN shader AS same ON same.id = other.shader
                         WHERE other.pipeline = pipeline_shader.pipeline
                           AND other.position <> pipeline_shader.position
                           AND same.stage = shader.stage)
            THEN pipeline_shader.position END AS sub
FROM command_batch
JOIN pipeline_shader ON pipeline_shader.pipeline = command_batch.pipeline
JOIN shader ON shader.id = pipeline_shader.shader)sql"},
    {"block_metric", R"sql(
SELECT c.command AS command, c.sub AS sub, c.stage AS stage, c.block AS block,
       block_cost.metric AS metric, c.executions * block_cost.per_execution AS value
FROM block_count AS c
JOIN batch_shader ON batch_shader.batch = c.batch AND batch_shader.stage = c.stage
  AND coalesce(batch_shader.sub, c.sub) = c.sub
JOIN block_cost ON block_cost.shader = batch_shader.shader AND block_cost.block = c.block
WHERE NOT EXISTS (SELECT 1 FROM batch_other AS o
                  WHERE o.batch = c.value_batch AND o.sub = c.sub AND o.stage = c.stage
                    AND o.block = c.block AND o.metric = block_cost.metric)
UNION ALL
SELECT command, sub, stage, block, metric, value FROM block_other)sql"},
    {"command_metric", R"sql(
SELECT command, sub, stage, metric, sum(value) AS value FROM block_metric
GROUP BY command, sub, stage, metric)sql"},
    {"label_path", R"sql(
WITH RECURSIVE path (id, path) AS (
  SELECT id, name FROM label WHERE parent IS NULL
  UNION ALL
  SELECT label.id, path.path || ' / ' || label.name FROM label JOIN path ON label.parent = path.id
)
SELECT id, path FROM path)sql"},
    // The common questions, with names in place of keys.
    {"shader_name", R"sql(
SELECT shader.id AS shader,
       coalesce(nullif(module.name, ''), substr(module.hash, 1, 8), '(unknown)') AS name,
       CASE shader.stage WHEN 1 THEN 'vertex' WHEN 2 THEN 'tessellation control'
         WHEN 4 THEN 'tessellation evaluation' WHEN 8 THEN 'geometry' WHEN 16 THEN 'fragment'
         WHEN 32 THEN 'compute' WHEN 64 THEN 'task' WHEN 128 THEN 'mesh' ELSE 'ray tracing' END
         AS stage,
       shader.entry_point AS entry_point
FROM shader LEFT JOIN module ON module.id = shader.module)sql"},
    {"draw_total", R"sql(
SELECT l.command AS command, l.frame AS frame, l.position AS position, l.kind AS kind,
       l.call AS call, l.parameters AS parameters, l.pass_name AS pass,
       coalesce(nullif(l.pipeline_name, ''), substr(l.pipeline_hash, 1, 8)) AS pipeline,
       label_path.path AS label, l.gpu_time_ns AS gpu_time_ns,
       metric.name AS metric, sum(m.value) AS value
FROM command_list AS l
JOIN command_metric AS m ON m.command = l.command
JOIN metric ON metric.id = m.metric
LEFT JOIN label_path ON label_path.id = l.label
GROUP BY l.command, m.metric)sql"},
    {"pass_total", R"sql(
SELECT l.frame AS frame, l.pass AS pass, l.pass_name AS name, metric.name AS metric,
       sum(m.value) AS value, pass.gpu_time_ns AS gpu_time_ns
FROM command_list AS l
JOIN command_metric AS m ON m.command = l.command
JOIN metric ON metric.id = m.metric
LEFT JOIN pass ON pass.id = l.pass
GROUP BY l.frame_id, l.pass, m.metric)sql"},
    {"frame_total", R"sql(
SELECT l.frame AS frame, l.device AS device, metric.name AS metric, sum(m.value) AS value
FROM command_list AS l
JOIN command_metric AS m ON m.command = l.command
JOIN metric ON metric.id = m.metric
GROUP BY l.frame_id, m.metric)sql"},
    {"shader_total", R"sql(
SELECT n.shader AS shader, n.name AS name, n.stage AS stage, n.entry_point AS entry_point,
       metric.name AS metric, sum(m.value) AS value
FROM block_metric AS m
JOIN batch_shader AS s ON s.batch = m.command / 1024 AND s.stage = m.stage
  AND coalesce(s.sub, m.sub) = m.sub
JOIN shader_name AS n ON n.shader = s.shader
JOIN metric ON metric.id = m.metric
GROUP BY n.shader, m.metric)sql"},
    {"block_total", R"sql(
SELECT n.shader AS shader, n.name AS name, n.stage AS stage, c.block AS block,
       sum(c.executions) AS executions
FROM block_count AS c
JOIN batch_shader AS s ON s.batch = c.batch AND s.stage = c.stage
  AND coalesce(s.sub, c.sub) = c.sub
JOIN shader_name AS n ON n.shader = s.shader
GROUP BY n.shader, c.block)sql"},
};

}  // namespace

std::string views_sql(const char* create) {
  std::string sql;
  for (const View& view : kViews) {
    sql += fmt::format("{} {} AS{};\n", create, view.name, view.select);
  }
  return sql;
}

namespace {

constexpr std::pair<Section, std::string_view> kSections[] = {
    {Section::Definitions, "<!-- tables: definitions -->\n"},
    {Section::Events, "<!-- tables: events -->\n"},
    {Section::Values, "<!-- tables: values -->\n"},
    {Section::Regions, "<!-- tables: regions -->\n"},
};
constexpr std::string_view kEnd = "<!-- end of tables -->\n";

// "ending TEXT: `closed` ..."
std::string describe(const ColumnText& column) {
  std::vector<std::string> notes;
  if (column.target && std::string_view(column.target) != column.name) {
    notes.push_back(fmt::format("-> {}", column.target));
  }
  if (!column.enumerators.empty()) {
    notes.push_back(fmt::format("{}", fmt::join(column.enumerators, " \\| ")));
  }
  if (*column.meaning) notes.emplace_back(column.meaning);
  return notes.empty() ? fmt::format("`{}`", column.name)
                       : fmt::format("`{}` ({})", column.name, fmt::join(notes, "; "));
}

std::string tables_of(Section section) {
  std::string text = "| table | a row is | columns |\n| --- | --- | --- |\n";
  for (const TableText& table : schema_tables()) {
    if (table.section != section) continue;
    std::vector<std::string> columns;
    for (const ColumnText& column : table.columns) {
      if (!column.is_id) columns.push_back(describe(column));
    }
    text +=
        fmt::format("| `{}` | {} | {} |\n", table.name, table.meaning, fmt::join(columns, "; "));
  }
  return text;
}

}  // namespace

std::string document_tables(std::string_view page) {
  std::string text(page);
  for (const auto& [section, marker] : kSections) {
    const size_t found = text.find(marker);
    if (found == text.npos) continue;
    const size_t begin = found + marker.size();
    const size_t end = text.find(kEnd, begin);
    if (end != text.npos) text.replace(begin, end - begin, tables_of(section));
  }
  return text;
}

namespace {

constexpr int64_t kMaxPosition = int64_t{1} << 48;

bool are_consecutive(const std::vector<int64_t>& values) {
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] != values[0] + static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

std::string strings_to_json(const std::vector<std::string>& texts) {
  return nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> strings_from_json(std::string_view json) {
  std::vector<std::string> texts;
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_array()) return texts;
  for (const auto& item : parsed) {
    if (item.is_string()) texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::string specialization_to_json(const Specialization& constants) {
  std::string json = "{";
  for (const SpecializationConstant& constant : constants) {
    json += fmt::format("{}\"{}\":\"0x{:0{}x}\"", json.size() > 1 ? "," : "", constant.id,
                        constant.bits, 2 * constant.size);
  }
  return json + "}";
}

Specialization specialization_from_json(std::string_view json) {
  Specialization constants;
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return constants;
  const auto read = [](std::string_view digits, int base, auto& number) {
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
    return result.ec == std::errc{} && result.ptr == digits.data() + digits.size();
  };
  for (const auto& [id, value] : parsed.items()) {
    if (!value.is_string()) continue;
    const std::string_view text = value.get_ref<const std::string&>();
    SpecializationConstant constant;
    if (!text.starts_with("0x") || text.size() % 2 != 0 ||
        !read(text.substr(2), 16, constant.bits) || !read(id, 10, constant.id)) {
      continue;
    }
    constant.size = static_cast<uint32_t>(text.size() - 2) / 2;
    constants.push_back(constant);
  }
  make_valid(constants);
  return constants;
}

std::string positions_to_json(const Column& positions) {
  return to_json(are_consecutive(positions.values) ? Column{{positions.at(0)}} : positions);
}

std::string list_to_json(const Column& list) {
  return list.values.size() == 1 ? fmt::format("[{}]", to_json(list)) : to_json(list);
}

std::string parameters_to_json(const Parameters& parameters) {
  std::string json = "{";
  for (const CommandBatchRow::Parameter& parameter : parameters) {
    json += fmt::format("{}\"{}\":{}", json.size() > 1 ? "," : "", parameter.name,
                        to_json(parameter.values));
  }
  return json + "}";
}

bool read_column(std::string_view json, size_t commands, Column& column) {
  std::optional<Column> read = column_from_json(json, commands);
  if (read) column = std::move(*read);
  return read.has_value();
}

bool read_positions(std::string_view json, size_t commands, Column& positions) {
  if (!read_column(json, commands, positions) || positions.values.empty()) return false;
  if (positions.values.size() == commands) return true;
  const int64_t first = positions.values.front();
  if (first < 0 || first > kMaxPosition) return false;
  for (size_t i = 1; i < commands; ++i) {
    positions.values.push_back(first + static_cast<int64_t>(i));
  }
  return true;
}

bool read_list(std::string_view json, Column& list) {
  if (!json.starts_with('[')) return false;
  return read_column(json, 1 + static_cast<size_t>(std::ranges::count(json, ',')), list);
}

// {"name":column,...}, exactly as parameters_to_json() writes it.
bool read_parameters(std::string_view json, size_t commands, Parameters& parameters) {
  parameters.clear();
  if (json == "{}") return true;
  for (char before = '{'; json.starts_with(before); before = ',') {
    const size_t colon = json.find("\":");
    if (!json.substr(1).starts_with('"') || colon == json.npos) return false;
    CommandBatchRow::Parameter& parameter = parameters.emplace_back();
    parameter.name = json.substr(2, colon - 2);
    json.remove_prefix(colon + 2);
    const size_t end = json.find_first_of(json.starts_with('[') ? "]" : ",}");
    if (end == json.npos) return false;
    const size_t size = end + (json.starts_with('[') ? 1 : 0);
    if (!read_column(json.substr(0, size), commands, parameter.values)) return false;
    json.remove_prefix(size);
  }
  return json == "}";
}

namespace {

std::string column_sql(const ColumnText& column) {
  std::string sql = fmt::format("{} {}", column.name, column.type);
  if (column.is_id) {
    sql += " PRIMARY KEY";
  } else if (!column.nullable) {
    sql += " NOT NULL";
  }
  if (column.target) sql += fmt::format(" REFERENCES {}", column.target);
  if (column.constraint) sql += fmt::format(" {}", column.constraint);
  if (!column.enumerators.empty()) {
    sql += fmt::format(" CHECK ({} IN ('{}'))", column.name, fmt::join(column.enumerators, "', '"));
  }
  return sql;
}

const char* insert_verb(Conflict conflict) {
  switch (conflict) {
    case Conflict::Fail:
      return "INSERT";
    case Conflict::Ignore:
      return "INSERT OR IGNORE";
    case Conflict::Replace:
      return "INSERT OR REPLACE";
  }
  return "INSERT";
}

}  // namespace

std::string create_sql(const TableText& table) {
  std::vector<std::string> lines;
  for (const ColumnText& column : table.columns) lines.push_back(column_sql(column));
  if (table.constraint) lines.emplace_back(table.constraint);
  std::string sql =
      fmt::format("CREATE TABLE {} (\n  {}\n) STRICT{};\n", table.name, fmt::join(lines, ",\n  "),
                  table.has_rowid ? "" : ", WITHOUT ROWID");
  if (table.index) sql += fmt::format("{};\n", table.index);
  return sql;
}

std::string older_table_sql(const TableText& table, int64_t version) {
  const bool has_table = table.first_version <= version;
  std::vector<std::string> columns;
  bool has_columns = true;
  for (const ColumnText& column : table.columns) {
    const bool has_column = has_table && column.first_version <= version;
    has_columns &= has_column;
    columns.push_back(has_column ? std::string(column.name)
                                 : fmt::format("{} AS {}", column.older_value, column.name));
  }
  if (has_columns) return {};
  return fmt::format("CREATE TEMP VIEW {} AS SELECT {}{};\n", table.name, fmt::join(columns, ", "),
                     has_table ? fmt::format(" FROM main.{}", table.name) : " WHERE 0");
}

std::string insert_sql(const TableText& table, size_t rows) {
  std::vector<const char*> values;
  for (const ColumnText& column : table.columns) values.push_back(column.is_id ? "NULL" : "?");
  const std::vector<std::string> all(rows, fmt::format("({})", fmt::join(values, ", ")));
  return fmt::format("{} INTO {} VALUES {}", insert_verb(table.conflict), table.name,
                     fmt::join(all, ", "));
}

}  // namespace tally::store
