// The page with captures that no driver makes: many draws, hostile names, large numbers, two captures.
//
// Usage: page_test.mjs TALLY WRITE_CAPTURES FOLDER. The page's script and style are those of a report of TALLY.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { launch, Report } from './browser.mjs';
import { pageWith } from './container.mjs';
import { kHostile, synthetic } from './synthetic.mjs';

const [, , kTally, kWriteCaptures, kFolder] = process.argv;
const kReport = join(kFolder, 'sample.html');
const kMiB = 1 << 20, kMaxScriptAndStyle = 224 << 10, kDraws = 100_000;
let browser;

before(async () => {
  execFileSync(kWriteCaptures, [kFolder]);
  execFileSync(kTally, ['report', '--html', kReport, join(kFolder, 'sample.tally')], { stdio: 'ignore' });
  browser = await launch();
});
after(async () => { await browser.close(); });

function write(name, options) {
  const file = join(kFolder, `${name}.html`);
  writeFileSync(file, pageWith(readFileSync(kReport, 'utf8'), synthetic(options)));
  return file;
}

async function check(name, options, body, how) {
  const report = await Report.open(browser, write(name, options), how?.hash ?? '', how);
  try {
    await body(report, report.page);
    assert.deepEqual(report.problems, []);
  } finally {
    await report.close();
  }
}

const number = (text) => Number(text.replace(/[^\d.-]/g, ''));

test('script and style are below 224 KiB', () => {
  const text = readFileSync(kReport, 'utf8')
    .replace(/(<script type="application\/x-tally" id="data">)[^<]*/, '$1')
    .replace(/<!--[^]*?-->/, '');
  const size = Buffer.byteLength(text);
  console.log(`page without data and licences: ${size} bytes`);
  assert.ok(size < kMaxScriptAndStyle, `${size} bytes`);
});

test('100,000 draws show only the rows in view, scroll and are filtered', async () => {
  const options = { draws: kDraws, frames: 10, passes: 20, pipelines: 50, blocks: 8, seed: 3 };
  await check('many', options, async (report, page) => {
    const marks = await page.evaluate(() => Object.fromEntries(performance.getEntriesByType('mark').map((mark) => [mark.name, mark.startTime])));
    console.log(`100,000 draws: first table ${Math.round(marks['shown where'])} ms after the navigation began`);
    assert.equal(await page.locator('table.grid').first().getAttribute('aria-rowcount'), String(kDraws + 1));
    assert.ok(await page.locator('table.grid tbody tr:not(.space)').count() < 100, 'only the rows in view are there');
    await page.locator('.table-scroll').evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await page.locator(`tr[aria-rowindex="${kDraws + 1}"]`).waitFor();
    const jumps = await page.evaluate(async () => {
      const element = document.querySelector('.table-scroll'), times = [];
      for (let i = 0; i < 20; ++i) {
        const begin = performance.now();
        element.scrollTop = (element.scrollHeight / 20) * i;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        times.push(performance.now() - begin);
      }
      return times.sort((a, b) => a - b);
    });
    console.log(`a jump of 5,000 rows is drawn in ${jumps[10].toFixed(1)} ms (median)`);
    await page.getByPlaceholder('Filter').fill('instructions>1 pipeline 7');
    await page.getByText(/of 100,000 rows/).waitFor();
  }, { hash: '#view=where&by=draw' });
  const size = statSync(join(kFolder, 'many.html')).size;
  console.log(`100,000 draws: file of ${(size / kMiB).toFixed(2)} MiB`);
  assert.ok(size < 10 * kMiB);
});

// The processor time of the page's thread until the first table.
async function timeOfFirstTable(name, draws) {
  const file = write(name, { draws, frames: 10, passes: 20, pipelines: 50, blocks: 8, seed: 3 });
  const context = await browser.newContext(), page = await context.newPage(), session = await context.newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value;
  const begin = await busy();
  await page.goto(`file://${file}#view=where&by=draw`);
  await page.waitForSelector('html[data-ready="where"]', { timeout: 60_000 });
  const seconds = await busy() - begin;
  await context.close();
  return seconds;
}

