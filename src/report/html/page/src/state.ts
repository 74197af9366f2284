// The state of the page, as key=value pairs in the address behind "#", so that a link shows the same.

export type Changes = { [key: string]: string | null };

export class State {
  private values = new Map<string, string>();
  private listeners: ((changed: Set<string>) => void)[] = [];
  private scheduled: Set<string> | null = null;

  constructor() {
    this.values = this.read();
    window.addEventListener('hashchange', () => this.reread());
    window.addEventListener('popstate', () => this.reread());
  }

  private read(): Map<string, string> {
    return new Map(new URLSearchParams(location.hash.slice(1)));
  }

  private reread(): void {
    const values = this.read(), changed = new Set<string>();
    for (const key of new Set([...values.keys(), ...this.values.keys()]))
      if (values.get(key) !== this.values.get(key)) changed.add(key);
    this.values = values;
    if (changed.size) this.notify(changed);
  }

  get(key: string, fallback = ''): string {
    return this.values.get(key) ?? fallback;
  }

  onChange(listener: (changed: Set<string>) => void): void {
    this.listeners.push(listener);
  }

  address(changes: Changes): string {
    const values = new Map(this.values);
    for (const [key, value] of Object.entries(changes)) {
      if (value === null || value === '') values.delete(key);
      else values.set(key, value);
    }
    return `#${new URLSearchParams([...values]).toString()}`;
  }

  // A new entry of the browser's history with `push`.
  set(changes: Changes, push = false): void {
    const changed = new Set<string>();
    for (const [key, value] of Object.entries(changes)) {
      if (this.get(key) === (value ?? '')) continue;
      changed.add(key);
    }
    if (!changed.size) return;
    const address = this.address(changes);
    this.values = new Map(new URLSearchParams(address.slice(1)));
    history[push ? 'pushState' : 'replaceState'](null, '', address);
    this.notify(changed);
  }

  private notify(changed: Set<string>): void {
    if (this.scheduled) {
      for (const key of changed) this.scheduled.add(key);
      return;
    }
    this.scheduled = changed;
    queueMicrotask(() => {
      const all = this.scheduled!;
      this.scheduled = null;
      for (const listener of this.listeners) listener(all);
    });
  }
}
