#include "store/schema.h"

#include "store/rows.h"
#include "store/sql_table.h"

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

}  // namespace tally::store
