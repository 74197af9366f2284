// A shader's source with the values of its lines, a minimap of the hot ones, and its disassembly.

import type { App, Side, View } from '../app';
import { context2d, css, h, replace } from '../dom';
import { columnFormat, counted, exactText, percentText, signedText, valueText, withSeparators } from '../format';
import { commandsOf, formatSteps, stepName } from '../model/scope';
import { ShaderSource, type HeatColumn } from '../model/source';
import { changeColour } from '../ui/colours';
import { VirtualList } from '../ui/list';
import { popup } from '../ui/popup';
import { commentStarts, highlight } from '../ui/syntax';

const kRow = 19, kNumber = 46, kColumn = 104, kMapWidth = 46;
const kKinds = ['debug information', 'reconstructed GLSL', 'SPIR-V', 'source file'];
const kMaxEmpty = 100_000; // rows of a file without text
const kNever = '#####';

export class SourceView implements View {
  readonly element: HTMLElement;
  private readonly head = h('div', { class: 'pane-head' });
  private readonly fileTabs = h('div', { class: 'tabs small', role: 'tablist', 'aria-label': 'Files' });
  private readonly columnHead = h('div', { class: 'code-head', 'aria-hidden': 'true' });
  private readonly detail = h('div', { class: 'detail', role: 'status' });
  private readonly list: VirtualList;
  private readonly assemblyList: VirtualList;
  private readonly assemblyPane: HTMLElement;
  private readonly minimap = h('canvas', { class: 'minimap', 'aria-hidden': 'true' });
  private readonly empty = h('p', { class: 'muted pad' }, 'No shader was counted.');
  private source: ShaderSource | null = null;
  private sourceKey = '';
  private columns: HeatColumn[] = [];
  private formats: ((value: any) => string)[] = [];
  private lines: string[] = [];
  private comments: boolean[] = [];
  private lineAt = new Map<number, number>();
  private assembly: ReturnType<ShaderSource['assembly']> = null;
  private file = -1;
  private hovered = -1;
  private shownLine = '';
  private openedAssembly = '';
  private mostExecuted = 0;

  constructor(private readonly app: App) {
    this.list = new VirtualList(kRow, 'Source lines', (index) => this.codeRow(index));
    this.assemblyList = new VirtualList(kRow, 'Disassembly', (index) => this.assemblyRow(index));
    this.list.onScroll = () => this.drawMinimap();
    this.minimap.addEventListener('pointerdown', (event) => this.jump(event));
    this.minimap.addEventListener('pointermove', (event) => { if (event.buttons) this.jump(event); });
    this.assemblyPane = h('div', { class: 'pane assembly' }, h('div', { class: 'code-head', 'aria-hidden': 'true' }, h('span', { class: 'line-number' }, 'row'), h('span', { class: 'heat' }, 'executions'), h('span', {}, 'SPIR-V')), this.assemblyList.element);
    this.element = h('section', { class: 'view source', 'aria-label': 'Source' }, this.head, this.empty,
      h('div', { class: 'source-panes' },
        h('div', { class: 'pane code-pane' }, this.fileTabs, this.columnHead, h('div', { class: 'code-body' }, this.list.element, this.minimap), this.detail),
        this.assemblyPane));
  }

  private get shader(): number {
    const { app } = this, { model } = app.side, wanted = app.state.get('shader');
    if (wanted && Number(wanted) < model.t('shaders').rows) return Number(wanted);
    if (this.line >= 0) return model.t('lines').index('shader')[this.line];
    const values = app.side.sums.blocks(commandsOf(model, app.scope)).byShader(app.metricId);
    let best = model.t('shaders').rows ? 0 : -1;
    for (let s = 0; s < values.length; ++s) if (values[s] > values[best]) best = s;
    return best;
  }

  private get line(): number {
    const line = this.app.state.get('line');
    return line && Number(line) < this.app.side.model.t('lines').rows ? Number(line) : -1;
  }

  // Two captures on a small screen: the source needs the room of some columns, which stand below it.
  private get narrow(): boolean { return this.app.against && window.innerWidth <= 760; }
  private isShown(column: HeatColumn): boolean { return !this.narrow || !column.id.endsWith('.other'); }

