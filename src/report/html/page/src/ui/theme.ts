// Light, dark, or what the system prefers.

import type { App } from '../app';
import { h } from '../dom';

const kThemes = ['', 'light', 'dark'];

export function applyTheme(theme: string): void {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

export function themeButton(app: App): HTMLElement {
  const theme = app.state.get('theme'), next = kThemes[(kThemes.indexOf(theme) + 1) % kThemes.length];
  return h('button', { type: 'button', id: 'theme', title: `Theme: ${theme || 'as the system'}; next: ${next || 'as the system'}`,
    'aria-label': `Theme: ${theme || 'as the system'}`, onclick: () => app.state.set({ theme: next || null }) }, theme === 'light' ? '\u2600' : theme === 'dark' ? '\u263E' : '\u25D0');
}
