// The findings, the contents of the capture, the uncounted part and the reasons, and the costliest passes, shaders and lines.

import type { App, Side, View } from '../app';
import { h, replace, type Child } from '../dom';
import { add, compare, subtract, type Exact } from '../exact';
import { changeText, counted, durationText, exactText, percentText, signedText, valueText, withSeparators, type Unit } from '../format';
import { groupsOf, uncountedText, whyNoShare, type By } from '../model/groups';
import type { Model } from '../model/model';
import { commandsOf, formatSteps, inRange, type FrameRange, type Step } from '../model/scope';
import { thumbnail } from '../ui/thumbnail';

const kTop = 5, kMaxList = 8, kMaxRanges = 6, kMaxMeans = 12;

function startText(ns: number): string {
  const date = new Date(ns / 1e6);
  return Number.isNaN(date.getTime()) ? 'unknown' : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function fact(title: string, ...value: Child[]): HTMLElement[] {
  return [h('dt', {}, title), h('dd', {}, ...value)];
}

function warmText(info: any): string {
  if (!(info.draws + info.dispatches)) return '';
  if (!info.warm_frames?.length) return 'none: every frame uses a pipeline for the first time';
  const ranges = info.warm_frames.slice(0, kMaxRanges).map(([first, last]: number[]) => (first === last ? `${first}` : `${first}-${last}`));
  if (info.warm_frames.length === 1 && !ranges[0].includes('-')) return `frame ${ranges[0]}`;
  return `frames ${ranges.join(', ')}${info.warm_frames.length > kMaxRanges ? ' ...' : ''}`;
}

// As the heads of reports say it.
function framesLimit(range: string): string {
  if (!range.startsWith('the last ')) return range && `frames ${range}`;
  return `${range} frame${range === 'the last 1' ? '' : 's'}`;
}

function list(title: string, texts: string[], className = ''): HTMLElement | null {
  if (!texts.length) return null;
  const shown = texts.slice(0, kMaxList).map((text) => h('li', {}, text));
  const rest = texts.slice(kMaxList).map((text) => h('li', {}, text));
  const more = rest.length ? h('details', {}, h('summary', {}, `${withSeparators(rest.length)} more`), h('ul', {}, ...rest)) : null;
  return h('div', { class: `note-list ${className}` }, h('h3', {}, title), h('ul', {}, ...shown), more);
}

function frameMeans(model: Model, range: FrameRange | null): Map<string, number> {
  const table = model.t('egl_frames'), frame = table.index('frame'), number = model.t('frames').numbers('number'), means = new Map<string, number>();
  for (const id of ['time', ...model.capture.egl_counters.map((counter) => counter.id)]) {
    const column = table.times(id);
    let sum = 0, count = 0;
    for (let row = 0; row < table.rows; ++row)
      if (!Number.isNaN(column[row]) && inRange(range, number[frame[row]])) sum += column[row], ++count;
    if (count) means.set(id, sum / count);
  }
  return means;
}

export class OverviewView implements View {
  readonly element = h('section', { class: 'view overview', 'aria-label': 'Overview' });

  constructor(private readonly app: App) {}

  update(): void {
    const { app } = this;
    replace(this.element,
      this.causes(), this.findings(),
      h('div', { class: 'captures' }, ...app.sides.map((side) => this.facts(side))),
      this.problems(),
      app.hasCommands ? this.totals() : null, ...this.tables(), this.memory(), this.eglMeans(),
      app.metricId && app.against ? this.tops('Changed most:', true) : null, app.metricId ? this.tops('Costliest', false) : null);
  }

  private facts(side: Side): HTMLElement {
    const { info } = side.model.capture;
    const counts = new Map<string, number>();
    for (const d of info.devices ?? []) {
      const text = `${d.name}; ${d.driver}; ${d.api} ${d.api_version ?? ''}`.trim();
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    const devices = [...counts].map(([text, count]) => (count === 1 ? text : `${text} (${counted(count, 'device')})`));
    const captured = [startText(Number(info.start_unix_ns)), info.duration_ns !== null ? durationText(info.duration_ns) : '', `by tally ${info.tool_version}`]
      .filter(Boolean).join(', ') + (info.exit_status ? `; the application ended with status ${info.exit_status}` : '');
    const limits = [framesLimit(info.frame_range), info.shader_pattern && `shaders '${info.shader_pattern}'`].filter(Boolean).join(', ');
    const holds = this.app.hasCommands
      ? [counted(info.frames, 'frame'), counted(info.passes, 'pass'), counted(info.draws, 'draw'), counted(info.dispatches, 'dispatch')].join(', ')
      : counted(info.frames, 'frame');
    const shaders = `${counted(info.shaders_counted, 'shader')} counted${info.not_counted.length ? `, ${withSeparators(info.not_counted.length)} not` : ''}`;
    const warm = warmText(info), ends = info.frames_end_at ?? '';
    return h('div', { class: 'card' },
      h('h2', {}, this.app.against ? h('span', { class: `side-tag ${side.title}` }, side.title) : null, String(info.file).replace(/^.*\//, '')),
      h('dl', { class: 'facts' },
        ...fact('application', (info.command_line ?? []).join(' ')), ...fact('captured', captured),
        ...(limits ? fact('limits', limits) : []),
        ...devices.flatMap((text: string) => fact('device', text)),
        ...fact('holds', holds), ...(ends ? fact('frames', `end at ${ends}`) : []), ...(warm ? fact('warm', h('span', { title: 'no pipeline is used for the first time in them' }, warm)) : []),
        ...(this.app.hasCommands ? fact('shaders', shaders) : []),
        ...info.replaced.filter((r: any) => !r.refusal).flatMap((r: any) => fact('replaced', `${r.shader} by ${r.file}`))));
  }

  // A cause that is a line leads to it.
  private causes(): HTMLElement | null {
    const causes = this.app.data.head.against?.causes;
    if (!causes?.list.length) return null;
    const items = causes.list.map(({ text, parts }) => h('li', {}, this.place(text.split(' ', 1)[0]), text.slice(text.split(' ', 1)[0].length), parts ? h('small', {}, ` (${parts})`) : null));
    const rest = items.slice(kMaxList);
    return h('div', { class: 'note-list causes' }, h('h2', {}, 'Causes of the change'), h('p', {}, causes.total),
      h('ol', {}, ...items.slice(0, kMaxList)),
      rest.length ? h('details', {}, h('summary', {}, `${withSeparators(rest.length)} more`), h('ol', { start: kMaxList + 1 }, ...rest)) : null);
  }

  private problems(): HTMLElement {
    const box = h('div', { class: 'problems' });
    for (const side of this.app.sides) {
      const { info, left_out } = side.model.capture, prefix = this.app.against ? `${side.title}: ` : '';
      const missing: string[] = info.missing ?? [];
      const parts = [
        list(`${prefix}Not replaced`, info.replaced.filter((r: any) => r.refusal).map((r: any) => `${r.shader} by ${r.file}: ${r.refusal}`), 'warn'),
        list(`${prefix}Not counted`, info.not_counted.map((n: any) => `${n.shader}: ${n.reason} (${counted(n.commands, 'command')})`), 'warn'),
        list(`${prefix}Missing`, missing, 'warn'),
        list(`${prefix}Messages`, (info.messages ?? []).filter((m: any) => m.severity !== 'info').map((m: any) => `${m.severity}: ${m.text}${m.count > 1 ? ` (${m.count} times)` : ''}`), 'warn'),
        list(`${prefix}Left out of this file`, left_out ?? []),
      ];
      for (const part of parts) if (part) box.append(part);
    }
    const notes = list('Differences that make the captures hard to compare', this.app.data.head.against?.notes ?? [], 'warn');
    if (notes) box.append(notes);
    return box;
  }

  // The findings of `tally explain`. Lines and shaders lead to their source.
  private findings(): HTMLElement | null {
    const { app } = this, { capture } = app.now.model, { findings } = capture;
    if (!findings.length) return null;
    const items = findings.map((finding) => h('li', {},
      h('strong', {}, finding.rule), finding.share > 0 ? h('span', { class: 'muted' }, ` ${percentText(100 * finding.share)}`) : null, ` ${finding.text}`,
      h('ul', {}, ...finding.places.map((place) => h('li', {}, this.place(place.where), ` ${place.numbers} `, h('code', {}, place.text.trim()))),
        finding.places_left_out ? h('li', { class: 'muted' }, `and ${withSeparators(finding.places_left_out)} more`) : null),
      h('span', { class: 'muted' }, `Try: ${finding.what_to_try}.`)));
    const lacking = uncountedText(app.now.model, null);
    const scope = app.scope.frames ? ' (of all frames)' : '';
    return h('div', { class: 'card findings' }, h('h2', {}, 'What costs, and what to try', h('span', { class: 'muted' }, scope)), h('ol', {}, ...items),
      lacking ? h('p', { class: 'muted' }, lacking) : null);
  }

  // The accesses to memory of `run --memory`.
  private memory(): HTMLElement | null {
    const { app } = this, { memory, memory_left_out } = app.now.model.capture;
    if (!memory.length) return null;
    const number = (value: number) => h('td', { class: 'number' }, value ? withSeparators(value) : '');
    const head: [string, string][] = [['line', ''], ['resource', 'set, binding and name'], ['access', ''], ['bytes', 'requested by invocations'],
      ['sectors', 'of 32 bytes that subgroups touched'], ['used', 'requested bytes, in percent of those of the sectors'],
      ['extra passes', 'over the banks of workgroup memory'], ['texels', 'that subgroups touched'], ['text', '']];
    const rows = memory.map((row) => h('tr', {}, h('td', {}, this.place(row.where)), h('td', {}, row.resource), h('td', {}, row.access), number(row.bytes), number(row.sectors),
      h('td', { class: 'number' }, row.sectors ? percentText(100 * row.bytes / (32 * row.sectors)) : ''), number(row.extra_passes), number(row.texels), h('td', {}, h('code', {}, row.text.trim()))));
    const scope = app.scope.frames ? ' (of all frames)' : '';
    return h('div', { class: 'card accesses' }, h('h2', {}, 'Accesses to memory', h('span', { class: 'muted' }, scope)),
      h('div', { class: 'accesses-scroll' }, h('table', { class: 'grid plain', 'aria-label': 'Accesses to memory' },
        h('thead', {}, h('tr', {}, ...head.map(([title, description]) => h('th', { title: description }, title)))), h('tbody', {}, ...rows))),
      memory_left_out ? h('p', { class: 'muted' }, `and ${withSeparators(memory_left_out)} more`) : null);
  }

  // Tables as reports have them: predicted times on a calibrated device, and cycles of functions and loops.
  private tables(): HTMLElement[] {
    const { app } = this, { prediction, cycles } = app.now.model.capture;
    return [...prediction, ...cycles].map((table) => {
      const columns = table.columns.filter(({ id }) => table.rows.some((row) => row[id] !== null && row[id] !== ''));
      const cell = (value: string | number | null, id: string, unit: string) =>
        h('td', { class: unit ? 'number' : '' }, id === 'line' || id === 'location' ? this.place(String(value)) : unit ? valueText(value as number | null, unit as Unit) : String(value ?? ''));
      const rows = table.rows.map((row) => h('tr', {}, ...columns.map(({ id, unit }) => cell(row[id], id, unit))));
      const scope = app.scope.frames ? ' (of all frames)' : '', left = table.total_rows - table.rows.length;
      return h('div', { class: 'card accesses' }, h('h2', {}, table.title, h('span', { class: 'muted' }, scope)),
        h('div', { class: 'accesses-scroll' }, h('table', { class: 'grid plain', 'aria-label': table.title },
          h('thead', {}, h('tr', {}, ...columns.map(({ title, description }) => h('th', { title: description }, title)))), h('tbody', {}, ...rows))),
        left > 0 ? h('p', { class: 'muted' }, `and ${withSeparators(left)} more`) : null,
        ...table.notes.map((note) => h('p', { class: 'muted' }, note)));
    });
  }

  private place(where: string): HTMLElement {
    const { app } = this, side = app.now, { model } = side;
    const find = (table: 'lines' | 'shaders', name: (row: number) => string) =>
      Array.from({ length: model.t(table).rows }, (_, row) => row).find((row) => name(row) === where);
    const line = find('lines', (row) => model.location(row));
    if (line !== undefined) return h('a', { href: app.link(app.lineLink(side, line)) }, where);
    const shader = find('shaders', (row) => model.text('shaders', 'name', row));
    return shader === undefined ? h('span', {}, where) : h('a', { href: app.link({ view: 'source', shader: String(shader), line: null, side: null }) }, where);
  }

  // For programs with counters by frame: the mean of each over the selected frames.
  private eglMeans(): HTMLElement | null {
    const { app } = this, { model } = app.now;
    if (!model.t('egl_frames').rows) return null;
    const means = app.sides.map(({ model: own }) => frameMeans(own, app.scope.frames));
    const counters = [{ id: 'time', title: 'frame time', unit: 'ns', description: 'duration of a frame' }, ...model.capture.egl_counters];
    const cards = counters.filter(({ id }) => means[0].get(id)).slice(0, kMaxMeans).map(({ id, title, unit, description }) => {
      const [now, before] = means.map((own) => own.get(id) ?? 0), own = unit as Unit;
      return h('div', { class: 'total', title: description }, h('span', { class: 'total-title' }, title),
        h('span', { class: 'total-value', title: exactText(now, own) }, valueText(now, own)),
        before === undefined ? null : h('span', { class: 'change' }, `before ${valueText(before, own)} ${changeText(before, now)}`));
    });
    return h('div', {}, h('h2', { class: 'totals-head' }, 'Mean of a frame ', h('a', { href: app.link({ view: 'egl' }) }, 'all counters')), h('div', { class: 'totals' }, ...cards));
  }

  private totals(): HTMLElement {
    const { app } = this, frames = app.framesOnly;
    const commands = app.sides.map(({ model }) => commandsOf(model, frames));
    const [first, ...others] = app.data.head.preferred_metrics;
    const known = [first, 'executions', ...others].filter((id) => app.metrics.some((metric) => metric.id === id));
    const cards: HTMLElement[] = [];
    const card = (title: string, description: string, values: Exact[], unit: Unit) => {
      if (values.every((value) => Number(value) === 0)) return;
      const change = app.against ? h('span', { class: 'change', 'data-sign': compare(values[0], values[1]) > 0 ? 'more' : compare(values[0], values[1]) < 0 ? 'less' : '' ,
        title: `before ${exactText(values[1], unit)}` }, `${signedText(subtract(values[0], values[1]), (v) => valueText(v, unit))} ${changeText(values[1], values[0])}`) : null;
      cards.push(h('div', { class: 'total', title: description }, h('span', { class: 'total-title' }, title),
        h('span', { class: 'total-value', title: exactText(values[0], unit) }, valueText(values[0], unit)), change));
    };
    const time = app.sides.map((side) => {
      const groups = groupsOf(side.model, side.sums, 'frame', frames), field = groups.fields.find((f) => f.id === 'gpu_time')!;
      let sum: Exact = 0;
      for (let row = 0; row < groups.size; ++row) sum = add(sum, (field.cell(row) as Exact | null) ?? 0);
      return sum;
    });
    card('GPU time', 'between timestamps, while counting; without first uses of pipelines', time, 'ns');
    for (const id of known) {
      const metric = app.metrics.find((m) => m.id === id)!;
      card(metric.title, metric.description, app.sides.map(({ sums }, i) => sums.total(id, null, commands[i])), metric.unit as Unit);
    }
    return h('div', { class: 'totals', 'aria-label': 'Totals', role: 'group' }, ...cards);
  }

  private tops(what: string, byChange: boolean): HTMLElement {
    const group = this.app.now.model.mainGroup;
    const titles: [By, string][] = [[group, group === 'pass' ? 'passes' : `${group}s`], ['shader', 'shaders'], ['line', 'lines']];
    return h('div', { class: 'tops' }, ...titles.map(([by, title]) => this.top(by, `${what} ${title}`, byChange)));
  }

  private top(by: By, title: string, byChange: boolean): HTMLElement {
    const { app } = this, all = app.sides.map(({ model, sums }) => groupsOf(model, sums, by, app.framesOnly));
    const values = all.map((groups) => groups.metric(app.metricId)), [groups] = all;
    const before = new Map<string, number>();
    if (all[1]) for (let row = 0; row < all[1].size; ++row) before.set(all[1].identity(row), row);
    const oldOf = (row: number): Exact => { const old = before.get(groups.identity(row)); return old === undefined ? 0 : values[1]?.[old] ?? 0; };
    const entries = Array.from({ length: groups.size }, (_, row) => ({ side: 0, row, now: values[0][row], old: oldOf(row) }));
    if (byChange) {
      const known = new Set(Array.from({ length: groups.size }, (_, row) => groups.identity(row)));
      for (const [identity, row] of before) if (!known.has(identity)) entries.push({ side: 1, row, now: 0, old: values[1][row] });
    }
    const weight = ({ now, old }: { now: Exact; old: Exact }) => (byChange ? Math.abs(Number(subtract(now, old))) : Number(now));
    const top = entries.sort((a, b) => weight(b) - weight(a)).slice(0, kTop).filter((entry) => weight(entry) > 0);
    const commands = commandsOf(app.now.model, app.framesOnly), total = Number(app.now.sums.total(app.metricId, null, commands)) || 1;
    const lacking = whyNoShare(groups, app.now.model, commands), largest = Math.max(...top.map(weight), 1);
    const items = top.map((entry) => {
      const { side, row, now, old } = entry, own = all[side], share = (100 * weight(entry)) / total;
      const text = own.fields.find((field) => field.id === 'text')?.cell(row), step = own.step(row);
      const bar = h('span', { class: 'top-bar', 'aria-hidden': 'true' }), sign = compare(now, old) > 0 ? 'more' : compare(now, old) < 0 ? 'less' : '';
      bar.style.width = `${Math.min(100, lacking ? (100 * weight(entry)) / largest : share)}%`;
      return h('li', {}, bar,
        h('a', { href: step && app.link(this.target(by, app.sides[side], step)), class: 'name' }, String(own.fields[0].cell(row)),
          by === 'shader' ? h('span', { class: 'muted' }, ` ${own.fields[1].cell(row)}`) : null),
        h('span', { class: 'number', title: exactText(now, app.unit) }, byChange ? signedText(subtract(now, old), (v) => valueText(v, app.unit)) : valueText(now, app.unit)),
        app.against ? h('span', { class: 'change number', 'data-sign': sign, title: `before ${exactText(old, app.unit)}` }, changeText(old, now) || '0')
          : h('span', { class: 'number muted' }, lacking ? '' : percentText(share)),
        by === 'pass' && step ? thumbnail(app, app.sides[side], step.id) : null,
        text ? h('code', { class: 'top-text', title: String(text) }, String(text)) : null);
    });
    return h('div', { class: 'card top' },
      h('h2', {}, title, h('span', { class: 'muted' }, ` by ${app.metric?.title ?? ''}`)),
      items.length ? h('ol', {}, ...items) : h('p', { class: 'muted' }, byChange ? 'nothing changed' : 'nothing was counted'),
      lacking ? h('p', { class: 'muted' }, lacking) : null,
      h('a', { class: 'more', href: app.link({ view: 'where', by, sort: null, q: null, in: null }) }, `all ${withSeparators(groups.size)}`));
  }

  private target(by: By, side: Side, step: Step) {
    const { app } = this, { model } = side;
    if (by === 'line') return app.lineLink(side, model.rowsOf('lines', step.id)[0]);
    if (by === 'shader') return { view: 'source', shader: String(model.rowsOf('shaders', step.id)[0]), line: null, side: side === app.before ? 'before' : null };
    return { view: 'where', in: formatSteps([step]), by: by === 'pipeline' ? 'shader' : 'pipeline', sort: null, q: null };
  }
}
