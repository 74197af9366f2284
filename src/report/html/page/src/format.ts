// Numbers as the text report shows them (src/report/table/display_text.cpp), and exactly.

import type { Exact } from './exact';

export type Unit = 'count' | 'ns' | 'bytes' | 'percent' | '';

const kTimes = ['ns', '\u00B5s', 'ms', 's'];
const kSizes = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function separated(text: string): string {
  const [whole, fraction] = text.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

function step(value: number, base: number, names: string[]): number {
  let i = 0;
  for (; value >= base && i + 1 < names.length; ++i) value /= base;
  return i;
}

function scaled(value: number, base: number, names: string[]): string {
  const i = step(Math.abs(value), base, names);
  const shown = value / base ** i, size = Math.abs(shown);
  if (i === 0) return `${shown.toFixed(0)} ${names[0]}`;
  return `${shown.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3)} ${names[i]}`;
}

export function withSeparators(value: Exact): string {
  if (typeof value === 'number' && !Number.isInteger(value)) return separated(String(value));
  return separated(value.toString());
}

export const durationText = (ns: number): string => scaled(ns, 1000, kTimes);
export const bytesText = (bytes: number): string => scaled(bytes, 1024, kSizes);
export const percentText = (percent: number): string => `${separated(percent.toFixed(1))}%`;

// "1 draw", "2 draws", "2 passes".
export function counted(count: Exact, singular: string): string {
  const sibilant = /(s|ch|sh)$/.test(singular);
  return `${withSeparators(count)} ${singular}${Number(count) === 1 ? '' : sibilant ? 'es' : 's'}`;
}

// One value by itself.
export function valueText(value: Exact | null, unit: Unit): string {
  if (value === null) return '';
  if (unit === 'ns') return durationText(Number(value));
  if (unit === 'bytes') return bytesText(Number(value));
  if (unit === 'percent') return percentText(Number(value));
  if (typeof value === 'number' && !Number.isInteger(value)) return separated(value.toFixed(2));
  return withSeparators(value);
}

// For titles: the exact value with its unit.
export function exactText(value: Exact | null, unit: Unit): string {
  if (value === null) return '';
  const suffix = unit === 'ns' ? ' ns' : unit === 'bytes' ? ' bytes' : unit === 'percent' ? '%' : '';
  return withSeparators(value) + suffix;
}

// The format of one column: all numbers have the same unit and number of decimals.
export function columnFormat(unit: Unit, maximum: number, fractional: boolean): (value: Exact) => string {
  const scale = (base: number, names: string[]) => {
    const i = step(maximum, base, names);
    return (value: Exact) => `${separated((Number(value) / base ** i).toFixed(i === 0 ? 0 : 3))} ${names[i]}`;
  };
  if (unit === 'ns') return scale(1000, kTimes);
  if (unit === 'bytes') return scale(1024, kSizes);
  if (unit === 'percent') return (value) => percentText(Number(value));
  if (fractional) return (value) => separated(Number(value).toFixed(2));
  return withSeparators;
}

// "+1,234", "-5", "0", as `tally diff`.
export function signedText(difference: Exact, text: (value: Exact) => string): string {
  if (Number(difference) === 0) return '0';
  return Number(difference) > 0 ? `+${text(difference)}` : `\u2212${text(-difference as Exact)}`;
}

// "+12.5%", "new", "gone".
export function changeText(before: Exact, now: Exact): string {
  if (before == now) return '';
  if (Number(before) === 0) return 'new';
  if (Number(now) === 0) return 'gone';
  const percent = (100 * Math.abs(Number(now) - Number(before))) / Number(before);
  return `${now > before ? '+' : '\u2212'}${percent.toFixed(percent < 10 ? 2 : 1)}%`;
}
