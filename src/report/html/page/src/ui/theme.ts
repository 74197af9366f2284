// Light, dark, or what the system prefers.

import type { App } from '../app';
import { h } from '../dom';

const kThemes = ['', 'light', 'dark'];

const dark = matchMedia('(prefers-color-scheme: dark)');
dark.addEventListener('change', () => applyTheme(chosen));
let chosen = '';

export function applyTheme(theme: string): void {
  chosen = theme;
  const known = kThemes.includes(theme) && theme;
  document.documentElement.dataset.theme = known || (dark.matches ? 'dark' : 'light');
}

export function themeButton(app: App): HTMLElement {
  const theme = app.state.get('theme'), next = kThemes[(kThemes.indexOf(theme) + 1) % kThemes.length];
  return h('button', { type: 'button', id: 'theme', title: `Theme: ${theme || 'as the system'}; next: ${next || 'as the system'}`,
    'aria-label': `Theme: ${theme || 'as the system'}`, onclick: () => app.state.set({ theme: next || null }) }, theme === 'light' ? '\u2600' : theme === 'dark' ? '\u263E' : '\u25D0');
}
