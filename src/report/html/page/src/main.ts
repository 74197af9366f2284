// The page: unpacks the data, then shows one view of it below the strip of frames.

import { App, type View } from './app';
import { unpack } from './container';
import { h, printable, replace } from './dom';
import { State } from './state';
import './style/base.css';
import './style/views.css';
import { FrameStrip } from './ui/strip';
import { Search } from './ui/search';
import { applyTheme, themeButton } from './ui/theme';
import { helpDialog } from './ui/help';
import { EglView } from './views/egl';
import { OverviewView } from './views/overview';
import { PictureView } from './views/picture';
import { SourceView } from './views/source';
import { TimelineView } from './views/timeline';
import { WhereView } from './views/where';

interface Entry { id: string; title: string; make: (app: App) => View; there: (app: App) => boolean; }

const some = (app: App, table: 'commands' | 'lines' | 'pictures' | 'region_passes' | 'egl_frames' | 'assembly') =>
  app.sides.some(({ model }) => model.t(table).rows > 0);
const isTimed = (app: App) => app.sides.some(({ model }) =>
  (['passes', 'commands', 'spans'] as const).some((table) => Array.prototype.some.call(model.t(table).times('begin'), (t: number) => !Number.isNaN(t))));

const kViews: Entry[] = [
  { id: 'overview', title: 'Overview', make: (app) => new OverviewView(app), there: () => true },
  { id: 'where', title: 'Where', make: (app) => new WhereView(app), there: (app) => app.hasCommands },
  { id: 'source', title: 'Source', make: (app) => new SourceView(app), there: (app) => some(app, 'lines') || some(app, 'assembly') },
  { id: 'picture', title: 'Picture', make: (app) => new PictureView(app), there: (app) => some(app, 'pictures') || some(app, 'region_passes') },
  { id: 'timeline', title: 'Timeline', make: (app) => new TimelineView(app), there: isTimed },
  { id: 'egl', title: 'EGL', make: (app) => new EglView(app), there: (app) => some(app, 'egl_frames') },
];

class Page {
  private readonly views = new Map<string, View>();
  private readonly entries: Entry[];
  private readonly main = h('main', { id: 'main', tabindex: '-1' });
  private readonly tabs = h('nav', { class: 'tabs', 'aria-label': 'Views' });
  private readonly controls = h('div', { class: 'controls' });
  private readonly strip: FrameStrip;
  private readonly search: Search;
  private readonly help = helpDialog();

  constructor(private readonly app: App) {
    this.entries = kViews.filter((entry) => entry.there(app));
    this.strip = new FrameStrip(app);
    this.search = new Search(app);
    const name = (i: number) => String(app.sides[i].model.capture.info.file ?? '').replace(/^.*\//, '');
    document.title = printable(`${name(0)}${app.against ? ` against ${name(1)}` : ''} \u2013 Tally`);
    const title = h('h1', {}, h('span', { class: 'brand' }, 'Tally'), h('span', { class: 'file name' }, name(0)),
      app.against ? h('span', { class: 'muted name' }, ` against ${name(1)}`) : null);
    replace(document.body,
      h('a', { class: 'skip', href: '#main', onclick: (event: Event) => { event.preventDefault(); this.main.focus(); } }, 'Skip to the view'),
      h('header', {}, title, this.tabs, this.controls), this.strip.element, this.main, this.search.element, this.help,
      h('div', { id: 'live', class: 'offscreen', role: 'status' }));
    document.addEventListener('keydown', (event) => this.key(event));
    app.state.onChange((changed) => this.update(changed));
    this.update(new Set(['view']));
  }

  private get current(): Entry {
    return this.entries.find((entry) => entry.id === this.app.state.get('view')) ?? this.entries[0];
  }

  private update(changed: Set<string>): void {
    const { app } = this, entry = this.current;
    if (changed.has('theme')) applyTheme(app.state.get('theme'));
    replace(this.tabs, ...this.entries.map((own, i) => h('a', { href: app.link({ view: own.id }), 'aria-current': own === entry ? 'page' : null, title: `${own.title} (${i + 1})` }, own.title)));
    this.drawControls();
    this.strip.element.hidden = app.sides.every(({ model }) => model.t('frames').rows < 2);
    this.strip.update();
    let view = this.views.get(entry.id);
    if (!view) this.views.set(entry.id, (view = entry.make(app)));
    if (this.main.firstElementChild !== view.element) replace(this.main, view.element);
    view.update(changed);
    document.documentElement.dataset.ready = entry.id;
    performance.mark(`shown ${entry.id}`);
  }

  private drawControls(): void {
    const { app } = this, focused = document.activeElement?.id;
    const metric = app.metrics.length ? h('label', { class: 'metric', title: app.metric?.description ?? '' }, h('span', {}, 'Metric'),
      h('select', { id: 'metric', onchange: (event: Event) => app.go({ metric: (event.target as HTMLSelectElement).value, sort: null }) },
        ...app.metrics.map((own) => h('option', { value: own.id, selected: own.id === app.metricId, title: own.description }, own.title)))) : null;
    const side = app.against ? h('label', { class: 'metric' },
      h('select', { id: 'side', 'aria-label': 'Capture that is shown', onchange: (event: Event) => app.go({ side: (event.target as HTMLSelectElement).value === 'before' ? 'before' : null, shader: null, line: null, pass: null }) },
        h('option', { value: 'now', selected: app.side === app.now }, 'show now'), h('option', { value: 'before', selected: app.side === app.before }, 'show before'))) : null;
    const only = app.against ? h('label', { class: 'check', title: 'Only what changed' }, h('input', { id: 'changed', type: 'checkbox', checked: app.state.get('changed') === '1',
      onchange: () => app.go({ changed: app.state.get('changed') === '1' ? null : '1' }) }), 'changed only') : null;
    replace(this.controls, side, only, metric,
      h('button', { type: 'button', title: 'Search everything (/)', onclick: () => this.search.open() }, 'Search'),
      themeButton(app), h('button', { type: 'button', title: 'Keys and terms (?)', 'aria-label': 'Help', onclick: () => this.help.showModal() }, '?'));
    if (focused) document.getElementById(focused)?.focus();
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.key === 'Escape' && target.tagName === 'INPUT' && !document.querySelector('dialog[open]')) return target.blur(); // keys lead elsewhere again
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || document.querySelector('dialog[open]')) return;
    const entry = this.entries[Number(event.key) - 1], view = this.views.get(this.current.id);
    if (entry) this.app.go({ view: entry.id });
    else if (event.key === '/') this.search.open();
    else if (event.key === '?') this.help.showModal();
    else if (event.key === 'f' && view instanceof WhereView) view.focusFilter();
    else if (event.key === 'Escape' && this.app.scope.steps.length) this.app.go({ in: null });
    else return;
    event.preventDefault();
  }
}

async function start(): Promise<void> {
  const state = new State();
  applyTheme(state.get('theme'));
  try {
    const element = document.getElementById('data')!;
    const data = await unpack(element.textContent ?? '');
    element.remove();
    performance.mark('unpacked');
    new Page(new App(data, state));
  } catch (error) {
    replace(document.body, h('p', { class: 'failure', role: 'alert' }, `This report cannot be shown: ${error instanceof Error ? error.message : error}`));
    throw error;
  }
}

void start();