// Ten times as many draws would take a hundred times as long if the time grew with the square.
test('the time until the first table grows with the number of draws, not with its square', async () => {
  const few = await timeOfFirstTable('tenth', kDraws / 10), many = await timeOfFirstTable('many', kDraws);
  console.log(`${kDraws} draws: ${Math.round(1000 * many)} ms of the page's thread until the first table, ${Math.round(1000 * few)} ms for a tenth`);
  assert.ok(many < 20 * few, `${many} s against ${few} s`);
});

test('1,000 draws give a file below 1 MB', () => {
  const size = statSync(write('thousand', { draws: 1000, frames: 4 })).size;
  assert.ok(size < 1e6, `${size} bytes`);
});

test('nothing of a hostile capture becomes markup or script', async () => {
  const place = { where: kHostile[0], numbers: kHostile[1], text: kHostile[2] };
  const findings = [{ rule: kHostile[3], text: kHostile[4], share: 0.5, places: [place], places_left_out: 0, what_to_try: kHostile[0] }];
  const memory = [{ where: kHostile[0], text: kHostile[1], resource: kHostile[2], access: kHostile[3], bytes: 8, sectors: 1, extra_passes: 0, texels: 0 }];
  await check('hostile', { hostile: true, findings, memory }, async (report, page) => {
    for (const view of await report.views()) {
      await report.go({ view: view.toLowerCase() });
      assert.equal(await page.evaluate(() => window.hacked), undefined, view);
      assert.equal(await page.locator('img, iframe, object, embed, link, base').count(), 0, view);
      assert.equal(await page.locator('svg').count(), 0, view);
      assert.deepEqual(await page.$$eval('a[href]', (links) => links.map((link) => link.getAttribute('href')).filter((href) => !href.startsWith('#'))), [], view);
      const text = await page.evaluate(() => document.body.innerText + [...document.querySelectorAll('[title], [aria-label]')].map((e) => e.title + e.ariaLabel).join());
      assert.doesNotMatch(text, /[\u0000-\u0008\u200E\u200F\u202A-\u202E\u2066-\u2069]/, view);
    }
    await report.table('shader');
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.getByRole('searchbox', { name: 'Search everything' }).fill('onerror');
    await page.locator('.results a').first().waitFor();
    assert.ok((await page.locator('.results').innerText()).includes(kHostile[0]));
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  });
});

test('findings lead to their lines and shaders, and to nothing that the page does not show', async () => {
  const place = (where) => ({ where, numbers: '8 executions', text: '  x += 1;' });
  const findings = [{ rule: 'loop-limit', text: 'the loop at file 1:2 runs to its end', share: 0.25, places: ['file 1:2', 'shader 3', 'pass unknown'].map(place),
    places_left_out: 2, what_to_try: 'a lower limit' }];
  await check('findings', { findings }, async (report, page) => {
    await report.go({ view: 'overview' });
    const card = page.locator('.findings');
    const text = (await card.innerText()).replace(/\s+/g, ' ');
    assert.ok(text.includes('loop-limit 25.0% the loop at file 1:2 runs to its end') && text.includes('and 2 more') && text.includes('Try: a lower limit.'), text);
    assert.deepEqual(await card.locator('a').allTextContents(), ['file 1:2', 'shader 3']);
    await card.getByRole('link', { name: 'file 1:2' }).click();
    await page.waitForFunction(() => document.documentElement.dataset.ready === 'source');
    await page.getByText('file 1:2', { exact: true }).first().waitFor();
  });
  await check('no-findings', {}, async (report, page) => {
    await report.go({ view: 'overview' });
    assert.equal(await page.locator('.findings').count(), 0);
  });
});

test('accesses to memory lead to their lines, with the part of their sectors that they use', async () => {
  const row = { where: 'file 1:2', text: '  x += values[i];', resource: '0.1 values', access: 'load', bytes: 4096, sectors: 512, extra_passes: 0, texels: 0 };
  await check('memory', { memory: [row, { ...row, where: 'elsewhere', resource: 'workgroup tile', sectors: 0, extra_passes: 31 }] }, async (report, page) => {
    await report.go({ view: 'overview' });
    const cells = await page.$$eval('.accesses tbody tr', (rows) => rows.map((tr) => [...tr.children].map((td) => td.textContent)));
    assert.deepEqual(cells, [['file 1:2', '0.1 values', 'load', '4,096', '512', '25.0%', '', '', 'x += values[i];'],
      ['elsewhere', 'workgroup tile', 'load', '4,096', '', '', '31', '', 'x += values[i];']]);
    await page.locator('.accesses').getByRole('link', { name: 'file 1:2' }).click();
    await page.waitForFunction(() => document.documentElement.dataset.ready === 'source');
  });
  await check('no-memory', {}, async (report, page) => {
    await report.go({ view: 'overview' });
    assert.equal(await page.locator('.accesses').count(), 0);
  });
});

