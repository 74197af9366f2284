// Where the work goes: the icicle, and a table of the same scope.

import type { App, View } from '../app';
import { h, printable, replace } from '../dom';
import type { Exact } from '../exact';
import { counted, percentText, valueText } from '../format';
import { callTree, relationsOf, type Relative } from '../model/calls';
import { allCounted, kBy, scopeKey, type By } from '../model/groups';
import { RowsMaker, type TableSource } from '../model/rows';
import { commandsOf, formatSteps, stepName, type Kind, type Step } from '../model/scope';
import { makeTree, walk, type TreeNode } from '../model/tree';
import { changeColour, colourKey, kindColour } from '../ui/colours';
import { Icicle } from '../ui/icicle';
import { thumbnail } from '../ui/thumbnail';
import { VirtualTable, type TableState } from '../ui/table';

const kTitles: { [by in By]: string } = { pass: 'Passes', label: 'Labels', pipeline: 'Pipelines', shader: 'Shaders',
  function: 'Functions', line: 'Lines', draw: 'Draws', similar: 'Similar draws', frame: 'Frames' };
const kLevels: Kind[] = ['frame', 'pass', 'label', 'pipeline', 'shader', 'function', 'line'];
const kMaxFrames = 6; // more frames are not a level of the icicle by default

// The next step that a row of a table is narrowed to.
const kNext: { [kind in Kind]: By } = { frame: 'pass', pass: 'pipeline', label: 'pipeline', pipeline: 'shader', command: 'shader', similar: 'draw',
  shader: 'function', function: 'line', line: 'draw' };

// The word before the name of a scope; otherwise its kind.
const kPrefixes: Partial<{ [kind in Kind]: string }> = { frame: '', command: '', similar: 'draws ' };

export class WhereView implements View {
  readonly element: HTMLElement;
  private readonly icicle: Icicle;
  private readonly table: VirtualTable;
  private readonly crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Scope' });
  private readonly tabs = h('div', { class: 'tabs small', role: 'tablist', 'aria-label': 'Rows of the table' });
  private readonly levels = h('div', { class: 'tools' });
  private readonly legend = h('div', { class: 'keys' });
  private readonly detail = h('div', { class: 'detail bar-detail' });
  private readonly notes = h('div', { class: 'notes muted' });
  private readonly relations = h('div', { class: 'relations' });
  private readonly mark = h('input', { type: 'search', 'aria-label': 'Mark bars', placeholder: 'Mark bars', oninput: () => this.app.state.set({ mark: this.mark.value }) });
  private readonly marked = h('span', { class: 'muted', role: 'status' });
  private source: TableSource | null = null;
  private sourceKey = '';
  private timer = 0;
  private hasShares = true;
  private trees = new Map<string, TreeNode>();

  constructor(private readonly app: App) {
    this.icicle = new Icicle({
      zoom: (path) => this.narrow(path.slice(1).map((node) => node.step!)),
      open: (path) => this.open(path),
      unit: () => app.unit,
      otherTitle: () => (app.side === app.before ? 'now' : 'before'),
      hasShares: () => this.hasShares,
      describe: (text) => this.describe(text),
    });
    this.table = new VirtualTable({
      label: 'Table of the scope',
      link: (row) => this.rowLink(row),
      change: (state) => this.app.state.set(this.fromTable(state)),
    });
    this.element = h('section', { class: 'view where', 'aria-label': 'Where' },
      h('div', { class: 'pane' }, h('div', { class: 'pane-head' }, this.crumbs, this.levels), h('div', { class: 'icicle-scroll' }, this.icicle.element, this.legend), this.detail, this.relations),
      h('div', { class: 'pane table-pane', role: 'tabpanel', 'aria-label': 'Table' }, this.tabs, this.table.element, this.notes));
  }

  focusFilter(): void { this.table.focusFilter(); }

  private get by(): By {
    const by = this.app.state.get('by');
    return (kBy as readonly string[]).includes(by) ? (by as By) : this.app.now.model.mainGroup;
  }

  private get byFrame(): boolean {
    const wanted = this.app.state.get('byframe'), rows = this.app.now.model.t('frames').rows;
    return wanted ? wanted === '1' : !this.app.against && rows > 1 && rows <= kMaxFrames;
  }

  // Captures without passes have no such level.
  private get byPass(): boolean { return this.app.sides.some(({ model }) => model.mainGroup === 'pass'); }
  private get byLabel(): boolean { return this.app.state.get('level', this.app.now.model.mainGroup) === 'label'; }

  private narrow(steps: Step[]): void {
    this.app.go({ in: formatSteps(steps) });
  }

