// Sums over executions and costs, by the rules of data.ts ("How values add up").

import { add, compare, isSafe, multiply, narrowed, subtract, sumOf, type Exact, type Values } from '../exact';
import type { Model } from './model';
import type { Code } from './scope';

// out[key(i)] += value(i) for i < count. Keys below 0 are left out.
export function sumBy(size: number, count: number, key: (i: number) => number, value: (i: number) => Exact): Values {
  const out = new Float64Array(size);
  let sum = 0, exact = true;
  for (let i = 0; i < count; ++i) {
    const at = key(i);
    if (at < 0) continue;
    const v = value(i);
    if (typeof v !== 'number') { exact = false; break; }
    out[at] += v;
    sum += v;
  }
  if (exact && isSafe(sum)) return out;
  const big: Exact[] = new Array(size).fill(0);
  for (let i = 0; i < count; ++i) {
    const at = key(i);
    if (at >= 0) big[at] = add(big[at], value(i));
  }
  return big;
}

// The cost of one execution of each block in the rows that `wanted` selects.
function blockCosts(model: Model, metric: string, wanted: ((row: number) => boolean) | null): Values {
  const costs = model.t('costs'), block = costs.index('block'), cost = costs.values(metric);
  return sumBy(model.t('blocks').rows, costs.rows, (i) => (wanted && !wanted(i) ? -1 : block[i]), (i) => cost[i]);
}

const attribution = (model: Model, metric: string) => model.metric(metric)?.attribution ?? 'class';

function codeColumn(model: Model, code: Code): (row: number) => boolean {
  const costs = model.t('costs');
  if (code.kind === 'shader') {
    const block = costs.index('block'), shader = model.t('blocks').index('shader');
    return (row) => code.rows.has(shader[block[row]]);
  }
  const column = costs.index(code.kind);
  return (row) => code.rows.has(column[row]);
}

// The part of a line or function in one instance: the blocks of its rows of `costs`, ascending.
interface Place { owner: number; blocks: number[]; }

// `of`: the owner of a row; -1: none.
function placesOf(model: Model, of: (row: number) => number): Place[] {
  const costs = model.t('costs'), block = costs.index('block'), instance = costs.numbers('instance'), places = new Map<number, Place>();
  for (let row = 0; row < costs.rows; ++row) {
    const owner = of(row), key = owner * 2 ** 24 + instance[row], place = places.get(key);
    if (place) place.blocks.push(block[row]);
    else if (owner >= 0) places.set(key, { owner, blocks: [block[row]] });
  }
  return [...places.values()];
}

function placesOfCode(model: Model, code: Code): Place[] {
  const wanted = codeColumn(model, code), column = model.t('costs').index(code.kind);
  return placesOf(model, (row) => (wanted(row) ? column[row] : -1));
}

// The first with the largest value.
const mostOf = (blocks: number[], value: (block: number) => Exact) => blocks.reduce((best, b) => (value(b) > value(best) ? b : best));

// For a counted "class" metric: how much of V the selected rows of a block take. `takesRest`: whether the remainder that no row takes is part of it, too.
function taken(model: Model, metric: string, wanted: (row: number) => boolean, takesRest: (block: number) => boolean) {
  const costs = model.t('costs'), block = costs.index('block'), cost = costs.values(metric);
  const first = new Int32Array(model.t('blocks').rows + 1);
  for (let row = 0; row < block.length; ++row) ++first[block[row] + 1];
  for (let b = 1; b < first.length; ++b) first[b] += first[b - 1];
  return (b: number, executions: Exact, value: Exact): Exact => {
    let rest = value, sum: Exact = 0;
    for (let row = first[b]; row < first[b + 1]; ++row) {
      const product = multiply(executions, cost[row]);
      const part = compare(product, rest) < 0 ? product : rest;
      rest = subtract(rest, part);
      if (wanted(row)) sum = add(sum, part);
    }
    return takesRest(b) ? add(sum, rest) : sum;
  };
}

// Pseudo metrics: "invocations_fragment".
const kInvocations = 'invocations_';

type RowValue = (row: number) => Exact; // by row of `counts`

export class Sums {
  private readonly cache = new Map<string, Values>();

  constructor(readonly model: Model) {}

  // Indexed by value set: the values of a command with these counts, of all code or of a part of it.
  ofSets(metric: string, code: Code | null): Values {
    const key = `${metric} ${code?.key ?? ''}`;
    let values = this.cache.get(key);
    if (values) return values;
    values = this.computeSets(metric, code);
    if (code && this.cache.size > 64) this.cache.clear();
    this.cache.set(key, values);
    return values;
  }