test('the footprint of a row is the largest of its commands, with its standard error', async () => {
  const own = { footprints: true, draws: 12, frames: 1 }, note = /^Footprints are estimates with a standard error of 2\.9 %/;
  const wanted = (draws) => ({ footprint: String(128 * (1 + Math.max(...draws))), reuse: draws.reduce((sum, d) => sum + 100 * d, 0) / draws.reduce((sum, d) => sum + 256 * (1 + d), 0) });
  const check_row = (row, draws) => {
    assert.equal(row.footprint, wanted(draws).footprint);
    assert.ok(Math.abs(Number(row.reuse) - wanted(draws).reuse) < 1e-12, row.reuse);
  };
  const all = Array.from({ length: 12 }, (_, d) => d);
  await check('footprints', { ...own, uncounted: [3] }, async (report, page) => {
    const draws = await report.table('draw');
    for (const row of draws) if (row.command !== '3') check_row(row, [Number(row.command)]);
    assert.equal(draws.find(({ command }) => command === '3').footprint, '');
    const labels = await report.table('label'); // each is in the one before
    for (const i of [0, 1, 2]) check_row(labels.find(({ label }) => label.endsWith(`label ${i}`)), all.filter((d) => d % 3 >= i));
    check_row((await report.table('frame'))[0], all);
    await page.getByText(note).waitFor();
    assert.match(await page.getByRole('columnheader', { name: 'footprint' }).getAttribute('title'), /standard error of 2\.9 %/);
    await report.table('shader');
    assert.equal(await page.getByText(note).count(), 0);
    assert.ok(!('footprint' in (await report.table('draw', { in: 'shader=0' }))[0]), 'of a whole command, not of one of its shaders');
  });
  // The old capture has none: its other columns keep their own values.
  await check('footprints-against', { ...own, against: true }, async (report) => {
    for (const row of await report.table('pass')) {
      assert.ok(Number(row.footprint) > 0 && row['footprint.before'] === '', JSON.stringify(row));
      assert.ok(Number(row['overdraw.before']) > 0);
      assert.equal(row['shaded_per_vertex.before'], '');
    }
  });
  await check('no-footprints', {}, async (report, page) => {
    assert.ok(!('footprint' in (await report.table('draw'))[0]));
    assert.equal(await page.getByText(note).count(), 0);
  });
});

test('what ran uncounted has no value, and there is no share', async () => {
  await check('uncounted', { draws: 8, frames: 1, uncounted: [2] }, async (report, page) => {
    const rows = await report.table('draw');
    assert.equal(rows.filter((row) => row.instructions === '').length, 1);
    assert.ok(!('share' in rows[0]));
    await page.getByText('no share: 1 of 8 rows ran uncounted').waitFor();
    for (const by of ['line', 'function']) {
      assert.ok(!('share' in (await report.table(by))[0]), by);
      await page.getByText('no share: 1 of 8 commands ran uncounted').first().waitFor();
    }
  });
  await check('counted', { draws: 8, frames: 1 }, async (report) => assert.ok('share' in (await report.table('draw'))[0]));
});

test('without passes the page opens by label, or by pipeline', async () => {
  for (const [labelled, by, name] of [[true, 'Labels', 'labels'], [false, 'Pipelines', 'pipelines']]) {
    await check(`compute-${name}`, { compute: true, labelled }, async (report, page) => {
      await report.go({ view: 'overview' });
      const overview = await page.locator('.view.overview').innerText();
      assert.ok(overview.includes(`Costliest ${name}`), overview);
      assert.ok(overview.includes("end at labels that match 'label 0'"), overview);
      await report.go({ view: 'where' });
      assert.equal(await page.locator('.tabs.small a[aria-selected="true"]').innerText(), by);
      assert.ok(!(await page.locator('body').innerText()).includes('(outside of passes)'));
    });
  }
});

