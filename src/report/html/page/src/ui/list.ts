// A list of text lines that only ever holds the lines in view.

import { h } from '../dom';

const kExtra = 10, kPrinted = 400;

export class VirtualList {
  readonly element: HTMLElement;
  private readonly sizer = h('div', { class: 'list-sizer' });
  private pool: HTMLElement[] = [];
  private first = -1;
  private frame = 0;
  private printing = false;
  private count = 0;
  onScroll: () => void = () => {};

  constructor(private readonly rowHeight: number, label: string, private readonly make: (index: number) => HTMLElement) {
    this.element = h('div', { class: 'list', tabindex: '0', role: 'table', 'aria-label': label }, this.sizer);
    this.element.addEventListener('scroll', () => this.schedule());
    new ResizeObserver(() => this.schedule()).observe(this.element);
    window.addEventListener('beforeprint', () => { this.printing = true; this.draw(true); });
    window.addEventListener('afterprint', () => { this.printing = false; this.draw(true); });
  }

  // `characters`: of the longest line; `fixed`: pixels of the columns before it.
  show(count: number, characters: number, fixed: number): void {
    this.count = count;
    this.sizer.style.minWidth = `calc(${characters}ch + ${fixed}px)`;
    this.element.setAttribute('aria-rowcount', String(count));
    this.draw(true);
  }

  redraw(): void { this.draw(true); }

  get range(): { first: number; last: number } {
    const { scrollTop, clientHeight } = this.element;
    return { first: scrollTop / this.rowHeight, last: (scrollTop + clientHeight) / this.rowHeight };
  }

  scrollTo(index: number, always = false): void {
    const { first, last } = this.range;
    if (!always && index >= first + 1 && index < last - 2) return;
    this.element.scrollTop = (index - (last - first) / 3) * this.rowHeight;
  }

  private schedule(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(false); });
  }

  private draw(again: boolean): void {
    const { rowHeight, element } = this;
    this.sizer.style.height = `${(this.printing ? Math.min(kPrinted, this.count) : this.count) * rowHeight}px`;
    const visible = Math.min(this.count, this.printing ? kPrinted : Math.ceil(element.clientHeight / rowHeight) + 2 * kExtra);
    const first = this.printing ? 0 : Math.max(0, Math.min(Math.floor(element.scrollTop / rowHeight) - kExtra, this.count - visible));
    this.onScroll();
    if (!again && first === this.first && this.pool.length === visible) return;
    this.first = first;
    this.pool = Array.from({ length: visible }, (_, i) => {
      const row = this.make(first + i);
      row.style.top = `${(first + i) * rowHeight}px`;
      row.style.height = `${rowHeight}px`;
      row.setAttribute('role', 'row');
      row.setAttribute('aria-rowindex', String(first + i + 1));
      return row;
    });
    this.sizer.replaceChildren(...this.pool);
  }
}
