// The image of a pass with the heatmap of a region counter over it; of two captures side by side, swiped, or their difference.

import type { App, Side, View } from '../app';
import { context2d, h, replace } from '../dom';
import { subtract, type Exact } from '../exact';
import { changeText, counted, exactText, percentText, signedText, withSeparators } from '../format';
import { uncountedText } from '../model/groups';
import { inRange } from '../model/scope';
import { pictureBitmap, pictureEntries, regionDraws, regionGrid, type PictureEntry, type RegionGrid } from '../model/pictures';
import { changeBytes, heatBytes } from '../ui/colours';

const densityText = (value: number): string => withSeparators(Number(value.toPrecision(4)));

const kMaxTileDraws = 12;

interface TileDraws { name: string; count: number; value: number; }
interface Shown { side: Side; entry: PictureEntry; grid: RegionGrid | null; width: number; height: number; }

export class PictureView implements View {
  readonly element: HTMLElement;
  private readonly head = h('div', { class: 'pane-head picture-head' });
  private readonly stage = h('div', { class: 'stage' });
  private readonly scroller = h('div', { class: 'stage-scroll' }, this.stage);
  private readonly readout = h('div', { class: 'detail', role: 'status' });
  private readonly legend = h('div', { class: 'legend' });
  private readonly pixels = h('div', { class: 'detail pixels', role: 'status', 'aria-label': 'Pixels that differ' });
  private readonly tile = h('section', { class: 'tile-draws', 'aria-label': 'Draws of the region' });
  private entries: PictureEntry[][];
  private shown: Shown[] = [];
  private cursor: { column: number; row: number } | null = null;
  private token = 0;

  constructor(private readonly app: App) {
    this.entries = app.sides.map(pictureEntries);
    new ResizeObserver(() => this.fit()).observe(this.scroller);
    this.element = h('section', { class: 'view picture', 'aria-label': 'Picture' }, this.head, this.scroller, this.pixels, this.legend, this.readout, this.tile);
  }

  private get counter(): string {
    const { capture } = this.app.side.model, wanted = this.app.state.get('counter');
    return capture.region_counters.some((c) => c.id === wanted) ? wanted : capture.default_region_counter || capture.region_counters[0]?.id || '';
  }

  private get opacity(): number {
    const value = Number(this.app.state.get('opacity', '70'));
    return Number.isFinite(value) ? Math.min(100, Math.max(0, value)) : 70;
  }

  private get mode(): string {
    const wanted = this.app.state.get('compare', 'side');
    return !this.app.against ? 'one' : wanted === 'pixels' && !this.compared() ? 'side' : wanted;
  }

  // How many pixels of the two pictures differ, and by how much at most; null: they were not compared.
  private compared(): { pixels: number; most: number } | null {
    const match = ({ side, entry }: Shown) => (entry.picture < 0 ? -1 : side.model.t('pictures').index('match')[entry.picture]);
    const [own, other] = this.shown;
    if (!other || match(own) < 0 || match(own) !== match(other)) return null;
    const of = (column: string) => own.side.model.t('pictures').numbers(column)[own.entry.picture];
    return { pixels: of('pixels'), most: of('max') };
  }

  private list(): { entry: PictureEntry; index: number }[] {
    const { model } = this.app.side, frame = model.t('passes').index('frame'), number = model.t('frames').numbers('number');
    const all = this.entries[this.app.sides.indexOf(this.app.side)].map((entry, index) => ({ entry, index }));
    const chosen = all.filter(({ entry }) => inRange(this.app.scope.frames, number[frame[entry.pass]]));
    return chosen.length ? chosen : all;
  }