  private computeSets(metric: string, code: Code | null): Values {
    const { model } = this, counts = model.t('counts'), sets = model.t('value_sets');
    const first = sets.numbers('first'), length = sets.numbers('count');
    if (code?.kind === 'line' && attribution(model, metric) === 'every') return this.mostExecuted(metric, code);
    const value = this.rowValue(metric, code);
    const fast = typeof value !== 'function';
    const out = new Float64Array(sets.rows);
    let safe = true;
    for (let s = 0; s < sets.rows && safe; ++s) {
      let sum = 0;
      const end = first[s] + length[s];
      if (fast) {
        const { executions, block, cost } = value;
        for (let row = first[s]; row < end; ++row) sum += executions[row] * cost[block[row]];
      } else {
        for (let row = first[s]; row < end; ++row) sum += Number(value(row));
      }
      out[s] = sum;
      safe = isSafe(sum);
    }
    if (safe) return out;
    const by: RowValue = fast ? (row) => multiply(counts.values('executions')[row], value.cost[value.block[row]]) : value;
    return Array.from(out, (_, s) => {
      let sum: Exact = 0;
      for (let row = first[s]; row < first[s] + length[s]; ++row) sum = add(sum, by(row));
      return sum;
    });
  }

  private rowValue(metric: string, code: Code | null):
    RowValue | { executions: ArrayLike<number>; block: Int32Array; cost: ArrayLike<number> } {
    const { model } = this, counts = model.t('counts'), block = counts.index('block');
    const rule = attribution(model, metric), executions = counts.values('executions');
    if (metric.startsWith(kInvocations)) {
      const cost = this.entries(metric.slice(kInvocations.length), code);
      return { executions: executions as ArrayLike<number>, block, cost };
    }
    const column = metric === 'executions' ? executions : model.isCounted(metric) ? counts.values(metric) : null;
    if (!column) {
      let cost = blockCosts(model, metric, code ? codeColumn(model, code) : null);
      if (code && rule === 'first') cost = this.masked(blockCosts(model, metric, null), this.firstBlocks(code));
      return { executions: executions as ArrayLike<number>, block, cost: cost as ArrayLike<number> };
    }
    if (!code) return (row) => column[row];
    if (code.kind === 'shader') {
      const shader = model.t('blocks').index('shader');
      return (row) => (code.rows.has(shader[block[row]]) ? column[row] : 0);
    }
    if (rule === 'class') {
      const owner = model.t('blocks').index('function');
      const part = taken(model, metric, codeColumn(model, code), (b) => code.kind === 'function' && code.rows.has(owner[b]));
      return (row) => part(block[row], executions[row], column[row]);
    }
    const times = new Map<number, number>(); // block -> places of which it is the first block
    if (rule === 'first') for (const b of this.firstBlocks(code)) times.set(b, 1);
    else for (const { blocks: [b] } of placesOfCode(model, code)) times.set(b, (times.get(b) ?? 0) + 1);
    return (row) => multiply(times.get(block[row]) ?? 0, column[row]);
  }

  // 1 for the first block of each shader of a stage.
  private entries(stage: string, code: Code | null): Float64Array {
    const shaders = this.model.t('shaders'), entry = shaders.index('invocation_block');
    const ones = new Float64Array(this.model.t('blocks').rows);
    for (let s = 0; s < shaders.rows; ++s) {
      const mine = code?.kind !== 'shader' || code.rows.has(s);
      if (entry[s] >= 0 && mine && this.model.text('shaders', 'stage', s) === stage) ones[entry[s]] = 1;
    }
    return ones;
  }

  private firstBlocks(code: Code): Set<number> {
    const column = this.model.t('blocks').index(code.kind), found = new Set<number>();
    for (let b = 0; b < column.length; ++b) if (code.rows.has(column[b])) found.add(b);
    return found;
  }

  private masked(values: Values, blocks: Set<number>): Values {
    return Array.from({ length: values.length }, (_, b) => (blocks.has(b) ? values[b] : 0));
  }