  private open(path: TreeNode[]): void {
    const side = this.app.side, node = path[path.length - 1];
    if (node.kind === 'line') this.app.go(this.app.lineLink(side, side.model.rowsOf('lines', node.step!.id)[0]));
    if (node.kind === 'shader') this.app.go({ view: 'source', shader: String(side.model.rowsOf('shaders', node.step!.id)[0]), line: null });
  }

  private rowLink(row: number): string | null {
    const { app } = this, step = this.source!.step(row);
    if (!step) return null;
    const side = this.source!.original(0, row) >= 0 || !app.before ? app.now : app.before;
    if (step.kind === 'line') return app.link(app.lineLink(side, side.model.rowsOf('lines', step.id)[0]));
    if (step.kind === 'shader')
      return app.link({ view: 'source', shader: String(side.model.rowsOf('shaders', step.id)[0]), line: null, side: side === app.before ? 'before' : null });
    if (step.kind === 'command') return app.link({ in: formatSteps([step]), by: 'shader', sort: null, q: null });
    const steps = app.scope.steps.filter((own) => own.kind !== step.kind || step.kind === 'label');
    return app.link({ in: formatSteps(insert(steps, step)), by: kNext[step.kind], sort: null, q: null });
  }

  private fromTable(state: Partial<TableState>) {
    const changes: { [key: string]: string } = {};
    if (state.sort !== undefined) changes.sort = state.sort;
    if (state.query !== undefined) changes.q = state.query;
    if (state.columns !== undefined) changes.cols = state.columns;
    return changes;
  }

  private tableState(): TableState {
    const { state, metricId, against } = this.app;
    const standard = metricId ? (against ? `-${metricId}.change` : `-${metricId}`) : '';
    return { sort: state.get('sort', this.by === 'frame' ? 'frame' : standard), query: state.get('q'), columns: state.get('cols'), changedOnly: state.get('changed') === '1' };
  }

  update(changed: Set<string>): void {
    const app = this.app, tableOnly = [...changed].every((key) => ['sort', 'q', 'cols', 'mark'].includes(key));
    if (changed.has('mark')) this.drawMarks();
    if (!tableOnly || !changed.size) {
      this.drawCrumbs();
      this.drawLevels();
      this.drawTabs();
      clearTimeout(this.timer); // the table first
      this.timer = window.setTimeout(() => this.drawIcicle());
    }
    const key = `${this.by} ${app.metricId} ${scopeKey(app.scope)}`;
    if (key !== this.sourceKey) {
      this.source = new RowsMaker(app, this.by).make();
      this.sourceKey = key;
    }
    this.table.show(this.source!, this.tableState());
    replace(this.notes, ...(this.source!.notes ?? []).map((note) => h('p', {}, note)));
  }

  private drawCrumbs(): void {
    const { app } = this, { steps } = app.scope, model = app.side.model;
    const items = steps.map((step, i) => {
      const name = `${kPrefixes[step.kind] ?? `${step.kind} `}${stepName(model, step) || app.sides.map((side) => stepName(side.model, step)).find(Boolean) || ''}`;
      const last = i + 1 === steps.length;
      return last ? h('span', { 'aria-current': 'location' }, name) : h('a', { href: app.link({ in: formatSteps(steps.slice(0, i + 1)) }) }, name);
    });
    const root = steps.length ? h('a', { href: app.link({ in: null }) }, 'all') : h('span', {}, 'all');
    const parts: (HTMLElement | string)[] = [root];
    for (const item of items) parts.push('\u203A', item);
    if (steps.length) parts.push(h('a', { class: 'clear', href: app.link({ in: null }), 'aria-label': 'Leave the scope' }, '\u00D7'));
    replace(this.crumbs, ...parts);
  }

  private drawLevels(): void {
    const { app } = this;
    const frames = h('input', { type: 'checkbox', checked: this.byFrame, onchange: () => app.state.set({ byframe: this.byFrame ? '0' : '1' }) });
    const level = h('select', { 'aria-label': 'Level above shaders', onchange: (event: Event) => app.state.set({ level: (event.target as HTMLSelectElement).value }) },
      h('option', { value: 'pipeline', selected: !this.byLabel }, 'pipelines'), h('option', { value: 'label', selected: this.byLabel }, 'labels'));
    if (document.activeElement !== this.mark) this.mark.value = app.state.get('mark');
    const controls = [h('label', { class: 'check' }, frames, 'frames'), level];
    if (this.mark.parentElement === this.levels) [...this.levels.children].slice(0, 2).forEach((old, i) => old.replaceWith(controls[i])); // the caret stays
    else replace(this.levels, ...controls, this.mark, this.marked);
  }

