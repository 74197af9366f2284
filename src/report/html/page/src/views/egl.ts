// The counters of GL programs, frame by frame, as lines; below them a table of all counters.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { App, View } from '../app';
import { css, h, replace } from '../dom';
import { changeText, durationText, exactText, signedText, valueText, withSeparators, type Unit } from '../format';
import { inRange } from '../model/scope';
import { colourKey } from '../ui/colours';

const kChartHeight = 130, kDefaultCharts = 6;
const kTime = 'time';

interface Counter { id: string; title: string; group: string; unit: Unit; isLevel: boolean; description: string; }

interface Series { values: (number | null)[]; sum: number; min: number; max: number; measured: number; }

export class EglView implements View {
  readonly element: HTMLElement;
  private readonly charts = h('div', { class: 'charts' });
  private readonly keys = h('div', { class: 'keys' });
  private readonly table = h('div', { class: 'counter-table' });
  private plots: uPlot[] = [];
  private drawnKey = '';

  constructor(private readonly app: App) {
    this.element = h('section', { class: 'view egl', 'aria-label': 'EGL counters' }, this.keys, this.charts, this.table);
    new ResizeObserver(() => this.resize()).observe(this.charts);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.drawnKey = ''; this.update(); });
  }

  private get counters(): Counter[] {
    const { model } = this.app.now;
    const time: Counter = { id: kTime, title: 'frame time', group: 'frame', unit: 'ns', isLevel: true, description: 'duration of the frame' };
    return [time, ...model.capture.egl_counters.map((own) => ({ id: own.id, title: own.title, group: own.group, unit: own.unit as Unit, isLevel: own.is_level, description: own.description }))];
  }

  private frames(side = this.app.now): { rows: number[]; numbers: number[] } {
    const { model } = side, table = model.t('egl_frames'), frame = table.index('frame'), number = model.t('frames').numbers('number'), rows: number[] = [];
    for (let row = 0; row < table.rows; ++row) if (inRange(this.app.scope.frames, number[frame[row]])) rows.push(row);
    return { rows, numbers: rows.map((row) => number[frame[row]]) };
  }

  private series(id: string, side = this.app.now): Series {
    const column = side.model.t('egl_frames').times(id), values: (number | null)[] = [];
    let sum = 0, min = Infinity, max = -Infinity, measured = 0;
    for (const row of this.frames(side).rows) {
      const value = column[row];
      if (Number.isNaN(value)) { values.push(null); continue; }
      values.push(value);
      ++measured;
      sum += value;
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
    return { values, sum, min, max, measured };
  }

  private wanted(counter: Counter, { sum, max, measured }: Series): boolean {
    if (!this.app.before) return max > 0;
    const before = this.series(counter.id, this.app.before);
    return (max > 0 || before.max > 0) && (this.app.state.get('changed') !== '1' || sum * before.measured !== before.sum * measured);
  }

  update(): void {
    const { app } = this, key = `${app.framesText()} ${app.state.get('charts')} ${app.state.get('changed')} ${app.state.get('theme')} ${app.state.get('q')}`;
    if (key === this.drawnKey) return;
    this.drawnKey = key;
    const all = this.counters.map((counter) => ({ counter, series: this.series(counter.id) })).filter(({ counter, series }) => this.wanted(counter, series));
    const varying = all.filter(({ counter, series }) => counter.id !== kTime && series.min !== series.max).slice(0, kDefaultCharts - 1);
    const chosen = app.state.get('charts') ? app.state.get('charts').split(',') : [kTime, ...varying.map(({ counter }) => counter.id)];
    this.drawCharts(all.filter(({ counter }) => chosen.includes(counter.id)));
    this.drawTable(all, chosen);
  }

  private drawCharts(shown: { counter: Counter; series: Series }[]): void {
    this.plots.forEach((plot) => plot.destroy());
    this.plots = [];
    replace(this.charts);
    replace(this.keys, ...(this.app.against ? [colourKey('var(--more)', 'now'), colourKey('var(--less)', 'before')] : []));
    const { numbers } = this.frames(), sync = uPlot.sync('frames'), [line, grid, text, old] = [css(this.app.against ? '--more' : '--work'), css('--line'), css('--muted'), css('--less')];
    for (const { counter, series } of shown) {
      const value = h('span', { class: 'chart-value' }), holder = h('div', { class: 'chart', role: 'img', 'aria-label': `${counter.group} ${counter.title} by frame: ${this.text(series.min, counter)} to ${this.text(series.max, counter)}` });
      this.charts.append(h('figure', { title: counter.description }, h('figcaption', {}, h('span', { class: 'muted' }, `${counter.group} `), counter.title, value), holder));
      const data: (number | null)[][] = [numbers, series.values], lines: uPlot.Series[] = [{}, { stroke: line, width: 1.25, points: { show: numbers.length < 60, size: 4 } }];
      if (this.app.before) {
        const before = this.series(counter.id, this.app.before), byNumber = new Map(this.frames(this.app.before).numbers.map((number, i) => [number, before.values[i]]));
        data.push(numbers.map((number) => byNumber.get(number) ?? null));
        lines.push({ stroke: old, width: 1.25, dash: [4, 3], points: { show: false } });
      }
      const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
      this.plots.push(new uPlot({
        width: Math.max(200, holder.clientWidth || 400), height: kChartHeight, series: lines, legend: { show: false },
        scales: { x: { time: false }, y: { range: (_, min, max) => [Math.min(0, min), max * 1.05 || 1] } },
        axes: [{ ...axis, size: 24 }, { ...axis, size: 76, values: (_, ticks) => ticks.map((tick) => this.text(tick, counter)) }],
        cursor: { sync: { key: sync.key }, points: { size: 6 } },
        hooks: { setCursor: [(plot) => {
          const at = plot.cursor.idx;
          value.textContent = at === null || at === undefined ? '' : `frame ${numbers[at]}: ${data.slice(1).map((own) => (own[at] === null ? 'not measured' : this.exact(own[at]!, counter))).join(', before ')}`;
        }] },
      }, data as uPlot.AlignedData, holder));
    }
  }

  private text(value: number, counter: Counter): string { return valueText(value, counter.unit); }
  private exact(value: number, counter: Counter): string { return counter.unit === 'ns' ? durationText(value) : exactText(value, counter.unit); }

  private drawTable(all: { counter: Counter; series: Series }[], chosen: string[]): void {
    const toggle = (id: string) => this.app.state.set({ charts: (chosen.includes(id) ? chosen.filter((own) => own !== id) : [...chosen, id]).join(',') || 'none' });
    const number = (value: number, counter: Counter) => (Number.isFinite(value) ? h('td', { class: 'number', title: exactText(value, counter.unit) }, this.text(value, counter)) : h('td', {}));
    const before = this.app.before;
    const rows = all.map(({ counter, series }) => {
      const old = before ? this.series(counter.id, before) : null, mean = series.sum / series.measured;
      return h('tr', {},
        h('td', {}, h('input', { type: 'checkbox', checked: chosen.includes(counter.id), 'aria-label': `Chart of ${counter.group} ${counter.title}`, onchange: () => toggle(counter.id) })),
        h('td', { class: 'text muted' }, counter.group), h('th', { scope: 'row', class: 'text', title: counter.description }, counter.title),
        counter.isLevel ? h('td', { class: 'number' }) : number(series.sum, counter), number(mean, counter), number(series.min, counter), number(series.max, counter),
        ...(old ? this.change(mean, old.measured ? old.sum / old.measured : null, counter) : []), h('td', { class: 'number muted' }, withSeparators(series.measured)));
    });
    const heads = ['', 'group', 'counter', 'total', 'mean', 'min', 'max', ...(before ? ['mean before', 'change', '%'] : []), 'frames'];
    replace(this.table, h('table', { class: 'grid plain', 'aria-label': 'Counters over the selected frames' },
      h('thead', {}, h('tr', {}, ...heads.map((head, i) => h(i ? 'th' : 'td', { scope: i ? 'col' : null, class: i > 2 ? 'number' : 'text' }, head)))), h('tbody', {}, ...rows)));
  }

  private change(mean: number, old: number | null, counter: Counter): HTMLElement[] {
    if (old === null || Number.isNaN(mean)) return [old === null ? '' : this.text(old, counter), '', old === null ? 'new' : 'gone'].map((text) => h('td', { class: 'number' }, text));
    const change = mean - old, sign = change > 0 ? 'more' : change < 0 ? 'less' : '';
    return [h('td', { class: 'number', title: exactText(old, counter.unit) }, this.text(old, counter)),
      h('td', { class: 'number', title: exactText(change, counter.unit), 'data-sign': sign }, signedText(change, (value) => this.text(Number(value), counter))),
      h('td', { class: 'number', 'data-sign': sign }, changeText(old, mean))];
  }

  private resize(): void {
    for (const plot of this.plots) {
      const width = plot.root.parentElement?.clientWidth ?? 0;
      if (width && width !== plot.width) plot.setSize({ width, height: kChartHeight });
    }
  }
}
