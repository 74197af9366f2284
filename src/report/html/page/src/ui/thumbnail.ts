// The picture of a pass, small, as a link to its view; null where the capture has none.

import type { App, Side } from '../app';
import { h } from '../dom';
import { pictureBitmap, pictureEntries } from '../model/pictures';

const kWidth = 120;

// The last pass with this identity and a picture counts.
export function thumbnail(app: App, side: Side, identity: string): HTMLElement | null {
  const { model } = side, merged = model.t('passes').index('merged'), entries = pictureEntries(side);
  const own = entries.map((entry, index) => ({ entry, index })).filter(({ entry }) => entry.picture >= 0 && model.identity('merged_passes', merged[entry.pass]) === identity).at(-1);
  if (!own) return null;
  const canvas = h('canvas', { class: 'thumbnail', 'aria-hidden': 'true' }), size = (name: string) => model.t('pictures').numbers(name)[own.entry.picture];
  canvas.width = kWidth;
  canvas.height = Math.max(1, Math.round((kWidth * size('height')) / Math.max(1, size('width'))));
  void pictureBitmap(side, own.entry.picture).then((image) => { if (image) canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height); });
  return h('a', { class: 'thumbnail-link', 'aria-label': `Picture of ${model.passName(own.entry.pass)}`, href: app.link({ view: 'picture', pass: String(own.index), side: side === app.before ? 'before' : null }) }, canvas);
}