test('regions are compared per pixel, with the sums in another column', async () => {
  await check('regions', { regions: true }, async (report, page) => {
    await report.go({ view: 'picture' });
    assert.ok((await page.locator('.legend').innerText()).includes('1.25 per pixel'));
    await page.locator('canvas.picture-canvas').focus();
    await page.keyboard.press('ArrowRight');
    const text = await page.locator('.detail[role=status]').last().innerText();
    assert.ok(text.includes('1.25 per pixel') && text.includes('sum 160'), text);
    await page.keyboard.press('Enter');
    const draws = page.getByRole('region', { name: 'Draws of the region' });
    await draws.getByText('Draws of the region at x 16, y 0').waitFor();
    assert.ok((await draws.innerText()).includes('how much of this region each draw has is not known'));
    const shares = (await draws.locator('li').allInnerTexts()).map((line) => number(line.split(', ').at(-1)));
    assert.ok(shares.length > 1 && shares[0] > 0 && shares.every((share, i) => !i || share <= shares[i - 1]), String(shares));
    await draws.locator('a').first().click();
    await page.getByRole('navigation', { name: 'Scope' }).getByText(/^draws Draw/).waitFor();
  });
  // One pass with draws of one kind: all of the region is theirs.
  await check('region-of-one', { regions: true, draws: 1, frames: 1, passes: 1, pipelines: 1 }, async (report, page) => {
    await report.go({ view: 'picture', tile: '0,0' });
    const draws = page.getByRole('region', { name: 'Draws of the region' });
    await draws.getByText('All work in this region is of these draws').waitFor();
    assert.match(await draws.locator('li').innerText(), /1 draw, 100/);
  });
  // Draws that were counted by region, each on its own: 0 and 2 in the first region of 256, 2 in the second one of 160.
  await check('region-draws', { regions: true, draws: 4, frames: 1, passes: 1, pipelines: 4, regionDraws: [[0, 0, 64], [0, 2, 128], [1, 2, 160]] }, async (report, page) => {
    await report.go({ view: 'picture', tile: '0,0' });
    const draws = page.getByRole('region', { name: 'Draws of the region' });
    await draws.getByText('The draws that wrote here, with their shares of fragment invocations in this region:').waitFor();
    assert.deepEqual((await draws.locator('li').allInnerTexts()).map((line) => number(line.split(', ').at(-1))), [50, 25, 25]);
    assert.match(await draws.locator('li').last().innerText(), /^other draws/);
    await report.go({ view: 'picture', tile: '1,0' });
    await draws.getByText('Draws of the region at x 16, y 0').waitFor();
    assert.deepEqual((await draws.locator('li').allInnerTexts()).map((line) => number(line.split(', ').at(-1))), [100]);
    await draws.locator('a').first().click();
    await page.getByRole('navigation', { name: 'Scope' }).getByText(/^draws Draw/).waitFor();
  });
  await check('region-uncounted', { regions: true, draws: 4, frames: 1, passes: 1, uncounted: [2] }, async (report, page) => {
    await report.go({ view: 'picture', tile: '0,0' });
    const draws = page.getByRole('region', { name: 'Draws of the region' });
    await draws.getByText('there is no share: 1 of 4 commands ran uncounted').waitFor();
    assert.ok(!(await draws.innerText()).includes('%'));
  });
});

test('counts above 2^53 are exact', async () => {
  const scale = 2n ** 43n + 1n;
  const totals = [];
  for (const [name, own] of [['exact-small', 1n], ['exact-large', scale]])
    await check(name, { scale: own }, async (report) => {
      for (const by of ['pass', 'shader', 'line', 'function'])
        totals.push((await report.table(by)).reduce((sum, row) => sum + BigInt(row.instructions), 0n));
    });
  assert.ok(totals[0] > 0n);
  assert.deepEqual(totals.slice(4), totals.slice(0, 4).map((total) => total * scale));
  assert.ok(totals[4] > 2n ** 53n);
  assert.equal(new Set(totals.slice(0, 4)).size, 1, 'passes, shaders, lines and functions add up to the same');
});

