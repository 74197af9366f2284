// Similar draws have the same call, pipeline, pass and label. With two captures they are what `tally diff --by draw` matched.
// A draw of one capture belongs to the similar draw of the other capture in the frame of the same number, and at the same place
// among the similar ones of that frame, where both captures have equally many of them.

import type { Model } from './model';

export class SimilarDraws {
  private readonly groups: string[] = [];       // by command
  private draws: string[] | null = null;        // by command
  private readonly rows = new Map<string, number[]>();

  constructor(private readonly model: Model) {
    const commands = model.t('commands'), match = commands.index('match'), first = new Map<string, number>();
    const call = commands.index('call'), pipeline = commands.index('pipeline'), pass = commands.index('pass'), label = commands.index('label');
    const merged = model.t('passes').index('merged');
    for (let c = 0; c < commands.rows; ++c) {
      if (match[c] >= 0) { this.groups.push(`=${match[c]}`); continue; }
      const passId = pass[c] < 0 ? '-' : model.identity('merged_passes', merged[pass[c]]), pipelineId = model.identity('pipelines', pipeline[c]);
      if (model.against) {
        this.groups.push([model.string(call[c]), pipelineId, passId, model.labelPath(label[c])].join('|'));
        continue;
      }
      const key = `${call[c]}|${pipelineId}|${passId}|${label[c]}`, known = first.get(key);
      if (known === undefined) first.set(key, c);
      this.groups.push(String(known ?? c));
    }
  }

  group(command: number): string { return this.groups[command]; }

  draw(command: number): string {
    return this.model.against ? (this.draws ??= this.numbered())[command] : String(command);
  }

  // Commands by the identity of their group, or of a single draw.
  ofGroup(identity: string): number[] {
    if (!this.rows.size) this.groups.forEach((own, c) => { const list = this.rows.get(own); list ? list.push(c) : this.rows.set(own, [c]); });
    return this.rows.get(identity) ?? [];
  }

  ofDraw(identity: string): number {
    if (!this.model.against) return identity !== '' && Number(identity) < this.groups.length ? Number(identity) : -1;
    return (this.draws ??= this.numbered()).indexOf(identity);
  }

  private numbered(): string[] {
    const frame = this.model.t('commands').index('frame'), frames = this.model.t('frames');
    const number = frames.numbers('number'), device = frames.numbers('device'), counts = new Map<string, number>();
    const places = this.groups.map((group, c) => {
      const key = `${group} in ${number[frame[c]]}:${device[frame[c]]}`, place = counts.get(key) ?? 0;
      counts.set(key, place + 1);
      return { key, place };
    });
    return places.map(({ key, place }) => `${key}, ${place} of ${counts.get(key)}`);
  }
}
