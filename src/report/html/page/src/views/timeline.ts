// Queues, command buffers, labels, passes and dispatches on the GPU's clock.

import type { App, Side, View } from '../app';
import { context2d, css, h, printable, replace } from '../dom';
import { changeText, durationText, exactText } from '../format';
import { inRange } from '../model/scope';
import { ticks, timelineLanes, type Item, type Lane } from '../model/timeline';
import { colourKey } from '../ui/colours';
import { announce } from '../ui/copy';

const kRow = 20, kAxis = 24, kTitle = 18, kMinText = 40, kGap = 6;

interface Placed { item: Item; x: number; y: number; width: number; }

export class TimelineView implements View {
  readonly element: HTMLElement;
  private readonly canvas = h('canvas', { class: 'timeline-canvas', tabindex: '0', role: 'application', 'aria-label': 'Timeline: arrow keys move, plus and minus zoom, comma and period step through the items, Enter opens one' });
  private readonly readout = h('div', { class: 'detail', role: 'status' });
  private readonly holder = h('div', { class: 'timeline-scroll' });
  private lanes: Lane[] = [];
  private span = { begin: 0, end: 1 };
  private view = { begin: 0, end: 1 };
  private placed: Placed[] = [];
  private selected: Item | null = null;
  private drag: { x: number; begin: number; end: number; moved: boolean } | null = null;
  private frame = 0;

