// The calls inside shaders as a tree: the entry point, the functions that it calls or that were inlined into it, and their lines.
//
// The rules are those of src/analysis/cost/call_costs.h: where a function has several callers, its costs and calls are apportioned
// by the number of calls, in integers that sum to its own exactly.

import { add, subtract, type Exact } from '../exact';
import type { Model } from './model';
import type { BlockSums } from './sums';

const kMaxPaths = 4096;
const kRounding = 1e-14; // far above the errors of shares: one that is an integer must not fall below it

export interface CallNode {
  functions: number[];        // rows of functions with one identity
  self: Exact;
  inclusive: Exact;
  calls: Exact;
  inlined: boolean;           // everywhere
  callees: Map<string, CallNode>; // by identity of the function
  lines: Map<number, Exact>;  // by row of lines
}

class Portion {
  private given: Exact = 0;
  constructor(readonly total: Exact) {}

  next(share: Share): Exact {
    const before = this.given;
    this.given = share.of(this.total);
    return subtract(this.given, before);
  }
}

class Share {
  constructor(private readonly weight: number, private readonly isAll: boolean) {}

  of(total: Exact): Exact {
    const weight = this.weight * (1 + kRounding);
    if (this.isAll || weight >= 1) return total;
    if (typeof total === 'number') return Math.min(total, Math.floor(total * weight));
    return (total * BigInt(Math.floor(weight * 2 ** 53))) >> 53n;
  }
}

// The frames of a model, and what is in them.
export class CallTables {
  private readonly costRows: number[][] = []; // by frame: rows of costs
  private readonly inFunction = new Map<number, number[]>(); // the frames of a function of the module, parents first
  private readonly callRows = new Map<number, number[]>();   // by caller
  private readonly root: Int32Array;
  readonly firstRow = new Map<number, number>(); // by block: the row of costs that has what belongs to no class

  constructor(private readonly model: Model) {
    const frames = model.t('call_frames'), parent = frames.index('parent'), caller = model.t('calls').index('caller');
    const costs = model.t('costs'), frame = costs.index('frame'), block = costs.index('block'), line = costs.index('line');
    this.root = new Int32Array(frames.rows);
    for (let f = 0; f < frames.rows; ++f) {
      this.root[f] = parent[f] < 0 ? f : this.root[parent[f]];
      push(this.inFunction, this.root[f], f);
      this.costRows.push([]);
    }
    for (let row = 0; row < costs.rows; ++row) {
      if (frame[row] < 0) continue;
      this.costRows[frame[row]].push(row);
      const known = this.firstRow.get(block[row]);
      if (known === undefined || line[known] < 0 && line[row] >= 0) this.firstRow.set(block[row], row);
    }
    for (let call = 0; call < caller.length; ++call) push(this.callRows, caller[call], call);
  }

  // Without frames (code that is not known) there is no tree.
  entryOf(shader: number): number {
    const entry = this.model.t('shaders').index('invocation_block')[shader], shaders = this.model.t('call_frames').index('shader');
    const row = entry < 0 ? undefined : this.firstRow.get(entry);
    const frame = row === undefined ? -1 : this.model.t('costs').index('frame')[row];
    return frame >= 0 && shaders[frame] === shader ? this.root[frame] : -1;
  }

  framesIn(entry: number): number[] { return this.inFunction.get(entry) ?? []; }
  calls(caller: number): number[] { return this.callRows.get(caller) ?? []; }
  rows(frame: number): number[] { return this.costRows[frame]; }
}

function push(lists: Map<number, number[]>, key: number, value: number): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

interface Edge { callee: number; calls: Portion; }

class ShaderTree {
  private readonly edges = new Map<number, Edge[]>(); // by frame
  private readonly callsTo = new Map<number, number>();
  private readonly order: number[] = []; // functions of the module, callees before their callers
  private readonly paths = new Map<number, number>();
  private readonly state = new Map<number, { visits: number; weight: number }>();
  private readonly lines = new Map<number, Map<number, Portion>>(); // by frame: by line (-1: none)
  private readonly entered = new Map<number, Portion>();

  constructor(private readonly model: Model, private readonly tables: CallTables, private readonly blocks: BlockSums,
    private readonly metric: string, private readonly root: CallNode) {}

  // False: there are too many paths.
  add(entry: number): boolean {
    this.sort(entry, new Set());
    for (const f of this.order) this.prepare(f);
    if (!this.countPaths(entry)) return false;
    this.walk(entry, 1, this.executions(this.model.t('call_frames').index('block')[entry]), []);
    return true;
  }

  private executions(block: number): Exact { return block < 0 ? 0 : this.blocks.executions[block]; }

  private sort(root: number, known: Set<number>): void {
    known.add(root);
    const callee = this.model.t('calls').index('callee');
    for (const frame of this.tables.framesIn(root))
      for (const call of this.tables.calls(frame)) if (!known.has(callee[call])) this.sort(callee[call], known);
    this.order.push(root);
  }

  private prepare(root: number): void {
    const table = this.model.t('calls'), callee = table.index('callee'), block = table.index('block'), first = this.model.t('call_frames').index('block');
    for (const frame of this.tables.framesIn(root)) {
      this.entered.set(frame, new Portion(this.executions(first[frame])));
      this.lines.set(frame, this.ownLines(frame));
      const counts = new Map<number, Exact>();
      for (const call of this.tables.calls(frame)) counts.set(callee[call], add(counts.get(callee[call]) ?? 0, this.executions(block[call])));
      this.edges.set(frame, [...counts].map(([to, count]) => ({ callee: to, calls: new Portion(count) })));
      for (const [to, count] of counts) this.callsTo.set(to, (this.callsTo.get(to) ?? 0) + Number(count));
    }
  }

