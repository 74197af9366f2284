// A scope: which commands, and which of their code. Written as "pass=3/shader=1" in the address, outermost first.

import type { Model, TableName } from './model';

export type Kind = 'frame' | 'pass' | 'pipeline' | 'label' | 'shader' | 'function' | 'line' | 'command' | 'similar';
export interface Step { kind: Kind; id: string; }
export interface FrameRange { first: number; last: number; }
export interface Scope { frames: FrameRange | null; steps: Step[]; }

export type CodeKind = 'shader' | 'function' | 'line';
export interface Code { kind: CodeKind; rows: Set<number>; key: string; }

const kKinds = new Set(['frame', 'pass', 'pipeline', 'label', 'shader', 'function', 'line', 'command', 'similar']);
const kTables: Partial<Record<Kind, TableName>> = {
  pass: 'merged_passes', pipeline: 'pipelines', shader: 'shaders', function: 'functions', line: 'lines',
};

export const tableOf = (kind: Kind): TableName | undefined => kTables[kind];

export function parseSteps(text: string): Step[] {
  const steps: Step[] = [];
  for (const part of text.split('/')) {
    const at = part.indexOf('=');
    const kind = part.slice(0, at);
    if (at > 0 && kKinds.has(kind)) steps.push({ kind: kind as Kind, id: decodeURIComponent(part.slice(at + 1)) });
  }
  return steps;
}

export function formatSteps(steps: Step[]): string {
  return steps.map((step) => `${step.kind}=${encodeURIComponent(step.id)}`).join('/');
}

export function parseFrames(text: string): FrameRange | null {
  const match = /^(\d+)(?:-(\d+))?$/.exec(text);
  if (!match) return null;
  const first = Number(match[1]), last = Number(match[2] ?? match[1]);
  return { first: Math.min(first, last), last: Math.max(first, last) };
}

export function formatFrames(range: FrameRange | null): string {
  if (!range) return '';
  return range.first === range.last ? String(range.first) : `${range.first}-${range.last}`;
}

export function inRange(range: FrameRange | null, number: number): boolean {
  return range === null || (number >= range.first && number <= range.last);
}

// The id of a label is the path of its name: the same in both captures.
function labelRows(model: Model, id: string): Set<number> {
  const parents = model.t('labels').index('parent'), found = new Set<number>();
  for (let label = 0; label < parents.length; ++label)
    if (found.has(parents[label]) || model.labelPath(label) === id) found.add(label);
  if (id === '-') found.add(-1);
  return found;
}

// The innermost step of code.
export function codeOf(model: Model, scope: Scope): Code | null {
  for (let i = scope.steps.length; i-- > 0;) {
    const { kind, id } = scope.steps[i];
    if (kind === 'shader' || kind === 'function' || kind === 'line')
      return { kind, rows: new Set(model.rowsOf(kTables[kind]!, id)), key: `${kind}=${id}` };
  }
  return null;
}

// Indexed by command of the capture: whether the step selects it.
function predicate(model: Model, step: Step): ((command: number) => boolean) | null {
  const commands = model.t('commands');
  switch (step.kind) {
    case 'frame': {
      const frame = commands.index('frame'), number = model.t('frames').numbers('number');
      return (c) => String(number[frame[c]]) === step.id;
    }
    case 'pass': {
      const pass = commands.index('pass'), merged = model.t('passes').index('merged');
      if (step.id === '-') return (c) => pass[c] < 0;
      const rows = new Set(model.rowsOf('merged_passes', step.id));
      return (c) => pass[c] >= 0 && rows.has(merged[pass[c]]);
    }
    case 'pipeline': {
      const pipeline = commands.index('pipeline');
      const rows = new Set(step.id === '-' ? [-1] : model.rowsOf('pipelines', step.id));
      return (c) => rows.has(pipeline[c]);
    }
    case 'label': {
      const label = commands.index('label'), rows = labelRows(model, step.id);
      return (c) => rows.has(label[c]);
    }
    case 'command': {
      const row = model.similar.ofDraw(step.id);
      return (c) => c === row;
    }
    case 'similar': {
      const rows = new Set(model.similar.ofGroup(step.id));
      return (c) => rows.has(c);
    }
    default: return null;
  }
}

// The commands of a scope in the order of execution; null: all.
export function commandsOf(model: Model, scope: Scope): Int32Array | null {
  const tests: ((command: number) => boolean)[] = [];
  if (scope.frames) {
    const frame = model.t('commands').index('frame'), number = model.t('frames').numbers('number'), range = scope.frames;
    tests.push((c) => inRange(range, number[frame[c]]));
  }
  for (const step of scope.steps) {
    const test = predicate(model, step);
    if (test) tests.push(test);
  }
  if (tests.length === 0) return null;
  const found: number[] = [];
  for (let c = 0; c < model.t('commands').rows; ++c) if (tests.every((test) => test(c))) found.push(c);
  return Int32Array.from(found);
}

// Only by frame or pass: the passes that belong to the scope, for times and numbers of passes.
export function passesOf(model: Model, scope: Scope): Int32Array {
  const passes = model.t('passes'), frame = passes.index('frame'), label = passes.index('label');
  const merged = passes.index('merged'), number = model.t('frames').numbers('number');
  const tests = scope.steps.map((step): ((pass: number) => boolean) => {
    if (step.kind === 'frame') return (p) => String(number[frame[p]]) === step.id;
    if (step.kind === 'pass') {
      const rows = new Set(model.rowsOf('merged_passes', step.id));
      return (p) => rows.has(merged[p]);
    }
    if (step.kind === 'label') {
      const rows = labelRows(model, step.id);
      return (p) => rows.has(label[p]);
    }
    return () => false; // a pass's time belongs to no pipeline and no code
  });
  const found: number[] = [];
  for (let p = 0; p < passes.rows; ++p)
    if (inRange(scope.frames, number[frame[p]]) && tests.every((test) => test(p))) found.push(p);
  return Int32Array.from(found);
}

export function stepName(model: Model, step: Step): string {
  switch (step.kind) {
    case 'frame': return `frame ${step.id}`;
    case 'label': return step.id === '-' ? '(no label)' : step.id;
    case 'command': {
      const row = model.similar.ofDraw(step.id);
      if (row < 0) return '';
      const commands = model.t('commands'), frame = model.t('frames').numbers('number')[commands.index('frame')[row]];
      return `frame ${frame}, command ${commands.numbers('number')[row]}: ${model.text('commands', 'call', row)}`;
    }
    case 'similar': {
      const row = model.similar.ofGroup(step.id)[0];
      if (row === undefined) return '';
      const pipeline = model.text('pipelines', 'name', model.t('commands').index('pipeline')[row]);
      return `${model.text('commands', 'call', row)}${pipeline ? `, ${pipeline}` : ''}`;
    }
    case 'pass': {
      const row = model.rowsOf('merged_passes', step.id)[0];
      return step.id === '-' ? '(outside of passes)' : row === undefined ? '' : model.text('merged_passes', 'name', row);
    }
    default: {
      if (step.id === '-') return `(no ${step.kind})`;
      const row = model.rowsOf(kTables[step.kind]!, step.id)[0];
      if (row === undefined) return '';
      if (step.kind === 'line') return model.location(row);
      return step.kind === 'shader' ? model.shaderName(row) : model.text(kTables[step.kind]!, 'name', row);
    }
  }
}
