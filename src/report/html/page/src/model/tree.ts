// The tree of the icicle: frame, pass, pipeline or label, shader, functions by their calls, line. Children are made when they are
// asked for.

import { add, multiply, type Exact, type Values } from '../exact';
import type { Model, TableName } from './model';
import { callTree, type CallNode } from './calls';
import { commandsOf, stepName, tableOf, type Kind, type Scope, type Step } from './scope';
import { sumBy, type BlockSums, type Sums } from './sums';

export interface TreeNode {
  step: Step | null; // null: the root
  name: string;
  value: Exact;
  kind: Kind | 'all';
  children: () => TreeNode[];
  ofCalls?: { self: Exact; calls: Exact; inlined: boolean }; // of functions, where their calls are known
}

export interface TreeOptions { metric: string; byFrame: boolean; byPass: boolean; byLabel: boolean; }

class Tree {
  private readonly every: boolean;

  constructor(private readonly model: Model, private readonly sums: Sums, private readonly options: TreeOptions) {
    this.every = model.metric(options.metric)?.attribution === 'every';
  }

  root(commands: Int32Array | null): TreeNode {
    const value = this.sums.total(this.options.metric, null, commands);
    const all = commands ?? Int32Array.from({ length: this.model.t('commands').rows }, (_, i) => i);
    const levels: Kind[] = [...(this.options.byFrame ? ['frame' as const] : []), ...(this.options.byPass ? ['pass' as const] : []), this.options.byLabel ? 'label' : 'pipeline'];
    return this.node(null, 'all', value, () => this.split(all, levels, []));
  }

  private node(step: Step | null, name: string, value: Exact, children: () => TreeNode[]): TreeNode {
    let made: TreeNode[] | null = null;
    return { step, name, value, kind: step?.kind ?? 'all', children: () => (made ??= sorted(children(), step?.kind === 'function')) };
  }

  // `within`: the label that encloses the commands, for nested labels.
  private split(commands: Int32Array, levels: Kind[], within: number[]): TreeNode[] {
    if (levels.length === 0) return this.shaders(commands);
    const [kind, ...rest] = levels;
    if (kind === 'label') return this.labels(commands, within);
    const key = this.keyOf(kind), parts = new Map<string, number[]>();
    for (const c of commands) push(parts, key(c), c);
    return [...parts].map(([id, list]) => {
      const step = { kind, id }, own = Int32Array.from(list);
      return this.node(step, stepName(this.model, step), this.valueOf(own), () => this.split(own, rest, []));
    });
  }

  private labels(commands: Int32Array, within: number[]): TreeNode[] {
    const parents = this.model.t('labels').index('parent'), label = this.model.t('commands').index('label');
    const parts = new Map<string, { list: number[]; chain: number[] }>(), direct: number[] = [];
    for (const c of commands) {
      const chain: number[] = [];
      for (let at = label[c]; at >= 0; at = parents[at]) chain.unshift(at);
      if (chain.length <= within.length) { direct.push(c); continue; }
      const id = this.model.labelPath(chain[within.length]);
      const part = parts.get(id);
      if (part) part.list.push(c);
      else parts.set(id, { list: [c], chain: chain.slice(0, within.length + 1) });
    }
    const nodes = [...parts].map(([id, { list, chain }]) => {
      const own = Int32Array.from(list);
      return this.node({ kind: 'label', id }, this.model.text('labels', 'name', chain[within.length]), this.valueOf(own),
        () => this.labels(own, chain));
    });
    if (within.length === 0 && direct.length && parts.size)
      return [...nodes, this.node({ kind: 'label', id: '-' }, '(no label)', this.valueOf(Int32Array.from(direct)), () => this.shaders(Int32Array.from(direct)))];
    return direct.length ? [...nodes, ...this.shaders(Int32Array.from(direct))] : nodes;
  }

  private keyOf(kind: Kind): (command: number) => string {
    const { model } = this, commands = model.t('commands');
    if (kind === 'frame') {
      const frame = commands.index('frame'), number = model.t('frames').numbers('number');
      return (c) => String(number[frame[c]]);
    }
    if (kind === 'pass') {
      const pass = commands.index('pass'), merged = model.t('passes').index('merged');
      return (c) => (pass[c] < 0 ? '-' : model.identity('merged_passes', merged[pass[c]]));
    }
    const pipeline = commands.index('pipeline');
    return (c) => model.identity('pipelines', pipeline[c]);
  }

  private valueOf(commands: Int32Array): Exact {
    return this.sums.total(this.options.metric, null, commands);
  }

  // Rows with a value, by identity.
  private parts(table: TableName, rows: Iterable<number>, values: Values): Map<string, { rows: number[]; value: Exact }> {
    const parts = new Map<string, { rows: number[]; value: Exact }>();
    for (const row of rows) {
      if (!(values[row] > 0)) continue;
      const id = this.model.identity(table, row), part = parts.get(id);
      if (part) part.rows.push(row), (part.value = add(part.value, values[row]));
      else parts.set(id, { rows: [row], value: values[row] });
    }
    return parts;
  }