  private ownLines(frame: number): Map<number, Portion> {
    const line = this.model.t('costs').index('line'), values = new Map<number, Exact>();
    const value = this.blocks.byRow(this.metric, this.tables.firstRow);
    for (const row of this.tables.rows(frame)) values.set(line[row], add(values.get(line[row]) ?? 0, value[row]));
    return new Map([...values].map(([own, value]) => [own, new Portion(value)]));
  }

  private countPaths(entry: number): boolean {
    let all = 0;
    this.paths.set(entry, 1);
    for (let i = this.order.length; i-- > 0;) {
      const frames = this.tables.framesIn(this.order[i]), own = this.paths.get(this.order[i]) ?? 0;
      all += own * frames.length;
      if (all > kMaxPaths) return false;
      for (const frame of frames) for (const { callee } of this.edges.get(frame)!) if (this.isCaller(callee)) this.paths.set(callee, (this.paths.get(callee) ?? 0) + own);
    }
    return true;
  }

  // A function that nothing called is not in the tree.
  private isCaller(callee: number): boolean { return (this.callsTo.get(callee) ?? 0) > 0; }

  private nodeOf(path: CallNode[], frame: number): CallNode[] {
    const frames = this.model.t('call_frames'), parent = frames.index('parent'), chain: number[] = [];
    for (let at = frame; at >= 0; at = parent[at]) chain.unshift(at);
    const nodes = [...path];
    for (const own of chain) {
      const row = frames.index('function')[own], id = this.model.identity('functions', row), above = nodes[nodes.length - 1] ?? this.root;
      let node = above.callees.get(id);
      if (!node) above.callees.set(id, (node = emptyNode(true)));
      if (!node.functions.includes(row)) node.functions.push(row);
      if (parent[own] < 0) node.inlined = false;
      nodes.push(node);
    }
    return nodes;
  }

  private walk(root: number, weight: number, calls: Exact, path: CallNode[]): void {
    const state = this.state.get(root) ?? { visits: 0, weight: 0 };
    this.state.set(root, state);
    state.weight += weight;
    const share = new Share(state.weight, ++state.visits === this.paths.get(root)), parent = this.model.t('call_frames').index('parent');
    for (const frame of this.tables.framesIn(root)) {
      const nodes = this.nodeOf(path, frame), node = nodes[nodes.length - 1];
      node.calls = add(node.calls, parent[frame] < 0 ? calls : this.entered.get(frame)!.next(share));
      for (const [line, portion] of this.lines.get(frame)!) {
        const part = portion.next(share);
        node.self = add(node.self, part);
        if (line >= 0) node.lines.set(line, add(node.lines.get(line) ?? 0, part));
        for (const above of nodes) above.inclusive = add(above.inclusive, part);
      }
    }
    for (const frame of this.tables.framesIn(root)) {
      const nodes = this.nodeOf(path, frame);
      for (const edge of this.edges.get(frame)!) {
        const all = this.callsTo.get(edge.callee) ?? 0;
        if (all > 0) this.walk(edge.callee, (weight * Number(edge.calls.total)) / all, edge.calls.next(share), nodes);
      }
    }
  }
}

function emptyNode(inlined: boolean): CallNode {
  return { functions: [], self: 0, inclusive: 0, calls: 0, inlined, callees: new Map(), lines: new Map() };
}

// A node whose callees are the entry points of these shaders; null if a shader has no tree.
export function callTree(model: Model, tables: CallTables, blocks: BlockSums, metric: string, shaders: Iterable<number>): CallNode | null {
  const root = emptyNode(false);
  for (const shader of shaders) {
    const entry = tables.entryOf(shader);
    if (entry < 0 || !new ShaderTree(model, tables, blocks, metric, root).add(entry)) return null;
  }
  return root;
}

export interface Relative { name: string; id: string; value: Exact; calls: Exact; }
export interface Relations { self: Exact; inclusive: Exact; calls: Exact; callers: Relative[]; callees: Relative[]; }

// A function, by identity, in all paths of a tree.
export function relationsOf(model: Model, root: CallNode, id: string): Relations {
  const all: Relations = { self: 0, inclusive: 0, calls: 0, callers: [], callees: [] };
  const callers = new Map<string, Relative>(), callees = new Map<string, Relative>();
  const note = (list: Map<string, Relative>, key: string, row: number, node: CallNode) => {
    const known = list.get(key) ?? { name: model.text('functions', 'name', row), id: key, value: 0, calls: 0 };
    list.set(key, { ...known, value: add(known.value, node.inclusive), calls: add(known.calls, node.calls) });
  };
  const visit = (node: CallNode, within: boolean) => {
    for (const [key, callee] of node.callees) {
      const own = key === id;
      if (own) {
        all.self = add(all.self, callee.self);
        all.calls = add(all.calls, callee.calls);
        if (!within) all.inclusive = add(all.inclusive, callee.inclusive); // functions of one identity may call each other
        if (node !== root) note(callers, model.identity('functions', node.functions[0]), node.functions[0], callee);
        for (const [below, inner] of callee.callees) note(callees, below, inner.functions[0], inner);
      }
      visit(callee, within || own);
    }
  };
  visit(root, false);
  const sorted = (list: Map<string, Relative>) => [...list.values()].sort((a, b) => (a.value < b.value ? 1 : a.value > b.value ? -1 : 0));
  all.callers = sorted(callers);
  all.callees = sorted(callees);
  return all;
}
