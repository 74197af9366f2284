// The strip of frames: work above, GPU time below. Dragging selects a range; a click selects one frame, or all again.

import type { App, Side } from '../app';
import { context2d, css, h, replace } from '../dom';
import { maximum, type Exact, type Values } from '../exact';
import { counted, durationText, valueText } from '../format';
import { formatFrames, inRange } from '../model/scope';
import { sumBy } from '../model/sums';
import { colourKey } from './colours';

const kHeight = 44, kMinBar = 1, kMaxBar = 36, kMaxOverUsual = 3;

interface FrameData {
  number: ArrayLike<number>;
  work: Values;
  time: number[];
  first: number[];
  marks: string[]; // why a frame is not complete, or ""
  cold: boolean[];
  counted: ArrayLike<number>; // 1: reports count it as a frame
}

function read(side: Side, metric: string): FrameData {
  const { model, sums } = side, frames = model.t('frames'), commands = model.t('commands'), frame = commands.index('frame');
  const value = metric ? sums.commandValue(metric, null) : () => 0 as Exact;
  const uncounted = frames.numbers('uncounted'), missing = frames.numbers('missing'), ended = frames.index('ended_by');
  const warm = frames.numbers('warm'), gpu = frames.times('gpu_time'), firstUse = frames.times('first_use');
  const all = Array.from({ length: frames.rows }, (_, f) => f);
  const mark = (f: number) => [
    uncounted[f] ? `${counted(uncounted[f], 'command')} ran uncounted` : '',
    missing[f] ? `${counted(missing[f], 'command')} not in the capture` : '',
    model.string(ended[f]) === 'open' ? 'the frame was still open' : ''].filter(Boolean).join('; ');
  const egl = model.t('egl_frames'), eglFrame = egl.index('frame'), eglTime = egl.times('time');
  const time = all.map((f) => (Number.isNaN(gpu[f]) ? 0 : gpu[f]));
  if (!commands.rows) for (let i = 0; i < egl.rows; ++i) if (eglFrame[i] >= 0 && eglTime[i] > 0) time[eglFrame[i]] = eglTime[i];
  return {
    number: frames.numbers('number'), work: sumBy(frames.rows, commands.rows, (i) => frame[i], value), time,
    first: all.map((f) => (Number.isNaN(firstUse[f]) ? 0 : firstUse[f])),
    marks: all.map(mark), cold: all.map((f) => commands.rows > 0 && !warm[f]), counted: frames.numbers('counted'),
  };
}

// Single frames that take much longer are cut off, so that the others can be told apart.
function usualMaximum(times: number[]): number {
  const sorted = times.filter((time) => time > 0).sort((a, b) => a - b);
  return Math.min(sorted[sorted.length - 1] ?? 0, kMaxOverUsual * (sorted[Math.floor(sorted.length * 0.9)] ?? 0));
}

export class FrameStrip {
  readonly element: HTMLElement;
  private readonly canvases = h('div', { class: 'strip-canvases' });
  private readonly from = h('input', { type: 'number', min: 0, placeholder: 'first', 'aria-label': 'First frame of the selection' });
  private readonly to = h('input', { type: 'number', min: 0, placeholder: 'last', 'aria-label': 'Last frame of the selection' });
  private readonly summary = h('span', { class: 'muted' });
  private readonly legend = h('span', { class: 'keys' });
  private readonly readout = h('span', { class: 'readout' });
  private readonly clear = h('button', { type: 'button', onclick: () => this.app.go({ frames: null }) }, 'All frames');
  private data: FrameData[] = [];
  private dataKey: string | null = null;
  private drag: { start: number; end: number } | null = null;

  constructor(private readonly app: App) {
    const typed = () => {
      const first = this.from.value || this.to.value, last = this.to.value || first;
      if (first) app.go({ frames: formatFrames({ first: Math.min(+first, +last), last: Math.max(+first, +last) }) });
    };
    this.from.addEventListener('change', typed);
    this.to.addEventListener('change', typed);
    this.element = h('section', { class: 'strip', 'aria-label': 'Frames' },
      h('div', { class: 'strip-head' }, h('span', { class: 'strip-title' }, 'Frames'), this.from, h('span', { class: 'tools' }, '\u2013'), this.to, this.clear, this.summary, this.legend),
      this.canvases, this.readout);
    new ResizeObserver(() => this.draw()).observe(this.canvases);
  }

  update(): void {
    const { app } = this;
    if (this.dataKey !== app.metricId) {
      this.data = app.sides.map((side) => read(side, app.metricId));
      this.dataKey = app.metricId;
      replace(this.canvases, ...app.sides.map((side, i) => this.makeCanvas(i, side.title)));
    }
    const range = app.scope.frames;
    const show = (input: HTMLInputElement, value: string) => { if (document.activeElement !== input) input.value = value; };
    show(this.from, range ? String(range.first) : '');
    show(this.to, range ? String(range.last) : '');
    this.clear.disabled = !range;
    this.summary.textContent = this.describe();
    this.drawLegend();
    this.draw();
  }