test('two captures: old, new and difference, and only what changed', async () => {
  await check('against', { against: true }, async (report, page) => {
    const rows = await report.table('shader');
    for (const row of rows) assert.equal(Number(row['instructions.change']), Number(row.instructions) - Number(row['instructions.before']));
    assert.ok(rows.some((row) => row['instructions.change'] !== '0'));
    await report.go({ by: 'line' });
    const all = await page.locator('table.grid').first().getAttribute('aria-rowcount');
    await page.getByLabel('changed only').check();
    await page.getByText(/ of .* rows/).waitFor();
    assert.ok(Number(await page.locator('table.grid').first().getAttribute('aria-rowcount')) < Number(all));
    await report.go({ view: 'source', shader: '1' });
    assert.match(await page.locator('.code-head').first().innerText(), /before[\s\S]*change/);
    await report.go({ view: 'overview' });
    await page.getByText('Changed most: lines').waitFor();
    await page.getByText('a.frag:3 was edited (<b>f(1)</b> -> f(2)); instructions +20.0 %').waitFor();
  });
});

test('two captures: draws are paired within a frame, and stand alone where their numbers differ', async () => {
  const options = { against: true, frames: 2, draws: 400, passes: 1, pipelines: 1, dropped: [0] }; // the older one lacks the first draw
  await check('pairs', options, async (report, page) => {
    const rows = await report.table('draw'), similar = await report.table('similar');
    for (const row of [...rows, ...similar]) assert.equal(Number(row['instructions.change']), Number(row.instructions) - Number(row['instructions.before']));
    const sum = (table, id) => table.reduce((all, row) => all + Number(row[id]), 0);
    for (const id of ['instructions', 'instructions.before', 'instructions.change']) assert.equal(sum(rows, id), sum(similar, id), id);
    const alone = rows.filter((row) => row['runs.before'] === '0' || row.runs === '0');
    assert.ok(alone.length > 0);
    assert.equal(new Set(alone.map(({ frame, call, label }) => [frame, call, label].join())).size, 1, 'one kind of draw of one frame');
    assert.equal(alone.filter((row) => row.runs !== '0').length, alone.filter((row) => row.runs === '0').length + 1);
    assert.equal(rows.length, 400 + alone.filter((row) => row.runs === '0').length);
    await report.go({ by: 'similar', cols: null });
    await page.locator('table.grid tbody a').first().click();
    await page.getByRole('navigation', { name: 'Scope' }).getByText(/^draws Draw/).waitFor();
    const narrow = await report.table('draw');
    assert.equal(new Set(narrow.map(({ call, pass, pipeline, label }) => [call, pass, pipeline, label].join())).size, 1);
    assert.ok(narrow.length > 1);
    await report.go({ cols: null });
    await page.locator('table.grid tbody a').first().click();
    await page.getByRole('navigation', { name: 'Scope' }).getByText(/frame \d+, command \d+: Draw/).waitFor();
    assert.equal((await report.table('draw')).length, 1);
    assert.ok((await report.table('shader')).length > 0);
  });
});

test('frames: a range selects in all views and stays in the address', async () => {
  await check('frames', { frames: 8, draws: 80 }, async (report, page) => {
    const all = (await report.table('draw')).length;
    await page.getByLabel('First frame of the selection').fill('2');
    await page.getByLabel('Last frame of the selection').fill('3');
    await page.getByLabel('Last frame of the selection').press('Enter');
    await page.getByText('2 frames selected').waitFor();
    assert.match(page.url(), /frames=2-3/);
    assert.equal((await report.table('draw')).length, all / 4);
    await page.getByRole('button', { name: 'All frames' }).click();
    assert.equal((await report.table('draw')).length, all);
    const strip = await page.locator('.strip-canvas').boundingBox();
    await page.mouse.move(strip.x + 5, strip.y + 10);
    await page.mouse.down();
    await page.mouse.move(strip.x + 40, strip.y + 10);
    await page.mouse.up();
    await page.getByText('2 frames selected').waitFor();
  });
});

test('the icicle zooms by click and by keyboard, and the table follows', async () => {
  await check('icicle', {}, async (report, page) => {
    await report.go({ view: 'where', by: 'pipeline' });
    const root = page.getByRole('treeitem').first();
    await root.focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('navigation', { name: 'Scope' }).getByText(/^pass/).waitFor();
    assert.match(decodeURIComponent(page.url()), /in=frame=\d+%2Fpass|in=frame=\d\/pass=\d/);
    await page.waitForFunction(() => /^pass/.test(document.activeElement.ariaLabel)); // the keyboard stays in the icicle
    assert.match(await page.locator('.bar-detail').innerText(), /^pass .*: [\d,]+ \([\d.]+%\)$/);
    const narrow = await report.table('draw');
    assert.equal(new Set(narrow.map((row) => `${row.frame} ${row.pass}`)).size, 1);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => !location.hash.includes('in='));
    await page.getByRole('treeitem', { name: /^shader/ }).first().dispatchEvent('click');
    await page.getByRole('navigation', { name: 'Scope' }).getByText(/^shader/).waitFor();
  });
});

