// Keys, and what the numbers mean.

import { h } from '../dom';

const kKeys: [string, string][] = [
  ['1 \u2013 6', 'the views'], ['/', 'search everything'], ['f', 'filter the table'], ['Esc', 'leave the scope, close'],
  ['arrows, Enter', 'in the icicle: move, zoom; Enter on the zoomed bar opens its source'],
  ['arrows, + \u2212', 'in the timeline: move, zoom'], ['arrows', 'in the picture: move by a region'],
];
const kNotes = [
  'Counts are exact: how often the application\u2019s SPIR-V executed each block, times what the block costs. Hover over a number for its exact value.',
  'Executions of a line are those of its most executed block, summed over inlined calls; all other metrics of lines add up to those of their shader.',
  'GPU time is measured while counting: compare passes with one another by it, not with a run without Tally.',
  'The address holds what is shown. Copy it to link to a view, a scope or a line of this file.',
];

export function helpDialog(): HTMLDialogElement {
  const dialog = h('dialog', { class: 'help', 'aria-label': 'Help' },
    h('h2', {}, 'Keys'), h('dl', { class: 'facts' }, ...kKeys.flatMap(([key, text]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, text)])),
    h('h2', {}, 'Numbers'), h('ul', {}, ...kNotes.map((note) => h('li', {}, note))),
    h('form', { method: 'dialog' }, h('button', {}, 'Close')));
  return dialog;
}
