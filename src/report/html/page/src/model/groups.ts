// Rows of one capture by frame, pass, pipeline, label, shader, function, line or draw, as `tally report --by`.

import { add, compare, subtract, sumOf, type Exact, type Values } from '../exact';
import { withSeparators, type Unit } from '../format';
import type { Model, TableName } from './model';
import { codeOf, commandsOf, formatSteps, passesOf, type Code, type Kind, type Scope, type Step } from './scope';
import { BlockSums, sumBy, Sums } from './sums';

export const kBy = ['pass', 'label', 'pipeline', 'shader', 'function', 'line', 'draw', 'similar', 'frame'] as const;
export type By = (typeof kBy)[number];

export type Cell = Exact | string | null;

export interface Field {
  id: string;
  title: string;
  description: string;
  unit: Unit;
  text: boolean; // otherwise a number
  shown: boolean;
  cell: (row: number) => Cell;
}

export interface Groups {
  by: By;
  size: number;
  identity: (row: number) => string; // the same in both captures
  fields: Field[];
  metric: (id: string) => Values;
  step: (row: number) => Step | null; // narrows a scope to the row
  isWhole: (row: number) => boolean;  // false for nested labels, whose values their enclosing labels include
  lacks: (row: number) => boolean;    // ran without being counted: its metrics are not known
}

// How many of the rows that form the whole lack their metrics. Then there is no share of the whole.
function lackingRows(groups: Groups): number {
  let count = 0;
  for (let row = 0; row < groups.size; ++row) if (groups.isWhole(row) && groups.lacks(row)) ++count;
  return count;
}

// True for each of the commands that was counted; null: all commands.
export function allCounted(model: Model, commands: Int32Array | null): boolean {
  const values = model.t('commands').index('values');
  return (commands ?? values).every((c, i) => values[commands ? c : i] >= 0);
}

// "no share: 2 of 8 commands ran uncounted". Empty if all were counted.
export function uncountedText(model: Model, commands: Int32Array | null): string {
  const table = model.t('commands'), values = table.index('values'), runs = table.values('runs');
  let all = 0, uncounted = 0;
  for (let i = 0; i < (commands ?? values).length; ++i) {
    const command = commands ? commands[i] : i, times = Number(runs[command]);
    all += times;
    if (values[command] < 0) uncounted += times;
  }
  return uncounted ? `no share: ${withSeparators(uncounted)} of ${withSeparators(all)} commands ran uncounted` : '';
}

// Why there is no share of what these commands, and so the rows, sum up. Empty if there is one.
export function whyNoShare(groups: Groups, model: Model, commands: Int32Array | null): string {
  const lacking = lackingRows(groups);
  return lacking ? `no share: ${lacking} of ${groups.size} rows ran uncounted` : uncountedText(model, commands);
}

const text = (id: string, title: string, description: string, cell: (row: number) => Cell, shown = true): Field =>
  ({ id, title, description, unit: '', text: true, shown, cell });
const number = (id: string, title: string, description: string, unit: Unit, cell: (row: number) => Cell, shown = true): Field =>
  ({ id, title, description, unit, text: false, shown, cell });

const ratio = (part: Exact | null, whole: Exact): number | null => (Number(whole) ? Number(part) / Number(whole) : null);

type OfRow = (row: number) => Exact | null;

const shadedPer = (id: string, title: string, description: string) => (shaded: OfRow, named: OfRow, unknown: OfRow): Field =>
  number(id, title, description, 'count', (r) => (Number(unknown(r)) || !Number(shaded(r)) ? null : ratio(shaded(r), named(r) ?? 0)), false);
const shadedPerVertex = shadedPer('shaded_per_vertex', 'shaded/vertex',
  'invocations of vertex shaders for each vertex or index that draws name, of all their instances; empty where the device decides how many');
const shadedPerPrimitive = shadedPer('shaded_per_primitive', 'shaded/primitive',
  'invocations of vertex shaders for each primitive that draws name, of all their instances; empty where the device or the indices decide how many');

const kPredicted = [['predicted_time', 'predicted', 'on the calibrated device, of all executions'],
  ['predicted_low', 'low', 'end of the 80 % interval of predicted, or the sum of such ends'],
  ['predicted_high', 'high', 'end of the 80 % interval of predicted, or the sum of such ends']] as const;

// Predicted times, where a row has one: `values(id)` are those of the rows.
function predictedFields(model: Model, values: (id: string) => (Exact | null)[]): Field[] {
  if (!model.t('passes').has('predicted_time')) return [];
  const columns = kPredicted.map(([id]) => values(id));
  if (columns[0].every((value) => value === null)) return [];
  return kPredicted.map(([id, title, description], i) => number(id, title, description, 'ns', (r) => columns[i][r]));
}