test('a link to a line shows it, and leads to the draws that ran it', async () => {
  await check('line', {}, async (report, page) => {
    const selected = page.locator('.code-row.selected');
    await selected.waitFor();
    const location = await page.locator('.detail strong').innerText();
    const instructions = number(await page.locator('.detail .pair').nth(1).innerText());
    await page.locator('.detail').getByText('draws that ran it').click();
    await page.waitForSelector('html[data-ready="where"]');
    const rows = await report.table('draw');
    assert.ok(rows.length > 0, location);
    assert.equal(rows.reduce((sum, row) => sum + Number(row.instructions), 0), instructions);
    assert.ok(rows.every((row) => Number(row.executions) > 0));
  }, { hash: '#view=source&line=8' });
});

test('columns are chosen, sorted and filtered', async () => {
  await check('table', {}, async (report, page) => {
    await report.go({ view: 'where', by: 'draw' });
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.locator('.checks').getByText('executions', { exact: true }).last().click();
    await page.keyboard.press('Escape');
    await page.getByRole('columnheader', { name: 'executions' }).getByRole('button').click();
    await page.locator('th[aria-sort="descending"]', { hasText: 'executions' }).waitFor();
    const rows = await report.table('draw', { cols: new URLSearchParams(new URL(page.url()).hash.slice(1)).get('cols') });
    const values = rows.map((row) => Number(row.executions));
    assert.deepEqual(values, [...values].sort((a, b) => b - a));
  });
});

test('light, dark and 390 pixels: accessible, and nothing wider than the window', async () => {
  for (const how of [{}, { scheme: 'dark' }, { width: 390, height: 844 }])
    await check('access', { against: true, frames: 3 }, async (report, page) => {
      for (const view of await report.views()) {
        await report.go({ view: view.toLowerCase() });
        await page.waitForTimeout(100); // the icicle is drawn after the table
        assert.deepEqual(await report.accessibility(), [], `${view} ${JSON.stringify(how)}`);
        const { width, inner } = await page.evaluate(() => ({ width: document.documentElement.scrollWidth, inner: window.innerWidth }));
        assert.ok(width <= inner, `${view}: ${width} > ${inner}`);
      }
    }, how);
});

test('the theme is switched, the keys lead to views, help opens', async () => {
  await check('keys', {}, async (report, page) => {
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor), before = await background();
    await page.locator('#theme').click();
    await page.locator('#theme').click();
    await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
    assert.notEqual(await background(), before);
    await page.locator('body').press('2');
    await page.waitForSelector('html[data-ready="where"]');
    await page.locator('body').press('f');
    await page.waitForFunction(() => document.activeElement.placeholder?.startsWith('Filter'));
    await page.keyboard.press('Escape');
    await page.keyboard.press('3'); // Esc has left the filter
    await page.waitForSelector('html[data-ready="source"]');
    await page.locator('main').press('?');
    await page.getByRole('dialog', { name: 'Help' }).waitFor();
  });
});

test('print shows rows without controls', async () => {
  await check('print', {}, async (report, page) => {
    await report.go({ view: 'where', by: 'draw' });
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    assert.equal(await page.locator('.controls').isVisible(), false);
    assert.equal(await page.getByRole('columnheader', { name: 'instructions' }).isVisible(), true);
    assert.match(await page.evaluate(() => getComputedStyle(document.body).color), /^rgb\(2\d, 3\d, 3\d\)$/, 'dark text on white paper');
    assert.ok(await page.locator('table.grid tbody tr:not(.space)').count() >= 40);
  }, { scheme: 'dark' });
});

test('data that is not from a report is refused with a sentence', async () => {
  const file = join(kFolder, 'broken.html');
  writeFileSync(file, pageWith(readFileSync(kReport, 'utf8'), 'H4sIAAAAAAAAA0vMSUwBAFz/wbsFAAAA'));
  const context = await browser.newContext(), page = await context.newPage();
  await page.goto(`file://${file}`);
  await page.getByRole('alert').waitFor();
  assert.match(await page.getByRole('alert').innerText(), /^This report cannot be shown: /);
  await context.close();
});
