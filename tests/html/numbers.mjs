// All numbers of the page's tables equal those of `tally report --format json`, and every view of the capture shows without an error.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { compareTables } from './compare.mjs';
import { Report } from './browser.mjs';

const kMaxOutput = 1 << 28;

export function writeReport(tally, capture, folder, name, ...options) {
  const file = join(folder, `${name}.html`);
  execFileSync(tally, ['report', '--html', file, '--force', ...options, capture], { stdio: ['ignore', 'ignore', 'inherit'] });
  return file;
}

// The tables of a report; none where there is nothing to show.
function jsonTables(tally, capture, ...options) {
  const run = spawnSync(tally, ['report', '--format', 'json', ...options, capture], { maxBuffer: kMaxOutput });
  if (run.status === 1) return [];
  assert.equal(run.status, 0, String(run.stderr));
  return JSON.parse(run.stdout).tables;
}

// [by of the page, options of the report, how to compare]
const kTables = [
  ['pass', ['--by', 'pass', '--merge']], ['pipeline', ['--by', 'pipeline']], ['label', ['--by', 'label']], ['frame', ['--by', 'frame']],
  ['shader', ['--by', 'shader']], ['draw', ['--by', 'draw', '--each']], ['similar', ['--by', 'draw']], ['line', ['--by', 'line']],
  ['function', ['--by', 'function']],
];
const kOnlyOfFunctions = /^(location|calls|executions|share_with_callees|simd_efficiency)$|^subgroup|_with_callees$|_per_call$/; // the page has others, or none

// `frame`: only this one; `without`: columns that are not compared; `tables`: those that are, all by default; `given`: further options of
// the report, with which the page was written, too.
export async function compareAll(browser, tally, capture, file, { frame, without = [], tables = kTables.map(([by]) => by), given = [] } = {}) {
  const report = await Report.open(browser, file), compared = {};
  try {
    for (const [by, options] of kTables) {
      if (!tables.includes(by)) continue;
      const [table] = jsonTables(tally, capture, ...given, ...options, ...(frame === undefined ? [] : ['--frames', String(frame)]));
      if (!table || table.columns.every(({ id }) => id !== 'executions')) continue;
      if (by === 'label' && table.rows.every(({ label }) => label === '(no label)')) continue; // nothing to group by
      const rows = await report.table(by, { frames: frame === undefined ? null : String(frame) });
      compared[by] = compareTables(rows, table, how(by, without));
    }
    assert.deepEqual(report.problems, []);
  } finally {
    await report.close();
  }
  return compared;
}

// The counters of frames equal those of `--by counter`; how many they are.
export async function compareCounters(browser, tally, capture, file) {
  const report = await Report.open(browser, file, '#view=egl');
  const shown = await report.page.locator('.counter-table tbody tr').evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell, i) => (i > 2 ? cell.title : cell.innerText))));
  assert.deepEqual(report.problems, []);
  await report.close();
  const exact = (text) => (text === '' ? null : Number(text.replace(/,| ns$| bytes$/g, ''))), factors = { us: 1000, KB: 1024 };
  const same = (own, value, unit, what) => {
    if (value === null) return assert.equal(own, null, what);
    const wanted = value * (factors[unit] ?? 1);
    assert.ok(Number.isInteger(value) ? own === wanted : Math.abs(own - wanted) <= 1e-9 * Math.abs(wanted), `${what}: ${own}, not ${wanted}`);
  };
  const [table] = jsonTables(tally, capture, '--by', 'counter'), rows = table.rows.filter(({ max }) => max > 0); // others have no row
  assert.equal(shown.length, rows.length + 1); // the time of the frame
  for (const { group, counter, unit, total, mean, min, max } of rows) {
    const [own, ...others] = shown.filter((cells) => cells[1] === group && cells[2] === counter);
    assert.ok(own && !others.length, counter);
    [total, mean, min, max].forEach((value, i) => same(exact(own[3 + i]), value, unit, `${counter}, column ${3 + i}`));
  }
  return rows.length;
}

function how(by, without) {
  // For shaders without source the report shows the instructions that cost something.
  if (by === 'line') return { wanted: (row) => !/:asm:\d+$/.test(row.location) || Number(row.instructions ?? row.executions) > 0, skip: ['text', ...without] };
  // The stage that this capture does not name has executions, and where these are no metric the report leaves it out.
  if (by === 'shader' && without.includes('executions')) return { wanted: (row) => row.shader !== '(unknown)' || Number(row.cycles) > 0, skip: without };
  return { skip: without, skipped: by === 'function' ? kOnlyOfFunctions : undefined };
}

// Each view the capture has: something is there, everybody can read it, nothing failed.
export async function visitViews(browser, file, wanted, how = {}) {
  const report = await Report.open(browser, file, '', how), { page } = report;
  try {
    const views = await report.views();
    assert.deepEqual(views, wanted);
    for (const view of views) {
      await report.go({ view: view.toLowerCase() });
      await page.locator({ Overview: '.facts', Where: '.bar', Source: '.code-row', Picture: '.picture-canvas', Timeline: '.timeline-canvas', EGL: '.chart canvas' }[view]).first().waitFor();
      if (view === 'Picture' || view === 'Timeline' || view === 'EGL') await painted(page);
      assert.deepEqual(await report.accessibility(), [], view);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${view} is wider than the window`);
    }
    assert.deepEqual(report.problems, []);
  } finally {
    await report.close();
  }
}

// A canvas of the view has more than one colour. A copy is read: Chromium prints a warning about a canvas that is read twice.
async function painted(page) {
  await page.waitForFunction(() => [...document.querySelectorAll('main canvas')].some((canvas) => {
    if (!canvas.width || !canvas.height) return false;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height), words = new Uint32Array(data.buffer);
    return words.some((word) => word !== words[0]);
  }));
}
