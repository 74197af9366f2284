// Exact integers: numbers where they are safe, otherwise BigInt.

export type Exact = number | bigint;
export type Values = ArrayLike<Exact>;

const kMaxSafe = Number.MAX_SAFE_INTEGER;

export function narrowed(value: bigint): Exact {
  return value <= kMaxSafe && value >= -kMaxSafe ? Number(value) : value;
}

// Times are not integers: they add up as numbers.
export function add(a: Exact, b: Exact): Exact {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (Number.isSafeInteger(sum) || !Number.isInteger(a) || !Number.isInteger(b)) return sum;
  }
  return narrowed(BigInt(a) + BigInt(b));
}

export function subtract(a: Exact, b: Exact): Exact {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return narrowed(BigInt(a) - BigInt(b));
}

export function multiply(a: Exact, b: Exact): Exact {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b;
    if (Number.isSafeInteger(product)) return product;
  }
  return narrowed(BigInt(a) * BigInt(b));
}

// All values are at least 0, so a safe total means that each partial sum was exact.
export function isSafe(total: number): boolean {
  return total <= kMaxSafe;
}

export function total(values: Values): Exact {
  let sum = 0;
  if (values instanceof Float64Array) {
    for (let i = 0; i < values.length; ++i) sum += values[i];
    if (isSafe(sum)) return sum;
  }
  let exact: Exact = 0;
  for (let i = 0; i < values.length; ++i) exact = add(exact, values[i]);
  return exact;
}

export function maximum(values: Values): number {
  let most = 0;
  for (let i = 0; i < values.length; ++i) if (Number(values[i]) > most) most = Number(values[i]);
  return most;
}

export function compare(a: Exact | string | null, b: Exact | string | null): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

export function sumOf(values: Exact[]): Exact {
  let sum: Exact = 0;
  for (const value of values) sum = add(sum, value);
  return sum;
}
