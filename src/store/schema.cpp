#include "store/schema.h"

#include <iterator>

namespace tally::store {
namespace {

// Those of version 1 first, then what each version added.
constexpr size_t kTablesOfVersion[] = {0, 23, 25, 29};
constexpr const char* kTables[] = {
    "capture",        "process",      "device",          "queue",         "metric",
    "device_metric",  "module",       "shader",          "pipeline",      "object",
    "label",          "call",         "frame",           "submission",    "execution",
    "pass",           "command",      "command_metric",  "block_cost",    "block_count",
    "block_other",    "message",      "pipeline_shader", "frame_counter", "frame_value",
    "region_counter", "pass_regions", "region_values",   "pass_picture"};
static_assert(std::size(kTablesOfVersion) == kCaptureVersion + 1);
static_assert(std::size(kTables) == kTablesOfVersion[kCaptureVersion]);

constexpr const char* kSchema = R"sql(
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
  ending TEXT NOT NULL CHECK (ending IN ('running', 'closed', 'cut off', 'refused'))
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

CREATE TABLE call (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('draw', 'dispatch', 'trace rays', 'generated')),
  name TEXT NOT NULL,
  parameters TEXT NOT NULL,
  UNIQUE (name, parameters)
) STRICT;

CREATE TABLE frame (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES device,
  number INTEGER NOT NULL,
  ended_by TEXT NOT NULL CHECK (ended_by IN ('present', 'submit', 'open')),
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER,
  blocks_dropped INTEGER NOT NULL,
  commands_dropped INTEGER NOT NULL,
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

CREATE TABLE command (
  id INTEGER PRIMARY KEY,
  execution INTEGER NOT NULL REFERENCES execution,
  position INTEGER NOT NULL,
  call INTEGER NOT NULL REFERENCES call,
  pipeline INTEGER REFERENCES pipeline,
  pass INTEGER REFERENCES pass,
  subpass INTEGER NOT NULL,
  label INTEGER REFERENCES label,
  has_blocks INTEGER NOT NULL,
  gpu_begin_ns INTEGER,
  gpu_time_ns INTEGER
) STRICT;
CREATE INDEX command_by_execution ON command (execution);

CREATE TABLE command_metric (
  command INTEGER NOT NULL REFERENCES command,
  sub INTEGER NOT NULL,
  stage INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric,
  value INTEGER NOT NULL,
  PRIMARY KEY (command, sub, stage, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE block_cost (
  shader INTEGER NOT NULL REFERENCES shader,
  block INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric,
  per_execution INTEGER NOT NULL,
  PRIMARY KEY (shader, block, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE block_count (
  command INTEGER NOT NULL REFERENCES command,
  sub INTEGER NOT NULL,
  stage INTEGER NOT NULL,
  block INTEGER NOT NULL,
  executions INTEGER NOT NULL,
  PRIMARY KEY (command, sub, stage, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE block_other (
  command INTEGER NOT NULL REFERENCES command,
  sub INTEGER NOT NULL,
  stage INTEGER NOT NULL,
  block INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric,
  value INTEGER NOT NULL,
  PRIMARY KEY (command, sub, stage, block, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE message (
  id INTEGER PRIMARY KEY,
  process INTEGER REFERENCES process,
  time_ns INTEGER NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
  text TEXT NOT NULL,
  count INTEGER NOT NULL
) STRICT;

CREATE VIEW pass_name AS
SELECT pass.id AS pass,
       coalesce(nullif(render_pass.name, ''), nullif(framebuffer.name, ''), label.name, '') AS name
FROM pass
LEFT JOIN object AS render_pass ON render_pass.id = pass.render_pass
LEFT JOIN object AS framebuffer ON framebuffer.id = pass.framebuffer
LEFT JOIN label ON label.id = pass.label;

CREATE VIEW command_list AS
SELECT command.id AS command, frame.number AS frame, frame.id AS frame_id, frame.device AS device,
       submission.id AS submission, submission.number AS submission_number,
       execution.position AS execution_position, execution.id AS execution,
       command.position AS position, call.kind AS kind, call.name AS call, call.parameters AS parameters,
       command.pipeline AS pipeline, pipeline.hash AS pipeline_hash, pipeline.name AS pipeline_name,
       command.pass AS pass, pass_name.name AS pass_name, command.subpass AS subpass, command.label AS label,
       execution.runs AS runs, command.gpu_time_ns AS gpu_time_ns
FROM command
JOIN execution ON execution.id = command.execution
JOIN submission ON submission.id = execution.submission
JOIN frame ON frame.id = submission.frame
JOIN call ON call.id = command.call
LEFT JOIN pipeline ON pipeline.id = command.pipeline
LEFT JOIN pass_name ON pass_name.pass = command.pass;

CREATE VIEW command_shader AS
SELECT command.id AS command, shader.stage AS stage, pipeline_shader.shader AS shader
FROM command
JOIN pipeline_shader ON pipeline_shader.pipeline = command.pipeline
JOIN shader ON shader.id = pipeline_shader.shader;

CREATE VIEW block_metric AS
SELECT block_count.command AS command, block_count.sub AS sub, block_count.stage AS stage,
       block_count.block AS block, block_cost.metric AS metric,
       block_count.executions * block_cost.per_execution AS value
FROM block_count
JOIN command_shader ON command_shader.command = block_count.command AND command_shader.stage = block_count.stage
JOIN block_cost ON block_cost.shader = command_shader.shader AND block_cost.block = block_count.block
WHERE NOT EXISTS (SELECT 1 FROM block_other
                  WHERE block_other.command = block_count.command AND block_other.sub = block_count.sub
                    AND block_other.stage = block_count.stage AND block_other.block = block_count.block
                    AND block_other.metric = block_cost.metric)
UNION ALL
SELECT command, sub, stage, block, metric, value FROM block_other;

CREATE VIEW label_path AS
WITH RECURSIVE path (id, path) AS (
  SELECT id, name FROM label WHERE parent IS NULL
  UNION ALL
  SELECT label.id, path.path || ' / ' || label.name FROM label JOIN path ON label.parent = path.id
)
SELECT id, path FROM path;
)sql";

}  // namespace

const char* schema_sql() { return kSchema; }

std::span<const char* const> schema_tables(int64_t version) {
  return std::span<const char* const>(kTables).first(kTablesOfVersion[version]);
}

}  // namespace tally::store
