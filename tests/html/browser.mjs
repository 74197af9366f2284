// Opens reports in Chromium without a network, and collects what must not happen.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.TALLY_NODE_MODULES ? `${process.env.TALLY_NODE_MODULES}/` : import.meta.url);
const { chromium } = require('playwright-core');
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const kChromium = process.env.TALLY_CHROMIUM ?? '/usr/bin/chromium';
const kTimeout = 30_000; // a machine may be busy with other tests

export async function launch() {
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: kChromium, args: [...sandbox, '--disable-gpu'] });
}

export class Report {
  problems = [];

  static async open(browser, file, hash = '', { width = 1280, height = 800, scheme = 'light' } = {}) {
    const report = new Report();
    report.context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, offline: true });
    report.context.setDefaultTimeout(kTimeout);
    report.page = await report.context.newPage();
    const { page, problems } = report, address = pathToFileURL(file).href;
    page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) problems.push(`console: ${message.text()}`); });
    page.on('pageerror', (error) => problems.push(`error: ${error.stack}`));
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(address) && !url.startsWith('blob:') && !url.startsWith('data:')) problems.push(`request: ${url}`);
    });
    page.on('dialog', (dialog) => { problems.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
    // The texts that the page copies land here.
    await page.addInitScript(() => {
      Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } });
    });
    await page.goto(address + hash);
    await page.waitForSelector('html[data-ready]').catch((error) => { throw new Error([error.message, ...problems].join('\n')); });
    return report;
  }

  // Changes the part of the address behind "#"; null removes a key.
  async go(changes) {
    await this.page.evaluate((own) => {
      const values = new URLSearchParams(location.hash.slice(1));
      for (const [key, value] of Object.entries(own)) value === null ? values.delete(key) : values.set(key, value);
      location.hash = values.toString();
    }, changes);
    await this.page.waitForFunction((view) => !view || document.documentElement.dataset.ready === view, changes.view);
    await this.page.waitForTimeout(0);
  }

  // The table of the view "where" as the page copies it: rows as objects of texts.
  async table(by, changes = {}) {
    await this.go({ view: 'where', by, cols: '*', ...changes });
    await this.page.locator('.tabs.small a[aria-selected="true"]').waitFor();
    await this.page.evaluate(() => { window.copied = undefined; });
    await this.page.getByRole('button', { name: 'Copy TSV' }).click();
    await this.page.waitForFunction(() => window.copied !== undefined);
    const lines = (await this.page.evaluate(() => window.copied)).trimEnd().split('\n'), ids = lines[0].split('\t');
    return lines.slice(1).map((line) => Object.fromEntries(line.split('\t').map((text, i) => [ids[i], text])));
  }

  // Problems that axe-core finds serious or critical.
  async accessibility() {
    await this.page.evaluate(axeSource);
    const { violations } = await this.page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary ?? ''}`).join(' | ')}`);
  }

  async views() {
    return this.page.locator('header nav a').allTextContents();
  }

  async close() { await this.context.close(); }
}
