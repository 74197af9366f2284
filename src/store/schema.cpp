#include "store/schema.h"

#include <fmt/format.h>

namespace tally::store {
namespace {

constexpr const char* kTables[] = {
    "capture",       "process",       "device",       "queue",         "metric",
    "device_metric", "module",        "shader",       "pipeline",      "pipeline_shader",
    "object",        "label",         "function",     "frame",         "frame_counter",
    "frame_value",   "submission",    "execution",    "pass",          "region_counter",
    "pass_regions",  "region_values", "pass_picture", "command_batch", "block_cost",
    "batch_count",   "batch_other",   "message"};

constexpr const char* kTableStatements = R"sql(
CREATE TABLE capture (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  tool_version TEXT NOT NULL,
  command_line TEXT NOT NULL,
  working_directory TEXT NOT NULL,
  start_unix_ns INTEGER NOT NULL,
  start_monotonic_ns INTEGER NOT NULL,
  end_monotonic_ns INTEGER,
  exit_status INTEGER,
  frame_range TEXT NOT NULL,
  shader_pattern TEXT NOT NULL
) STRICT;

CREATE TABLE process (
  id INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  parent_pid INTEGER NOT NULL,
  executable TEXT NOT NULL,
  command_line TEXT NOT NULL,
  application TEXT NOT NULL,
  engine TEXT NOT NULL,
  start_ns INTEGER NOT NULL,
  end_ns INTEGER,
  ending TEXT NOT NULL CHECK (ending IN ('running', 'closed', 'cut off', 'refused')),
  commands_missing INTEGER
) STRICT;

CREATE TABLE device (
  id INTEGER PRIMARY KEY,
  process INTEGER NOT NULL REFERENCES process,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  vendor_id INTEGER NOT NULL,
  device_id INTEGER NOT NULL,
  api_version INTEGER NOT NULL,
  driver_name TEXT NOT NULL,
  driver_info TEXT NOT NULL,
  driver_version INTEGER NOT NULL,
  uuid TEXT NOT NULL,
  timestamp_period_ns REAL NOT NULL,
  per_block INTEGER NOT NULL,
  not_captured TEXT NOT NULL
) STRICT;

CREATE TABLE queue (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES device,
  family INTEGER NOT NULL,
  position INTEGER NOT NULL,
  flags INTEGER NOT NULL,
  timestamp_bits INTEGER NOT NULL,
  name TEXT NOT NULL
) STRICT;

CREATE TABLE metric (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  UNIQUE (name, description)
) STRICT;

CREATE TABLE device_metric (
  device INTEGER NOT NULL REFERENCES device,
  position INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric,
  PRIMARY KEY (device, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE module (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  spirv BLOB NOT NULL
) STRICT;

CREATE TABLE shader (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES device,
  module INTEGER REFERENCES module,
  stage INTEGER NOT NULL,
  entry_point TEXT NOT NULL,
  not_instrumented TEXT NOT NULL
) STRICT;

CREATE TABLE pipeline (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES device,
  hash TEXT NOT NULL,
  bind_point TEXT NOT NULL,
  name TEXT NOT NULL,
  not_instrumented TEXT NOT NULL
) STRICT;

CREATE TABLE pipeline_shader (
  pipeline INTEGER NOT NULL REFERENCES pipeline,
  position INTEGER NOT NULL,
  shader INTEGER NOT NULL REFERENCES shader,
  PRIMARY KEY (pipeline, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE object (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES device,
  type TEXT NOT NULL,
  handle INTEGER NOT NULL,
  name TEXT NOT NULL
) STRICT;

CREATE TABLE label (
  id INTEGER PRIMARY KEY,
  parent INTEGER REFERENCES label,
  name TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX label_by_parent ON label (ifnull(parent, 0), name);

CREATE TABLE function (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('draw', 'dispatch', 'trace rays', 'generated')),
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE frame (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES device,
  number INTEGER NOT NULL,
  ended_by TEXT NOT NULL CHECK (ended_by IN ('present', 'submit', 'open')),
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER,
  commands_missing INTEGER NOT NULL,
  UNIQUE (device, number)
) STRICT;

CREATE TABLE frame_counter (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES device,
  group_name TEXT NOT NULL,
  name TEXT NOT NULL,
  unit TEXT NOT NULL,
  denominator INTEGER NOT NULL,
  is_level INTEGER NOT NULL
) STRICT;

CREATE TABLE frame_value (
  frame INTEGER NOT NULL REFERENCES frame,
  counter INTEGER NOT NULL REFERENCES frame_counter,
  value INTEGER NOT NULL,
  PRIMARY KEY (frame, counter)
) STRICT, WITHOUT ROWID;

CREATE TABLE submission (
  id INTEGER PRIMARY KEY,
  frame INTEGER NOT NULL REFERENCES frame,
  queue INTEGER NOT NULL REFERENCES queue,
  number INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  label INTEGER REFERENCES label
) STRICT;
CREATE INDEX submission_by_frame ON submission (frame);

CREATE TABLE execution (
  id INTEGER PRIMARY KEY,
  submission INTEGER NOT NULL REFERENCES submission,
  position INTEGER NOT NULL,
  parent INTEGER REFERENCES execution,
  parent_command INTEGER,
  command_buffer INTEGER NOT NULL REFERENCES object,
  recording INTEGER NOT NULL,
  runs INTEGER NOT NULL,
  overlapped INTEGER NOT NULL
) STRICT;
CREATE INDEX execution_by_submission ON execution (submission);

CREATE TABLE pass (
  id INTEGER PRIMARY KEY,
  execution INTEGER NOT NULL REFERENCES execution,
  position INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('render pass', 'rendering')),
  render_pass INTEGER REFERENCES object,
  framebuffer INTEGER REFERENCES object,
  width INTEGER NOT NULL,
  height INTEGER NOT NULL,
  layers INTEGER NOT NULL,
  view_mask INTEGER NOT NULL,
  attachments TEXT NOT NULL,
  label INTEGER REFERENCES label,
  gpu_begin_ns INTEGER,
  gpu_time_ns INTEGER
) STRICT;
CREATE INDEX pass_by_execution ON pass (execution);

CREATE TABLE region_counter (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE pass_regions (
  id INTEGER PRIMARY KEY,
  pass INTEGER NOT NULL REFERENCES pass,
  subpass INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  x INTEGER NOT NULL,
  y INTEGER NOT NULL,
  width INTEGER NOT NULL,
  height INTEGER NOT NULL,
  region_width INTEGER NOT NULL,
  region_height INTEGER NOT NULL
) STRICT;
CREATE INDEX pass_regions_by_pass ON pass_regions (pass);

CREATE TABLE region_values (
  regions INTEGER NOT NULL REFERENCES pass_regions,
  counter INTEGER NOT NULL REFERENCES region_counter,
  total INTEGER NOT NULL,
  by_region BLOB NOT NULL,
  PRIMARY KEY (regions, counter)
) STRICT;

CREATE TABLE pass_picture (
  pass INTEGER NOT NULL REFERENCES pass,
  layer INTEGER NOT NULL,
  attachment INTEGER NOT NULL,
  width INTEGER NOT NULL,
  height INTEGER NOT NULL,
  png BLOB NOT NULL,
  PRIMARY KEY (pass, layer)
) STRICT;

CREATE TABLE command_batch (
  id INTEGER PRIMARY KEY,
  execution INTEGER NOT NULL REFERENCES execution,
  size INTEGER NOT NULL CHECK (size BETWEEN 1 AND 1024),
  function INTEGER NOT NULL REFERENCES function,
  pipeline INTEGER REFERENCES pipeline,
  pass INTEGER REFERENCES pass,
  subpass INTEGER NOT NULL,
  counted INTEGER NOT NULL,
  positions TEXT NOT NULL,
  labels TEXT NOT NULL,
  parameters TEXT NOT NULL,
  gpu_begin_ns TEXT NOT NULL,
  gpu_time_ns TEXT NOT NULL
) STRICT;

CREATE TABLE block_cost (
  shader INTEGER NOT NULL REFERENCES shader,
  block INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric,
  per_execution INTEGER NOT NULL,
  PRIMARY KEY (shader, block, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch_count (
  batch INTEGER NOT NULL REFERENCES command_batch,
  sub INTEGER NOT NULL,
  stage INTEGER NOT NULL,
  block INTEGER NOT NULL,
  executions TEXT NOT NULL,
  PRIMARY KEY (batch, sub, stage, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch_other (
  batch INTEGER NOT NULL REFERENCES command_batch,
  sub INTEGER NOT NULL,
  stage INTEGER NOT NULL,
  block INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric,
  value TEXT NOT NULL,
  PRIMARY KEY (batch, sub, stage, block, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE message (
  id INTEGER PRIMARY KEY,
  process INTEGER REFERENCES process,
  time_ns INTEGER NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
  text TEXT NOT NULL,
  count INTEGER NOT NULL
) STRICT;
)sql";

// What the views say; each may use those before it.
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
    // The commands of a batch, each with the JSON path of its values in a column of many.
    {"batch_command", R"sql(
WITH RECURSIVE element (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM element WHERE i < 1023)
SELECT id * 1024 + i AS command, id AS batch, i, '$[' || i || ']' AS path
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
SELECT command, batch, sub, stage, block, executions FROM (
  SELECT e.command AS command, c.batch AS batch, c.sub AS sub, c.stage AS stage, c.block AS block,
         json_extract(c.executions, iif(json_type(c.executions) = 'array', e.path, '$'))
           AS executions
  FROM batch_count AS c JOIN batch_command AS e ON e.batch = c.batch)
WHERE executions <> 0)sql"},
    {"block_other", R"sql(
SELECT e.command AS command, o.batch AS batch, o.sub AS sub, o.stage AS stage, o.block AS block,
       o.metric AS metric,
       json_extract(o.value, iif(json_type(o.value) = 'array', e.path, '$')) AS value
FROM batch_other AS o JOIN batch_command AS e ON e.batch = o.batch)sql"},
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
    {"batch_shader", R"sql(
SELECT command_batch.id AS batch, shader.stage AS stage, pipeline_shader.shader AS shader
FROM command_batch
JOIN pipeline_shader ON pipeline_shader.pipeline = command_batch.pipeline
JOIN shader ON shader.id = pipeline_shader.shader)sql"},
    {"block_metric", R"sql(
SELECT c.command AS command, c.sub AS sub, c.stage AS stage, c.block AS block,
       block_cost.metric AS metric, c.executions * block_cost.per_execution AS value
FROM block_count AS c
JOIN batch_shader ON batch_shader.batch = c.batch AND batch_shader.stage = c.stage
JOIN block_cost ON block_cost.shader = batch_shader.shader AND block_cost.block = c.block
WHERE NOT EXISTS (SELECT 1 FROM batch_other AS o
                  WHERE o.batch = c.batch AND o.sub = c.sub AND o.stage = c.stage
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
};

std::string views_sql(const char* create) {
  std::string sql;
  for (const View& view : kViews) {
    sql += fmt::format("{} {} AS{};\n", create, view.name, view.select);
  }
  return sql;
}

}  // namespace

const std::string& schema_sql() {
  static const std::string sql = kTableStatements + views_sql("CREATE VIEW");
  return sql;
}

const std::string& temporary_views_sql() {
  static const std::string sql = views_sql("CREATE TEMP VIEW");
  return sql;
}

std::span<const char* const> schema_tables() { return kTables; }

}  // namespace tally::store