  // The pass of the other capture whose picture was compared, else the one with the same identity: of the same position among those, else
  // the last.
  private twin(side: Side, entry: PictureEntry): { side: Side; entry: PictureEntry } | null {
    const other = this.app.sides.find((own) => own !== side)!, entries = this.entries[this.app.sides.indexOf(other)];
    const match = (of: Side, own: PictureEntry) => (own.picture < 0 ? -1 : of.model.t('pictures').index('match')[own.picture]), number = match(side, entry);
    const compared = number < 0 ? null : entries.find((own) => own.subpass === entry.subpass && own.layer === entry.layer && match(other, own) === number);
    if (compared) return { side: other, entry: compared };
    const identity = (of: Side, own: PictureEntry) => `${of.model.identity('merged_passes', of.model.t('passes').index('merged')[own.pass])} ${own.subpass} ${own.layer}`;
    const wanted = identity(side, entry), mine = this.entries[this.app.sides.indexOf(side)].filter((own) => identity(side, own) === wanted);
    const theirs = entries.filter((own) => identity(other, own) === wanted);
    const found = theirs[Math.min(mine.indexOf(entry), theirs.length - 1)];
    return found ? { side: other, entry: found } : null;
  }

  private make(side: Side, entry: PictureEntry): Shown {
    const { model } = side, grid = regionGrid(side, entry.regions, this.counter), passes = model.t('passes');
    const size = (name: string) => (entry.picture >= 0 ? model.t('pictures').numbers(name)[entry.picture] : passes.numbers(name)[entry.pass]);
    return { side, entry, grid, width: size('width') || grid?.width || 1, height: size('height') || grid?.height || 1 };
  }

  update(): void {
    const { app } = this, list = this.list();
    if (!list.length) return replace(this.element, h('p', { class: 'muted pad' }, 'The capture has no pictures and no counters by region.'));
    const wanted = Number(app.state.get('pass', '-1'));
    const current = list.find(({ index }) => index === wanted) ?? this.standard(list);
    const side = app.side, own = this.make(side, current.entry), twin = app.against ? this.twin(side, current.entry) : null;
    this.shown = twin ? [own, this.make(twin.side, twin.entry)] : [own];
    if (app.side === app.before) this.shown.reverse();
    this.drawHead(list, current);
    this.drawPixels();
    void this.drawStage();
    this.drawLegend();
    this.drawReadout();
    this.drawTile();
  }

  private drawPixels(): void {
    const compared = this.compared(), [{ width, height }] = this.shown;
    this.pixels.hidden = !compared;
    if (compared) replace(this.pixels, `${withSeparators(compared.pixels)} of ${withSeparators(width * height)} pixels of the pictures differ${compared.most ? `, by at most ${compared.most} of 255` : ''}`);
  }

  // The pass with the largest sum of the last frame that has one.
  private standard(list: { entry: PictureEntry; index: number }[]) {
    const sums = list.map(({ entry }) => Number(regionGrid(this.app.side, entry.regions, this.counter)?.total ?? -1));
    let best = 0;
    sums.forEach((sum, i) => { if (sum >= sums[best] * 0.999) best = i; });
    return list[best];
  }

  private drawHead(list: { entry: PictureEntry; index: number }[], current: { entry: PictureEntry; index: number }): void {
    const { app } = this, { model } = app.side, frame = model.t('passes').index('frame'), number = model.t('frames').numbers('number');
    const many = list.some(({ entry }) => entry.layer > 0 || entry.subpass > 0);
    const name = (entry: PictureEntry) => `frame ${number[frame[entry.pass]]}: ${model.passName(entry.pass)}${many ? `, subpass ${entry.subpass}, layer ${entry.layer}` : ''}`;
    const on = (key: string) => (event: Event) => app.state.set({ [key]: (event.target as HTMLInputElement).value });
    const select = h('select', { 'aria-label': 'Pass', class: 'shader-select', onchange: on('pass') },
      ...list.map(({ entry, index }) => h('option', { value: index, selected: index === current.index }, name(entry))));
    const counters = model.capture.region_counters, hasGrid = counters.length > 0 && this.shown.some(({ grid }) => grid);
    const counter = hasGrid ? h('label', { class: 'metric' }, h('span', {}, 'Counter'), h('select', { onchange: on('counter') },
      ...counters.map((own) => h('option', { value: own.id, selected: own.id === this.counter, title: own.description }, own.title)))) : null;
    const opacity = hasGrid && this.mode !== 'difference' && this.mode !== 'pixels' ? h('label', { class: 'metric' }, h('span', {}, 'Heatmap'),
      h('input', { type: 'range', min: 0, max: 100, value: this.opacity, 'aria-label': 'Opacity of the heatmap in percent', oninput: on('opacity') })) : null;
    const modes = [['side', 'side by side'], ['swipe', 'swipe'], ['difference', 'difference of the counter'], ...(this.compared() ? [['pixels', 'difference of the pictures']] : [])];
    const compare = this.shown.length > 1 ? h('label', { class: 'metric' }, h('span', {}, 'Compare'), h('select', { onchange: on('compare') },
      ...modes.map(([id, title]) => h('option', { value: id, selected: id === this.mode }, title)))) : null;
    const swipe = this.shown.length > 1 && this.mode === 'swipe' ? h('input', { type: 'range', min: 0, max: 100, value: app.state.get('swipe', '50'), 'aria-label': 'Position of the swipe in percent', oninput: on('swipe') }) : null;
    const focused = document.activeElement?.getAttribute('aria-label');
    if (focused && this.head.contains(document.activeElement) && (document.activeElement as HTMLInputElement).type === 'range') return;
    replace(this.head, select, counter, opacity, compare, swipe,
      h('a', { href: app.link(this.drawsOf(current.entry)) }, 'draws of the pass'));
  }

