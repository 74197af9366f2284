// Rows for the table: one capture's groups, or those of two captures side by side with their differences.

import type { App } from '../app';
import { maximum, subtract, total, type Exact, type Values } from '../exact';
import type { Unit } from '../format';
import { groupsOf, kFootprintNote, whyNoShare, type By, type Cell, type Groups } from './groups';
import { commandsOf, type Step } from './scope';

export interface TableColumn {
  id: string;
  title: string;
  description: string;
  unit: Unit;
  text: boolean;
  shown: boolean;
  signed?: boolean;  // a difference
  share?: boolean;   // drawn with a bar
  cell: (row: number) => Cell;
}

export interface TableSource {
  rows: number;
  columns: TableColumn[];
  step: (row: number) => Step | null;
  changed: (row: number) => boolean;
  original: (side: number, row: number) => number; // the row in the groups of a side, or -1
  note?: string;
  notes?: string[]; // sentences on its columns
}

const kMaxShown = 4;

function efficiency(executions: Exact | null, lanes: Exact | null): number | null {
  return Number(lanes) === 0 ? null : (100 * Number(executions)) / Number(lanes);
}

// A value of one side by row.
type Read = (side: number, row: number) => Cell;

export class RowsMaker {
  private readonly groups: Groups[];
  private readonly rows: number[][]; // by side: row of the groups or -1
  private readonly metricCache = new Map<string, Values[]>();
  readonly columns: TableColumn[] = [];

  constructor(private readonly app: App, by: By) {
    this.groups = app.sides.map(({ model, sums }) => groupsOf(model, sums, by, app.scope));
    this.rows = app.against ? this.pair() : [Array.from({ length: this.groups[0].size }, (_, row) => row)];
  }

  private pair(): number[][] {
    const [now, before] = this.groups, known = new Map<string, number>();
    for (let row = 0; row < before.size; ++row) known.set(before.identity(row), row);
    const rows: number[][] = [[], []];
    for (let row = 0; row < now.size; ++row) {
      const identity = now.identity(row);
      rows[0].push(row);
      rows[1].push(known.get(identity) ?? -1);
      known.delete(identity);
    }
    for (const row of known.values()) rows[0].push(-1), rows[1].push(row);
    return rows;
  }

  private metric(id: string): Values[] {
    let values = this.metricCache.get(id);
    if (!values) this.metricCache.set(id, (values = this.groups.map((groups) => groups.metric(id))));
    return values;
  }

  private add(column: TableColumn): void { this.columns.push(column); }

  private text(id: string, read: Read, like: { title: string; description: string; shown: boolean }): void {
    this.add({ ...like, id, unit: '', text: true, cell: (row) => read(this.rows[0][row] >= 0 ? 0 : 1, row) });
  }

  // A number: one column, or with two captures before, now and change.
  private number(id: string, read: Read, like: { title: string; description: string; unit: Unit; shown: boolean }, detailed = false): void {
    if (!this.app.against) return this.add({ ...like, id, text: false, cell: (row) => read(0, row) });
    const zero = (side: number, row: number): Cell => (this.rows[side][row] < 0 ? (like.unit === 'count' ? 0 : null) : read(side, row));
    this.add({ ...like, id: `${id}.before`, title: `${like.title}, before`, shown: like.shown && detailed, text: false, cell: (row) => zero(1, row) });
    this.add({ ...like, id, title: detailed ? 'now' : `${like.title}, now`, shown: like.shown && detailed, text: false, cell: (row) => zero(0, row) });
    this.add({ ...like, id: `${id}.change`, title: detailed ? 'change' : `\u0394 ${like.title}`, text: false, signed: true,
      description: `now less before: ${like.description}`, cell: (row) => difference(zero(0, row), zero(1, row)) });
    if (detailed) this.add({ ...like, id: `${id}.percent`, title: 'change %', unit: 'percent', text: false, signed: true,
      description: 'change in percent of before; empty for what is new', cell: (row) => percentOf(zero(0, row), zero(1, row)) });
  }

  private readMetric = (id: string): Read => (side, row) => {
    const own = this.rows[side][row];
    return this.groups[side].lacks(own) ? null : this.metric(id)[side][own];
  };

  private addMetric(id: string, shown: boolean, detailed: boolean): void {
    const metric = this.app.metrics.find((m) => m.id === id)!;
    this.number(id, this.readMetric(id), { title: metric.title, description: metric.description, unit: metric.unit as Unit, shown }, detailed);
  }

  private addFields(text: boolean): void {
    const [now] = this.groups, byId = this.groups.map((groups) => new Map(groups.fields.map((field) => [field.id, field]))); // the fields of two captures may differ
    now.fields.forEach((field) => {
      if (field.text !== text && !(text && isKey(field.id))) return;
      if (!text && isKey(field.id)) return;
      const read: Read = (side, row) => byId[side].get(field.id)?.cell(this.rows[side][row]) ?? null;
      if (field.text) this.text(field.id, read, field);
      else if (isKey(field.id)) this.add({ ...field, cell: (row) => read(this.rows[0][row] >= 0 ? 0 : 1, row) });
      else this.number(field.id, read, field);
    });
  }

  private addShare(id: string): void {
    const side = 0, values = () => this.metric(id)[side], groups = this.groups[side];
    let all: number | undefined;
    const whole = () => (all ??= Number(total(Array.from(values(), (v, row) => (groups.isWhole(row) ? v : 0)))));
    this.add({ id: 'share', title: 'share', unit: 'percent', text: false, shown: !this.app.against, share: true,
      description: `percentage of all ${this.app.metric?.title ?? id}`,
      cell: (row) => { const own = this.rows[side][row]; return own < 0 || !whole() ? 0 : (100 * Number(values()[own])) / whole(); } });
  }

