// The page of captures that a test writes: their numbers, and each of their views.
//
// Usage: sample_test.mjs TALLY WRITE_CAPTURES FOLDER
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { launch, Report } from './browser.mjs';
import { compareAll, visitViews, writeReport } from './numbers.mjs';

const [, , kTally, kWriteCaptures, kFolder] = process.argv;
const kManyDraws = fileURLToPath(new URL('data/many_draws.py', import.meta.url));
const kDevice = fileURLToPath(new URL('../../share/tally/devices/nvidia-h200.json', import.meta.url));
const kDocumented = fileURLToPath(new URL('../../docs/sample.html', import.meta.url));
let browser;

before(async () => {
  execFileSync(kWriteCaptures, [kFolder]);
  browser = await launch();
});
after(async () => { await browser.close(); });

const capture = (name) => join(kFolder, `${name}.tally`);
const report = (name) => writeReport(kTally, capture(name), kFolder, name);

test('the tables of the sample equal the JSON report', async () => {
  const compared = await compareAll(browser, kTally, capture('sample'), report('sample'));
  console.log(`rows compared: ${JSON.stringify(compared)}`);
  for (const by of ['pass', 'pipeline', 'frame', 'shader', 'draw', 'line']) assert.ok(compared[by] > 0, by);
});

test('the tables of one frame equal the JSON report of that frame', async () => {
  const compared = await compareAll(browser, kTally, capture('sample'), report('sample'), { frame: 1 });
  assert.ok(compared.pass > 0);
});

test('predicted times of a calibrated device equal the JSON report and tally predict', async () => {
  const given = ['--device', kDevice], file = writeReport(kTally, capture('sample'), kFolder, 'predicted', ...given);
  await compareAll(browser, kTally, capture('sample'), file, { given });
  const predicted = JSON.parse(execFileSync(kTally, ['predict', '--format', 'json', ...given, capture('sample')])).tables;
  const page = await Report.open(browser, file);
  for (const { title, rows, notes } of predicted) {
    const table = page.page.getByRole('table', { name: title });
    assert.equal(await table.locator('tbody tr').count(), Math.min(rows.length, 50), title);
    assert.equal(await table.locator('tbody tr').first().locator('td').first().innerText(), rows[0].work ?? rows[0].line);
    for (const note of notes) await page.page.getByText(note).waitFor();
  }
  assert.ok(predicted[0].rows.some(({ time, low, high }) => low < time && time < high), 'no work has a time');
  await page.close();
});

test('the tables of a capture with hostile names equal the JSON report', async () => {
  // Its metric is a driver's "cycles"; the counts of blocks come in addition, and are no metric of the report.
  await compareAll(browser, kTally, capture('calls'), report('calls'), { without: ['executions'] });
});

test('the tables of 1,000 draws without two alike equal the JSON report, in less than a megabyte', async () => {
  const many = capture('many');
  execFileSync('python3', [kManyDraws, capture('sample'), many, '1000']);
  const file = report('many'), compared = await compareAll(browser, kTally, many, file);
  assert.ok(compared.draw >= 1000);
  assert.ok(statSync(file).size < 1e6);
});

test('two captures: similar draws are those of tally diff', async () => {
  const old = capture('old');
  execFileSync('python3', ['-c', `import shutil, sqlite3, sys
shutil.copyfile(*sys.argv[1:])
with sqlite3.connect(sys.argv[2]) as database:
    database.execute("UPDATE batch_count SET executions = replace(executions, '1', '2')")`, capture('sample'), old]);
  const page = await Report.open(browser, writeReport(kTally, capture('sample'), kFolder, 'changed', '--against', old));
  const rows = await page.table('similar'), diff = spawnSync(kTally, ['diff', '--by', 'draw', '--format', 'json', old, capture('sample')]);
  await page.close();
  assert.equal(diff.status, 1, String(diff.stderr));
  const [table] = JSON.parse(diff.stdout).diffs[0].tables;
  assert.equal(table.rows.length, table.total_rows);
  for (const metric of ['executions', 'instructions']) {
    const changed = (pairs) => pairs.filter(([before, now]) => before !== now).map(String).sort();
    const wanted = changed(table.rows.map(({ before, after }) => [before?.[metric] ?? 0, after?.[metric] ?? 0]));
    assert.ok(wanted.length > 0);
    assert.deepEqual(changed(rows.map((row) => [Number(row[`${metric}.before`]), Number(row[metric])])), wanted);
  }
});