  // The value of the most executed block at each of a line's places.
  private mostExecuted(metric: string, code: Code): Values {
    const { model } = this, counts = model.t('counts'), block = counts.index('block');
    const executions = counts.values('executions');
    const column = metric === 'executions' ? executions : counts.values(metric);
    const sets = model.t('value_sets'), first = sets.numbers('first'), length = sets.numbers('count');
    const places = placesOfCode(model, code);
    return Array.from({ length: sets.rows }, (_, s) => {
      const rowOf = new Map<number, number>(); // by block
      for (let row = first[s]; row < first[s] + length[s]; ++row) rowOf.set(block[row], row);
      const valueOf = (values: Values) => (b: number) => values[rowOf.get(b)!] ?? 0;
      return sumOf(places.map(({ blocks }) => valueOf(column)(mostOf(blocks, valueOf(executions)))));
    });
  }

  // The value of one command.
  commandValue(metric: string, code: Code | null): (command: number) => Exact {
    const sets = this.model.t('commands').index('values'), values = this.ofSets(metric, code);
    return (command) => (sets[command] < 0 ? 0 : values[sets[command]]);
  }

  total(metric: string, code: Code | null, commands: Int32Array | null): Exact {
    const value = this.commandValue(metric, code), count = commands?.length ?? this.model.t('commands').rows;
    return sumBy(1, count, () => 0, (i) => value(commands ? commands[i] : i))[0];
  }

  blocks(commands: Int32Array | null): BlockSums {
    return new BlockSums(this.model, commands);
  }
}

// Executions and values by block, over a set of commands; and by line and function.
export class BlockSums {
  readonly executions: Values;
  private readonly times: Map<number, number>; // value set -> commands that have it
  private readonly cache = new Map<string, Values>();

  constructor(private readonly model: Model, commands: Int32Array | null) {
    const sets = model.t('commands').index('values'), count = commands?.length ?? sets.length;
    this.times = new Map();
    for (let i = 0; i < count; ++i) {
      const set = sets[commands ? commands[i] : i];
      if (set >= 0) this.times.set(set, (this.times.get(set) ?? 0) + 1);
    }
    this.executions = this.sumCounts('executions');
  }

  private sumCounts(column: string): Values {
    const counts = this.model.t('counts'), block = counts.index('block'), value = counts.values(column);
    const sets = this.model.t('value_sets'), first = sets.numbers('first'), length = sets.numbers('count');
    const out = new Float64Array(this.model.t('blocks').rows);
    let sum = 0;
    for (const [s, times] of this.times) {
      for (let row = first[s], end = row + length[s]; row < end; ++row) {
        const product = times * Number(value[row]);
        out[block[row]] += product;
        sum += product;
      }
    }
    if (isSafe(sum)) return out;
    const big: bigint[] = Array.from(out, () => 0n);
    for (const [s, times] of this.times) {
      for (let row = first[s]; row < first[s] + length[s]; ++row) big[block[row]] += BigInt(times) * BigInt(value[row]);
    }
    return big.map(narrowed);
  }

  private cached(key: string, make: () => Values): Values {
    let values = this.cache.get(key);
    if (!values) this.cache.set(key, (values = make()));
    return values;
  }

  byBlock(metric: string): Values {
    return this.cached(metric, () => {
      if (metric === 'executions') return this.executions;
      if (this.model.isCounted(metric)) return this.sumCounts(metric);
      const cost = blockCosts(this.model, metric, null);
      return sumBy(cost.length, cost.length, (b) => b, (b) => multiply(this.executions[b], cost[b]));
    });
  }

  byShader(metric: string): Values {
    const value = this.byBlock(metric), shader = this.model.t('blocks').index('shader');
    return sumBy(this.model.t('shaders').rows, value.length, (b) => shader[b], (b) => value[b]);
  }

  byLine(metric: string): Values {
    return this.cached(`line ${metric}`, () => this.byCode(metric, 'line'));
  }

  byFunction(metric: string): Values {
    return this.cached(`function ${metric}`, () => this.byCode(metric, 'function'));
  }

  // Lines of one function: the value of each row of `costs` by its line.
  private byCode(metric: string, kind: 'line' | 'function'): Values {
    const { model } = this, costs = model.t('costs'), column = costs.index(kind), block = costs.index('block');
    const size = model.t(kind === 'line' ? 'lines' : 'functions').rows, rule = attribution(model, metric);
    const value = this.byBlock(metric);
    if (rule === 'first') {
      const place = model.t('blocks').index(kind);
      return sumBy(size, value.length, (b) => place[b], (b) => value[b]);
    }
    if (rule === 'every') {
      return this.byPlace(size, placesOf(model, (row) => column[row]), kind === 'line', value);
    }
    if (!model.isCounted(metric)) {
      const cost = costs.values(metric);
      return sumBy(size, costs.rows, (row) => column[row], (row) => multiply(this.executions[block[row]], cost[row]));
    }
    return this.shared(metric, size, column, value);
  }

