// Passes with a picture or with counters by region, and their pixels.

import { add, maximum, type Exact, type Values } from '../exact';
import type { Side } from '../app';

export interface PictureEntry {
  pass: number;
  subpass: number;
  layer: number;
  regions: number; // row of region_passes, or -1
  picture: number; // row of pictures, or -1
}

export interface RegionGrid {
  x: number; y: number; width: number; height: number; // the render area
  regionWidth: number; regionHeight: number;
  columns: number; rows: number;
  values: Values;          // sums
  densities: Float64Array; // per pixel of the region inside the render area: what regions are compared by
  maximum: number;         // of the densities
  total: Exact;
}

export function pictureEntries({ model }: Side): PictureEntry[] {
  const pictures = model.t('pictures'), regions = model.t('region_passes'), found: PictureEntry[] = [], known = new Map<string, number>();
  const picturePass = pictures.index('pass'), pictureLayer = pictures.numbers('layer');
  for (let row = 0; row < pictures.rows; ++row) known.set(`${picturePass[row]} ${pictureLayer[row]}`, row);
  const used = new Set<number>(), pass = regions.index('pass'), layer = regions.numbers('layer'), subpass = regions.numbers('subpass');
  for (let row = 0; row < regions.rows; ++row) {
    const picture = known.get(`${pass[row]} ${layer[row]}`) ?? known.get(`${pass[row]} 0`) ?? -1;
    used.add(picture);
    found.push({ pass: pass[row], subpass: subpass[row], layer: layer[row], regions: row, picture });
  }
  for (let row = 0; row < pictures.rows; ++row)
    if (!used.has(row)) found.push({ pass: picturePass[row], subpass: 0, layer: pictureLayer[row], regions: -1, picture: row });
  return found.sort((a, b) => a.pass - b.pass || a.subpass - b.subpass || a.layer - b.layer);
}

export function regionGrid({ model }: Side, row: number, counter: string): RegionGrid | null {
  if (row < 0) return null;
  const table = model.t('region_passes'), at = (name: string) => table.numbers(name)[row];
  const columns = at('columns'), rows = at('rows'), first = at('first'), all = model.t('regions').values(counter);
  const values = Array.from({ length: columns * rows }, (_, i) => all[first + i] ?? 0);
  let sum: Exact = 0;
  for (const value of values) sum = add(sum, value);
  const width = at('width'), height = at('height'), regionWidth = at('region_width'), regionHeight = at('region_height');
  const densities = Float64Array.from(values, (value, i) => {
    const left = (i % columns) * regionWidth, top = Math.floor(i / columns) * regionHeight;
    return Number(value) / (Math.min(regionWidth, width - left) * Math.min(regionHeight, height - top));
  });
  return { x: at('x'), y: at('y'), width, height, regionWidth, regionHeight, columns, rows, values, densities, maximum: maximum(densities), total: sum };
}

// The values of draws in one region, by row of commands; null where single draws were not counted in this pass.
export function regionDraws({ model }: Side, row: number, region: number, counter: string): Map<number, Exact> | null {
  const table = model.t('region_draws'), passes = table.index('region_pass'), regions = table.numbers('region'), commands = table.index('command'), values = table.values(counter);
  const found = new Map<number, Exact>();
  let known = false;
  for (let i = 0; i < table.rows; ++i) {
    if (passes[i] !== row) continue;
    known = true;
    if (regions[i] === region && values[i]) found.set(commands[i], values[i]);
  }
  return known ? found : null;
}

const bitmaps = new Map<string, Promise<ImageBitmap | null>>();

export function pictureBitmap(side: Side, picture: number): Promise<ImageBitmap | null> {
  const key = `${side.title} ${picture}`;
  let bitmap = bitmaps.get(key);
  if (!bitmap) {
    const { model } = side, image = model.capture.images[model.t('pictures').index('image')[picture]];
    bitmap = image ? createImageBitmap(new Blob([model.data.blobs.slice(image.offset, image.offset + image.bytes) as BlobPart], { type: image.type })).catch(() => null)
      : Promise.resolve(null);
    bitmaps.set(key, bitmap);
  }
  return bitmap;
}

