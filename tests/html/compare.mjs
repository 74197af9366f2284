// Compares a table of the page with the one of `tally report --format json`.
import assert from 'node:assert/strict';

// Columns that only one of them has.
const kOnlyReport = new Set(['origin', 'share', 'frames', 'pass_number', 'device']);

const plain = (value) => (value === null || value === undefined ? '' : String(value).replace(/[\t\r\n]+/g, ' '));

// As the page copies a text that a spreadsheet would take for a formula.
const copied = (value) => (typeof value === 'string' && /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value);

// Numbers that are not integers are rounded alike.
function normal(text) {
  return /^-?\d+\.\d+(e[-+]\d+)?$/.test(text) ? Number(text).toPrecision(10) : text;
}

export function compareTables(page, table, { skip = [], skipped = /^$/, wanted = () => true } = {}) {
  const ids = table.columns.map(({ id }) => id).filter((id) => !kOnlyReport.has(id) && !skip.includes(id) && !skipped.test(id));
  const shown = new Set(Object.keys(page[0] ?? {}));
  const missing = ids.filter((id) => page.length && !shown.has(id));
  // The page leaves out the invocations of stages that no shader of the capture has.
  assert.deepEqual(missing.filter((id) => !(id.startsWith('invocations_') && table.rows.every((row) => !row[id]))), []);
  const common = ids.filter((id) => shown.has(id));
  const line = (read) => (row) => JSON.stringify(common.map((id) => [id, normal(plain(read(row[id])))]));
  assert.deepEqual(page.filter(wanted).map(line((value) => value)).sort(), table.rows.filter(wanted).map(line(copied)).sort());
  return table.rows.length;
}
