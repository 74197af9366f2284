// Search over everything that has a name: passes, pipelines, shaders, functions, labels, calls, and the text of source lines.

import type { App } from '../app';
import { h, printable, replace } from '../dom';
import { withSeparators } from '../format';
import { formatSteps, type Kind } from '../model/scope';

const kMaxHits = 12; // of each kind
const kMaxLines = 60;

interface Hit { title: string; detail: string; address: string; }

export class Search {
  readonly element: HTMLDialogElement;
  private readonly input = h('input', { type: 'search', 'aria-label': 'Search everything', placeholder: 'Passes, pipelines, shaders, functions, labels, draws, source text' });
  private readonly results = h('div', { class: 'results', 'aria-live': 'polite' });

  constructor(private readonly app: App) {
    this.element = h('dialog', { class: 'search', 'aria-label': 'Search' }, this.input, this.results);
    this.element.addEventListener('click', (event) => { if (event.target === this.element) this.element.close(); });
    let timer = 0;
    this.input.addEventListener('input', () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => this.show(), 80);
    });
    this.element.addEventListener('keydown', (event) => this.key(event));
  }

  open(): void {
    this.element.showModal();
    this.input.select();
    this.show();
  }

  private key(event: KeyboardEvent): void {
    const links = [...this.results.querySelectorAll('a')], at = links.indexOf(document.activeElement as HTMLAnchorElement);
    if (event.key === 'ArrowDown') links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (event.key === 'ArrowUp') (at <= 0 ? this.input : links[at - 1]).focus();
    else if (event.key === 'Enter' && at < 0) links[0]?.click();
    else return;
    event.preventDefault();
  }

  private show(): void {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return replace(this.results);
    const test = (text: string) => { const lower = text.toLowerCase(); return words.every((word) => lower.includes(word)); };
    const sections = [this.named('pass', 'merged_passes', 'Passes', test), this.labels(test), this.named('pipeline', 'pipelines', 'Pipelines', test),
      this.shaders(test), this.functions(test), this.calls(test), this.lines(test)].filter((section) => section !== null);
    replace(this.results, ...(sections.length ? sections : [h('p', { class: 'muted' }, 'Nothing found.')]));
  }

  private section(title: string, hits: Hit[], total: number): HTMLElement | null {
    if (!hits.length) return null;
    const more = total > hits.length ? ` (first ${hits.length} of ${withSeparators(total)})` : '';
    return h('section', {}, h('h3', {}, title, h('span', { class: 'muted' }, more)), h('ul', {}, ...hits.map((hit) =>
      h('li', {}, h('a', { href: hit.address, onclick: () => this.element.close() }, h('span', { class: 'name' }, hit.title), h('span', { class: 'muted name' }, printable(hit.detail)))))));
  }

  private collect(title: string, count: number, limit: number, hit: (row: number) => Hit | null): HTMLElement | null {
    const hits: Hit[] = [];
    let total = 0;
    for (let row = 0; row < count; ++row) {
      const found = hit(row);
      if (!found) continue;
      ++total;
      if (hits.length < limit) hits.push(found);
    }
    return this.section(title, hits, total);
  }

  private go(kind: Kind, id: string, by: string): string {
    return this.app.link({ view: 'where', in: formatSteps([{ kind, id }]), by, sort: null, q: null });
  }

  private named(kind: Kind, table: 'merged_passes' | 'pipelines', title: string, test: (text: string) => boolean): HTMLElement | null {
    const { model } = this.app.now;
    return this.collect(title, model.t(table).rows, kMaxHits, (row) => {
      const name = model.text(table, 'name', row), detail = table === 'pipelines' ? model.text(table, 'bind_point', row) : model.labelPath(model.t(table).index('label')[row]);
      return test(`${name} ${detail}`) ? { title: name, detail, address: this.go(kind, model.identity(table, row), kind === 'pass' ? 'pipeline' : 'shader') } : null;
    });
  }

  private labels(test: (text: string) => boolean): HTMLElement | null {
    const { model } = this.app.now, seen = new Set<string>();
    return this.collect('Labels', model.t('labels').rows, kMaxHits, (row) => {
      const path = model.labelPath(row);
      if (!test(path) || seen.has(path)) return null;
      seen.add(path);
      return { title: path, detail: '', address: this.go('label', path, 'pipeline') };
    });
  }

  private shaders(test: (text: string) => boolean): HTMLElement | null {
    const { model } = this.app.now;
    return this.collect('Shaders', model.t('shaders').rows, kMaxHits, (row) => {
      const name = model.shaderName(row), detail = `${model.text('shaders', 'stage', row)} ${model.text('shaders', 'hash', row)}`;
      return test(`${name} ${detail}`) ? { title: name, detail, address: this.app.link({ view: 'source', shader: String(row), line: null, side: null }) } : null;
    });
  }

  private functions(test: (text: string) => boolean): HTMLElement | null {
    const { model } = this.app.now, shader = model.t('functions').index('shader');
    return this.collect('Functions', model.t('functions').rows, kMaxHits, (row) => {
      const name = model.text('functions', 'name', row);
      return test(name) ? { title: name, detail: model.shaderName(shader[row]), address: this.go('function', model.identity('functions', row), 'line') } : null;
    });
  }

  private calls(test: (text: string) => boolean): HTMLElement | null {
    const { model } = this.app.now, call = model.t('commands').index('call'), known = new Map<number, boolean>(), seen = new Set<number>();
    return this.collect('Draws and dispatches', call.length, kMaxHits, (row) => {
      if (seen.has(call[row])) return null;
      let found = known.get(call[row]);
      if (found === undefined) known.set(call[row], (found = test(model.string(call[row]))));
      seen.add(call[row]);
      return found ? { title: model.string(call[row]), detail: '', address: this.app.link({ view: 'where', by: 'similar', q: model.string(call[row]), in: null, sort: null }) } : null;
    });
  }

  // Lines with code.
  private lines(test: (text: string) => boolean): HTMLElement | null {
    const { app } = this, { model } = app.now;
    return this.collect('Source lines', model.t('lines').rows, kMaxLines, (row) => {
      const text = model.lineText(row), location = model.location(row);
      return test(`${location} ${text}`) ? { title: location, detail: text, address: app.link(app.lineLink(app.now, row)) } : null;
    });
  }
}