  private get heat(): string[] {
    const chosen = this.app.state.get('heat');
    if (chosen) return chosen.split(',');
    const standard = this.narrow ? [this.app.metricId] : ['executions', this.app.metricId];
    if (this.app.side.model.capture.simd) standard.push('simd_efficiency');
    return [...new Set(standard)];
  }

  update(changed: Set<string>): void {
    const { app } = this, side = app.side, shader = this.shader;
    const none = shader < 0;
    this.empty.hidden = !none;
    this.element.classList.toggle('nothing', none);
    if (none) return replace(this.head);
    const key = `${side.title} ${shader} ${app.state.get('in')} ${app.framesText()}`;
    if (key !== this.sourceKey) {
      this.source = new ShaderSource(app, side, shader);
      this.sourceKey = key;
      this.assembly = this.source.assembly();
      this.mostExecuted = this.source.mostExecuted;
      this.file = -1;
    }
    this.columns = this.source!.columns(this.heat);
    this.formats = this.columns.map((column) => columnFormat(column.unit, column.maximum, false));
    this.chooseFile();
    this.drawHead(side, shader);
    this.drawFileTabs();
    this.drawColumnHead();
    this.showLists();
    this.drawDetail();
    const line = app.state.get('line');
    if (line !== this.shownLine || changed.has('view') || changed.has('shader') || changed.has('asm')) {
      this.shownLine = line;
      const number = this.line >= 0 ? side.model.lineNumber(this.line) : -1;
      const hottest = number > 0 ? number : this.hottestLine();
      this.list.scrollTo(hottest - 1);
      this.showAssemblyOf(this.line >= 0 ? this.line : this.lineAt.get(hottest) ?? -1);
    }
  }

  // The number of the line with the largest value of the metric; 0: none.
  private hottestLine(): number {
    const column = this.columns.find(({ id }) => id === this.app.metricId) ?? this.columns[0];
    let hottest = 0, most = 0;
    for (const [number, row] of this.lineAt) {
      const value = Number(column?.value(row) ?? 0);
      if (value > most) hottest = number, most = value;
    }
    return hottest;
  }

  private chooseFile(): void {
    const { source, app } = this, { model } = source!.side, line = this.line;
    const lines = model.t('lines'), wanted = app.state.get('file');
    let file = source!.files.length ? source!.files[0] : -1;
    if (line >= 0 && lines.index('shader')[line] === source!.shader) file = lines.index('file')[line];
    else if (wanted && source!.files.includes(Number(wanted))) file = Number(wanted);
    else file = [...source!.files].sort((a, b) => source!.fileTotal(b, app.metricId) - source!.fileTotal(a, app.metricId))[0] ?? -1;
    this.lineAt = source!.lineAt.get(file) ?? new Map();
    if (file === this.file && this.lines.length) return;
    this.file = file;
    const text = file >= 0 ? model.fileLines(file) : [];
    this.lines = text.length > 1 || text[0] ? text : Array.from({ length: Math.min(kMaxEmpty, Math.max(0, ...this.lineAt.keys())) }, () => '');
    this.comments = commentStarts(this.lines);
  }

  // The numbers of the driver's compiler for the shader, in each pipeline.
  private statistics(side: Side, shader: number): HTMLElement | null {
    const { model } = side, table = model.t('statistics');
    const shaders = table.index('shader'), pipelines = table.index('pipeline'), values = table.times('value');
    const rows = Array.from({ length: table.rows }, (_, row) => row).filter((row) => shaders[row] === shader);
    if (!rows.length) return null;
    return popup('compiler', () => h('table', { class: 'statistics' }, ...rows.map((row) => h('tr', { title: model.text('statistics', 'description', row) },
      h('td', { class: 'muted' }, `${model.text('pipelines', 'name', pipelines[row])} \u00B7 ${model.text('statistics', 'executable', row)}`),
      h('td', {}, model.text('statistics', 'name', row)),
      h('td', { class: 'number' }, withSeparators(values[row]))))));
  }

