// Colours that colour-blind people tell apart: from dark blue to yellow for amounts, blue and orange for less and more.

import { h } from '../dom';
import type { Kind } from '../model/scope';

const encoded = (linear: number) => (linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055);

// The colours of `tally report --heatmap` (src/report/table/heatmap.cpp): a path through OKLab of rising lightness.
function heatColour(t: number): number[] {
  const lightness = 0.25 + 0.68 * t, a = 0.04 - 0.1 * t - 0.08 * Math.sin(Math.PI * t), b = -0.13 + 0.31 * t;
  const [l, m, s] = [0.3963377774 * a + 0.2158037573 * b, -0.1055613458 * a - 0.0638541728 * b, -0.0894841775 * a - 1.291485548 * b]
    .map((root) => (lightness + root) ** 3);
  return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s].map((v) => Math.round(255 * encoded(Math.min(1, Math.max(0, v)))));
}

// 256 colours as RGB triples.
export function heatBytes(): Uint8Array {
  const bytes = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; ++i) bytes.set(heatColour(i / 255), 3 * i);
  return bytes;
}

const kMaxPart = 75; // percent: text stays readable on it

// -1 (less, blue) to 1 (more, orange), 0 neutral. A share of the theme's colours, for CSS.
export function changeColour(change: number): string {
  const part = Math.round(kMaxPart * Math.min(1, Math.abs(change)));
  return `color-mix(in srgb, var(--${change < 0 ? 'less' : 'more'}) ${part}%, var(--neutral))`;
}

export function changeBytes(change: number): [number, number, number] {
  const part = Math.min(1, Math.abs(change)), end = change < 0 ? [33, 102, 172] : [230, 97, 1];
  return end.map((v) => Math.round(235 + (v - 235) * part)) as [number, number, number];
}

// An entry of a legend.
export function colourKey(colour: string, title: string): HTMLElement {
  const chip = h('span', { class: 'chip', 'aria-hidden': 'true' });
  chip.style.backgroundColor = colour;
  return h('span', { class: 'key' }, chip, title);
}

export const kindColour = (kind: Kind | 'all'): string => `var(--kind-${kind})`;