  private drawsOf(entry: PictureEntry) {
    const { app } = this, { model } = app.side, passes = model.t('passes');
    const pass = { kind: 'pass' as const, id: model.identity('merged_passes', passes.index('merged')[entry.pass]) };
    const frame = model.t('frames').numbers('number')[passes.index('frame')[entry.pass]];
    return app.against ? app.where([pass], 'draw') : { ...app.where([pass], 'draw'), frames: String(frame) };
  }

  private async drawStage(): Promise<void> {
    const token = ++this.token, mode = this.shown.length > 1 ? this.mode : 'one';
    const images = await Promise.all(this.shown.map(({ side, entry }) => (entry.picture < 0 ? null : pictureBitmap(side, entry.picture))));
    if (token !== this.token) return;
    if (mode === 'side') {
      replace(this.stage, ...this.shown.map((shown, i) => h('figure', {}, h('figcaption', {}, h('span', { class: `side-tag ${shown.side.title}` }, shown.side.title)), this.canvas(shown, images[i], i))));
    } else if (mode === 'swipe') {
      const top = this.canvas(this.shown[0], images[0], 0), part = Number(this.app.state.get('swipe', '50'));
      top.classList.add('over');
      top.style.clipPath = `inset(0 0 0 ${part}%)`;
      const line = h('div', { class: 'swipe-line' });
      line.style.left = `${part}%`;
      replace(this.stage, h('figure', {}, h('figcaption', {}, h('span', { class: 'side-tag before' }, 'before'), ' left of the line, ', h('span', { class: 'side-tag now' }, 'now'), ' right of it'),
        h('div', { class: 'swipe' }, this.canvas(this.shown[1], images[1], 1), top, line)));
    } else if (mode === 'pixels') {
      const figures = this.shown.map((shown, i) => h('figure', {}, h('figcaption', {}, h('span', { class: `side-tag ${shown.side.title}` }, shown.side.title)), this.canvas(shown, images[i], i, false)));
      replace(this.stage, ...figures, h('figure', {}, h('figcaption', {}, 'difference'), this.pixelCanvas(images)));
    } else if (mode === 'difference') {
      replace(this.stage, h('figure', {}, h('figcaption', {}, 'now less before'), this.differenceCanvas(images[0])));
    } else {
      replace(this.stage, h('figure', {}, this.canvas(this.shown[0], images[0], 0)));
    }
    this.fit();
  }

  // Pictures are as large as the window allows.
  private fit(): void {
    const { clientWidth, clientHeight } = this.scroller, side = this.stage.childElementCount || 1, columns = clientWidth > 700 ? side : 1;
    for (const canvas of this.stage.querySelectorAll('canvas')) {
      const width = (clientWidth - 24) / columns - 12 * (columns - 1), height = window.innerWidth > 760 ? Math.max(160, clientHeight - 56) : Infinity;
      canvas.style.width = `${Math.floor(Math.min(width, (height * canvas.width) / canvas.height))}px`;
    }
  }

