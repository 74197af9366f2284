// The filter of a table: words that all have to occur, and comparisons such as "instructions>1000".

import type { TableColumn } from '../model/rows';

type Test = (row: number) => boolean;

function comparison(term: string, columns: TableColumn[]): Test | null {
  const match = /^([\w.]+)(<=|>=|<|>|=)(-?[\d.,_]+)$/.exec(term);
  if (!match) return null;
  const [, id, operator, number] = match;
  const column = columns.find((c) => !c.text && (c.id === id || c.title === id));
  const limit = Number(number.replace(/[,_]/g, ''));
  if (!column || Number.isNaN(limit)) return null;
  return (row) => {
    const value = column.cell(row);
    if (value === null || typeof value === 'string') return false;
    switch (operator) {
      case '<': return value < limit;
      case '>': return value > limit;
      case '<=': return value <= limit;
      case '>=': return value >= limit;
      default: return value == limit;
    }
  };
}

export function makeFilter(query: string, columns: TableColumn[]): Test | null {
  const texts = columns.filter((column) => column.text);
  const tests = query.trim().split(/\s+/).filter(Boolean).map((term): Test => {
    const compare = comparison(term, columns);
    if (compare) return compare;
    const word = term.toLowerCase();
    return (row) => texts.some((column) => String(column.cell(row) ?? '').toLowerCase().includes(word));
  });
  return tests.length ? (row) => tests.every((test) => test(row)) : null;
}