  constructor(private readonly app: App) {
    const button = (title: string, label: string, action: () => void) => h('button', { type: 'button', title, 'aria-label': title, onclick: action }, label);
    this.holder.append(this.canvas);
    this.element = h('section', { class: 'view timeline', 'aria-label': 'Timeline' },
      h('div', { class: 'pane-head' }, h('span', { class: 'muted' }, 'Time on the GPU while counting. Drag to move, scroll to zoom, click for the draws.'), colourKey('var(--first-use)', 'first use of a pipeline'), h('span', { class: 'spring' }),
        button('Zoom in', '+', () => this.zoom(0.5)), button('Zoom out', '\u2212', () => this.zoom(2)), h('button', { type: 'button', onclick: () => this.setView(this.span.begin, this.span.end) }, 'Whole capture')),
      this.holder, this.readout);
    this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener('pointerdown', (event) => { this.canvas.setPointerCapture(event.pointerId); this.drag = { x: event.clientX, ...this.view, moved: false }; });
    this.canvas.addEventListener('pointermove', (event) => this.move(event));
    this.canvas.addEventListener('pointerup', (event) => this.release(event));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.schedule()).observe(this.holder);
  }

  update(changed: Set<string>): void {
    const { app } = this;
    if (!this.lanes.length) {
      this.lanes = app.sides.flatMap((side) => timelineLanes(side));
      this.span = { begin: Infinity, end: -Infinity };
      for (const { items } of this.lanes)
        for (const { begin, end } of items) this.span = { begin: Math.min(this.span.begin, begin), end: Math.max(this.span.end, end) };
      this.view = { ...this.span };
    }
    const [begin, end] = app.state.get('t').split('-').map(Number);
    this.view = end > begin ? { begin, end } : { ...this.span };
    if (changed.has('frames') && app.scope.frames && !changed.has('t')) this.showFrames();
    this.describe(this.selected);
    this.schedule();
  }

  private frameOf(item: Item): number {
    if (item.row < 0) return -1;
    const { model } = item.side, table = model.t(item.kind === 'pass' ? 'passes' : 'commands');
    return model.t('frames').numbers('number')[table.index('frame')[item.row]];
  }

  private showFrames(): void {
    let begin = Infinity, end = -Infinity;
    for (const { items } of this.lanes) {
      for (const item of items) {
        const frame = this.frameOf(item);
        if (frame >= 0 && inRange(this.app.scope.frames, frame)) begin = Math.min(begin, item.begin), end = Math.max(end, item.end);
      }
    }
    if (end > begin) this.setView(begin - (end - begin) * 0.02, end + (end - begin) * 0.02);
  }

  private setView(begin: number, end: number): void {
    const whole = this.span.end - this.span.begin, width = Math.min(Math.max(end - begin, 10), whole);
    const from = Math.max(this.span.begin, Math.min(begin, this.span.end - width));
    const all = width >= whole;
    this.app.state.set({ t: all ? null : `${Math.max(0, Math.floor(from))}-${Math.ceil(from + width)}` });
  }

  private zoom(factor: number, at = 0.5): void {
    const { begin, end } = this.view, middle = begin + (end - begin) * at;
    this.setView(middle - (middle - begin) * factor, middle + (end - middle) * factor);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const box = this.canvas.getBoundingClientRect(), width = this.view.end - this.view.begin;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = ((event.deltaX || event.deltaY) / box.width) * width;
      this.setView(this.view.begin + by, this.view.end + by);
    } else {
      this.zoom(Math.exp(event.deltaY * 0.002), (event.clientX - box.left) / box.width);
    }
  }

  private move(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    if (this.drag) {
      const by = ((this.drag.x - event.clientX) / box.width) * (this.drag.end - this.drag.begin);
      if (Math.abs(event.clientX - this.drag.x) > 3) this.drag.moved = true;
      if (this.drag.moved) this.setView(this.drag.begin + by, this.drag.end + by);
      return;
    }
    this.describe(this.hit(event.clientX - box.left, event.clientY - box.top)?.item ?? this.selected);
  }

  private release(event: PointerEvent): void {
    const moved = this.drag?.moved, box = this.canvas.getBoundingClientRect();
    this.drag = null;
    if (moved) return;
    const hit = this.hit(event.clientX - box.left, event.clientY - box.top);
    this.selected = hit?.item ?? null;
    if (hit) this.open(hit.item);
    this.schedule();
  }

  private hit(x: number, y: number): Placed | undefined {
    return this.placed.find((own) => x >= own.x - 1 && x <= own.x + own.width + 1 && y >= own.y && y < own.y + kRow);
  }

  private open(item: Item): void {
    const { app } = this, { model } = item.side;
    if (item.kind === 'pass') {
      const pass = { kind: 'pass' as const, id: model.identity('merged_passes', model.t('passes').index('merged')[item.row]) };
      app.go({ ...app.where([pass], 'draw'), frames: String(this.frameOf(item)) });
    } else if (item.kind === 'command') {
      app.go({ ...app.where([{ kind: 'pass', id: '-' }], 'draw'), frames: String(this.frameOf(item)) });
    } else if (item.kind === 'label') {
      this.setView(item.begin, item.end);
    }
  }

  private describe(item: Item | null): void {
    if (!item) return replace(this.readout, h('span', { class: 'muted' }, `${durationText(this.view.end - this.view.begin)} shown of ${durationText(this.span.end - this.span.begin)}`));
    const frame = this.frameOf(item), time = item.end - item.begin;
    replace(this.readout, h('strong', { class: 'name' }, item.name || `(${item.kind.replace('_', ' ')})`), h('span', { class: 'muted' }, item.kind.replace('_', ' ')),
      this.app.against ? h('span', { class: `side-tag ${item.side.title}` }, item.side.title) : null,
      h('span', { title: exactText(time, 'ns') }, durationText(time)), this.change(item, time), h('span', { class: 'muted', title: exactText(item.begin, 'ns') }, `from ${durationText(item.begin)}`),
      frame >= 0 ? h('span', { class: 'muted' }, `frame ${frame}`) : null, item.firstUse ? h('span', { class: 'warn-text' }, 'first use of a pipeline') : null);
  }

  // Against the same pass of the other capture: in the same frame, at the same place among the passes of its name.
  private change(item: Item, time: number): HTMLElement | null {
    const other = this.app.sides.find((side) => side !== item.side);
    if (!other || item.kind !== 'pass') return null;
    const frame = this.frameOf(item), name = ({ model }: Side, row: number) => model.identity('merged_passes', model.t('passes').index('merged')[row]);
    const wanted = name(item.side, item.row);
    const same = (side: Side) => {
      const { model } = side, of = model.t('passes').index('frame'), number = model.t('frames').numbers('number');
      return Array.from(of.keys()).filter((row) => number[of[row]] === frame && name(side, row) === wanted);
    };
    const mine = same(item.side), theirs = same(other), row = mine.length === theirs.length ? theirs[mine.indexOf(item.row)] : undefined;
    if (row === undefined) return null;
    const passes = other.model.t('passes'), own = passes.times('end')[row] - passes.times('begin')[row];
    const [now, before] = other === this.app.now ? [own, time] : [time, own];
    return h('span', { title: exactText(own, 'ns') }, `${other.title} ${durationText(own)}, change ${changeText(before, now) || '0'}`);
  }

  private key(event: KeyboardEvent): void {
    const width = this.view.end - this.view.begin, step = width * 0.2;
    switch (event.key) {
      case 'ArrowLeft': this.setView(this.view.begin - step, this.view.end - step); break;
      case 'ArrowRight': this.setView(this.view.begin + step, this.view.end + step); break;
      case '+': case '=': this.zoom(0.5); break;
      case '-': this.zoom(2); break;
      case 'Home': this.setView(this.span.begin, this.span.end); break;
      case ',': case '.': this.step(event.key === '.' ? 1 : -1); break;
      case 'Enter': if (this.selected) this.open(this.selected); break;
      default: return;
    }
    event.preventDefault();
  }

  private step(by: number): void {
    const items = this.lanes.flatMap(({ items: own }) => own), at = this.selected ? items.indexOf(this.selected) : by > 0 ? -1 : items.length;
    const item = items[at + by];
    if (!item) return;
    this.selected = item;
    if (item.begin < this.view.begin || item.end > this.view.end) this.setView(item.begin - (item.end - item.begin), item.end + (item.end - item.begin));
    this.describe(item);
    announce(`${item.kind} ${printable(item.name)}, ${durationText(item.end - item.begin)}`);
    this.schedule();
  }

  private schedule(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  private draw(): void {
    const width = this.holder.clientWidth;
    if (!width) return;
    const height = kAxis + this.lanes.reduce((sum, lane) => sum + kTitle + lane.depth * kRow + kGap, 0);
    const context = context2d(this.canvas, width, height), { begin, end } = this.view;
    const x = (time: number) => ((time - begin) / (end - begin)) * width;
    const colours = { text: css('--text'), muted: css('--muted'), line: css('--line'), pass: css('--kind-pass'), command: css('--kind-pipeline'), label: css('--kind-label'),
      command_buffer: css('--kind-frame'), firstUse: css('--first-use'), ink: css('--bar-text'), accent: css('--accent') };
    context.clearRect(0, 0, width, height);
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const tick of ticks(begin, end, Math.max(2, width / 130))) {
      context.fillStyle = colours.line;
      context.fillRect(x(tick), kAxis - 6, 1, height);
      context.fillStyle = colours.muted;
      const text = durationText(tick), at = x(tick) + 4;
      if (at + context.measureText(text).width < width) context.fillText(text, at, kAxis / 2);
    }
    this.placed = [];
    let y = kAxis, queue = '';
    for (const lane of this.lanes) {
      context.fillStyle = colours.muted;
      const own = `${this.app.against ? `${lane.items[0].side.title}, ` : ''}${lane.queue}`;
      context.fillText(printable(own === queue ? lane.title : `${own}: ${lane.title}`), 4, y + kTitle / 2);
      queue = own;
      this.drawLane(context, lane, x, y + kTitle, width, colours);
      y += kTitle + lane.depth * kRow + kGap;
    }
  }

  private drawLane(context: CanvasRenderingContext2D, lane: Lane, x: (t: number) => number, top: number, width: number, colours: { [name: string]: string }): void {
    const drawn = new Array<number>(lane.depth).fill(-1), { items, rows } = lane, range = this.app.scope.frames;
    for (let i = 0; i < items.length; ++i) {
      const item = items[i];
      if (item.begin > this.view.end) break;
      if (item.end < this.view.begin) continue;
      const from = Math.max(-2, x(item.begin)), to = Math.min(width + 2, x(item.end)), y = top + rows[i] * kRow;
      if (to < drawn[rows[i]] + 0.5) continue; // hidden by what is drawn at the same pixel
      const own = Math.max(1, to - from - 1);
      drawn[rows[i]] = from + own;
      const dimmed = item.row >= 0 && range !== null && !inRange(range, this.frameOf(item));
      context.globalAlpha = dimmed ? 0.3 : 1;
      context.fillStyle = item.firstUse ? colours.firstUse : colours[item.kind];
      context.fillRect(from, y + 1, own, kRow - 2);
      if (item === this.selected) {
        context.strokeStyle = colours.accent;
        context.lineWidth = 2;
        context.strokeRect(from, y + 1, own, kRow - 2);
      }
      if (own > kMinText) this.drawText(context, item.name || item.kind.replace('_', ' '), Math.max(0, from) + 4, y + kRow / 2, own - 8, colours.ink);
      context.globalAlpha = 1;
      this.placed.push({ item, x: from, y, width: own });
    }
  }

  private drawText(context: CanvasRenderingContext2D, name: string, x: number, y: number, width: number, colour: string): void {
    const text = printable(name), most = Math.floor(width / 6);
    context.fillStyle = colour;
    context.fillText(text.length > most ? `${text.slice(0, Math.max(1, most - 1))}\u2026` : text, x, y, width);
  }
}
