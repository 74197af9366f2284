// Takes the pictures of the documents: docs/images/make runs it with the folders of the pages and of the pictures.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch, Report } from '../../tests/html/browser.mjs';

const [, , kPages, kPictures] = process.argv;
const browser = await launch();

// A view of a page; `hash` chooses it as a link does.
async function picture(name, page, hash, height = 560, prepare = async () => {}) {
  const report = await Report.open(browser, join(kPages, `${page}.html`), hash, { width: 1240, height });
  await prepare(report.page);
  await report.page.waitForTimeout(300);
  await report.page.screenshot({ path: join(kPictures, `${name}.png`) });
  if (report.problems.length) throw new Error(report.problems.join('\n'));
  await report.close();
}

// Opens the source at a line of the table.
const openLine = (line) => async (page) => {
  await page.getByPlaceholder('Filter').fill(line);
  await page.getByRole('link', { name: line, exact: true }).first().click();
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'source');
};

await picture('html-report', 'lanterns', '#view=where&by=line');
await picture('branches', 'branches', '#view=where&by=line', 460, openLine('scene.frag:57'));
await picture('divergence', 'divergence', '#view=where&by=line', 460, openLine('scene.frag:57'));
await picture('compared', 'larger', '#view=where&by=pass', 480);

const screen = await browser.newPage();
await screen.goto(pathToFileURL(join(kPages, 'top.html')).href);
await screen.locator('pre').screenshot({ path: join(kPictures, 'top.png') });
await browser.close();
