// The page of captures of programs: the sample, vkcube, SuperTuxKart, ray tracing, EGL, and two captures against each other.
//
// Usage: programs_test.mjs TALLY PROGRAMS FOLDER, where PROGRAMS holds lanterns and traced_app.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, Report } from './browser.mjs';
import { compareAll, compareCounters, visitViews, writeReport } from './numbers.mjs';

const [, , kTally, kPrograms, kFolder] = process.argv;
const kManyDraws = fileURLToPath(new URL('data/many_draws.py', import.meta.url));
const kWithDriver = join(dirname(fileURLToPath(import.meta.url)), '../../scripts/with-driver');
let browser;

before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// Captures a program; the words before `tally run` are in `with`.
function capture(name, around, options, ...program) {
  const file = join(kFolder, `${name}.tally`), words = [...around, kTally, 'run', '-q', '-o', file, '--force', ...options, '--', ...program];
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/games`, HOME: kFolder, XDG_RUNTIME_DIR: kFolder, SDL_AUDIODRIVER: 'dummy', SDL_VIDEODRIVER: 'x11' };
  execFileSync(words[0], words.slice(1), { stdio: 'ignore', timeout: 600_000, env });
  return file;
}

function installed(program) {
  const found = ['/usr/bin', '/usr/local/bin', '/usr/games'].some((folder) => existsSync(join(folder, program)));
  assert.ok(found || process.env.TALLY_REQUIRE_PROGRAMS !== '1', `there is no ${program}`);
  return found;
}

const lavapipe = [kWithDriver, 'lavapipe'], xvfb = ['xvfb-run', '-a'];
const lanterns = (name, frames, ...options) => capture(name, lavapipe, options, join(kPrograms, 'lanterns'), '--frames', String(frames), '--size', '240x135');

async function whole(name, file, views) {
  const page = writeReport(kTally, file, kFolder, name);
  const compared = await compareAll(browser, kTally, file, page);
  console.log(`${name}: rows compared: ${JSON.stringify(compared)}`);
  for (const width of [1280, 400]) await visitViews(browser, page, views, { width });
  return page;
}

const kAll = ['Overview', 'Where', 'Source', 'Picture', 'Timeline'];

test('the sample by region: the picture answers under the cursor and leads to the draws', async () => {
  const file = await whole('regions', lanterns('regions', 3, '--regions'), kAll), report = await Report.open(browser, file, '#view=picture'), { page } = report;
  const canvas = page.locator('.picture-canvas');
  await canvas.hover({ position: { x: 30, y: 30 } });
  await page.getByText(/% of the pass/).waitFor();
  const before = await canvas.evaluate((own) => own.toDataURL());
  await page.getByLabel('Opacity of the heatmap in percent').fill('10');
  await page.waitForFunction((old) => document.querySelector('.picture-canvas').toDataURL() !== old, before);
  await canvas.click({ position: { x: 30, y: 30 } });
  await page.getByText('Draws of the region').waitFor();
  assert.deepEqual(report.problems, []);
  await report.close();
});

test('branches stand at their lines', async () => {
  const file = await whole('branches', lanterns('branches', 2, '--branches'), ['Overview', 'Where', 'Source', 'Timeline']);
  const report = await Report.open(browser, file, '#view=source'), { page } = report;
  await page.locator('.list').first().evaluate((list) => { list.scrollTop = 40 * 19; });
  await page.locator('.branch').first().waitFor();
  assert.match(await page.locator('.branch').first().innerText(), /^(true|false|default|case .*) [\d,]+$/);
  await report.close();
});

test('SIMD efficiency is a column where it was captured', async () => {
  const file = await whole('divergence', lanterns('divergence', 2, '--divergence'), ['Overview', 'Where', 'Source', 'Timeline']);
  const report = await Report.open(browser, file, '#view=source');
  assert.match(await report.page.locator('.code-head').first().innerText(), /SIMD efficiency/);
  await report.close();
});

test('vkcube', async () => {
  await whole('vkcube', capture('vkcube', [...lavapipe, ...xvfb], ['--regions'], 'vkcube', '--c', '5'), kAll);
});

test('a million draws are grouped, and the sums are exact', async () => {
  const million = join(kFolder, 'million.tally');
  execFileSync('python3', [kManyDraws, lanterns('few', 2), million, '1000000']);
  const compared = await compareAll(browser, kTally, million, writeReport(kTally, million, kFolder, 'million'), { tables: ['pass', 'shader'] });
  assert.ok(compared.pass > 0 && compared.shader > 0);
});

test('SuperTuxKart', { skip: installed('supertuxkart') ? false : 'there is no supertuxkart' }, async () => {
  // The game does not end in every run; what was captured until then is whole.
  const game = ['timeout', '-s', 'INT', '-k', '10', '400', 'supertuxkart', '--render-driver=vulkan', '-N', '--track=lighthouse', '--numkarts=2', '--profile-time=4', '--screensize=320x240'];
  const file = capture('supertuxkart', lavapipe, ['--regions', '--frames', '30-', '--every', '12'], ...xvfb, 'sh', '-c', `${game.join(' ')} || true`);
  await whole('supertuxkart', file, kAll);
});

test('ray tracing', async () => {
  const file = capture('rays', [kWithDriver, 'lavapipe-new'], [], join(kPrograms, 'traced_app'), '6');
  await whole('rays', file, ['Overview', 'Where', 'Source', 'Timeline']);
});

test('EGL: counters frame by frame', async () => {
  const file = capture('egl', xvfb, [], 'glmark2-es2', '-b', 'build:duration=0.3', '--size', '160x120');
  assert.ok((await compareCounters(browser, kTally, file, await whole('egl', file, ['Overview', 'EGL']))) > 10);
});

test('a capture against an older one: images side by side, swiped, and their difference', async () => {
  const [now, old] = [lanterns('now', 2, '--regions'), capture('old', lavapipe, ['--regions'], join(kPrograms, 'lanterns'), '--frames', '1', '--size', '240x135')];
  const html = writeReport(kTally, now, kFolder, 'against', '--against', old);
  await visitViews(browser, html, kAll);
  const report = await Report.open(browser, html, '#view=picture'), { page } = report;
  await page.locator('.picture-canvas').nth(1).waitFor();
  for (const mode of ['swipe', 'difference']) {
    await report.go({ compare: mode });
    await page.locator(mode === 'swipe' ? '.swipe-line' : 'figcaption:has-text("now less before")').waitFor();
  }
  const draws = await report.table('draw');
  assert.ok(draws.some((row) => row.frame === '0' && row.runs === row['runs.before']), 'the draws of frame 0 are paired');
  assert.ok(draws.filter((row) => row.frame === '1').every((row) => row['runs.before'] === '0'), 'those of frame 1 are new');
  const rows = await report.table('shader');
  for (const row of rows) assert.equal(Number(row['instructions.change']), Number(row.instructions) - Number(row['instructions.before']));
  assert.deepEqual(report.problems, []);
  await report.close();
});
