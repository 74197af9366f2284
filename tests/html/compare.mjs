// Compares a table of the page with that of `tally report --format json`.
import assert from 'node:assert/strict';

// Columns that only one of them has.
const kOnlyReport = new Set(['origin', 'share', 'frames', 'pass_number', 'device']);

const plain = (value) => (value === null || value === undefined ? '' : String(value).replace(/[\t\r\n]+/g, ' '));

// Numbers that are not integers are rounded alike.
function normal(text) {
  return /^-?\d+\.\d+(e[-+]\d+)?$/.test(text) ? Number(text).toPrecision(10) : text;
}

export function compareTables(page, table, { skip = [], wanted = () => true } = {}) {
  const ids = table.columns.map(({ id }) => id).filter((id) => !kOnlyReport.has(id) && !skip.includes(id));
  const shown = new Set(Object.keys(page[0] ?? {}));
  const missing = ids.filter((id) => page.length && !shown.has(id));
  // The page leaves out the invocations of stages that no shader of the capture has.
  assert.deepEqual(missing.filter((id) => !(id.startsWith('invocations_') && table.rows.every((row) => !row[id]))), []);
  const common = ids.filter((id) => shown.has(id));
  const line = (row) => JSON.stringify(common.map((id) => [id, normal(plain(row[id]))]));
  assert.deepEqual(page.filter(wanted).map(line).sort(), table.rows.filter(wanted).map(line).sort());
  return table.rows.length;
}