  private drawHead(side: Side, shader: number): void {
    const { app } = this, { model } = side;
    const values = side.sums.blocks(commandsOf(model, app.scope)).byShader(app.metricId);
    const order = Array.from({ length: values.length }, (_, s) => s).sort((a, b) => Number(values[b]) - Number(values[a]) || a - b);
    const total = order.reduce((sum, s) => sum + Number(values[s]), 0) || 1, allKnown = order.every((s) => !model.text('shaders', 'not_counted', s));
    const select = h('select', { 'aria-label': 'Shader', class: 'shader-select', onchange: (event: Event) =>
      app.go({ shader: (event.target as HTMLSelectElement).value, line: null, file: null }) },
    ...order.map((s) => h('option', { value: s, selected: s === shader },
      `${model.shaderName(s)} \u2013 ${model.text('shaders', 'stage', s)}${allKnown ? `, ${percentText((100 * Number(values[s])) / total)}` : ''}`)));
    const kind = this.file >= 0 ? kKinds[model.t('files').numbers('kind')[this.file]] ?? '' : 'no source';
    const reason = model.text('shaders', 'not_counted', shader);
    const scope = app.scope.steps.filter((step) => !['shader', 'function', 'line'].includes(step.kind));
    replace(this.head, select,
      h('span', { class: 'muted' }, `${kind} \u00B7 entry point ${model.text('shaders', 'entry_point', shader)}`),
      reason ? h('span', { class: 'warn-text' }, `not counted: ${reason}`) : null,
      scope.length ? h('span', { class: 'crumbs' }, 'in ', scope.map((step) => stepName(model, step)).join(' \u203A '),
        h('a', { class: 'clear', href: app.link({ in: null }), 'aria-label': 'Leave the scope' }, '\u00D7')) : null,
      h('span', { class: 'spring' }),
      this.statistics(side, shader),
      h('a', { href: app.link({ view: 'where', in: formatSteps([...scope, { kind: 'shader', id: model.identity('shaders', shader) }]), by: 'draw', sort: null, q: null }) }, 'draws that ran it'),
      popup('Heat columns', () => this.chooser()),
      this.assembly ? h('button', { type: 'button', 'aria-pressed': String(this.assemblyShown), onclick: () => app.state.set({ asm: this.assemblyShown ? '0' : '1' }) }, 'Disassembly') : null);
  }

  private get assemblyShown(): boolean {
    return this.assembly !== null && this.app.state.get('asm') === '1';
  }

  private chooser(): HTMLElement {
    const chosen = this.heat, { model } = this.app.side, list = h('div', { class: 'checks' });
    const entries = [...model.metrics.map(({ id, title, description }) => ({ id, title, description })),
      ...(model.capture.simd ? [{ id: 'simd_efficiency', title: 'SIMD efficiency', description: '' }] : [])];
    for (const { id, title, description } of entries) {
      const toggle = () => this.app.state.set({ heat: (chosen.includes(id) ? chosen.filter((own) => own !== id) : [...chosen, id]).join(',') });
      list.append(h('label', { title: description }, h('input', { type: 'checkbox', checked: chosen.includes(id), onchange: toggle }), h('span', {}, title), h('code', {}, id)));
    }
    return list;
  }

  private drawFileTabs(): void {
    const { model } = this.source!.side, { files } = this.source!;
    this.fileTabs.hidden = files.length < 2;
    if (files.length < 2) return replace(this.fileTabs);
    replace(this.fileTabs, ...files.map((file) => h('a', { role: 'tab', 'aria-selected': String(file === this.file), title: model.text('files', 'name', file),
      href: this.app.link({ file: String(file), line: null }) }, model.text('files', 'name', file).replace(/^.*[/\\]/, '') || '(unnamed)')));
  }

  private drawColumnHead(): void {
    const columns = this.columns.filter((column) => this.isShown(column)).map((column) => {
      const cell = h('span', { class: 'heat', title: column.description }, column.title);
      return cell;
    });
    replace(this.columnHead, h('span', { class: 'line-number' }, 'line'), ...columns, h('span', {}, 'source'));
  }

