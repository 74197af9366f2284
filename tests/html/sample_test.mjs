// The page of captures that a test writes: their numbers, and each of their views.
//
// Usage: sample_test.mjs TALLY WRITE_CAPTURES FOLDER
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { launch, Report } from './browser.mjs';
import { compareAll, visitViews, writeReport } from './numbers.mjs';

const [, , kTally, kWriteCaptures, kFolder] = process.argv;
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
  const compared = await compareAll(browser, kTally, capture('sample'), report('sample'), 1);
  assert.ok(compared.pass > 0);
});

test('the tables of a capture with hostile names equal the JSON report', async () => {
  // Its metric is a driver's "cycles"; the counts of blocks come in addition, and are no metric of the report.
  await compareAll(browser, kTally, capture('calls'), report('calls'), undefined, ['executions']);
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