test('the lines of inlined functions equal the JSON report, and so do their branches', async () => {
  const file = report('inlined'), compared = await compareAll(browser, kTally, capture('inlined'), file);
  assert.ok(compared.line > 0);
  const json = JSON.parse(execFileSync(kTally, ['report', '--format', 'json', '--annotate', 'compute', capture('inlined')]));
  const wanted = json.tables[0].rows.filter(({ branch }) => branch).map((row) => `${row.branch} ${row.executions}`);
  const page = await Report.open(browser, file);
  try {
    await page.go({ view: 'source' });
    await page.page.locator('.branch').first().waitFor();
    const shown = await page.page.locator('.branch').allTextContents();
    assert.deepEqual(shown.map((text) => text.replace(/,/g, '')).sort(), wanted.sort());
  } finally {
    await page.close();
  }
});

test('estimated GPU times and their errors equal the JSON report', async () => {
  await compareAll(browser, kTally, capture('sampled'), report('sampled'), { tables: ['pass', 'pipeline', 'frame', 'draw', 'similar'] });
  const rows = (by) => JSON.parse(execFileSync(kTally, ['report', '--by', by, '--format', 'json', capture('sampled')])).tables[0].rows;
  assert.deepEqual(rows('pipeline').map((row) => row.gpu_time_error > 0), [true, true]);
  assert.equal(rows('pass').filter((row) => row.gpu_time_error > 0).length, 6);
});

test('the icicle has the tree of calls of the JSON report, and a function its callers and callees', async () => {
  const json = JSON.parse(execFileSync(kTally, ['report', '--format', 'json', '--by', 'call-tree', capture('inlined')]));
  const grouped = (number) => number.toLocaleString('en-US');
  const wanted = json.tables[0].rows.map((row) => `${row.kind === 'inlined' ? 'inlined, entered' : 'called'} function ${row.function}: ${grouped(row.cost_with_callees)}, by itself ${grouped(row.cost)}; ${grouped(row.calls)}`);
  const opened = await Report.open(browser, report('inlined')), { page } = opened;
  try {
    await opened.go({ view: 'where' });
    await page.getByRole('treeitem', { name: /^function odd_step/ }).first().waitFor();
    const labels = await page.getByRole('treeitem', { name: /^function/ }).evaluateAll((bars) => bars.map((bar) => bar.ariaLabel));
    const shown = labels.map((label) => label.replace(/ \([\d.]+%\)/g, '').replace(/^(.*; )(inlined, entered|called) ([\d,]+) times?$/, '$2 $1$3'));
    assert.deepEqual(shown.sort(), wanted.sort());

    const table = await opened.table('function');
    await page.locator('table.grid tbody a', { hasText: 'odd_step' }).first().click();
    await page.locator('.relations').getByText('odd_step').first().waitFor();
    const relations = (await page.locator('.relations').innerText()).replace(/\s+/g, ' ');
    const { function: name, calls, cost } = JSON.parse(execFileSync(kTally, ['report', '--format', 'json', '--by', 'function', capture('inlined')])).tables[0].rows.find((row) => row.function === 'odd_step');
    assert.equal(table.find((row) => row.function === name).cost, String(cost));
    assert.ok(relations.startsWith(`odd_step ${grouped(cost)} with what it calls, ${grouped(cost)} by itself, ${grouped(calls)} calls`), relations);
    assert.match(relations, /Callers two_steps [\d,]+, [\d,]+ calls main [\d,]+, [\d,]+ calls Callees none$/);
    await page.locator('.relations a', { hasText: 'two_steps' }).click();
    await page.waitForFunction(() => /^two_steps [^]*Callers\s+main [^]*Callees\s+odd_step/.test(document.querySelector('.relations').innerText));
    await opened.go({ in: null });
    await page.getByRole('treeitem', { name: /^function two_steps/ }).dispatchEvent('click');
    await page.locator('.relations a', { hasText: 'odd_step' }).click(); // below the shader the icicle finds a path of the function
    await page.locator('.bar.above', { hasText: /^main$/ }).waitFor();

    await opened.go({ in: null });
    await page.getByRole('searchbox', { name: 'Mark bars' }).fill('odd');
    await page.getByText(/^2 bars, [\d.]+% of the whole$/).waitFor();
    assert.equal(await page.locator('.bar.marked').count(), 2);
    assert.deepEqual(opened.problems, []);
  } finally {
    await opened.close();
  }
});

