// Copies text to the clipboard, also where the page is a file.

import { h } from '../dom';

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h('textarea', { 'aria-hidden': 'true', class: 'offscreen' });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    return copied;
  }
}

export function announce(text: string): void {
  const live = document.getElementById('live');
  if (live) live.textContent = text;
}