  private describe(): string {
    const data = this.data[0], range = this.app.scope.frames;
    let frames = 0, marked = 0;
    for (let f = 0; f < data.marks.length; ++f) {
      if (!inRange(range, data.number[f])) continue;
      if (data.counted[f]) ++frames;
      if (data.marks[f]) ++marked;
    }
    return `${counted(frames, 'frame')}${range ? ' selected' : ''}${marked ? `, ${marked} incomplete` : ''}`;
  }

  // The meaning of the colours that are there.
  private drawLegend(): void {
    const some = (test: (data: FrameData) => boolean) => this.data.some(test);
    const keys: [string, string, boolean][] = [
      ['--work', this.app.metric?.title ?? '', this.app.metricId !== ''],
      ['--time', this.app.hasCommands ? 'GPU time' : 'frame time', some(({ time }) => time.some((t) => t > 0))],
      ['--first-use', 'first use of a pipeline', some(({ first }) => first.some((t) => t > 0))],
      ['--warning', 'incomplete', some(({ marks }) => marks.some(Boolean))]];
    replace(this.legend, ...keys.filter(([, , there]) => there).map(([colour, title]) => colourKey(`var(${colour})`, title)));
  }

  private makeCanvas(side: number, title: string): HTMLElement {
    const canvas = h('canvas', { class: 'strip-canvas', 'aria-hidden': 'true' });
    const at = (event: PointerEvent) => {
      const box = canvas.getBoundingClientRect(), count = this.data[side].number.length;
      return Math.max(0, Math.min(count - 1, Math.floor((event.clientX - box.left) / Math.min(box.width / count, kMaxBar))));
    };
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.drag = { start: at(event), end: at(event) };
      this.draw();
    });
    canvas.addEventListener('pointermove', (event) => {
      this.hover(side, at(event));
      if (!this.drag) return;
      this.drag.end = at(event);
      this.draw();
    });
    canvas.addEventListener('pointerleave', () => { this.readout.textContent = ''; });
    canvas.addEventListener('pointerup', () => this.select(side));
    return h('div', { class: 'strip-row' }, this.app.against ? h('span', { class: 'strip-side' }, title) : null, canvas);
  }

  private select(side: number): void {
    if (!this.drag) return;
    const { number } = this.data[side], { start, end } = this.drag;
    this.drag = null;
    const range = { first: number[Math.min(start, end)], last: number[Math.max(start, end)] };
    const text = formatFrames(range);
    this.app.go({ frames: text === this.app.framesText() ? null : text });
    this.draw();
  }

  private hover(side: number, f: number): void {
    const data = this.data[side], { app } = this;
    const parts = [`frame ${data.number[f]}`];
    if (app.metric) parts.push(`${valueText(data.work[f], app.unit)} ${app.metric.title}`);
    if (data.time[f]) parts.push(`GPU ${durationText(data.time[f])}`);
    if (data.first[f]) parts.push(`first use ${durationText(data.first[f])}`);
    if (data.cold[f]) parts.push('not warm');
    if (data.marks[f]) parts.push(data.marks[f]);
    this.readout.textContent = parts.join(' \u00B7 ');
  }

  private draw(): void {
    this.canvases.querySelectorAll('canvas').forEach((canvas, side) => this.drawSide(canvas, side));
  }

  private drawSide(canvas: HTMLCanvasElement, side: number): void {
    const data = this.data[side], width = canvas.clientWidth, count = data.number.length;
    if (!width || !count) return;
    const context = context2d(canvas, width, kHeight), worked = this.app.metricId !== '';
    const half = worked ? (kHeight - 8) / 2 : 0, timed = kHeight - 8 - half;
    const mostWork = Math.max(...this.data.map(({ work }) => maximum(work)), 1);
    const mostTime = Math.max(...this.data.map(({ time, first }) => usualMaximum(time.map((t, i) => t + first[i]))), 1);
    const colour = { work: css('--work'), time: css('--time'), first: css('--first-use'), mark: css('--warning'), faint: css('--faint') };
    const own = Math.min(width / count, kMaxBar), gap = own > 4 ? 1 : 0, step = Math.max(1, Math.floor(count / (width * 2)));
    const range = this.app.scope.frames;
    const chosen = (f: number) => (this.drag ? f >= Math.min(this.drag.start, this.drag.end) && f <= Math.max(this.drag.start, this.drag.end) : inRange(range, data.number[f]));
    for (let f = 0; f < count; f += step) {
      const x = f * own, w = Math.max(kMinBar, own * step - gap);
      context.globalAlpha = chosen(f) ? 1 : 0.28;
      context.fillStyle = colour.work;
      const work = (Number(data.work[f]) / mostWork) * half;
      if (worked) context.fillRect(x, half - work, w, Math.max(work, 0.5));
      context.fillStyle = colour.time;
      const time = Math.min(1, data.time[f] / mostTime) * timed, first = Math.min(timed - time, (data.first[f] / mostTime) * timed);
      context.fillRect(x, half + 2, w, Math.max(time, 0.5));
      context.fillStyle = colour.first;
      if (first) context.fillRect(x, half + 2 + time, w, first);
      if (data.marks[f]) {
        context.fillStyle = colour.mark;
        context.fillRect(x, kHeight - 4, Math.max(2, w), 4);
      }
    }
    context.globalAlpha = 1;
  }
}