// The standard error of sums of GPU times in which dispatches and passes have the mean time of similar ones: each list has the samples of a
// row, and how many have the mean of each.
function errorFields(model: Model, samples: () => Map<number, number>[]): Field[] {
  if (!model.t('commands').has('time_sample')) return [];
  const timed = model.t('time_samples').numbers('timed'), variance = model.t('time_samples').times('variance');
  const error = (row: number) => {
    let sum = 0;
    for (const [sample, n] of [...samples()[row]].sort((a, b) => a[0] - b[0])) sum += variance[sample] * (n * n / timed[sample] + n);
    return samples()[row].size ? Math.round(Math.sqrt(sum)) : null;
  };
  return [number('gpu_time_error', '± time', 'standard error of GPU time: dispatches and passes that were not timed have the mean time of similar ' +
    'ones; empty: all were timed', 'ns', error, false)];
}

export const kFootprintNote = 'Footprints are estimates with a standard error of 2.9 %. Images have no known lines, and a line counts once for each stage and ' +
  'each binding through which it is touched.';

// The footprints of whole commands, all of their stages. `footprint`: the largest of a row; `footprints`, `requested`: bytes of all executions.
function footprintFields(model: Model, footprint: OfRow, footprints: OfRow, requested: OfRow, lacks: (row: number) => boolean): Field[] {
  if (!model.t('commands').has('footprint')) return [];
  return [number('footprint', 'footprint', 'bytes of the different lines of 128 bytes of buffers that the shaders of a command touched, estimated with a standard error of 2.9 %; ' +
    "of several commands, the largest one's", 'count', (r) => (lacks(r) ? null : footprint(r))),
  number('reuse', 'reuse', 'bytes that its shaders requested of buffers, for each byte of the footprint', 'count', (r) => ratio(requested(r), footprints(r) ?? 0))];
}

class Grouping {
  readonly identities: string[] = [];
  readonly first: number[] = [];  // a command, or -1
  readonly pass: number[] = [];   // a pass, or -1
  readonly label: number[] = [];
  readonly parent: number[] = [];
  private readonly known = new Map<string, number>();

  of(identity: string, command: number, pass: number, label = -1): number {
    let row = this.known.get(identity);
    if (row === undefined) {
      row = this.identities.length;
      this.known.set(identity, row);
      this.identities.push(identity);
      this.first.push(command);
      this.pass.push(pass);
      this.label.push(label);
      this.parent.push(-1);
    } else {
      if (this.first[row] < 0) this.first[row] = command;
      if (this.pass[row] < 0) this.pass[row] = pass;
    }
    return row;
  }

  find(identity: string): number | undefined {
    return this.known.get(identity);
  }
}

// The groups that a command or pass belongs to.
class Keys {
  private readonly passMerged: Int32Array;
  private readonly mergedIdentity: string[];
  private readonly pipelineIdentity: string[];

  constructor(readonly model: Model, readonly by: By) {
    this.passMerged = model.t('passes').index('merged');
    this.mergedIdentity = Array.from({ length: model.t('merged_passes').rows }, (_, i) => model.identity('merged_passes', i));
    this.pipelineIdentity = Array.from({ length: model.t('pipelines').rows }, (_, i) => model.identity('pipelines', i));
  }

  pass(pass: number): string {
    return pass < 0 ? '-' : this.mergedIdentity[this.passMerged[pass]] ?? `pass ${pass}`;
  }

  pipeline(pipeline: number): string {
    return pipeline < 0 ? '-' : this.pipelineIdentity[pipeline];
  }

  label(label: number): string {
    return label < 0 ? '-' : this.model.labelPath(label);
  }
}

