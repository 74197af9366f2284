-- The tables of a data set of `tally export --to` on DuckDB, from its JSON lines, which every capture has. Run it in the
-- data set's folder.

CREATE VIEW capture AS SELECT * FROM read_json('commit=*/device=*/scene=*/capture=*/capture.jsonl', format = 'newline_delimited',
  hive_partitioning = false, columns = {capture: 'VARCHAR', commit: 'VARCHAR', commit_time: 'BIGINT', device: 'VARCHAR', scene: 'VARCHAR',
    driver: 'VARCHAR', tool_version: 'VARCHAR', start_time: 'BIGINT', frames: 'BIGINT', passes: 'BIGINT', draws: 'BIGINT', dispatches: 'BIGINT'});

CREATE VIEW pass AS SELECT * FROM read_json('commit=*/device=*/scene=*/capture=*/pass.jsonl', format = 'newline_delimited',
  hive_partitioning = false, columns = {capture: 'VARCHAR', commit: 'VARCHAR', commit_time: 'BIGINT', device: 'VARCHAR', scene: 'VARCHAR',
    pass_key: 'VARCHAR', name: 'VARCHAR', label: 'VARCHAR', metric: 'VARCHAR', value: 'BIGINT'});

CREATE VIEW shader AS SELECT * FROM read_json('commit=*/device=*/scene=*/capture=*/shader.jsonl', format = 'newline_delimited',
  hive_partitioning = false, columns = {capture: 'VARCHAR', commit: 'VARCHAR', commit_time: 'BIGINT', device: 'VARCHAR', scene: 'VARCHAR',
    shader_key: 'VARCHAR', name: 'VARCHAR', stage: 'VARCHAR', code: 'VARCHAR', metric: 'VARCHAR', value: 'BIGINT'});

CREATE VIEW line AS SELECT * FROM read_json('commit=*/device=*/scene=*/capture=*/line.jsonl', format = 'newline_delimited',
  hive_partitioning = false, columns = {capture: 'VARCHAR', commit: 'VARCHAR', commit_time: 'BIGINT', device: 'VARCHAR', scene: 'VARCHAR',
    line_key: 'VARCHAR', file: 'VARCHAR', number: 'BIGINT', text: 'VARCHAR', executions: 'BIGINT'});