  private codeNodes(kind: Kind, rows: Iterable<number>, values: Values, children: (rows: number[]) => TreeNode[]): TreeNode[] {
    return [...this.parts(tableOf(kind)!, rows, values)].map(([id, part]) => {
      const step = { kind, id };
      return this.node(step, stepName(this.model, step), part.value, () => children(part.rows));
    });
  }

  private shaders(commands: Int32Array): TreeNode[] {
    const blocks = this.sums.blocks(commands), values = blocks.byShader(this.options.metric);
    return this.codeNodes('shader', range(values.length), values, (rows) => this.functions(blocks, new Set(rows)));
  }

  private functions(blocks: BlockSums, shaders: Set<number>): TreeNode[] {
    const tree = callTree(this.model, this.model.calls, blocks, this.options.metric, shaders);
    if (tree) return this.callees(tree);
    const owner = this.model.t('functions').index('shader'), values = blocks.byFunction(this.options.metric);
    const rows = range(owner.length).filter((row) => shaders.has(owner[row]));
    return this.codeNodes('function', rows, values, (own) => this.lines(blocks, new Set(own)));
  }

  private callees(of: CallNode): TreeNode[] {
    return [...of.callees].filter(([, callee]) => callee.inclusive > 0).map(([id, callee]) => {
      const step = { kind: 'function' as const, id };
      const node = this.node(step, stepName(this.model, step), callee.inclusive, () => [...this.callees(callee), ...this.linesOf(callee)]);
      node.ofCalls = { self: callee.self, calls: callee.calls, inlined: callee.inlined };
      return node;
    });
  }

  private linesOf(of: CallNode): TreeNode[] {
    const values: Exact[] = new Array(this.model.t('lines').rows).fill(0);
    for (const [line, value] of of.lines) values[line] = value;
    return this.codeNodes('line', of.lines.keys(), values, () => []);
  }

  private lines(blocks: BlockSums, functions: Set<number>): TreeNode[] {
    const { model, options } = this, costs = model.t('costs'), of = costs.index('function'), line = costs.index('line');
    const block = costs.index('block'), size = model.t('lines').rows;
    let values: Values;
    if (this.every || model.isCounted(options.metric)) {
      const all = blocks.byLine(options.metric), mine = new Set<number>();
      for (let row = 0; row < costs.rows; ++row) if (functions.has(of[row]) && line[row] >= 0) mine.add(line[row]);
      return this.codeNodes('line', mine, all, () => []);
    }
    const cost = costs.values(options.metric);
    values = sumBy(size, costs.rows, (row) => (functions.has(of[row]) ? line[row] : -1),
      (row) => multiply(blocks.executions[block[row]], cost[row]));
    return this.codeNodes('line', range(size), values, () => []);
  }
}

const range = (size: number) => Array.from({ length: size }, (_, i) => i);

function push(parts: Map<string, number[]>, key: string, value: number): void {
  const list = parts.get(key);
  if (list) list.push(value);
  else parts.set(key, [value]);
}

// Frames stay in order; all else is sorted by value.
function sorted(nodes: TreeNode[], lines: boolean): TreeNode[] {
  if (nodes[0]?.kind === 'frame' || lines && nodes.length < 2) return nodes;
  return nodes.sort((a, b) => (a.value < b.value ? 1 : a.value > b.value ? -1 : 0));
}

export function makeTree(model: Model, sums: Sums, scope: Scope, options: TreeOptions): TreeNode {
  return new Tree(model, sums, options).root(commandsOf(model, scope));
}

// The nodes from the root to where the steps lead, as far as they lead.
export function walk(root: TreeNode, steps: Step[]): TreeNode[] {
  const path = [root];
  for (const step of steps) {
    const next = path[path.length - 1].children().find((node) => isStep(node, step));
    const more = next ? [next] : step.kind === 'function' ? pathTo(path[path.length - 1], step) : null;
    if (!more) break;
    path.push(...more);
  }
  return path;
}

const isStep = (node: TreeNode, step: Step): boolean => node.step!.kind === step.kind && node.step!.id === step.id;

// The shortest way to a function below a shader, whose steps may leave out its callers.
function pathTo(from: TreeNode, step: Step): TreeNode[] | null {
  let ways: TreeNode[][] = [[]];
  while (ways.length) {
    const longer: TreeNode[][] = [];
    for (const way of ways) {
      const last = way[way.length - 1] ?? from;
      if (last.kind !== 'shader' && last.kind !== 'function') continue;
      for (const child of last.children()) {
        if (isStep(child, step)) return [...way, child];
        if (child.kind === 'function') longer.push([...way, child]);
      }
    }
    ways = longer;
  }
  return null;
}

