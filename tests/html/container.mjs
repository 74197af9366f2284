// Writes the container that src/report/html/page/src/data.ts describes, and the page around it.
import { gzipSync } from 'node:zlib';

const kMissing = { u8: 0xff, u16: 0xffff, u32: 0xffffffff };

export class Container {
  strings = [];
  blobs = [];
  size = 0;
  known = new Map();

  string(text) {
    let index = this.known.get(text);
    if (index === undefined) {
      index = this.strings.length;
      this.strings.push(text);
      this.known.set(text, index);
    }
    return index;
  }

  blob(bytes) {
    const offset = this.size;
    this.blobs.push(bytes);
    this.size += bytes.length;
    const rest = -this.size & 7;
    if (rest) this.blobs.push(Buffer.alloc(rest));
    this.size += rest;
    return { offset, bytes: bytes.length };
  }

  // The narrowest type that holds all values; null is a missing index.
  column(values, type) {
    const own = type ?? narrowest(values), array = {
      u8: () => Uint8Array, u16: () => Uint16Array, u32: () => Uint32Array, u64: () => BigUint64Array, f64: () => Float64Array }[own]();
    const bytes = array.from(values, (value) =>
      own === 'u64' ? BigInt(value) : own === 'f64' ? value ?? NaN : Number(value ?? kMissing[own]));
    return { type: own, ...this.blob(Buffer.from(bytes.buffer)) };
  }

  // rows: objects with the same members. Members that end in $ are strings, in ~ times.
  table(rows, names) {
    const columns = {};
    for (const name of names ?? Object.keys(rows[0] ?? {})) {
      const values = rows.map((row) => row[name]);
      if (name.endsWith('$')) columns[name.slice(0, -1)] = this.column(values.map((text) => (text === null ? null : this.string(text))));
      else if (name.endsWith('~')) columns[name.slice(0, -1)] = this.column(values, 'f64');
      else columns[name] = this.column(values);
    }
    return { rows: rows.length, columns };
  }

  pack(head) {
    const json = Buffer.from(JSON.stringify({ ...head, strings: this.strings })), padded = Buffer.alloc((json.length + 7) & ~7, ' ');
    json.copy(padded);
    const prefix = Buffer.alloc(16);
    prefix.write('TALLYHTM', 'latin1');
    prefix.writeUInt32LE(1, 8);
    prefix.writeUInt32LE(padded.length, 12);
    return gzipSync(Buffer.concat([prefix, padded, ...this.blobs])).toString('base64');
  }
}

function narrowest(values) {
  let most = 0n, missing = false;
  for (const value of values) {
    if (value === null) missing = true;
    else if (typeof value === 'bigint' ? value > most : value > Number(most)) most = BigInt(value);
  }
  for (const [type, limit] of [['u8', 0xffn], ['u16', 0xffffn], ['u32', 0xffffffffn]])
    if (most < limit || (most === limit && !missing)) return type;
  return 'u64';
}

// The page as `tally report --html` lays it out, with the script and style of an existing report.
export function pageWith(report, base64) {
  const data = /(<script type="application\/x-tally" id="data">)[^<]*/;
  if (!data.test(report)) throw new Error('the report has no data');
  return report.replace(data, (_, tag) => tag + base64);
}
