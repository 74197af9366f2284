// The page of captures of programs: its numbers, with everything that `tally run` counts. programs_test.mjs has more programs, at night.
//
// Usage: captures_test.mjs BIN FOLDER, in the environment of a driver.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { launch, Report } from './browser.mjs';
import { compareAll, compareCounters, writeReport } from './numbers.mjs';

const [, , kBin, kFolder] = process.argv, kTally = join(kBin, 'tally');
const kLanterns = [join(kBin, 'lanterns'), '--frames', '2', '--size', '240x135'];
let browser;

before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

function capture(name, options, program) {
  const file = join(kFolder, `${name}.tally`);
  execFileSync(kTally, ['run', '-q', '-o', file, ...options, '--', ...program], { stdio: ['ignore', 'ignore', 'inherit'] });
  return file;
}

for (const [name, options] of [['plain', []], ['divergence', ['--divergence', '--regions']], ['branches', ['--branches']], ['draws', ['--times', 'draws']]])
  test(`${name}: the tables equal the JSON report`, async () => {
    const file = capture(name, options, kLanterns), compared = await compareAll(browser, kTally, file, writeReport(kTally, file, kFolder, name));
    for (const by of ['pass', 'pipeline', 'frame', 'shader', 'draw', 'similar', 'line']) assert.ok(compared[by] > 0, by);
  });

test('memory: footprints and reuse equal the JSON report, and so does the note on their error', async () => {
  const file = capture('memory', ['--memory=32'], [join(kBin, 'memory_app'), 'two-sizes']), page = writeReport(kTally, file, kFolder, 'memory');
  for (const by of ['draw', 'pipeline']) assert.ok((await compareAll(browser, kTally, file, page))[by] > 0, by);
  const [{ columns, notes, rows }] = JSON.parse(execFileSync(kTally, ['report', '--format', 'json', '--by', 'pipeline', file])).tables;
  assert.ok(columns.some(({ id }) => id === 'footprint') && rows.every(({ footprint, reuse }) => footprint > 0 && reuse > 0));
  const report = await Report.open(browser, page, '#view=where&by=pipeline');
  await report.page.getByText(notes.find((note) => note.startsWith('Footprints'))).waitFor();
  assert.deepEqual(report.problems, []);
  await report.close();
});

test('clocks: the cycles and costs of functions and loops equal the JSON report', async () => {
  const file = capture('clocks', ['--clocks=1'], kLanterns), report = await Report.open(browser, writeReport(kTally, file, kFolder, 'clocks'));
  const [{ title, rows, notes }] = JSON.parse(execFileSync(kTally, ['report', '--format', 'json', '--by', 'clock', file])).tables;
  const table = report.page.getByRole('table', { name: title });
  const heads = await table.locator('thead th').allInnerTexts(), lines = await table.locator('tbody tr').all();
  assert.equal(lines.length, rows.length);
  assert.ok(rows.some(({ self_cost }) => self_cost > 0));
  for (const [r, line] of lines.entries()) {
    const cells = await line.locator('td').allInnerTexts(), cell = (head) => cells[heads.indexOf(head)];
    assert.deepEqual([cell('location'), cell('function'), cell('part')], [rows[r].location, rows[r].function, rows[r].part]);
    for (const [head, id] of [['self cycles', 'self_cycles'], ['self cost', 'self_cost']]) assert.equal(cell(head), rows[r][id].toLocaleString('en-US'));
    assert.ok(rows[r].cycles_per_cost === null || Math.abs(Number(cell('cycles/cost').replaceAll(',', '')) - rows[r].cycles_per_cost) < 0.01);
  }
  for (const note of notes) await report.page.getByText(note).waitFor();
  await table.getByRole('link').first().click();
  await report.page.waitForSelector('html[data-ready="source"]');
  assert.deepEqual(report.problems, []);
  await report.close();
});