function grouped(model: Model, by: By, commands: Int32Array | null, passes: Int32Array) {
  const table = model.t('commands'), keys = new Keys(model, by), groups = new Grouping();
  const pass = table.index('pass'), pipeline = table.index('pipeline'), label = table.index('label');
  const frame = table.index('frame'), number = model.t('frames').numbers('number');
  const device = model.t('frames').numbers('device'), passFrame = model.t('passes').index('frame');
  const passLabel = model.t('passes').index('label');
  const frameKey = (f: number) => `${number[f]}:${device[f]}`;
  const many = model.deviceCount > 1;
  const keyOf: { [by: string]: (c: number) => string } = {
    pass: (c) => (pass[c] < 0 && many ? `-${device[frame[c]]}` : keys.pass(pass[c])),
    pipeline: (c) => keys.pipeline(pipeline[c]),
    label: (c) => keys.label(label[c]),
    frame: (c) => frameKey(frame[c]),
    similar: (c) => model.similar.group(c),
  };
  const withLabels = (row: number, own: number): number => {
    const parents = model.t('labels').index('parent');
    groups.label[row] = own;
    for (let at = own; at >= 0 && parents[at] >= 0; at = parents[at]) {
      const inner = groups.find(keys.label(at))!, identity = keys.label(parents[at]), known = groups.find(identity);
      groups.parent[inner] = groups.of(identity, -1, -1, parents[at]);
      if (known !== undefined) break;
    }
    return row;
  };
  const count = commands?.length ?? table.rows, of = new Int32Array(count);
  for (let i = 0; i < count; ++i) {
    const c = commands ? commands[i] : i, key = keyOf[by](c), isNew = groups.find(key) === undefined;
    of[i] = groups.of(key, c, by === 'pass' ? pass[c] : -1, -1);
    if (isNew && by === 'label') withLabels(of[i], label[c]);
  }
  const ofPass = new Int32Array(passes.length).fill(-1);
  if (by === 'pass' || by === 'frame' || by === 'label') {
    for (let i = 0; i < passes.length; ++i) {
      const p = passes[i];
      const key = by === 'pass' ? keys.pass(p) : by === 'frame' ? frameKey(passFrame[p]) : keys.label(passLabel[p]);
      const isNew = groups.find(key) === undefined;
      ofPass[i] = groups.of(key, -1, p);
      if (isNew && by === 'label') withLabels(ofPass[i], passLabel[p]);
    }
  }
  return { groups, of, ofPass };
}

function timeSum(size: number, parts: [Int32Array, (i: number) => number, (i: number) => boolean][]): (Exact | null)[] {
  const sums: (Exact | null)[] = new Array(size).fill(null);
  for (const [of, time, wanted] of parts) {
    for (let i = 0; i < of.length; ++i) {
      const t = time(i);
      if (of[i] >= 0 && wanted(i) && !Number.isNaN(t)) sums[of[i]] = add(sums[of[i]] ?? 0, t);
    }
  }
  return sums;
}

function addToParents(values: (Exact | null)[], parent: number[], order: number[]): void {
  for (const row of order) if (values[row] !== null) values[parent[row]] = add(values[parent[row]] ?? 0, values[row]!);
}

function lazy<T>(make: () => T): () => T { let made: T | undefined; return () => (made ??= make()); }