test('a pass has its picture in the overview and in Where, which leads to the picture', async () => {
  const opened = await Report.open(browser, kDocumented), { page } = opened;
  try {
    await opened.go({ view: 'overview' });
    await page.locator('.top .thumbnail-link').first().waitFor();
    await page.locator('.top li', { has: page.locator('.thumbnail-link') }).locator('a.name').first().click();
    await page.locator('.relations .thumbnail-link').click();
    await page.waitForSelector('html[data-ready="picture"]');
    await page.locator('.picture-canvas').first().waitFor();
    assert.deepEqual(opened.problems, []);
  } finally {
    await opened.close();
  }
});

// The structure of a page, without its numbers: the members of its data, by their path. Columns depend on what was counted.
function structure(file) {
  const [, data] = /id="data">([^<]*)/.exec(readFileSync(file, 'latin1')), bytes = gunzipSync(Buffer.from(data, 'base64'));
  const head = JSON.parse(bytes.subarray(16, 16 + bytes.readUInt32LE(12)).toString());
  const [{ info, tables, ...capture }] = head.captures;
  return { version: head.version, head: Object.keys(head), capture: Object.keys(capture), info: Object.keys(info), tables: Object.keys(tables) };
}

test('the page in the documents has the structure of pages of today, and shows', async () => {
  assert.deepEqual(structure(kDocumented), structure(report('sample')), 'docs/images/make makes docs/sample.html');
  await visitViews(browser, kDocumented, ['Overview', 'Where', 'Source', 'Picture', 'Timeline'], { width: 1280 });
});

test('the source comes first at 390 and at 1280 pixels, and the disassembly is closed', async () => {
  const file = report('inlined');
  for (const width of [390, 1280]) {
    const opened = await Report.open(browser, file, '#view=source', { width, height: 844 }), { page } = opened;
    try {
      const hottest = page.locator('.code-pane .code-row', { has: page.locator('.heat[style*="70%"]') }).first();
      await hottest.waitFor();
      const { y, height } = await hottest.boundingBox(), left = await hottest.locator('.code').evaluate((code) => code.getBoundingClientRect().left);
      assert.ok(y > 0 && y + height < 844, `the hottest line is at ${y} of 844 pixels`);
      assert.ok(left < width - 120, `its text begins at ${left} of ${width} pixels`);
      const disassembly = page.getByRole('button', { name: 'Disassembly' });
      assert.equal(await disassembly.getAttribute('aria-pressed'), 'false');
      assert.equal(await page.locator('.assembly').isVisible(), false);
      await disassembly.click();
      await page.locator('.assembly .code-row').first().waitFor();
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `wider than ${width} pixels`);
      assert.deepEqual(opened.problems, []);
    } finally {
      await opened.close();
    }
  }
});

test('each view of the sample shows, at 1280 and at 390 pixels', async () => {
  const file = report('sample');
  for (const width of [1280, 390]) await visitViews(browser, file, ['Overview', 'Where', 'Source', 'Picture', 'Timeline'], { width });
});