  private get fixedWidth(): number { return kNumber + this.columns.filter((column) => this.isShown(column)).length * kColumn + 40; }

  private showLists(): void {
    const longest = (lines: string[]) => Math.min(400, lines.reduce((most, line) => Math.max(most, line.length), 0) + 24);
    this.list.show(this.lines.length, longest(this.lines), this.fixedWidth);
    this.assemblyPane.hidden = !this.assemblyShown;
    if (this.assembly && this.assemblyShown) this.assemblyList.show(this.assembly.lines.length, longest(this.assembly.lines), kNumber + kColumn + 30);
    this.drawMinimap();
  }

  private codeRow(index: number): HTMLElement {
    const row = this.lineAt.get(index + 1), source = this.source!;
    const selected = row !== undefined && row === this.line;
    const element = h('div', { class: `code-row${selected ? ' selected' : ''}`, 'aria-selected': selected ? 'true' : null },
      h('span', { class: 'line-number', role: 'cell' }, row === undefined ? String(index + 1)
        : h('a', { href: this.app.link({ ...this.app.lineLink(source.side, row) }) }, String(index + 1))));
    this.columns.forEach((column, i) => { if (this.isShown(column)) element.append(this.heatCell(column, this.formats[i], row)); });
    const spirv = this.file >= 0 && source.side.model.t('files').numbers('kind')[this.file] === 2;
    const text = h('span', { class: 'code', role: 'cell' }, highlight(this.lines[index] ?? '', spirv, this.comments[index]));
    if (row !== undefined) {
      for (const branch of source.branches(row))
        text.append(h('span', { class: 'branch', title: `block ${branch.block}: went to ${branch.target} ${exactText(branch.taken, 'count')} times` }, `${branch.target} ${withSeparators(branch.taken)}`));
      element.addEventListener('click', () => this.app.state.set({ line: String(row) }));
      element.addEventListener('mouseenter', () => this.hover(row));
    }
    element.append(text);
    return element;
  }

  private heatCell(column: HeatColumn, format: (value: any) => string, row: number | undefined): HTMLElement {
    const value = row === undefined ? null : column.value(row), cell = h('span', { class: 'heat number', role: 'cell' });
    if (value === null) return cell;
    const part = column.maximum ? Number(value) / column.maximum : 0;
    cell.title = `${column.title}: ${exactText(value, column.unit)}`;
    if (column.signed) {
      cell.append(Number(value) ? signedText(value, format) : '0');
      if (part) cell.style.backgroundColor = changeColour(Math.sign(part) * Math.sqrt(Math.abs(part)));
      if (part) cell.classList.add('coloured');
      return cell;
    }
    const never = Number(value) === 0 && column.id === 'executions';
    cell.append(never ? kNever : column.unit === 'percent' ? percentText(Number(value)) : format(value));
    if (never) cell.classList.add('never');
    const heat = column.id === 'simd_efficiency' ? 1 - part : part;
    if (heat > 0) cell.style.setProperty('--heat-part', `${Math.round(6 + 64 * Math.sqrt(heat))}%`);
    return cell;
  }

  private assemblyRow(index: number): HTMLElement {
    const { assembly } = this, source = this.source!, block = assembly!.block.get(index), line = assembly!.line.get(index);
    const marked = line !== undefined && (line === this.line || line === this.hovered);
    const element = h('div', { class: `code-row${marked ? ' linked' : ''}` }, h('span', { class: 'line-number', role: 'cell' }, String(index + 1)));
    const cell = h('span', { class: 'heat number', role: 'cell' });
    if (block !== undefined) {
      const value = source.blockExecutions[block];
      cell.append(Number(value) ? withSeparators(value) : kNever);
      cell.title = `block ${source.side.model.t('blocks').numbers('number')[block]}: executed ${exactText(value, 'count')} times`;
      cell.style.setProperty('--heat-part', `${Number(value) ? Math.round(6 + 64 * Math.sqrt(Number(value) / (this.mostExecuted || 1))) : 0}%`);
    }
    element.append(cell, h('span', { class: 'code', role: 'cell' }, highlight(assembly!.lines[index], true, false)));
    if (line !== undefined) element.addEventListener('click', () => this.app.state.set({ line: String(line) }));
    return element;
  }