function commandGroups(model: Model, sums: Sums, by: By, scope: Scope, code: Code | null): Groups {
  let commands = commandsOf(model, scope);
  if (code) commands = ranCode(model, sums, code, commands);
  const passes = code ? new Int32Array(0) : passesOf(model, scope);
  const table = model.t('commands'), { groups, of, ofPass } = grouped(model, by, commands, passes);
  const size = groups.identities.length, at = (i: number) => (commands ? commands[i] : i);
  const nested = groups.parent.map((_, row) => row).filter((row) => groups.parent[row] >= 0)
    .sort((a, b) => groups.label[b] - groups.label[a]);
  const whole = (values: (Exact | null)[]) => (addToParents(values, groups.parent, nested), values);
  const sum = (value: (command: number) => Exact) => whole(Array.from(sumBy(size, of.length, (i) => of[i], (i) => value(at(i)))));
  const runs = table.values('runs'), kind = table.numbers('kind'), firstUse = table.numbers('first_use');
  const inPass = table.index('pass'), time = table.times('gpu_time'), passTime = model.t('passes').times('gpu_time');
  const passFirst = model.t('passes').numbers('first_use');
  const own = by === 'similar' || by === 'pipeline';
  const times = (first: boolean) => whole(timeSum(size, [
    [of, (i) => time[at(i)], (i) => (own || inPass[at(i)] < 0) && !!firstUse[at(i)] === first],
    [ofPass, (i) => passTime[passes[i]], (i) => !!passFirst[passes[i]] === first]]));
  const estimated = lazy(() => {
    const samples = Array.from({ length: size }, () => new Map<number, number>()), own = table.index('time_sample'), commands = table.numbers('estimated');
    const take = (row: number, sample: number, n: number) => samples[row].set(sample, (samples[row].get(sample) ?? 0) + n);
    of.forEach((row, i) => { if (row >= 0 && own[at(i)] >= 0 && !firstUse[at(i)]) take(row, own[at(i)], commands[at(i)]); });
    const ofPasses = model.t('passes').index('time_sample');
    ofPass.forEach((row, i) => { if (row >= 0 && ofPasses[passes[i]] >= 0 && !passFirst[passes[i]]) take(row, ofPasses[passes[i]], 1); });
    for (const row of nested) for (const [sample, n] of samples[row]) take(groups.parent[row], sample, n);
    return samples;
  });
  // The time of a pass includes its draws; a row with a part that has no time has none.
  const predicted = (id: string) => {
    const own = table.times(id), ofPasses = model.t('passes').times(id), sums: number[] = new Array(size).fill(0), has = new Uint8Array(size);
    const take = (row: number, value: number) => { if (row >= 0) sums[row] += value, has[row] = 1; };
    of.forEach((row, i) => { if (inPass[at(i)] < 0 || !ofPass.length) take(row, own[at(i)]); });
    ofPass.forEach((row, i) => take(row, ofPasses[passes[i]]));
    for (const row of nested) if (has[row]) take(groups.parent[row], sums[row]);
    return sums.map((value, row) => (has[row] && !Number.isNaN(value) ? value : null));
  };
  const draws = lazy(() => sum((c) => (kind[c] === 0 ? runs[c] : 0)));
  const others = lazy(() => sum((c) => (kind[c] === 0 ? 0 : runs[c])));
  const values = table.index('values');
  const ran = lazy(() => sum((c) => runs[c])), uncounted = lazy(() => sum((c) => (values[c] < 0 ? runs[c] : 0)));
  const gpu = lazy(() => times(false)), first = lazy(() => times(true));
  const passCount = lazy(() => whole(Array.from(sumBy(size, ofPass.length, (i) => ofPass[i], () => 1))));
  const fields = keyFields(model, by, (row) => groups.first[row], (row) => groups.pass[row], (row) => groups.label[row]);
  fields.push(
    number('gpu_time', 'GPU time', 'between timestamps around it, including the work of counting; without first uses of pipelines', 'ns', (r) => gpu()[r]),
    ...errorFields(model, estimated),
    number('first_use_time', 'first use', 'GPU time of commands that use a pipeline for the first time in the capture; not part of GPU time', 'ns', (r) => first()[r], false),
    ...predictedFields(model, predicted),
    number('draws', 'draws', 'draw commands that were executed', 'count', (r) => draws()[r]),
    number('dispatches', 'dispatches', 'other action commands that were executed', 'count', (r) => others()[r]));
  if (by === 'pass' || by === 'label' || by === 'frame')
    fields.push(number('passes', 'passes', 'render passes that were executed', 'count', (r) => passCount()[r], by !== 'pass'));
  const lacks = (row: number) => { const all = ran()[row]; return !!all && all === uncounted()[row]; };
  const largest = lazy(() => {
    const own = table.values('footprint'), most: Exact[] = new Array(size).fill(0);
    const take = (row: number, value: Exact) => { if (compare(value, most[row]) > 0) most[row] = value; };
    of.forEach((row, i) => take(row, own[at(i)]));
    for (const row of nested) take(groups.parent[row], most[row]);
    return most;
  });
  const footprints = lazy(() => sum((c) => table.values('footprints')[c])), requested = lazy(() => sum((c) => table.values('requested')[c]));
  if (!code) fields.push(...footprintFields(model, (r) => largest()[r], (r) => footprints()[r], (r) => requested()[r], lacks));
  const known = table.values('vertices'), unknown = table.values('unknown_vertices');
  const vertices = lazy(() => sum((c) => known[c])), lacking = lazy(() => sum((c) => unknown[c])), shaded = lazy(() => sum(sums.commandValue('invocations_vertex', code)));
  fields.push(shadedPerVertex((r) => shaded()[r], (r) => vertices()[r], (r) => lacking()[r]));
  const knownPrimitives = table.values('primitives'), unknownPrimitives = table.values('unknown_primitives');
  const primitives = lazy(() => sum((c) => knownPrimitives[c])), lackingPrimitives = lazy(() => sum((c) => unknownPrimitives[c]));
  fields.push(shadedPerPrimitive((r) => shaded()[r], (r) => primitives()[r], (r) => lackingPrimitives()[r]));
  if (by === 'pass') {
    const pixels = model.t('passes').values('pixels');
    const ofPixels = lazy(() => sumBy(size, ofPass.length, (i) => ofPass[i], (i) => pixels[passes[i]])), fragments = lazy(() => sum(sums.commandValue('invocations_fragment', code)));
    fields.push(number('overdraw', 'overdraw', 'invocations of fragment shaders for each pixel of the render area and layer', 'count', (r) => ratio(fragments()[r], ofPixels()[r]), false));
  }
  return {
    by, size, fields,
    identity: (row) => groups.identities[row],
    metric: (id) => sum(sums.commandValue(id, code)) as Values,
    step: (row) => stepOf(model, by, groups, row),
    isWhole: (row) => groups.parent[row] < 0,
    lacks,
  };
}

function stepOf(model: Model, by: By, groups: Grouping, row: number): Step | null {
  if (by === 'frame') {
    const command = groups.first[row], pass = groups.pass[row];
    const frame = command >= 0 ? model.t('commands').index('frame')[command] : model.t('passes').index('frame')[pass];
    return { kind: 'frame', id: String(model.t('frames').numbers('number')[frame]) };
  }
  const identity = groups.identities[row];
  return { kind: by as Kind, id: by === 'pass' && identity.startsWith('-') ? '-' : identity };
}