  private newCanvas(shown: Shown, label: string): { canvas: HTMLCanvasElement; context: CanvasRenderingContext2D } {
    const canvas = h('canvas', { class: 'picture-canvas', tabindex: '0', role: 'img', 'aria-label': label });
    canvas.width = shown.width;
    canvas.height = shown.height;
    canvas.style.aspectRatio = `${shown.width} / ${shown.height}`;
    const context = canvas.getContext('2d')!;
    canvas.addEventListener('pointermove', (event) => this.point(event, canvas, shown));
    canvas.addEventListener('pointerleave', () => { this.cursor = null; this.drawReadout(); });
    canvas.addEventListener('click', (event) => { this.point(event, canvas, shown); this.choose(); });
    canvas.addEventListener('keydown', (event) => this.key(event, shown));
    return { canvas, context };
  }

  private canvas(shown: Shown, image: ImageBitmap | null, index: number, heat = true): HTMLCanvasElement {
    const grid = heat ? shown.grid : null, title = this.counterTitle();
    const { canvas, context } = this.newCanvas(shown, `${shown.side.model.passName(shown.entry.pass)}${grid ? `, heatmap of ${title}` : ''}`);
    canvas.dataset.index = String(index);
    if (image) context.drawImage(image, 0, 0, shown.width, shown.height);
    if (!grid) return canvas;
    const most = Math.max(...this.shown.map((own) => own.grid?.maximum ?? 0)) || 1, colours = heatBytes();
    this.drawCells(context, grid, image ? this.opacity / 100 : 1, (i) => {
      const at = 3 * Math.round((255 * grid.densities[i]) / most);
      return [colours[at], colours[at + 1], colours[at + 2]];
    });
    return canvas;
  }

  // Black where the pictures are the same; else the hotter, the more a channel differs.
  private pixelCanvas(images: (ImageBitmap | null)[]): HTMLCanvasElement {
    const [now] = this.shown, { width, height } = now, { canvas, context } = this.newCanvas(now, 'Difference of the pictures');
    const [a, b] = images.map((image) => {
      const own = h('canvas'), drawn = own.getContext('2d', { willReadFrequently: true })!;
      own.width = width;
      own.height = height;
      if (image) drawn.drawImage(image, 0, 0);
      return drawn.getImageData(0, 0, width, height).data;
    });
    const result = new ImageData(width, height), most = this.compared()?.most || 1, colours = heatBytes();
    for (let i = 0; i < a.length; i += 4) {
      const by = Math.max(...[0, 1, 2, 3].map((channel) => Math.abs(a[i + channel] - b[i + channel]))), at = 3 * Math.min(255, Math.round((255 * by) / most));
      if (by) result.data.set(colours.slice(at, at + 3), i);
      result.data[i + 3] = 255;
    }
    context.putImageData(result, 0, 0);
    return canvas;
  }

  private differenceCanvas(image: ImageBitmap | null): HTMLCanvasElement {
    const [now, before] = this.shown, { canvas, context } = this.newCanvas(now, `Difference of ${this.counterTitle()}`);
    if (image) context.drawImage(image, 0, 0, now.width, now.height);
    if (!now.grid || !before.grid || now.grid.columns !== before.grid.columns) return canvas;
    const old = before.grid.densities, differences = Array.from(now.grid.densities, (value, i) => value - (old[i] ?? 0));
    const most = Math.max(...differences.map(Math.abs)) || 1;
    this.drawCells(context, now.grid, 0.85, (i) => changeBytes(differences[i] / most));
    return canvas;
  }

  private drawCells(context: CanvasRenderingContext2D, grid: RegionGrid, opacity: number, colour: (i: number) => ArrayLike<number>): void {
    const cells = new ImageData(grid.columns, grid.rows);
    for (let i = 0; i < grid.columns * grid.rows; ++i) {
      cells.data.set(colour(i), 4 * i);
      cells.data[4 * i + 3] = 255;
    }
    const small = h('canvas');
    small.width = grid.columns;
    small.height = grid.rows;
    small.getContext('2d')!.putImageData(cells, 0, 0);
    context.save();
    context.beginPath();
    context.rect(grid.x, grid.y, grid.width, grid.height);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.globalAlpha = opacity;
    context.drawImage(small, grid.x, grid.y, grid.columns * grid.regionWidth, grid.rows * grid.regionHeight);
    context.restore();
  }

