// A table that only ever holds the rows in view: sortable, filterable, with chosen columns.

import { h, printable, replace } from '../dom';
import { compare } from '../exact';
import { columnFormat, counted, exactText, signedText, withSeparators } from '../format';
import type { Cell } from '../model/groups';
import type { TableColumn, TableSource } from '../model/rows';
import { announce, copyText } from './copy';
import { makeFilter } from './filter';
import { popup } from './popup';

const kRow = 24;
const kExtra = 8;               // rows beyond the visible ones
const kMaxHeight = 12_000_000;  // pixels; browsers limit an element's height
const kPrinted = 100;
const kPadding = 21, kMaxText = 200, kMaxFirst = 280, kMaxSource = 520, kMeasured = 200;

export interface TableState {
  sort: string; // column id, with a leading "-" for descending
  query: string;
  columns: string; // ids that differ from the default, separated by commas; "*": all
  changedOnly: boolean;
}

export interface TableOptions {
  label: string;
  link: (row: number) => string | null; // address that the first text of the row leads to
  change: (state: Partial<TableState>) => void;
  total?: string;
}

type Format = (value: Cell) => { text: string; title: string };

export class VirtualTable {
  readonly element: HTMLElement;
  private readonly scroller = h('div', { class: 'table-scroll', tabindex: '0', role: 'region' });
  private readonly table = h('table', { class: 'grid' });
  private readonly columnGroup = h('colgroup');
  private readonly head = h('thead');
  private readonly above = h('tr', { class: 'space', 'aria-hidden': 'true' }, h('td'));
  private readonly below = h('tr', { class: 'space', 'aria-hidden': 'true' }, h('td'));
  private readonly body = h('tbody');
  private readonly status = h('span', { class: 'muted', role: 'status' });
  private readonly filter = h('input', { type: 'search', class: 'filter', placeholder: 'Filter: words, instructions>1000',
    'aria-label': 'Filter rows: words, or comparisons such as instructions>1000' });
  private readonly tools = h('div', { class: 'tools' });
  private source: TableSource = { rows: 0, columns: [], step: () => null, changed: () => true, original: () => -1 };
  private shown: TableColumn[] = [];
  private formats: Format[] = [];
  private order: Int32Array = new Int32Array(0);
  private pool: HTMLTableRowElement[] = [];
  private state: TableState = { sort: '', query: '', columns: '', changedOnly: false };
  private frame = 0;
  private printing = false;

