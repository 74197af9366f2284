// Colours that colour-blind people tell apart: cividis for amounts, blue and orange for less and more.

import { interpolateCividis, interpolateViridis } from 'd3-scale-chromatic';
import type { Kind } from '../model/scope';

export const kRamps: { [name: string]: (t: number) => string } = { cividis: interpolateCividis, viridis: interpolateViridis };

// 256 colours as RGB triples.
export function rampBytes(name: string): Uint8Array {
  const ramp = kRamps[name] ?? interpolateCividis, bytes = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; ++i) {
    const text = ramp(i / 255);
    const parts = text.startsWith('#')
      ? [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16))
      : text.match(/\d+(\.\d+)?/g)!.map(Number);
    bytes.set(parts.slice(0, 3), 3 * i);
  }
  return bytes;
}

// -1 (less, blue) to 1 (more, orange), 0 neutral. A share of the theme's colours, for CSS.
export function changeColour(change: number): string {
  const part = Math.round(100 * Math.min(1, Math.abs(change)));
  return `color-mix(in srgb, var(--${change < 0 ? 'less' : 'more'}) ${part}%, var(--neutral))`;
}

export function changeBytes(change: number): [number, number, number] {
  const part = Math.min(1, Math.abs(change)), end = change < 0 ? [33, 102, 172] : [230, 97, 1];
  return end.map((v) => Math.round(235 + (v - 235) * part)) as [number, number, number];
}

export const kindColour = (kind: Kind | 'all'): string => `var(--kind-${kind})`;
