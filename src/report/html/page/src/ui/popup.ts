// A button that opens a small panel. Escape and a click outside close it.

import { h, replace } from '../dom';

export function popup(title: string, content: () => HTMLElement): HTMLElement {
  const panel = h('div', { class: 'popup-panel', hidden: true, role: 'group', 'aria-label': title });
  const button = h('button', { type: 'button', 'aria-expanded': 'false', 'aria-haspopup': 'true' }, title);
  const root = h('div', { class: 'popup' }, button, panel);
  const show = (open: boolean) => {
    panel.hidden = !open;
    button.setAttribute('aria-expanded', String(open));
    if (open) replace(panel, content());
  };
  button.addEventListener('click', () => show(panel.hidden));
  root.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || panel.hidden) return;
    event.stopPropagation();
    show(false);
    button.focus();
  });
  document.addEventListener('pointerdown', (event) => {
    if (!panel.hidden && !root.contains(event.target as Node)) show(false);
  });
  return root;
}
