// Shared by all views: the captures, the state, the scope.

import type { Data } from './container';
import type { Metric } from './data';
import type { Unit } from './format';
import { Model } from './model/model';
import { formatFrames, formatSteps, parseFrames, parseSteps, type Scope, type Step } from './model/scope';
import { Sums } from './model/sums';
import type { Changes, State } from './state';

export interface View {
  element: HTMLElement;
  update(changed: Set<string>): void;
}

export interface Side { model: Model; sums: Sums; title: string; }

export class App {
  readonly sides: Side[]; // [now] or [now, before]

  constructor(readonly data: Data, readonly state: State) {
    const against = data.head.captures.length > 1;
    this.sides = data.head.captures.map((capture, i) => {
      const model = new Model(data, capture, against);
      return { model, sums: new Sums(model), title: i === 0 ? 'now' : 'before' };
    });
  }

  get now(): Side { return this.sides[0]; }
  get before(): Side | undefined { return this.sides[1]; }
  get against(): boolean { return this.sides.length > 1; }

  // The side that single-sided views show.
  get side(): Side {
    return this.state.get('side') === 'before' && this.before ? this.before : this.now;
  }

  // With two captures those of both: what only one counted cannot be compared.
  get metrics(): Metric[] {
    const before = this.before;
    return before ? this.now.model.metrics.filter(({ id }) => before.model.metric(id)) : this.now.model.metrics;
  }

  get metricId(): string {
    const id = this.state.get('metric');
    const standard = this.data.head.default_metric, known = (own: string) => this.metrics.some((metric) => metric.id === own);
    return known(id) ? id : known(standard) ? standard : this.metrics[0]?.id ?? '';
  }

  get metric(): Metric | undefined {
    return this.metrics.find((metric) => metric.id === this.metricId);
  }

  get unit(): Unit { return (this.metric?.unit ?? 'count') as Unit; }

  get hasCommands(): boolean {
    return this.sides.some(({ model }) => model.t('commands').rows + model.t('passes').rows > 0);
  }

  get scope(): Scope {
    return { frames: parseFrames(this.state.get('frames')), steps: parseSteps(this.state.get('in')) };
  }

  get framesOnly(): Scope { return { frames: this.scope.frames, steps: [] }; }

  go(changes: Changes): void { this.state.set(changes, true); }

  // The address of a view on one thing.
  link(changes: Changes): string { return this.state.address(changes); }

  where(steps: Step[], by?: string): Changes {
    return { view: 'where', in: formatSteps(steps), ...(by ? { by, sort: null, q: null } : {}) };
  }

  lineLink(side: Side, line: number): Changes {
    const shader = side.model.t('lines').index('shader')[line];
    return { view: 'source', shader: String(shader), line: String(line), side: side === this.before ? 'before' : null };
  }

  framesText(): string { return formatFrames(this.scope.frames); }
}