  constructor(private readonly options: TableOptions) {
    let timer = 0;
    this.filter.addEventListener('input', () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => options.change({ query: this.filter.value }), 120);
    });
    const columns = popup('Columns', () => this.chooser());
    this.tools.append(this.filter, this.status, columns,
      h('button', { type: 'button', title: 'Copy the rows, with exact values, as tab-separated text', onclick: () => this.copy() }, 'Copy TSV'));
    this.scroller.setAttribute('aria-label', options.label);
    this.table.setAttribute('aria-label', options.label);
    this.body.append(this.above, this.below);
    this.table.append(this.columnGroup, this.head, this.body);
    this.scroller.append(this.table);
    this.element = h('div', { class: 'table' }, this.tools, this.scroller);
    this.scroller.addEventListener('scroll', () => this.schedule());
    new ResizeObserver(() => this.schedule()).observe(this.scroller);
    window.addEventListener('beforeprint', () => { this.printing = true; this.draw(); });
    window.addEventListener('afterprint', () => { this.printing = false; this.draw(); });
    this.scroller.addEventListener('keydown', (event) => this.key(event));
  }

  focusFilter(): void { this.filter.focus(); }

  show(source: TableSource, state: TableState): void {
    const same = source === this.source;
    this.source = source;
    this.state = state;
    if (document.activeElement !== this.filter) this.filter.value = state.query;
    this.chooseColumns();
    this.arrange();
    this.drawHead();
    if (!same) this.scroller.scrollTop = 0;
    this.pool.forEach((row) => row.remove());
    this.pool = [];
    this.draw();
  }

  private chooseColumns(): void {
    const toggled = new Set(this.state.columns.split(',').filter(Boolean));
    this.shown = this.source.columns.filter((column) => toggled.has('*') || column.shown !== toggled.has(column.id));
    this.formats = this.shown.map((column) => this.formatOf(column));
  }

  private formatOf(column: TableColumn): Format {
    if (column.text) return (value) => ({ text: value === null ? '' : String(value), title: value === null ? '' : String(value) });
    let most = 0, fractional = false;
    if (column.unit !== 'percent') {
      const rows = this.source.rows, step = column.unit === 'count' ? Math.max(1, Math.floor(rows / 2000)) : 1;
      for (let row = 0; row < rows; row += step) {
        const value = column.cell(row);
        if (value === null || typeof value === 'string') continue;
        most = Math.max(most, Math.abs(Number(value)));
        fractional ||= typeof value === 'number' && !Number.isInteger(value);
      }
    }
    const format = columnFormat(column.unit, most, fractional);
    return (value) => {
      if (value === null || typeof value === 'string') return { text: '', title: '' };
      const exact = exactText(value, column.unit);
      return { text: column.signed ? signedText(value, format) : format(value), title: exact };
    };
  }

  private sortColumn(): { column: TableColumn | undefined; descending: boolean } {
    const id = this.state.sort.replace(/^-/, '');
    const column = this.source.columns.find((c) => c.id === id);
    return { column, descending: this.state.sort.startsWith('-') };
  }

  private arrange(): void {
    const test = makeFilter(this.state.query, this.source.columns), rows: number[] = [];
    for (let row = 0; row < this.source.rows; ++row)
      if ((!test || test(row)) && (!this.state.changedOnly || this.source.changed(row))) rows.push(row);
    this.order = Int32Array.from(rows);
    const { column, descending } = this.sortColumn();
    if (column) {
      const cells = new Array<Cell>(this.source.rows);
      for (const row of rows) {
        const value = column.cell(row);
        cells[row] = column.signed && value !== null && typeof value !== 'string' && descending ? magnitude(value) : value;
      }
      const sign = descending ? -1 : 1;
      this.order.sort((a, b) => sign * compare(cells[a], cells[b]) || a - b);
    }
    const all = counted(this.source.rows, 'row');
    this.status.textContent = (rows.length === this.source.rows ? all : `${withSeparators(rows.length)} of ${all}`) + (this.source.note ? `; ${this.source.note}` : '');
  }

  private drawHead(): void {
    const { column: sorted, descending } = this.sortColumn();
    const cells = this.shown.map((column) => {
      const arrow = column === sorted ? (descending ? '\u00A0\u25BE' : '\u00A0\u25B4') : '';
      const next = column === sorted ? !descending : !column.text;
      return h('th', { scope: 'col', class: column.text ? 'text' : 'number', title: column.description,
        'aria-sort': column === sorted ? (descending ? 'descending' : 'ascending') : null },
      h('button', { type: 'button', onclick: () => this.options.change({ sort: `${next ? '-' : ''}${column.id}` }) }, column.title + arrow));
    });
    replace(this.head, h('tr', { 'aria-rowindex': '1' }, ...cells));
    const { fontSize, fontFamily } = getComputedStyle(this.table);
    this.measure.font = `600 ${fontSize} ${fontFamily}`; // the head's font
    let width = 0;
    replace(this.columnGroup, ...this.shown.map((column, i) => {
      const col = h('col'), own = this.widthOf(column, this.formats[i]);
      col.style.width = `${own}px`;
      width += own;
      return col;
    }));
    this.table.style.minWidth = `${width}px`;
    this.table.setAttribute('aria-rowcount', String(this.order.length + 1));
    this.table.setAttribute('aria-colcount', String(this.shown.length));
  }

  private readonly measure = h('canvas').getContext('2d')!;

  // The width of the longest of some cells, and of the longest word of the title.
  private widthOf(column: TableColumn, format: Format): number {
    const width = (text: string) => this.measure.measureText(text).width;
    let most = Math.max(width(`${column.title} \u25BE`) * 0.68, ...column.title.split(' ').map((word) => width(`${word} \u25BE`)));
    let longest = '';
    const step = Math.max(1, Math.floor(this.order.length / kMeasured));
    for (let i = 0; i < this.order.length; i += step) {
      const { text } = format(column.cell(this.order[i]));
      if (text.length > longest.length) longest = text.slice(0, 200);
    }
    most = Math.max(most, width(longest) * 1.04);
    const limit = column.id === 'text' ? kMaxSource : !column.text ? Infinity : column === this.shown.find((own) => own.text) ? kMaxFirst : kMaxText;
    return Math.ceil(Math.min(most, limit)) + kPadding + (column.share ? 24 : 0);
  }

  private schedule(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  private draw(): void {
    const count = this.order.length, scroller = this.scroller;
    const full = count * kRow, height = Math.min(full, kMaxHeight);
    const visible = Math.min(count, this.printing ? kPrinted : Math.ceil(scroller.clientHeight / kRow) + 2 * kExtra);
    const range = Math.max(1, height - scroller.clientHeight), position = Math.min(1, scroller.scrollTop / range);
    const exactFirst = full === height ? scroller.scrollTop / kRow : position * Math.max(0, count - scroller.clientHeight / kRow);
    const first = this.printing ? 0 : Math.max(0, Math.min(Math.floor(exactFirst) - kExtra, count - visible));
    const top = this.printing ? 0 : full === height ? first * kRow : Math.max(0, scroller.scrollTop - (exactFirst - first) * kRow);
    while (this.pool.length < visible) {
      const row = this.newRow();
      this.pool.push(row);
      this.body.insertBefore(row, this.below);
    }
    while (this.pool.length > visible) this.pool.pop()!.remove();
    for (let i = 0; i < visible; ++i) this.fill(this.pool[i], first + i);
    this.above.style.height = `${top}px`;
    this.below.style.height = this.printing ? '0' : `${Math.max(0, height - top - visible * kRow)}px`;
  }

  private newRow(): HTMLTableRowElement {
    const row = h('tr');
    let linked = false;
    for (const column of this.shown) {
      const cell = h('td', { class: column.text ? 'text' : 'number' });
      if (column.share) cell.classList.add('share');
      if (column.text && !linked) {
        cell.append(h('a'));
        linked = true;
      }
      row.append(cell);
    }
    return row;
  }

  private fill(element: HTMLTableRowElement, position: number): void {
    const row = this.order[position];
    if (element.dataset.position === String(position)) return;
    element.dataset.position = String(position);
    element.setAttribute('aria-rowindex', String(position + 2));
    for (let i = 0; i < this.shown.length; ++i) {
      const column = this.shown[i], cell = element.cells[i], value = column.cell(row);
      const { text, title } = this.formats[i](value), link = cell.firstElementChild as HTMLAnchorElement | null;
      const shown = column.text ? printable(text) : text;
      if (cell.title !== title) cell.title = column.text ? printable(title) : title;
      if (link) {
        const address = this.options.link(row);
        link.textContent = shown;
        if (address) link.href = address;
        else link.removeAttribute('href');
      } else {
        cell.textContent = shown;
      }
      if (column.share) cell.style.setProperty('--share', `${Math.min(100, Number(value))}%`);
      if (column.signed) cell.dataset.sign = Number(value) > 0 ? 'more' : Number(value) < 0 ? 'less' : '';
    }
  }

  private key(event: KeyboardEvent): void {
    const rows = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (event.key === 'Home') this.scroller.scrollTop = 0;
    else if (event.key === 'End') this.scroller.scrollTop = this.scroller.scrollHeight;
    else if (rows) this.scroller.scrollTop += rows * kRow;
    else return;
    event.preventDefault();
  }

  private chooser(): HTMLElement {
    const list = h('div', { class: 'checks' });
    for (const column of this.source.columns) {
      const box = h('input', { type: 'checkbox', checked: this.shown.includes(column), onchange: () => this.toggle(column.id) });
      list.append(h('label', { title: column.description }, box, h('span', {}, column.title), h('code', {}, column.id)));
    }
    return list;
  }

  private toggle(id: string): void {
    const all = this.state.columns === '*', hidden = this.source.columns.filter((column) => !column.shown).map((column) => column.id);
    const toggled = new Set(all ? hidden : this.state.columns.split(',').filter(Boolean));
    if (!toggled.delete(id)) toggled.add(id);
    this.options.change({ columns: [...toggled].join(',') });
  }

  // Exact values, columns named as `tally report --format json` names them. A text that a spreadsheet would take for a formula
  // follows an apostrophe.
  tsv(): string {
    const safe = (value: Cell) => (typeof value === 'string' && /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : String(value));
    const plain = (value: Cell) => (value === null ? '' : safe(value).replace(/[\t\r\n]+/g, ' '));
    const lines = [this.shown.map((column) => column.id).join('\t')];
    for (const row of this.order) lines.push(this.shown.map((column) => plain(column.cell(row))).join('\t'));
    return lines.join('\n') + '\n';
  }

  private async copy(): Promise<void> {
    announce(await copyText(this.tsv()) ? `${counted(this.order.length, 'row')} copied` : 'the browser does not allow copying');
  }
}

function magnitude(value: number | bigint): number | bigint {
  return value < 0 ? -value : value;
}

