// The page of captures of programs: its numbers, with everything that `tally run` counts. programs_test.mjs has more programs, at night.
//
// Usage: captures_test.mjs BIN FOLDER, in the environment of a driver.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { launch } from './browser.mjs';
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

for (const [name, options] of [['plain', []], ['divergence', ['--divergence', '--regions']], ['branches', ['--branches']]])
  test(`${name}: the tables equal the JSON report`, async () => {
    const file = capture(name, options, kLanterns), compared = await compareAll(browser, kTally, file, writeReport(kTally, file, kFolder, name));
    for (const by of ['pass', 'pipeline', 'frame', 'shader', 'draw', 'similar', 'line']) assert.ok(compared[by] > 0, by);
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
