// The contents of the timeline: lanes of items on the GPU's clock.

import type { Side } from '../app';

export interface Item {
  side: Side;
  begin: number;
  end: number;
  name: string;
  kind: 'pass' | 'command' | 'label' | 'command_buffer';
  row: number;    // of passes or commands, or -1
  firstUse: boolean;
}

export interface Lane { queue: string; title: string; items: Item[]; rows: number[]; depth: number; }

const kTitles = { command_buffer: 'command buffers', label: 'labels', pass: 'passes, dispatches' };

// Items that overlap go to rows below one another.
function stack(items: Item[]): { rows: number[]; depth: number } {
  const ends: number[] = [];
  const rows = items.map(({ begin, end }) => {
    let row = ends.findIndex((last) => last <= begin);
    if (row < 0) row = ends.length < 12 ? ends.length : 11;
    ends[row] = Math.max(ends[row] ?? 0, end);
    return row;
  });
  return { rows, depth: Math.max(1, ends.length) };
}

export function timelineLanes(side: Side): Lane[] {
  const { model } = side;
  const byLane = new Map<string, { queue: number; kind: keyof typeof kTitles; items: Item[]; depths: number[] }>();
  const push = (queue: number, kind: keyof typeof kTitles, own: Omit<Item, 'side'>, depth = -1) => {
    const item = { side, ...own };
    if (Number.isNaN(item.begin) || Number.isNaN(item.end)) return;
    const key = `${queue} ${kind}`;
    let lane = byLane.get(key);
    if (!lane) byLane.set(key, (lane = { queue, kind, items: [], depths: [] }));
    lane.items.push(item);
    lane.depths.push(depth);
  };
  const spans = model.t('spans'), [spanQueue, begin, end] = [spans.index('queue'), spans.times('begin'), spans.times('end')];
  for (let row = 0; row < spans.rows; ++row) {
    const kind = model.text('spans', 'kind', row) === 'label' ? 'label' : 'command_buffer';
    push(spanQueue[row], kind, { begin: begin[row], end: end[row], name: model.text('spans', 'name', row), kind, row: -1, firstUse: false }, spans.numbers('depth')[row]);
  }
  const passes = model.t('passes'), [passBegin, passEnd] = [passes.times('begin'), passes.times('end')];
  for (let row = 0; row < passes.rows; ++row)
    push(passes.index('queue')[row], 'pass', { begin: passBegin[row], end: passEnd[row], name: model.passName(row), kind: 'pass', row, firstUse: !!passes.numbers('first_use')[row] });
  const commands = model.t('commands'), [from, to] = [commands.times('begin'), commands.times('end')], inPass = commands.index('pass');
  for (let row = 0; row < commands.rows; ++row) {
    if (inPass[row] >= 0 || Number.isNaN(from[row])) continue;
    push(commands.index('queue')[row], 'pass', { begin: from[row], end: to[row], name: model.string(commands.index('call')[row]), kind: 'command', row, firstUse: !!commands.numbers('first_use')[row] });
  }
  const order = ['command_buffer', 'label', 'pass'];
  const lanes = [...byLane.values()].sort((a, b) => a.queue - b.queue || order.indexOf(a.kind) - order.indexOf(b.kind));
  return lanes.map(({ queue, kind, items, depths }) => {
    const sorted = items.map((item, i) => ({ item, depth: depths[i] })).sort((a, b) => a.item.begin - b.item.begin || b.item.end - a.item.end);
    const list = sorted.map(({ item }) => item), stacked = stack(list);
    return { queue: model.text('queues', 'name', queue) || 'queue', title: kTitles[kind], items: list, ...stacked };
  });
}

// Round numbers, about `count` of them.
export function ticks(begin: number, end: number, count: number): number[] {
  const least = (end - begin) / count, power = 10 ** Math.floor(Math.log10(least)), found: number[] = [];
  const step = power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
  for (let i = Math.ceil(begin / step); step > 0 && i * step <= end; ++i) found.push(i * step);
  return found;
}