  private counterTitle(): string {
    return this.app.side.model.capture.region_counters.find((own) => own.id === this.counter)?.title ?? this.counter;
  }

  private point(event: PointerEvent, canvas: HTMLCanvasElement, shown: Shown): void {
    const box = canvas.getBoundingClientRect(), { grid } = shown;
    if (!grid) return;
    const x = ((event.clientX - box.left) / box.width) * shown.width - grid.x, y = ((event.clientY - box.top) / box.height) * shown.height - grid.y;
    this.move(Math.floor(x / grid.regionWidth), Math.floor(y / grid.regionHeight), grid);
  }

  private key(event: KeyboardEvent, { grid }: Shown): void {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === 'Enter') this.choose();
    if (!step || !grid) return;
    const at = this.cursor ?? { column: 0, row: 0 };
    this.move(Math.max(0, Math.min(grid.columns - 1, at.column + step[0])), Math.max(0, Math.min(grid.rows - 1, at.row + step[1])), grid);
    event.preventDefault();
  }

  // Selects the region under the cursor.
  private choose(): void { this.app.state.set({ tile: this.cursor ? `${this.cursor.column},${this.cursor.row}` : null }); }

  // The draws of the selected region. Without counts of single draws, shares are known only where one draw has fragments.
  private drawTile(): void {
    const own = this.shown.find(({ side }) => side === this.app.side)!, { side, entry, grid } = own, { model, sums } = side;
    const [column, row] = this.app.state.get('tile').split(',').map(Number), commands = model.t('commands'), pass = commands.index('pass');
    if (!grid || !(column < grid.columns && row < grid.rows)) return replace(this.tile);
    const region = row * grid.columns + column, counted = regionDraws(side, entry.regions, region, this.counter);
    if (counted) return this.showTile(own, column, row, this.similarDraws(side, counted.keys(), (c) => Number(counted.get(c))), Number(grid.values[region]), this.countedNote(counted.size));
    const fragments = sums.commandValue('invocations_fragment', null);
    const inPass = Int32Array.from(pass.keys()).filter((c) => pass[c] === entry.pass), uncounted = uncountedText(model, inPass);
    const draws = this.similarDraws(side, inPass, (c) => Number(fragments(c)));
    const note = uncounted ? `Counters by region are of the whole pass, and there is ${uncounted}.` : !draws.length ? 'No draw of the pass was counted with fragments.'
      : draws.length === 1 ? 'All work in this region is of these draws: no other has fragments in the pass.'
        : 'Counters by region are of the whole pass (tally run --region-draws counts each draw), so how much of this region each draw has is not known. Their shares of the fragments of the pass:';
    this.showTile(own, column, row, draws, uncounted ? null : draws.reduce((sum, [, of]) => sum + of.value, 0), note);
  }

  private countedNote(draws: number): string {
    return draws ? `The draws that wrote here, with their shares of ${this.counterTitle()} in this region:` : `No draw has ${this.counterTitle()} in this region.`;
  }

  // Draws that are alike are one entry; the largest comes first.
  private similarDraws({ model }: Side, rows: Iterable<number>, valueOf: (c: number) => number): [string, TileDraws][] {
    const pipeline = model.t('commands').index('pipeline'), runs = model.t('commands').numbers('runs'), found = new Map<string, TileDraws>();
    for (const c of rows) {
      const value = valueOf(c);
      if (!value) continue;
      const key = model.similar.group(c), draws = found.get(key);
      const name = draws?.name ?? `${model.text('commands', 'call', c)}, ${model.text('pipelines', 'name', pipeline[c]) || 'no pipeline'}`;
      found.set(key, { name, count: (draws?.count ?? 0) + (model.capture.commands === 'grouped' ? runs[c] : 1), value: (draws?.value ?? 0) + value });
    }
    return [...found].sort(([, a], [, b]) => b.value - a.value);
  }

  // `total`: what shares are of; null: there are none.
  private showTile({ entry, grid }: Shown, column: number, row: number, draws: [string, TileDraws][], total: number | null, note: string): void {
    const place = `x ${column * grid!.regionWidth}, y ${row * grid!.regionHeight}`, sum = draws.reduce((all, [, of]) => all + of.value, 0);
    const share = (value: number) => (total === null ? '' : `, ${percentText((100 * value) / total)}`);
    const item = ([key, of]: [string, TileDraws]) => h('li', {}, h('a', { href: this.app.link(this.app.where([{ kind: 'similar', id: key }], 'draw')) }, of.name), ` ${counted(of.count, 'draw')}${share(of.value)}`);
    replace(this.tile, h('h3', {}, `Draws of the region at ${place}`), h('p', { class: 'muted' }, note), h('ul', {}, ...draws.slice(0, kMaxTileDraws).map(item),
      total !== null && total > sum ? h('li', {}, `other draws, which were not counted each on its own${share(total - sum)}`) : null),
      draws.length > kMaxTileDraws ? h('p', {}, h('a', { href: this.app.link(this.drawsOf(entry)) }, `and ${draws.length - kMaxTileDraws} more`)) : null);
  }

  private move(column: number, row: number, grid: RegionGrid): void {
    this.cursor = column >= 0 && row >= 0 && column < grid.columns && row < grid.rows ? { column, row } : null;
    this.drawReadout();
  }

  private drawReadout(): void {
    const grids = this.shown.map(({ grid }) => grid), { cursor } = this;
    const [grid] = grids;
    if (!grid) return replace(this.readout, h('span', { class: 'muted' }, 'This pass has no counters by region: tally run --regions counts them.'));
    if (!cursor) return replace(this.readout, h('span', { class: 'muted' }, `${counted(grid.columns * grid.rows, 'region')} of ${grid.regionWidth}x${grid.regionHeight} pixels. Point at one to see its value; click to see its draws.`));
    const index = cursor.row * grid.columns + cursor.column, place = `x ${cursor.column * grid.regionWidth}, y ${cursor.row * grid.regionHeight}`;
    const read = <T>(list: (own: RegionGrid) => ArrayLike<T>, none: T) => grids.map((own) => (own && index < own.columns * own.rows ? list(own)[index] : none));
    const values = read<Exact>((own) => own.values, 0), densities = read((own) => own.densities, 0);
    const parts = this.shown.map(({ side, grid: own }, i) => h('span', { class: 'pair' }, this.app.against ? `${side.title} ` : '', h('strong', {}, `${densityText(densities[i])} per pixel`),
      ` sum ${exactText(values[i], 'count')} (${percentText(Number(own?.total ?? 0) ? (100 * Number(values[i])) / Number(own!.total) : 0)} of the pass)`));
    const change = values.length > 1 ? h('span', { class: 'pair' }, `change ${signedText(subtract(values[0], values[1]), withSeparators)} ${changeText(values[1], values[0])}`) : null;
    replace(this.readout, h('span', { class: 'muted' }, place), h('span', {}, this.counterTitle()), ...parts, change);
  }

  private drawLegend(): void {
    const grid = this.shown[0]?.grid;
    this.legend.hidden = !grid;
    if (!grid) return;
    const most = Math.max(...this.shown.map((own) => own.grid?.maximum ?? 0), 0), bar = h('canvas', { class: 'legend-bar', 'aria-hidden': 'true' });
    const context = context2d(bar, 160, 10), difference = this.mode === 'difference' && this.shown.length > 1, colours = heatBytes();
    for (let x = 0; x < 160; ++x) {
      const at = 3 * Math.floor((x / 160) * 255), rgb = difference ? changeBytes(x / 80 - 1) : colours.slice(at, at + 3);
      context.fillStyle = `rgb(${rgb[0]},${rgb[1]},${rgb[2]})`;
      context.fillRect(x, 0, 1, 10);
    }
    const ends = difference ? ['less', 'more'] : this.mode === 'pixels' ? ['0', `${this.compared()!.most} of 255`] : ['0', `${densityText(most)} per pixel`];
    replace(this.legend, h('span', {}, ends[0]), bar, h('span', {}, ends[1]), h('span', { class: 'muted' }, `total ${this.shown.map((own) => withSeparators(own.grid?.total ?? 0)).join(', before ')}`));
  }
}

