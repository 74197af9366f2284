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

test('each view of the sample shows, at 1280 and at 400 pixels', async () => {
  const file = report('sample');
  for (const width of [1280, 400]) await visitViews(browser, file, ['Overview', 'Where', 'Source', 'Picture', 'Timeline'], { width });
});