  // Indexed by shader: the value of its code without a source line.
  withoutLine(metric: string): Values {
    return this.cached(`no line ${metric}`, () => {
      const { model } = this, costs = model.t('costs'), line = costs.index('line'), block = costs.index('block');
      const owner = model.t('blocks').index('shader'), size = model.t('shaders').rows, rule = attribution(model, metric);
      const value = this.byBlock(metric);
      if (rule === 'first') {
        const place = model.t('blocks').index('line');
        return sumBy(size, value.length, (b) => (place[b] < 0 ? owner[b] : -1), (b) => value[b]);
      }
      if (rule === 'every') {
        return this.byPlace(size, placesOf(model, (row) => (line[row] < 0 ? owner[block[row]] : -1)), true, value);
      }
      const lines = this.byLine(metric), of = model.t('lines').index('shader'), whole = this.byShader(metric);
      const known = sumBy(size, lines.length, (l) => of[l], (l) => lines[l]);
      return Array.from({ length: size }, (_, s) => subtract(whole[s], known[s]));
    });
  }

  // Shaders with such code.
  haveCodeWithoutLine(): Set<number> {
    const { model } = this, line = model.t('costs').index('line'), block = model.t('costs').index('block'), found = new Set<number>();
    for (let row = 0; row < line.length; ++row) if (line[row] < 0) found.add(model.t('blocks').index('shader')[block[row]]);
    return found;
  }

  // Indexed by owner: the sum over its places of the value of their most executed block, or else of their first.
  private byPlace(size: number, places: Place[], most: boolean, value: Values): Values {
    return sumBy(size, places.length, (i) => places[i].owner,
      (i) => value[most ? mostOf(places[i].blocks, (b) => this.executions[b]) : places[i].blocks[0]]);
  }

  // Indexed by row of `costs`: its part of the block's value. `first`: by block, the row that has what belongs to no row.
  byRow(metric: string, first: Map<number, number>): Values {
    return this.cached(`row ${metric}`, () => {
      const { model } = this, costs = model.t('costs'), block = costs.index('block'), cost = costs.values(metric), value = this.byBlock(metric);
      const rule = attribution(model, metric);
      if (rule !== 'class') return Array.from({ length: costs.rows }, (_, row) => (first.get(block[row]) === row ? value[block[row]] : 0));
      if (!model.isCounted(metric)) return Array.from({ length: costs.rows }, (_, row) => multiply(this.executions[block[row]], cost[row]));
      const rest = Array.from(value), parts: Exact[] = [];
      for (let row = 0; row < costs.rows; ++row) {
        const b = block[row], product = multiply(this.executions[b], cost[row]);
        parts.push(compare(product, rest[b]) < 0 ? product : rest[b]);
        rest[b] = subtract(rest[b], parts[row]);
      }
      for (const [b, row] of first) parts[row] = add(parts[row], rest[b]);
      return parts;
    });
  }

  private shared(metric: string, size: number, column: Int32Array, value: Values): Values {
    const { model } = this, costs = model.t('costs'), block = costs.index('block'), cost = costs.values(metric);
    const own = column === costs.index('function') ? model.t('blocks').index('function') : null;
    const out: Exact[] = new Array(size).fill(0), rest = Array.from(value);
    for (let row = 0; row < costs.rows; ++row) {
      const b = block[row], product = multiply(this.executions[b], cost[row]);
      const part = compare(product, rest[b]) < 0 ? product : rest[b];
      rest[b] = subtract(rest[b], part);
      if (column[row] >= 0) out[column[row]] = add(out[column[row]], part);
    }
    for (let b = 0; own && b < rest.length; ++b) if (own[b] >= 0) out[own[b]] = add(out[own[b]], rest[b]);
    return out;
  }

  // Branches: how often each target was taken.
  branches(): Values {
    return this.cached('branches', () => {
      const table = this.model.t('branch_counts'), set = table.index('value_set'), branch = table.index('branch');
      const count = table.values('taken');
      return sumBy(this.model.t('branches').rows, table.rows, (i) => branch[i],
        (i) => multiply(this.times.get(set[i]) ?? 0, count[i]));
    });
  }
}