  private drawMarks(): void {
    const text = this.app.state.get('mark');
    this.icicle.mark(text);
    const { bars, value, total } = this.icicle.markedSum;
    const share = this.hasShares && Number(total) ? `, ${percentText((100 * Number(value)) / Number(total))} of the whole` : '';
    this.marked.textContent = !text ? '' : bars ? `${counted(bars, 'bar')}${share}` : 'no bar';
  }

  // The callers and callees of the function that the scope ends in, or the picture of its pass.
  private drawRelations(): void {
    const { app } = this, { model, sums } = app.side, step = app.scope.steps.at(-1);
    const rows = step?.kind === 'function' ? model.rowsOf('functions', step.id) : [];
    const shaders = new Set(rows.map((row) => model.t('functions').index('shader')[row]));
    const blocks = sums.blocks(commandsOf(model, app.scope));
    const tree = rows.length ? callTree(model, model.calls, blocks, app.metricId, shaders) : null;
    if (!tree) return replace(this.relations, step?.kind === 'pass' ? thumbnail(app, app.side, step.id) : null);
    const of = relationsOf(model, tree, step!.id), others = app.scope.steps.filter(({ kind }) => kind !== 'function' && kind !== 'line');
    const value = (own: Exact) => valueText(own, app.unit);
    const list = (title: string, relatives: Relative[], none: string) => h('section', {}, h('h3', {}, title),
      relatives.length ? h('ul', {}, ...relatives.map(({ name, id, value: own, calls }) => h('li', {},
        h('a', { href: app.link({ in: formatSteps([...others, { kind: 'function', id }]) }) }, name), ` ${value(own)}, ${counted(calls, 'call')}`))) : h('p', { class: 'muted' }, none));
    replace(this.relations,
      h('p', {}, h('strong', {}, stepName(model, step!)), ` ${value(of.inclusive)} with what it calls, ${value(of.self)} by itself, ${counted(of.calls, 'call')}`),
      list('Callers', of.callers, 'none: an entry point'), list('Callees', of.callees, 'none'));
  }

  private drawTabs(): void {
    const { app } = this, counts: Partial<{ [by in By]: number }> = { label: app.now.model.t('labels').rows };
    const shown = kBy.filter((by) => counts[by] !== 0);
    replace(this.tabs, ...shown.map((by) => h('a', { role: 'tab', 'aria-selected': String(by === this.by), href: app.link({ by, sort: null }) }, kTitles[by])));
  }

  private tree(title: string): TreeNode {
    const { app } = this, side = title === 'before' ? app.before! : app.now;
    const scope = { frames: app.scope.frames, steps: app.scope.steps.filter(({ kind }) => kind === 'command' || kind === 'similar') };
    const key = `${title} ${app.metricId} ${scopeKey(scope)} ${this.byFrame} ${this.byPass} ${this.byLabel}`;
    let tree = this.trees.get(key);
    if (!tree) {
      tree = makeTree(side.model, side.sums, scope, { metric: app.metricId, byFrame: this.byFrame, byPass: this.byPass, byLabel: this.byLabel });
      if (this.trees.size > 8) this.trees.clear();
      this.trees.set(key, tree);
    }
    return tree;
  }

  private describe(text: string): void {
    replace(this.detail, text ? printable(text) : h('span', { class: 'muted' }, 'Point at a bar to see its value. A click zooms; a second click opens the source.'));
  }

  private drawLegend(): void {
    const kinds = kLevels.filter((kind) => this.icicle.kinds.has(kind));
    replace(this.legend, ...(this.app.against
      ? [colourKey(changeColour(-1), 'less than before'), colourKey(changeColour(0), 'the same'), colourKey(changeColour(1), 'more than before')]
      : kinds.map((kind) => colourKey(kindColour(kind), kind))));
  }

  private drawIcicle(): void {
    const { app } = this;
    if (!app.metricId) return;
    const own = app.side.title, steps = app.scope.steps.filter(({ kind }) => kind !== 'command' && kind !== 'similar' && (kind !== 'pass' || this.byPass)), path = walk(this.tree(own), steps);
    this.describe('');
    this.hasShares = allCounted(app.side.model, commandsOf(app.side.model, app.scope));
    this.drawRelations();
    this.icicle.show(path, app.against ? walk(this.tree(own === 'now' ? 'before' : 'now'), steps) : null);
    this.drawLegend();
    this.drawMarks();
  }
}

// Steps in the order of the levels.
function insert(steps: Step[], step: Step): Step[] {
  const order: Kind[] = ['frame', 'pass', 'pipeline', 'label', 'similar', 'command', 'shader', 'function', 'line'];
  const at = steps.findIndex((own) => order.indexOf(own.kind) > order.indexOf(step.kind));
  return at < 0 ? [...steps, step] : [...steps.slice(0, at), step, ...steps.slice(at)];
}

