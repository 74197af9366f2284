// The icicle: one bar a node, as wide as its value; below it its children. A tree for the keyboard and screen readers.

import { h, printable, replace } from '../dom';
import { subtract, sumOf, type Exact } from '../exact';
import { changeText, counted, exactText, percentText, signedText, valueText, type Unit } from '../format';
import type { Kind } from '../model/scope';
import type { TreeNode } from '../model/tree';
import { changeColour, kindColour } from './colours';

const kRow = 22, kMinWidth = 2, kMaxNodes = 3000, kTextWidth = 24;

interface Bar { node: TreeNode; other: TreeNode | null; x: number; width: number; depth: number; path: TreeNode[]; element?: HTMLElement; }

export interface IcicleOptions {
  zoom: (path: TreeNode[]) => void;
  open: (path: TreeNode[]) => void; // a line or shader, by double click or Enter on what is zoomed
  unit: () => Unit;
  otherTitle: () => string; // "before" or "now"
  hasShares: () => boolean; // all that ran in the zoomed bar was counted
  describe: (text: string) => void; // the bar under the pointer or the focus; empty: none
}

export class Icicle {
  readonly element = h('div', { class: 'icicle', role: 'tree', 'aria-label': 'Where the work goes' });
  private bars: Bar[] = [];
  private path: TreeNode[] = [];
  private counterpart: TreeNode[] | null = null;
  private focused = 0;
  private width = 0;
  private marked = '';

  constructor(private readonly options: IcicleOptions) {
    new ResizeObserver(() => { if (this.element.clientWidth !== this.width) this.draw(); }).observe(this.element);
    this.element.addEventListener('keydown', (event) => this.key(event));
    const tell = (event: Event) => {
      const bar = this.bars.find(({ element }) => element === event.target);
      options.describe(bar ? this.describe(bar, this.path[0]?.value ?? 0) : '');
    };
    this.element.addEventListener('pointerover', tell);
    this.element.addEventListener('focusin', tell);
    this.element.addEventListener('pointerleave', () => options.describe(''));
  }

  get kinds(): Set<Kind> { return new Set(this.bars.flatMap(({ node }) => (node.kind === 'all' ? [] : [node.kind]))); }

  // `path`: from the root to the zoomed node. `counterpart`: the same path in the other capture.
  show(path: TreeNode[], counterpart: TreeNode[] | null): void {
    this.path = path;
    this.counterpart = counterpart;
    this.focused = path.length - 1;
    this.draw();
  }

  // Bars whose name contains the text; of all of them, the outermost ones' part of the whole.
  mark(text: string): void {
    this.marked = text.toLowerCase();
    for (const bar of this.bars) bar.element?.classList.toggle('marked', this.isMarked(bar.node));
  }

  private isMarked(node: TreeNode): boolean { return this.marked !== '' && node.kind !== 'all' && node.name.toLowerCase().includes(this.marked); }

  get markedSum(): { bars: number; value: Exact; total: Exact } {
    const outermost = this.bars.filter((bar) => bar.depth >= this.path.length - 1 && this.isMarked(bar.node) && !bar.path.slice(0, -1).some((above) => this.isMarked(above)));
    return { bars: this.bars.filter(({ node }) => this.isMarked(node)).length, value: sumOf(outermost.map(({ node }) => node.value)), total: this.path[0]?.value ?? 0 };
  }

  private layout(): void {
    this.bars = [];
    this.path.forEach((node, depth) => this.bars.push({ node, other: this.counterpart?.[depth] ?? null, x: 0, width: this.width, depth, path: this.path.slice(0, depth + 1) }));
    const visit = (node: TreeNode, other: TreeNode | null, x: number, width: number, depth: number, path: TreeNode[]) => {
      const children = node.children();
      let sum = 0;
      for (const child of children) sum += Number(child.value);
      const scale = width / Math.max(sum, Number(node.value), 1); // parts of executions may add up to more
      let at = x;
      for (const child of children) {
        const own = Number(child.value) * scale;
        if (own < kMinWidth || this.bars.length > kMaxNodes) { at += own; continue; }
        const twin = other?.children().find((c) => c.step!.kind === child.step!.kind && c.step!.id === child.step!.id) ?? null;
        const below = [...path, child];
        this.bars.push({ node: child, other: twin, x: at, width: own, depth, path: below });
        visit(child, twin, at, own, depth + 1, below);
        at += own;
      }
    };
    const last = this.path.length - 1;
    if (last >= 0) visit(this.path[last], this.counterpart?.[last] ?? null, 0, this.width, last + 1, this.path);
  }