// The commands that executed at least one block of the code.
function ranCode(model: Model, sums: Sums, code: Code, commands: Int32Array | null): Int32Array {
  const executions = sums.commandValue('executions', code), count = commands?.length ?? model.t('commands').rows;
  const found: number[] = [];
  for (let i = 0; i < count; ++i) {
    const c = commands ? commands[i] : i;
    if (executions(c) > 0) found.push(c);
  }
  return Int32Array.from(found);
}

function eachDraw(model: Model, sums: Sums, scope: Scope, code: Code | null): Groups {
  let commands = commandsOf(model, scope);
  if (code) commands = ranCode(model, sums, code, commands);
  const table = model.t('commands'), at = (row: number) => (commands ? commands[row] : row);
  const time = table.times('gpu_time'), firstUse = table.numbers('first_use'), runs = table.values('runs'), values = table.index('values');
  const timed = (first: boolean) => (row: number): Cell => {
    const t = time[at(row)];
    return Number.isNaN(t) || !!firstUse[at(row)] !== first ? null : t;
  };
  const frame = table.index('frame'), numbers = model.t('frames').numbers('number');
  const size = commands?.length ?? table.rows, vertices = table.values('vertices'), unknown = table.values('unknown_vertices'), shaded = sums.commandValue('invocations_vertex', code);
  const primitives = table.values('primitives'), unknownPrimitives = table.values('unknown_primitives');
  const footprint = table.values('footprint'), footprints = table.values('footprints'), requested = table.values('requested');
  const lacks = (row: number) => values[at(row)] < 0;
  const estimated = lazy(() => {
    const samples = table.index('time_sample'), commands = table.numbers('estimated');
    return Array.from({ length: size }, (_, r) => new Map(samples[at(r)] < 0 || firstUse[at(r)] ? [] : [[samples[at(r)], commands[at(r)]]]));
  });
  return {
    by: 'draw', size,
    fields: [
      number('frame', 'frame', 'number of the frame', 'count', (r) => numbers[frame[at(r)]]),
      number('command', 'command', 'number of the draw or dispatch in its frame, from 0', 'count', (r) => table.numbers('number')[at(r)]),
      ...keyFields(model, 'similar', at, () => -1, () => -1),
      number('gpu_time', 'GPU time', 'between timestamps around it, including the work of counting', 'ns', timed(false)),
      ...errorFields(model, estimated),
      number('first_use_time', 'first use', 'GPU time of a command that uses a pipeline for the first time in the capture', 'ns', timed(true), false),
      ...predictedFields(model, (id) => { const own = table.times(id); return Array.from({ length: size }, (_, r) => (Number.isNaN(own[at(r)]) ? null : own[at(r)])); }),
      number('runs', 'runs', 'how often it was executed', 'count', (r) => runs[at(r)], model.capture.commands === 'grouped'),
      ...(code ? [] : footprintFields(model, (r) => footprint[at(r)], (r) => footprints[at(r)], (r) => requested[at(r)], lacks)),
      shadedPerVertex((r) => shaded(at(r)), (r) => vertices[at(r)], (r) => unknown[at(r)]),
      shadedPerPrimitive((r) => shaded(at(r)), (r) => primitives[at(r)], (r) => unknownPrimitives[at(r)]),
    ],
    identity: (row) => model.similar.draw(at(row)),
    metric: (id) => {
      const value = sums.commandValue(id, code);
      return Array.from({ length: size }, (_, row) => value(at(row)));
    },
    step: (row) => ({ kind: 'command', id: model.similar.draw(at(row)) }),
    isWhole: () => true,
    lacks,
  };
}

