// The contents of the source view for one shader: its files, the values of their lines, branches, and the disassembly.

import type { App, Side } from '../app';
import { add, subtract, sumOf, type Exact, type Values } from '../exact';
import type { Unit } from '../format';
import { commandsOf } from './scope';
import type { BlockSums } from './sums';

export interface HeatColumn {
  id: string;
  title: string;
  description: string;
  unit: Unit;
  maximum: number;
  signed: boolean;
  value: (line: number) => Exact | null; // row of `lines`
}

export interface BranchCount { target: string; taken: Exact; block: number; }

export class ShaderSource {
  readonly files: number[];
  readonly lineAt = new Map<number, Map<number, number>>(); // file -> line number -> row of `lines`
  private readonly blocks: BlockSums;
  private readonly otherBlocks: BlockSums | null;
  private branchesOfLine: Map<number, BranchCount[]> | null = null;

  constructor(private readonly app: App, readonly side: Side, readonly shader: number) {
    const { model } = side, lines = model.t('lines'), of = lines.index('shader'), file = lines.index('file');
    for (let row = 0; row < of.length; ++row) {
      if (of[row] !== shader || file[row] < 0) continue;
      let numbers = this.lineAt.get(file[row]);
      if (!numbers) this.lineAt.set(file[row], (numbers = new Map()));
      numbers.set(model.lineNumber(row), row);
    }
    this.files = [...this.lineAt.keys()];
    this.blocks = side.sums.blocks(commandsOf(model, app.scope));
    const other = this.otherSide;
    this.otherBlocks = other ? other.sums.blocks(commandsOf(other.model, app.scope)) : null;
  }

  get otherSide(): Side | undefined {
    return this.app.against ? this.app.sides.find((side) => side !== this.side) : undefined;
  }

  private own(values: Values): number {
    const of = this.side.model.t('lines').index('shader');
    let most = 0;
    for (let row = 0; row < of.length; ++row) if (of[row] === this.shader) most = Math.max(most, Number(values[row]));
    return most;
  }

  // The value of the lines in the other capture that are the same as this one.
  private other(id: string): (line: number) => Exact {
    const other = this.otherSide!, values = this.otherBlocks!.byLine(id);
    return (line) => sumOf(other.model.rowsOf('lines', this.side.model.identity('lines', line)).map((row) => values[row]));
  }

  private now(id: string): (line: number) => Exact {
    const values = this.blocks.byLine(id), { model } = this.side;
    if (!this.app.against) return (line) => values[line];
    return (line) => sumOf(model.rowsOf('lines', model.identity('lines', line)).map((row) => values[row]));
  }

  columns(ids: string[]): HeatColumn[] {
    const { capture } = this.side.model, columns: HeatColumn[] = [];
    for (const id of ids) {
      if (id === 'simd_efficiency' && capture.simd) {
        const executions = this.blocks.byLine(capture.simd.executions), lanes = this.blocks.byLine(capture.simd.lanes);
        columns.push({ id, title: 'SIMD efficiency', description: 'executions as a percentage of the lanes of the subgroups that executed', unit: 'percent',
          maximum: 100, signed: false, value: (line) => (Number(lanes[line]) ? (100 * Number(executions[line])) / Number(lanes[line]) : null) });
        continue;
      }
      const metric = this.side.model.metric(id);
      if (!metric) continue;
      const value = this.now(id), most = this.own(this.blocks.byLine(id));
      const like = { id, description: metric.description, unit: metric.unit as Unit };
      columns.push({ ...like, title: this.app.against ? `${metric.title}, ${this.side.title}` : metric.title, maximum: most, signed: false, value });
      if (!this.app.against || id !== this.app.metricId) continue;
      const other = this.other(id), sign = this.side === this.app.before ? -1 : 1;
      const change = (line: number): Exact => (sign > 0 ? subtract(value(line), other(line)) : subtract(other(line), value(line)));
      let mostChange = 0;
      for (const numbers of this.lineAt.values()) for (const row of numbers.values()) mostChange = Math.max(mostChange, Math.abs(Number(change(row))));
      columns.push({ ...like, id: `${id}.other`, title: this.otherSide!.title, maximum: most, signed: false, value: other });
      columns.push({ ...like, id: `${id}.change`, title: 'change', maximum: mostChange, signed: true, value: change });
    }
    return columns;
  }

  fileTotal(file: number, id: string): number {
    let sum = 0;
    const values = this.blocks.byLine(id);
    for (const row of this.lineAt.get(file)?.values() ?? []) sum += Number(values[row]);
    return sum;
  }

  branches(line: number): BranchCount[] {
    if (!this.branchesOfLine) {
      this.branchesOfLine = new Map();
      const { model } = this.side, table = model.t('branches'), at = table.index('line'), counts = this.blocks.branches();
      const block = table.index('block'), blockNumber = model.t('blocks').numbers('number');
      const number = table.index('number'), slot = table.numbers('slot'), known = new Map<string, BranchCount>();
      for (let row = 0; row < table.rows; ++row) {
        const key = `${at[row]} ${number[row]} ${slot[row]}`, same = known.get(key);
        if (same) {
          same.taken = add(same.taken, counts[row]);
          continue;
        }
        const list = this.branchesOfLine.get(at[row]) ?? [];
        const count = { target: model.text('branches', 'target', row), taken: counts[row], block: blockNumber[block[row]] };
        known.set(key, count);
        list.push(count);
        this.branchesOfLine.set(at[row], list);
      }
    }
    return this.branchesOfLine.get(line) ?? [];
  }

  // Rows of the disassembly: text, and the block and line that each belongs to.
  assembly(): { lines: string[]; block: Map<number, number>; line: Map<number, number> } | null {
    const { model } = this.side, texts = model.t('assembly'), of = texts.index('shader');
    const row = of.indexOf(this.shader);
    if (row < 0) return null;
    const table = model.t('assembly_lines'), shader = table.index('shader'), number = table.numbers('row');
    const blocks = table.index('block'), sourceLine = table.index('line');
    const block = new Map<number, number>(), line = new Map<number, number>();
    for (let i = 0; i < table.rows; ++i) {
      if (shader[i] !== this.shader) continue;
      if (blocks[i] >= 0) block.set(number[i], blocks[i]);
      if (sourceLine[i] >= 0) line.set(number[i], sourceLine[i]);
    }
    return { lines: model.text('assembly', 'text', row).split('\n'), block, line };
  }

  get blockExecutions(): Values { return this.blocks.executions; }
  get mostExecuted(): number {
    const of = this.side.model.t('blocks').index('shader'), { executions } = this.blocks;
    let most = 0;
    for (let b = 0; b < of.length; ++b) if (of[b] === this.shader) most = Math.max(most, Number(executions[b]));
    return most;
  }
}
