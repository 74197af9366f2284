// Unpacks the data of the report: base64, gzip, then the container that data.ts describes.

import type { Column, Head, Table } from './data';
import { narrowed, type Values } from './exact';

const kMagic = 'TALLYHTM';
const kHeader = 16;

function decodeBase64(text: string): Uint8Array {
  const native = (Uint8Array as any).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export interface Data {
  head: Head;
  blobs: Uint8Array;
}

export async function unpack(base64: string): Promise<Data> {
  if (typeof DecompressionStream === 'undefined')
    throw new Error('this browser cannot decompress the data (it has no DecompressionStream)');
  const packed = decodeBase64(base64.trim());
  const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const decoder = new TextDecoder();
  if (decoder.decode(bytes.subarray(0, 8)) !== kMagic) throw new Error('this is not the data of a Tally report');
  const view = new DataView(bytes.buffer);
  const version = view.getUint32(8, true);
  if (version !== 1) throw new Error(`the data has version ${version}; this page reads version 1`);
  const end = kHeader + view.getUint32(12, true);
  const head = JSON.parse(decoder.decode(bytes.subarray(kHeader, end))) as Head;
  return { head, blobs: bytes.subarray(end) };
}

const kMissing: { [type: string]: number } = { u8: 0xff, u16: 0xffff, u32: 0xffffffff };

// Typed access to the columns of a table. Columns that are not there read as empty: missing indices, 0, NaN.
export class TableView {
  readonly rows: number;
  private readonly indices = new Map<string, Int32Array>();
  private readonly exact = new Map<string, Values>();

  constructor(private readonly table: Table | undefined, private readonly blobs: Uint8Array) {
    this.rows = table?.rows ?? 0;
  }

  has(name: string): boolean {
    return this.table?.columns[name] !== undefined;
  }

  private raw(column: Column): ArrayLike<number> | BigUint64Array {
    const at = this.blobs.byteOffset + column.offset, rows = this.rows, buffer = this.blobs.buffer as ArrayBuffer;
    switch (column.type) {
      case 'u8': return new Uint8Array(buffer, at, rows);
      case 'u16': return new Uint16Array(buffer, at, rows);
      case 'u32': return new Uint32Array(buffer, at, rows);
      case 'u64': return new BigUint64Array(buffer, at, rows);
      case 'f64': return new Float64Array(buffer, at, rows);
    }
  }

  // Indices of another table or of the strings; -1 where missing.
  index(name: string): Int32Array {
    let result = this.indices.get(name);
    if (result) return result;
    const column = this.table?.columns[name];
    result = new Int32Array(this.rows).fill(-1);
    if (column) {
      const raw = this.raw(column) as ArrayLike<number>, missing = kMissing[column.type];
      for (let i = 0; i < this.rows; ++i) result[i] = raw[i] === missing ? -1 : raw[i];
    }
    this.indices.set(name, result);
    return result;
  }

  // Exact integers: a typed array of numbers where all are safe.
  values(name: string): Values {
    let result = this.exact.get(name);
    if (result) return result;
    const column = this.table?.columns[name];
    const raw = column ? this.raw(column) : new Uint8Array(this.rows);
    result = raw instanceof BigUint64Array ? fromBig(raw) : raw;
    this.exact.set(name, result);
    return result;
  }

  numbers(name: string): ArrayLike<number> {
    return this.values(name) as ArrayLike<number>;
  }

  // Times: NaN where missing.
  times(name: string): ArrayLike<number> {
    if (!this.has(name)) return new Float64Array(this.rows).fill(NaN);
    return this.numbers(name);
  }
}

function fromBig(raw: BigUint64Array): Values {
  const limit = BigInt(Number.MAX_SAFE_INTEGER);
  if (!raw.some((value) => value > limit)) return Float64Array.from(raw, Number);
  return Array.from(raw, narrowed);
}