function keyFields(model: Model, by: By, command: (row: number) => number, pass: (row: number) => number,
                   label: (row: number) => number): Field[] {
  const table = model.t('commands');
  const of = (name: string) => { const column = table.index(name); return (row: number) => (command(row) < 0 ? -1 : column[command(row)]); };
  const frameOf = (row: number) =>
    command(row) >= 0 ? table.index('frame')[command(row)] : pass(row) >= 0 ? model.t('passes').index('frame')[pass(row)] : -1;
  const fields: Field[] = [];
  const pipeline = of('pipeline'), call = of('call');
  if (by === 'frame') {
    fields.push(number('frame', 'frame', 'number of the frame', 'count', (r) => model.t('frames').numbers('number')[frameOf(r)]),
      text('ended_by', 'ended by', 'what ended the frame: present, submit, boundary, label, fence, queue idle, or it was still open', (r) => model.text('frames', 'ended_by', frameOf(r))));
  }
  if (by === 'similar') {
    const commandPass = of('pass'), commandLabel = of('label');
    fields.push(text('call', 'call', 'Vulkan command: its counts, then the other parameters that are not 0', (r) => model.string(call(r))),
      text('pipeline', 'pipeline', 'name of the pipeline, or the start of its hash', (r) => model.text('pipelines', 'name', pipeline(r))),
      text('pass', 'pass', 'name and size of the render pass', (r) => model.text('passes', 'name', commandPass(r))),
      text('label', 'label', 'debug label, with the labels around it', (r) => model.labelPath(commandLabel(r)), model.t('labels').rows > 0));
  }
  if (by === 'pipeline') {
    fields.push(text('pipeline', 'pipeline', 'name of the pipeline, or the start of its hash', (r) => model.text('pipelines', 'name', pipeline(r)) || '(no pipeline)'),
      text('pipeline_hash', 'pipeline hash', 'hash of stages, code and specialization', (r) => model.text('pipelines', 'hash', pipeline(r)), false),
      text('bind_point', 'kind', 'graphics, compute or ray tracing', (r) => model.text('pipelines', 'bind_point', pipeline(r))),
      text('shaders', 'shaders', "the pipeline's shaders", (r) => shadersOf(model, pipeline(r))));
  }
  if (by === 'pass') {
    fields.push(text('pass', 'pass', 'name and size of the render pass', (r) => model.passName(pass(r))),
      text('label', 'label', 'debug label, with the labels around it', (r) => (pass(r) < 0 ? '' : model.labelPath(model.t('passes').index('label')[pass(r)])), model.t('labels').rows > 0),
      text('attachments', 'attachments', 'attachments of the pass, as JSON', (r) => model.text('passes', 'attachments', pass(r)), false));
  }
  if (by === 'label')
    fields.push(text('label', 'label', 'debug label, with the labels around it; includes the labels inside it', (r) => (label(r) < 0 ? '(no label)' : model.labelPath(label(r)))));
  if (model.deviceCount > 1)
    fields.push(text('device', 'device', 'name of the device', (r) => model.deviceName(model.t('frames').numbers('device')[frameOf(r)])));
  return fields;
}

function shadersOf(model: Model, pipeline: number): string {
  const table = model.t('pipeline_shaders'), of = table.index('pipeline'), shader = table.index('shader'), names: string[] = [];
  for (let i = 0; i < table.rows; ++i)
    if (of[i] === pipeline) names.push(`${model.text('shaders', 'stage', shader[i])} ${model.text('shaders', 'name', shader[i])}`);
  return names.join(', ');
}

// Shaders, functions and lines: rows of the table, merged by their identity.
function codeGroups(model: Model, sums: Sums, by: 'shader' | 'function' | 'line', scope: Scope, code: Code | null): Groups {
  let commands = commandsOf(model, scope);
  if (code && code.kind !== 'shader') commands = ranCode(model, sums, code, commands);
  const blocks = sums.blocks(commands);
  const name: TableName = by === 'shader' ? 'shaders' : by === 'function' ? 'functions' : 'lines';
  const table = model.t(name), shader = by === 'shader' ? null : table.index('shader');
  const shaderOf = (row: number) => (row < 0 ? -1 - row : shader ? shader[row] : row);
  const wanted = codeFilter(model, by, code), rows: number[] = [], of = new Int32Array(table.rows).fill(-1);
  const grouping = new Grouping(), restOf = new Map<number, number>();
  const narrowed = commands !== null, executed = narrowed && by !== 'shader' ? blocks.byShader('executions') : null;
  const used = narrowed && by === 'shader' ? usedShaders(model, commands!) : null;
  for (let row = 0; row < table.rows; ++row) {
    if (!wanted(row) || (executed && !(executed[shader![row]] > 0)) || (used && !used.has(row))) continue;
    of[row] = grouping.of(model.identity(name, row), row, -1);
    if (of[row] === rows.length) rows.push(row);
  }
  const rest = by === 'line' && (!code || code.kind === 'shader')
    ? [...blocks.haveCodeWithoutLine()].filter((own) => !code || code.rows.has(own)).filter((own) => !executed || executed[own] > 0) : [];
  for (const own of rest) { // code without a source line: a row for each shader
    const row = grouping.of(`- ${model.identity('shaders', own)}`, own, -1);
    if (row === rows.length) rows.push(-1 - own);
    restOf.set(own, row);
  }
  const values = (id: string) => (by === 'shader' ? blocks.byShader(id) : by === 'function' ? blocks.byFunction(id) : blocks.byLine(id));
  return {
    by, size: rows.length,
    identity: (row) => grouping.identities[row],
    fields: by === 'shader' ? shaderFields(model, blocks, rows, of, commands) : [...placeFields(model, by, rows, shaderOf),
      invocationsField(model, blocks, rows, of, shaderOf), ...(by === 'line' ? lineFields(model, blocks, rows.length, of) : [])],
    metric: (id) => {
      const value = values(id), own = [...restOf], without = own.length ? blocks.withoutLine(id) : [];
      return sumBy(rows.length, table.rows + own.length, (i) => (i < table.rows ? of[i] : own[i - table.rows][1]),
        (i) => (i < table.rows ? value[i] : without[own[i - table.rows][0]]));
    },
    step: (row) => (rows[row] < 0 ? null : { kind: by, id: grouping.identities[row] }),
    isWhole: () => true,
    lacks: (row) => by === 'shader' && !!model.text('shaders', 'not_counted', rows[row]),
  };
}

