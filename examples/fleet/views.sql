-- Views of a data set of `tally export --to`, for DuckDB and ClickHouse alike: after duckdb.sql, duckdb_parquet.sql or
-- clickhouse.sql, which make the tables. docs/user/fleets.md shows what to ask them.

-- The commits of each device and scene. `step` orders them: by their time, and by their names where times are equal.
CREATE VIEW commit_order AS
SELECT device, scene, commit, min(commit_time) AS time,
       concat(CAST(min(commit_time) + 10000000000 AS VARCHAR), ' ', commit) AS step
FROM capture GROUP BY device, scene, commit;

-- Each commit but the first of a device and scene, and the one before it.
CREATE VIEW commit_step AS
SELECT device, scene, after_commit, step, time, substring(before_step, 13, 1000) AS before_commit
FROM (
  SELECT device, scene, after_commit, step, time, max(earlier_step) AS before_step
  FROM (SELECT device, scene, commit AS after_commit, step, time FROM commit_order) AS later
  INNER JOIN (SELECT device, scene, step AS earlier_step FROM commit_order) AS earlier USING (device, scene)
  WHERE earlier_step < step
  GROUP BY device, scene, after_commit, step, time
) AS pairs;

-- The metrics of a shader at each commit. `low` and `high` differ where captures of one commit do.
CREATE VIEW shader_trend AS
SELECT device, scene, commit, shader_key, metric, min(commit_time) AS time, max(name) AS shader, max(stage) AS shader_stage,
       count(*) AS captures, min(value) AS low, max(value) AS high
FROM shader GROUP BY device, scene, commit, shader_key, metric;

CREATE VIEW pass_trend AS
SELECT device, scene, commit, pass_key, metric, min(commit_time) AS time, max(name) AS pass_name, max(label) AS pass_label,
       count(*) AS captures, min(value) AS low, max(value) AS high
FROM pass GROUP BY device, scene, commit, pass_key, metric;

-- Each change of a shader's metric from one commit to the next; before = 0: the shader is new, after = 0: it is gone.
CREATE VIEW shader_change AS
SELECT device, scene, after_commit, step, max(before_commit) AS previous_commit, shader_key, metric, max(shader) AS shader_name,
       sum(before_value) AS before, sum(after_value) AS after, sum(after_value) - sum(before_value) AS difference
FROM (
  SELECT device, scene, after_commit, step, before_commit, shader_key, metric, shader, 0 AS before_value, high AS after_value
  FROM (SELECT device, scene, commit AS after_commit, shader_key, metric, shader, high FROM shader_trend) AS later
  INNER JOIN commit_step USING (device, scene, after_commit)
  UNION ALL
  SELECT device, scene, after_commit, step, before_commit, shader_key, metric, shader, high AS before_value, 0 AS after_value
  FROM (SELECT device, scene, commit AS before_commit, shader_key, metric, shader, high FROM shader_trend) AS earlier
  INNER JOIN commit_step USING (device, scene, before_commit)
) AS changes
GROUP BY device, scene, after_commit, step, shader_key, metric
HAVING sum(before_value) <> sum(after_value);

CREATE VIEW pass_change AS
SELECT device, scene, after_commit, step, max(before_commit) AS previous_commit, pass_key, metric, max(pass_name) AS changed_pass,
       sum(before_value) AS before, sum(after_value) AS after, sum(after_value) - sum(before_value) AS difference
FROM (
  SELECT device, scene, after_commit, step, before_commit, pass_key, metric, pass_name, 0 AS before_value, high AS after_value
  FROM (SELECT device, scene, commit AS after_commit, pass_key, metric, pass_name, high FROM pass_trend) AS later
  INNER JOIN commit_step USING (device, scene, after_commit)
  UNION ALL
  SELECT device, scene, after_commit, step, before_commit, pass_key, metric, pass_name, high AS before_value, 0 AS after_value
  FROM (SELECT device, scene, commit AS before_commit, pass_key, metric, pass_name, high FROM pass_trend) AS earlier
  INNER JOIN commit_step USING (device, scene, before_commit)
) AS changes
GROUP BY device, scene, after_commit, step, pass_key, metric
HAVING sum(before_value) <> sum(after_value);

-- How often a line ran at each commit.
CREATE VIEW line_trend AS
SELECT device, scene, commit, line_key, min(commit_time) AS time, max(file) AS line_file, max(number) AS line_number,
       max(text) AS line_text, count(*) AS captures, min(executions) AS low, max(executions) AS high
FROM line GROUP BY device, scene, commit, line_key;

-- Each change of a line's count from one commit to the next. Lines that are new or gone are left out.
CREATE VIEW line_change AS
SELECT device, scene, after_commit, step, before_commit AS previous_commit, line_key, line_file, line_number, line_text,
       before, after, after - before AS difference
FROM (
  SELECT device, scene, after_commit, step, before_commit, line_key, line_file, line_number, line_text, high AS after
  FROM (SELECT device, scene, commit AS after_commit, line_key, line_file, line_number, line_text, high FROM line_trend) AS later
  INNER JOIN commit_step USING (device, scene, after_commit)
) AS later
INNER JOIN (
  SELECT device, scene, commit AS before_commit, line_key, high AS before FROM line_trend
) AS earlier USING (device, scene, before_commit, line_key)
WHERE before <> after;

-- The first of these changes of each line.
CREATE VIEW line_first_change AS
SELECT device, scene, line_key, max(line_file) AS changed_file, max(line_text) AS changed_text, count(*) AS changes,
       argMin(after_commit, step) AS first_commit, argMin(before, step) AS first_before, argMin(after, step) AS first_after
FROM line_change GROUP BY device, scene, line_key;

-- A line over all devices and scenes of a commit. total = 0: nothing ran it.
CREATE VIEW line_coverage AS
SELECT commit, line_key, min(commit_time) AS time, max(file) AS line_file, max(number) AS line_number, max(text) AS line_text,
       sum(executions) AS total
FROM line GROUP BY commit, line_key;

CREATE VIEW file_coverage AS
SELECT commit, line_file, min(time) AS commit_began, count(*) AS lines_found, sum(CASE WHEN total > 0 THEN 1 ELSE 0 END) AS lines_hit
FROM line_coverage GROUP BY commit, line_file;
