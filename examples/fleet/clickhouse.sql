-- The tables of a data set of `tally export --to` on ClickHouse, on each server of the cluster `fleet`, which the
-- servers' configuration names. Rows that are inserted again replace themselves when ClickHouse merges them.
CREATE TABLE capture_shard (
  capture String, commit String, commit_time Int64, device String, scene String,
  driver String, tool_version String, start_time Int64, frames Int64, passes Int64, draws Int64, dispatches Int64
) ENGINE = ReplacingMergeTree ORDER BY (device, scene, commit, capture);

CREATE TABLE pass_shard (
  capture String, commit String, commit_time Int64, device String, scene String,
  pass_key String, name String, label String, metric String, value Int64
) ENGINE = ReplacingMergeTree ORDER BY (metric, pass_key, device, scene, commit, capture);

CREATE TABLE shader_shard (
  capture String, commit String, commit_time Int64, device String, scene String,
  shader_key String, name String, stage String, code String, metric String, value Int64
) ENGINE = ReplacingMergeTree ORDER BY (metric, shader_key, device, scene, commit, capture);

CREATE TABLE line_shard (
  capture String, commit String, commit_time Int64, device String, scene String,
  line_key String, file String, number Int64, text String, executions Int64
) ENGINE = ReplacingMergeTree ORDER BY (line_key, device, scene, commit, capture);

CREATE TABLE capture AS capture_shard ENGINE = Distributed(fleet, currentDatabase(), capture_shard, cityHash64(scene));
CREATE TABLE pass AS pass_shard ENGINE = Distributed(fleet, currentDatabase(), pass_shard, cityHash64(scene));
CREATE TABLE shader AS shader_shard ENGINE = Distributed(fleet, currentDatabase(), shader_shard, cityHash64(scene));
CREATE TABLE line AS line_shard ENGINE = Distributed(fleet, currentDatabase(), line_shard, cityHash64(scene));