function codeFilter(model: Model, by: 'shader' | 'function' | 'line', code: Code | null): (row: number) => boolean {
  if (!code) return () => true;
  if (code.kind === by) return (row) => code.rows.has(row);
  const shaders = code.kind === 'shader' ? code.rows : new Set([...code.rows].map((row) => model.t(code.kind === 'line' ? 'lines' : 'functions').index('shader')[row]));
  if (by === 'shader') return (row) => shaders.has(row);
  if (code.kind === 'shader') { const own = model.t(by === 'line' ? 'lines' : 'functions').index('shader'); return (row) => shaders.has(own[row]); }
  const costs = model.t('costs'), from = costs.index(code.kind), to = costs.index(by), found = new Set<number>();
  for (let row = 0; row < costs.rows; ++row) if (code.rows.has(from[row])) found.add(to[row]);
  return (row) => found.has(row);
}

function usedShaders(model: Model, commands: Int32Array): Set<number> {
  const pipeline = model.t('commands').index('pipeline'), pipelines = new Set<number>(), used = new Set<number>();
  for (const c of commands) pipelines.add(pipeline[c]);
  const table = model.t('pipeline_shaders'), of = table.index('pipeline'), shader = table.index('shader');
  for (let i = 0; i < table.rows; ++i) if (pipelines.has(of[i])) used.add(shader[i]);
  return used;
}

function shaderFields(model: Model, blocks: BlockSums, rows: number[], of: Int32Array, commands: Int32Array | null): Field[] {
  const table = model.t('commands'), pipelines = model.t('pipeline_shaders');
  const entry = model.t('shaders').index('invocation_block'), executions = blocks.executions;
  const invocations = sumBy(rows.length, of.length, (row) => of[row], (row) => (entry[row] < 0 ? 0 : executions[entry[row]]));
  const pipeline = table.index('pipeline'), runs = table.values('runs');
  const runsOf = sumBy(model.t('pipelines').rows, commands?.length ?? table.rows, (i) => pipeline[commands ? commands[i] : i], (i) => runs[commands ? commands[i] : i]);
  const pipelineOf = pipelines.index('pipeline'), shader = pipelines.index('shader');
  const used = sumBy(rows.length, pipelines.rows, (i) => of[shader[i]], (i) => runsOf[pipelineOf[i]]);
  const usedPipelines = sumBy(rows.length, pipelines.rows, (i) => of[shader[i]], (i) => (runsOf[pipelineOf[i]] > 0 ? 1 : 0));
  const column = (id: string) => (r: number) => model.text('shaders', id, rows[r]);
  const owner = model.t('blocks').index('shader'), discards = model.t('blocks').numbers('discards');
  const byBlock = (value: (b: number) => Exact) => sumBy(rows.length, owner.length, (b) => (discards[b] ? of[owner[b]] : -1), value);
  const discarded = byBlock((b) => executions[b]), canDiscard = byBlock(() => 1);
  const ofDiscards = (r: number, value: Exact | null) => (invocations[r] && canDiscard[r] ? value : null);
  return [
    text('shader', 'shader', 'name of the shader, or the start of its hash', column('name')),
    text('stage', 'stage', 'stage of the pipeline', column('stage')),
    text('entry_point', 'entry point', 'name of the entry point', column('entry_point'), false),
    text('hash', 'hash', 'hash of the SPIR-V module', column('hash'), false),
    text('constants', 'constants', 'specialization constants that are not the defaults', column('constants'), false),
    text('pipeline', 'pipeline', 'pipeline that specializes the shader, if there are several specializations', column('pipeline'), rows.some((_, r) => !!column('pipeline')(r))),
    number('invocations', 'invocations', 'invocations of the shader, without helpers', 'count', (r) => (column('not_counted')(r) ? null : invocations[r])),
    number('commands', 'commands', 'draws and dispatches that ran it', 'count', (r) => used[r]),
    number('pipelines', 'pipelines', 'used pipelines that contain the shader', 'count', (r) => usedPipelines[r], false),
    number('discarded', 'discarded', 'invocations that were discarded or demoted to helpers; empty where the shader has no discard', 'count', (r) => ofDiscards(r, discarded[r]), false),
    number('discarded_share', 'discarded share', 'discarded, as a percentage of invocations', 'percent', (r) => ofDiscards(r, (100 * Number(discarded[r])) / Number(invocations[r])), false),
    text('not_counted', 'not counted because', 'why the shader was not counted', column('not_counted'), rows.some((_, r) => !!column('not_counted')(r))),
  ];
}

