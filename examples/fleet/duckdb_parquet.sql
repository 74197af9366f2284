-- The tables of a data set of `tally export --to` on DuckDB, from its Parquet files. Only captures that were exported
-- where DuckDB's library was found have these: `without_parquet` counts the others. Run it in the data set's folder.

CREATE VIEW capture AS SELECT * FROM read_parquet('commit=*/device=*/scene=*/capture=*/capture.parquet',
  hive_partitioning = true, hive_types_autocast = false);

CREATE VIEW pass AS SELECT * FROM read_parquet('commit=*/device=*/scene=*/capture=*/pass.parquet',
  hive_partitioning = true, hive_types_autocast = false);

CREATE VIEW shader AS SELECT * FROM read_parquet('commit=*/device=*/scene=*/capture=*/shader.parquet',
  hive_partitioning = true, hive_types_autocast = false);

CREATE VIEW line AS SELECT * FROM read_parquet('commit=*/device=*/scene=*/capture=*/line.parquet',
  hive_partitioning = true, hive_types_autocast = false);

CREATE VIEW without_parquet AS
SELECT (SELECT count(*) FROM glob('commit=*/device=*/scene=*/capture=*/line.jsonl'))
     - (SELECT count(*) FROM glob('commit=*/device=*/scene=*/capture=*/line.parquet')) AS captures;