  private draw(): void {
    this.width = this.element.clientWidth;
    if (this.width === 0) return;
    this.layout();
    const total = this.path[0]?.value ?? 0;
    const elements = this.bars.map((bar, i) => {
      const element = h('div', { class: bar.depth < this.path.length - 1 ? 'bar above' : 'bar', role: 'treeitem', tabindex: i === this.focused ? '0' : '-1',
        'aria-level': bar.depth + 1, 'aria-label': printable(this.describe(bar, total)), title: printable(this.describe(bar, total)),
        onclick: () => this.zoom(bar), ondblclick: () => this.options.open(bar.path) });
      if (this.isMarked(bar.node)) element.classList.add('marked');
      if (bar.width > kTextWidth) element.append(printable(bar.node.name));
      const style = element.style;
      style.left = `${bar.x.toFixed(2)}px`;
      style.width = `${Math.max(1, bar.width - 1).toFixed(2)}px`;
      style.top = `${bar.depth * kRow}px`;
      style.backgroundColor = this.counterpart ? changeColour(this.change(bar)) : kindColour(bar.node.kind);
      bar.element = element;
      return element;
    });
    const had = this.element.contains(document.activeElement);
    replace(this.element, ...elements);
    if (had) this.bars[this.focused]?.element?.focus();
    const depth = this.bars.reduce((most, bar) => Math.max(most, bar.depth), 0);
    this.element.style.height = `${(depth + 1) * kRow}px`;
  }

  // -1 to 1: how much of the larger value changed; the root's share makes small parts pale.
  private change(bar: Bar): number {
    const own = Number(bar.node.value), other = Number(bar.other?.value ?? 0), before = this.options.otherTitle() === 'before';
    const change = (own - other) / Math.max(own, other, 1);
    return Math.sign(before ? change : -change) * Math.sqrt(Math.abs(change));
  }

  private describe(bar: Bar, total: Exact): string {
    const unit = this.options.unit(), { node } = bar;
    const share = Number(total) && this.options.hasShares() ? ` (${percentText((100 * Number(node.value)) / Number(total))})` : '';
    let text = `${node.kind === 'all' ? '' : `${node.kind} `}${node.name}: ${exactText(node.value, unit)}${share}`;
    if (node.ofCalls) {
      const own = Number(total) && this.options.hasShares() ? ` (${percentText((100 * Number(node.ofCalls.self)) / Number(total))})` : '';
      text += `, by itself ${exactText(node.ofCalls.self, unit)}${own}; ${node.ofCalls.inlined ? 'inlined, entered' : 'called'} ${counted(node.ofCalls.calls, 'time')}`;
    }
    if (this.counterpart) {
      const other = bar.other?.value ?? 0, before = this.options.otherTitle() === 'before';
      const [now, old] = before ? [node.value, other] : [other, node.value];
      const signed = signedText(subtract(now, old), (v) => valueText(v, unit));
      text += `; ${this.options.otherTitle()} ${exactText(other, unit)}, change ${signed} ${changeText(old, now)}`;
    }
    return text;
  }

  private zoom(bar: Bar): void {
    const zoomed = bar.path.length === this.path.length && bar.path.length > 1 && bar.node === this.path[this.path.length - 1];
    if (zoomed) this.options.open(bar.path);
    else this.options.zoom(bar.path);
  }

  private focus(index: number): void {
    if (index < 0 || index >= this.bars.length) return;
    this.bars[this.focused]?.element?.setAttribute('tabindex', '-1');
    this.focused = index;
    const element = this.bars[index].element!;
    element.setAttribute('tabindex', '0');
    element.focus();
  }

  private key(event: KeyboardEvent): void {
    const bar = this.bars[this.focused];
    if (!bar) return;
    const near = (test: (other: Bar) => boolean) => this.bars.findIndex(test);
    const beside = this.bars.filter((other) => other.depth === bar.depth), at = beside.indexOf(bar);
    switch (event.key) {
      case 'ArrowDown': this.focus(near((o) => o.depth === bar.depth + 1 && o.x >= bar.x - 0.5 && o.x < bar.x + bar.width)); break;
      case 'ArrowUp': this.focus(near((o) => o.node === bar.path[bar.path.length - 2])); break;
      case 'ArrowLeft': if (at > 0) this.focus(this.bars.indexOf(beside[at - 1])); break;
      case 'ArrowRight': if (at + 1 < beside.length) this.focus(this.bars.indexOf(beside[at + 1])); break;
      case 'Enter': case ' ': this.zoom(bar); break;
      case 'Escape': case 'Backspace': if (this.path.length > 1) this.options.zoom(this.path.slice(0, -1)); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