test('an edited constant: the page of the difference begins with the causes of tally diff', async () => {
  const old = capture('old', [], kLanterns), shader = join(kFolder, 'edited.frag');
  execFileSync(kTally, ['extract', 'scene.frag', old, '-o', shader], { stdio: 'ignore' });
  writeFileSync(shader, readFileSync(shader, 'utf8').replace('min(d, 0.6)', 'min(d, 0.4)'));
  const changed = capture('changed', ['--strict', '--replace', `scene.frag=${shader}`], kLanterns);
  const diff = spawnSync(kTally, ['diff', '--format', 'json', old, changed], { maxBuffer: 1 << 28 }), [{ causes }] = JSON.parse(diff.stdout).diffs;
  assert.match(causes.list[0].text, /^scene\.frag:\d+ was edited \(.*min\(d, 0\.6\).* -> .*min\(d, 0\.4\).*; the loop at/);
  const report = await Report.open(browser, writeReport(kTally, changed, kFolder, 'difference', '--against', old)), { page } = report;
  try {
    const card = page.locator('.causes');
    await card.waitFor();
    const text = await card.innerText();
    for (const value of [causes.before, causes.after]) assert.ok(text.includes(value.toLocaleString('en-US')), text);
    for (const cause of causes.list) assert.ok(text.includes(cause.text), cause.text);
    assert.ok((await page.locator('.view.overview > *').first().innerText()).includes(causes.list[0].text), 'they come first');
    await card.getByRole('link', { name: /^scene\.frag:/ }).first().click();
    await page.waitForSelector('html[data-ready="source"]');
    assert.match(await page.locator('.code-row.selected').innerText(), /min\(d, 0\.4\)/);
    assert.deepEqual(report.problems, []);
  } finally {
    await report.close();
  }
});

test('two captures: the page shows where pictures differ, and in how many pixels', async () => {
  const own = [kLanterns[0], '--frames', '1', '--size', '100x70'], old = capture('drawn', ['--regions'], own), shader = join(kFolder, 'other.frag');
  execFileSync(kTally, ['extract', 'scene.frag', old, '-o', shader], { stdio: 'ignore' });
  writeFileSync(shader, readFileSync(shader, 'utf8').replace('min(d, 0.6)', 'min(d, 0.4)'));
  const now = capture('other', ['--regions', '--strict', '--replace', `scene.frag=${shader}`], own);
  const [{ pictures }] = JSON.parse(spawnSync(kTally, ['diff', '--format', 'json', old, now], { maxBuffer: 1 << 28 }).stdout).diffs;
  const report = await Report.open(browser, writeReport(kTally, now, kFolder, 'pictures', '--against', old), '#view=picture&compare=pixels'), { page } = report;
  try {
    const pass = page.getByRole('combobox', { name: 'Pass' });
    assert.equal(pictures.list.length, 2);
    for (const one of pictures.list) {
      await pass.selectOption({ label: (await pass.locator('option').allInnerTexts()).find((text) => text.endsWith(`: ${one.pass}`)) });
      await page.getByText(`${one.pixels.toLocaleString('en-US')} of 7,000 pixels of the pictures differ, by at most ${one.max} of 255`).waitFor();
      assert.ok(one.pixels > 0);
      assert.equal(await page.locator('.picture-canvas').count(), 3, 'now, before and the difference');
      const count = () => page.getByRole('img', { name: 'Difference of the pictures' }).evaluate((canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return data.reduce((sum, _, i) => sum + (i % 4 === 0 && data[i] + data[i + 1] + data[i + 2] ? 1 : 0), 0);
      });
      const fits = (coloured) => coloured <= one.pixels && coloured > one.pixels / 2;
      let coloured = await count();
      for (let i = 0; i < 100 && !fits(coloured); ++i) {  // the canvas is drawn after the text
        await page.waitForTimeout(50);
        coloured = await count();
      }
      assert.ok(fits(coloured), `${coloured} of ${one.pixels}`);
    }
    assert.deepEqual(report.problems, []);
  } finally {
    await report.close();
  }
});

test('a click on a tile lists the draws of its pass, with all of it where they are alone', async () => {
  const report = await Report.open(browser, join(kFolder, 'divergence.html'), '#view=picture'), { page } = report;
  try {
    const pass = page.getByRole('combobox', { name: 'Pass' }), draws = page.getByRole('region', { name: 'Draws of the region' });
    for (const [name, wanted, count] of [['composite', 'All work in this region is of these draws', 1], ['scene', 'how much of this region each draw has is not known', 2]]) {
      const option = (await pass.locator('option').allInnerTexts()).find((text) => text.includes(`: ${name}`));
      await pass.selectOption({ label: option });
      await page.locator('.picture-canvas').click();
      await draws.getByText(wanted).waitFor();
      const shares = (await draws.locator('li').allInnerTexts()).map((text) => Number(/([\d.]+)%$/.exec(text)[1]));
      assert.equal(shares.length, count, name);
      assert.ok(Math.abs(shares.reduce((sum, share) => sum + share) - 100) < 0.2, String(shares));
    }
    assert.deepEqual(report.problems, []);
  } finally {
    await report.close();
  }
});

test('a click on a tile lists the draws that wrote there, with their shares of the region', async () => {
  const file = capture('region-draws', ['--regions=32x32', '--region-draws'], kLanterns);
  const table = (by) => JSON.parse(execFileSync(kTally, ['report', '--format', 'json', '--by', by, '--pass', '0', '--at', '40,40', file], { encoding: 'utf8', maxBuffer: 1 << 28 })).tables[0].rows;
  const report = await Report.open(browser, writeReport(kTally, file, kFolder, 'region-draws'), '#view=picture'), { page } = report;
  try {
    const pass = page.getByRole('combobox', { name: 'Pass' }), draws = page.getByRole('region', { name: 'Draws of the region' });
    const option = (await pass.locator('option').allInnerTexts()).find((text) => text.includes(': scene'));
    await pass.selectOption({ label: option });
    await report.go({ view: 'picture', tile: '1,1' });
    await draws.getByText('The draws that wrote here').waitFor();
    const frame = Number(/frame (\d+)/.exec(await pass.locator('option:checked').innerText())[1]);
    const rows = table('region-draw').filter((row) => row.frame === frame);
    const shares = (await draws.locator('li').allInnerTexts()).map((text) => Number(/([\d.]+)%$/.exec(text)[1]));
    assert.ok(rows.length > 1 && shares.length >= 1);
    assert.ok(Math.abs(shares.reduce((sum, share) => sum + share) - 100) < 0.3, String(shares));
    assert.ok(Math.abs(rows.reduce((sum, row) => sum + row.region_share, 0) - 100) < 1e-6);
    assert.deepEqual(report.problems, []);
  } finally {
    await report.close();
  }
});

test('EGL: the counters equal the JSON report', async () => {
  const file = capture('egl', [], [join(kBin, 'profiled_app'), 'es', '5']);
  assert.ok((await compareCounters(browser, kTally, file, writeReport(kTally, file, kFolder, 'egl'))) > 3);
});

test('tally run writes the page, and names an existing one before the program starts', () => {
  const page = join(kFolder, 'written.html'), started = join(kFolder, 'started');
  capture('written', ['--html', page], kLanterns);
  assert.ok(statSync(page).size > 0);
  const again = spawnSync(kTally, ['run', '-q', '-o', join(kFolder, 'again.tally'), '--html', page, '--', 'touch', started]);
  assert.notEqual(again.status, 0);
  assert.ok(String(again.stderr).includes('written.html exists'), String(again.stderr));
  assert.ok(!existsSync(started));
});
