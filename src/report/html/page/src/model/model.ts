// One capture: typed access to its tables, names, and which commands a scope selects.

import type { Data } from '../container';
import { TableView } from '../container';
import type { Capture, Metric } from '../data';
import { CallTables } from './calls';
import { SimilarDraws } from './similar';

export type TableName = keyof Capture['tables'];

const kSeparator = ' / ';
const kOutermost = 4, kInnermost = 12;

export class Model {
  readonly metrics: Metric[];
  private readonly views = new Map<TableName, TableView>();
  private readonly paths = new Map<number, string>();
  private readonly lineTexts = new Map<number, string[]>();

  constructor(readonly data: Data, readonly capture: Capture, readonly against: boolean) {
    this.metrics = capture.metrics;
  }

  t(name: TableName): TableView {
    let view = this.views.get(name);
    if (!view) this.views.set(name, (view = new TableView(this.capture.tables[name], this.data.blobs)));
    return view;
  }

  string(index: number): string {
    return index < 0 ? '' : this.data.head.strings[index] ?? '';
  }

  text(table: TableName, column: string, row: number): string {
    return row < 0 ? '' : this.string(this.t(table).index(column)[row]);
  }

  // The first grouping of a capture: passes, or without any the grouping that tells the work apart.
  get mainGroup(): 'pass' | 'label' | 'pipeline' {
    if (this.t('passes').rows) return 'pass';
    return this.t('commands').index('label').some((label) => label >= 0) ? 'label' : 'pipeline';
  }

  // The identity of a row in both captures.
  identity(table: TableName, row: number): string {
    if (row < 0) return '-';
    if (!this.against) return String(row);
    const match = this.t(table).index('match')[row];
    return match >= 0 ? `=${match}` : `${this.data.head.captures.indexOf(this.capture)}:${row}`;
  }

  // Rows of a table with the same identity.
  private readonly identityRows = new Map<TableName, Map<string, number[]>>();
  rowsOf(table: TableName, identity: string): number[] {
    let rows = this.identityRows.get(table);
    if (!rows) {
      rows = new Map();
      for (let row = 0; row < this.t(table).rows; ++row) {
        const id = this.identity(table, row), list = rows.get(id);
        if (list) list.push(row);
        else rows.set(id, [row]);
      }
      this.identityRows.set(table, rows);
    }
    return rows.get(identity) ?? [];
  }

  private callTables: CallTables | null = null;
  get calls(): CallTables { return (this.callTables ??= new CallTables(this)); }

  private similarDraws: SimilarDraws | null = null;
  get similar(): SimilarDraws { return (this.similarDraws ??= new SimilarDraws(this)); }

  metric(id: string): Metric | undefined {
    return this.metrics.find((metric) => metric.id === id);
  }

  isCounted(id: string): boolean {
    return this.capture.counted.includes(id);
  }

  // The label with those around it, as reports show it.
  labelPath(label: number): string {
    if (label < 0) return '';
    let path = this.paths.get(label);
    if (path !== undefined) return path;
    const parents = this.t('labels').index('parent'), names: string[] = [];
    for (let at = label; at >= 0 && names.length < 10_000; at = parents[at]) names.unshift(this.text('labels', 'name', at));
    if (names.length > kOutermost + kInnermost)
      names.splice(kOutermost, names.length - kOutermost - kInnermost, `(${names.length - kOutermost - kInnermost} more)`);
    path = names.join(kSeparator);
    this.paths.set(label, path);
    return path;
  }

  deviceName(device: number): string {
    return this.capture.info.devices?.[device]?.name ?? '';
  }

  get deviceCount(): number {
    return this.capture.info.devices?.length ?? 0;
  }

  shaderName(shader: number): string {
    const name = this.text('shaders', 'name', shader), pipeline = this.text('shaders', 'pipeline', shader);
    return pipeline ? `${name} in ${pipeline}` : name;
  }

  passName(pass: number): string {
    return pass < 0 ? '(outside of passes)' : this.text('passes', 'name', pass);
  }

  fileLines(file: number): string[] {
    let lines = this.lineTexts.get(file);
    if (!lines) this.lineTexts.set(file, (lines = this.text('files', 'text', file).split(/\r\n|\r|\n/)));
    return lines;
  }

  lineNumber(line: number): number {
    return this.t('lines').numbers('line')[line];
  }

  lineText(line: number): string {
    const file = this.t('lines').index('file')[line];
    return file < 0 ? '' : (this.fileLines(file)[this.lineNumber(line) - 1] ?? '').trim();
  }

  // "scene.frag:13", as the column `location` of reports.
  location(line: number): string {
    const file = this.t('lines').index('file')[line], shader = this.t('lines').index('shader')[line];
    const spirv = this.t('shaders').numbers('source')[shader] === 2;
    const name = this.text('files', 'name', file).replace(/^.*[/\\]/, '');
    if (spirv) return `${this.shaderName(shader)}:asm:${this.lineNumber(line)}`;
    return `${name || this.shaderName(shader)}:${this.lineNumber(line)}`;
  }

  isDraw(command: number): boolean {
    return this.t('commands').numbers('kind')[command] === 0;
  }
}