  private hover(line: number): void {
    if (this.hovered === line || !this.assemblyShown) return;
    this.hovered = line;
    this.assemblyList.redraw();
  }

  private showAssemblyOf(line: number): void {
    if (!this.assemblyShown) return;
    for (const [row, own] of this.assembly!.line) if (own === line) return this.assemblyList.scrollTo(row);
    if (this.openedAssembly === this.sourceKey) return;
    this.openedAssembly = this.sourceKey;
    this.assemblyList.scrollTo(this.hottestRow(), true);
  }

  // Reconstructed GLSL does not say which of its lines an instruction is of.
  private hottestRow(): number {
    const { block } = this.assembly!, executions = this.source!.blockExecutions;
    let hottest = 0, most = 0;
    for (const [row, own] of block) if (Number(executions[own]) > most) hottest = row, most = Number(executions[own]);
    return hottest;
  }

  private drawDetail(): void {
    const { app } = this, line = this.line, source = this.source!, { model } = source.side;
    if (line < 0 || model.t('lines').index('shader')[line] !== source.shader)
      return replace(this.detail, h('span', { class: 'muted' }, 'Select a line to see what it costs and which draws ran it.'));
    const values = this.columns.map((column) => {
      const value = column.value(line);
      return value === null ? null : h('span', { class: 'pair', title: exactText(value, column.unit) }, h('span', { class: 'muted' }, column.title), ' ', column.signed ? signedText(value, (v) => valueText(v, column.unit)) : valueText(value, column.unit));
    });
    const scope = app.scope.steps.filter((step) => !['shader', 'function', 'line'].includes(step.kind));
    const steps = formatSteps([...scope, { kind: 'line', id: model.identity('lines', line) }]);
    const others = model.rowsOf('lines', model.identity('lines', line)).length;
    replace(this.detail, h('strong', {}, model.location(line)), ...values,
      h('a', { href: app.link({ view: 'where', in: steps, by: 'draw', sort: null, q: null }) }, 'draws that ran it'),
      h('a', { href: app.link({ view: 'where', in: steps, by: 'pass', sort: null, q: null }) }, 'passes'),
      others > 1 ? h('span', { class: 'muted' }, `${counted(others, 'specialization')} added up`) : null);
  }

  private drawMinimap(): void {
    const height = this.list.element.clientHeight, count = this.lines.length;
    if (!height || !count || !this.source) return;
    const context = context2d(this.minimap, kMapWidth, height), column = this.columns.find((c) => c.signed) ?? this.columns.find((c) => c.id === this.app.metricId) ?? this.columns[0];
    const row = Math.min(4, height / count), [heat, faint, text] = [css('--heat'), css('--faint'), css('--muted')];
    const [more, less] = [css('--more'), css('--less')];
    this.lines.forEach((line, i) => {
      const indent = Math.min(20, line.length - line.trimStart().length), length = Math.min(30, line.trim().length / 2);
      context.fillStyle = faint;
      context.fillRect(2 + indent / 2, i * row, length, Math.max(0.5, row - 1));
      const at = this.lineAt.get(i + 1), value = at === undefined || !column ? 0 : Number(column.value(at) ?? 0);
      if (!value || !column.maximum) return;
      context.fillStyle = column.signed ? (value > 0 ? more : less) : heat;
      context.globalAlpha = Math.min(1, 0.15 + 0.85 * Math.sqrt(Math.abs(value) / column.maximum));
      context.fillRect(0, i * row, kMapWidth, Math.max(1, row));
      context.globalAlpha = 1;
    });
    const { first, last } = this.list.range;
    context.strokeStyle = text;
    context.strokeRect(0.5, first * row + 0.5, kMapWidth - 1, Math.max(6, (Math.min(last, count) - first) * row - 1));
  }

  private jump(event: PointerEvent): void {
    const box = this.minimap.getBoundingClientRect(), row = Math.min(4, box.height / this.lines.length);
    this.list.scrollTo((event.clientY - box.top) / row, true);
  }
}