// The invocations of the shaders that have the code of a row.
function invocationsField(model: Model, blocks: BlockSums, rows: number[], of: Int32Array, shaderOf: (row: number) => number): Field {
  const entry = model.t('shaders').index('invocation_block'), shaders = rows.map((row) => new Set(row < 0 ? [shaderOf(row)] : []));
  of.forEach((row, i) => { if (row >= 0) shaders[row].add(shaderOf(i)); });
  return number('invocations', 'invocations', 'invocations of the shaders with the code, without helpers', 'count',
    (r) => sumOf([...shaders[r]].map((s) => (entry[s] < 0 ? 0 : blocks.executions[entry[s]]))), false);
}

// The columns that follow from the terms of lines (data.ts).
function lineFields(model: Model, blocks: BlockSums, size: number, of: Int32Array): Field[] {
  const terms = model.t('line_terms'), line = terms.index('line'), block = terms.index('block'), term = terms.numbers('term');
  const executions = (own: number) => sumBy(size, terms.rows, (i) => (term[i] === own ? of[line[i]] : -1), (i) => blocks.executions[block[i]]);
  const [iterations, entered, notEntered, isTrue, notTrue, isFalse, notFalse] = Array.from({ length: 7 }, (_, own) => executions(own));
  const table = model.t('branches'), taken = blocks.branches(), branchLine = table.index('line');
  const counted = (target: string) => sumBy(size, table.rows, (i) => (branchLine[i] >= 0 && model.text('branches', 'target', i) === target ? of[branchLine[i]] : -1), (i) => taken[i]);
  const countedTrue = counted('true'), countedFalse = counted('false');
  const sum = (plus: Values, minus: Values, other?: Values) => (r: number) => subtract(add(plus[r], other?.[r] ?? 0), minus[r]);
  const entries = sum(entered, notEntered), yes = sum(isTrue, notTrue, countedTrue), no = sum(isFalse, notFalse, countedFalse);
  return [
    number('trips_per_entry', 'trips/entry', 'iterations of the loop that begins on the line, divided by the times it was entered', 'count', (r) => ratio(iterations[r], entries(r)), false),
    number('taken_share', 'taken', "how often the line's condition was true, in percent; empty for loops", 'percent',
      (r) => (entries(r) ? null : ratio(100 * Number(yes(r)), add(yes(r), no(r)))), false),
  ];
}

function placeFields(model: Model, by: 'function' | 'line', rows: number[], shaderOf: (row: number) => number): Field[] {
  const shader = text('shader', 'shader', 'shader that contains it', (r) => model.text('shaders', 'name', shaderOf(rows[r])), by === 'function');
  const stage = text('stage', 'stage', 'stage of the pipeline', (r) => model.text('shaders', 'stage', shaderOf(rows[r])), by === 'function');
  const pipeline = text('pipeline', 'pipeline', 'pipeline that specializes the shader', (r) => model.text('shaders', 'pipeline', shaderOf(rows[r])), false);
  if (by === 'function') return [text('function', 'function', 'name of the function', (r) => model.text('functions', 'name', rows[r])), shader, stage, pipeline];
  const file = model.t('lines').index('file'), noLine = (r: number) => rows[r] < 0;
  const name = (r: number) => model.text('shaders', 'name', shaderOf(rows[r]));
  return [
    text('location', 'location', 'file and line, or shader and line of its reconstructed GLSL or its disassembly', (r) => (noLine(r) ? name(r) : model.location(rows[r]))),
    text('text', 'text', 'text of the line', (r) => (noLine(r) ? '(instructions without a source line)' : model.lineText(rows[r]))),
    text('file', 'file', 'name of the file, as recorded in the shader', (r) => (noLine(r) ? name(r) : model.text('files', 'name', file[rows[r]])), false),
    shader, stage, pipeline,
  ];
}

export function groupsOf(model: Model, sums: Sums, by: By, scope: Scope): Groups {
  const code = codeOf(model, scope);
  if (by === 'shader' || by === 'function' || by === 'line') return codeGroups(model, sums, by, scope, code);
  return by === 'draw' ? eachDraw(model, sums, scope, code) : commandGroups(model, sums, by, scope, code);
}

export function scopeKey(scope: Scope): string {
  return `${scope.frames ? `${scope.frames.first}-${scope.frames.last}` : ''} ${formatSteps(scope.steps)}`;
}