  // A ratio of sums of metrics, null where the base is 0 or not known. The columns are those of reports (table_builder.cpp).
  private addRatio(id: string, title: string, description: string, over: string[], under: Read | string[]): void {
    const has = (ids: string[]) => ids.every((own) => this.app.metrics.some((metric) => metric.id === own));
    if (!has(over) || (Array.isArray(under) && !has(under))) return;
    const sum = (ids: string[]): Read => (side, row) => ids.reduce((all: number | null, own) => { const value = this.readMetric(own)(side, row); return all === null || value === null ? null : all + Number(value); }, 0);
    const read: Read = (side, row) => {
      const a = sum(over)(side, row), b = (Array.isArray(under) ? sum(under) : under)(side, row);
      return a === null || !Number(b) ? null : Number(a) / Number(b);
    };
    this.number(id, read, { title, description, unit: 'count', shown: false });
  }

  private addRatios(by: By): void {
    this.addRatio('operations_per_byte', 'operations/byte', 'arithmetic, a multiply-add as two operations, divided by the bytes that are loaded from or stored to buffers', kOperations, kBytes);
    if (by !== 'shader' && by !== 'function' && by !== 'line') return;
    const at = this.groups[0].fields.findIndex((field) => field.id === 'invocations');
    const invocations: Read = (side, row) => this.groups[side].fields[at].cell(this.rows[side][row]);
    for (const id of ['cost', 'instructions']) {
      const title = this.app.metrics.find((metric) => metric.id === id)?.title ?? id;
      this.addRatio(`${id}_per_invocation`, `${title}/inv`, `${title} divided by invocations`, [id], invocations);
    }
    this.addRatio('bytes_per_invocation', 'bytes/inv', 'bytes loaded from or stored to buffers, divided by invocations', kBytes, invocations);
  }

  private addInvocations(): void {
    const stages = new Set<string>();
    for (const { model } of this.app.sides)
      for (let s = 0; s < model.t('shaders').rows; ++s)
        if (model.t('shaders').index('invocation_block')[s] >= 0) stages.add(model.text('shaders', 'stage', s));
    for (const stage of stages) {
      const id = `invocations_${stage}`;
      this.number(id.replace(/ /g, '_'), this.readMetric(id),
        { title: `${stage} inv`, description: `invocations of the ${stage} shader, without helpers`, unit: 'count', shown: false });
    }
  }

  // The first texts say what a row is; the others and the text of a line stand behind what it costs.
  private moveTextsBack(): void {
    let shown = 0;
    const back = this.columns.filter((column) => column.text && (column.id === 'text' || (column.shown && ++shown > kTextsFirst)));
    for (const column of back) this.columns.push(...this.columns.splice(this.columns.indexOf(column), 1));
  }

  make(): TableSource {
    const active = this.app.metricId, { simd } = this.app.now.model.capture, by = this.groups[0].by;
    this.addFields(true);
    const { model } = this.app.now, lacking = whyNoShare(this.groups[0], model, commandsOf(model, this.app.scope));
    if (active && !lacking) this.addShare(active);
    if (active) this.addMetric(active, true, true);
    if (simd) this.number('simd_efficiency',
      (side, row) => efficiency(this.readMetric(simd.executions)(side, row) as Exact | null, this.readMetric(simd.lanes)(side, row) as Exact | null),
      { title: 'SIMD efficiency', description: 'executions as a percentage of the lanes of the subgroups that executed; of the stages whose subgroups are counted', unit: 'percent', shown: true });
    this.moveTextsBack();
    this.addFields(false);
    if (by !== 'shader' && by !== 'function' && by !== 'line') this.addInvocations();
    let shown = 1;
    const preferred = this.app.data.head.preferred_metrics.filter((id) => id !== active && this.app.metrics.some((m) => m.id === id));
    for (const id of preferred)
      this.addMetric(id, shown < kMaxShown && maximum(this.metric(id)[0]) > 0 && ++shown > 0, false);
    for (const { id } of this.app.metrics) if (id !== active && !preferred.includes(id)) this.addMetric(id, false, false);
    this.addRatios(by);
    const values = active ? this.metric(active) : [];
    const value = (side: number, row: number) => (this.rows[side][row] < 0 ? 0 : values[side]?.[this.rows[side][row]] ?? 0);
    return {
      rows: this.rows[0].length,
      columns: this.columns,
      step: (row) => (this.rows[0][row] >= 0 ? this.groups[0].step(this.rows[0][row]) : this.groups[1].step(this.rows[1][row])),
      changed: (row) => !this.app.against || this.rows[0][row] < 0 || this.rows[1][row] < 0 || value(0, row) != value(1, row),
      original: (side, row) => this.rows[side]?.[row] ?? -1,
      note: (active && lacking) || undefined,
      notes: this.columns.some(({ id }) => id === 'footprint') ? [kFootprintNote] : [],
    };
  }
}

const kTextsFirst = 2;
const kBytes = ['buffer_bytes_loaded', 'buffer_bytes_stored', 'uniform_bytes_loaded'];
const kOperations = ['fma', 'fma', 'float16', 'float32', 'float64', 'int8', 'int16', 'int32', 'int64', 'division', 'logic', 'conversion', 'special_function', 'derivative'];

const isKey = (id: string) => id === 'frame' || id === 'command';

function difference(now: Cell, before: Cell): Cell {
  if (now === null || before === null || typeof now === 'string' || typeof before === 'string') return null;
  return subtract(now, before);
}

function percentOf(now: Cell, before: Cell): Cell {
  if (!now && !before) return 0;
  if (!Number(before)) return null;
  return (100 * (Number(now) - Number(before))) / Number(before);
}
