// Shows what the file holds, until the views are here.
import './page.css';
import type { Head } from './data';

async function load(): Promise<Head> {
  const text = document.getElementById('data')!.textContent!;
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const data = await new Response(stream).arrayBuffer();
  const length = new DataView(data).getUint32(12, true);
  return JSON.parse(new TextDecoder().decode(new Uint8Array(data, 16, length)));
}

load().then((head) => {
  const pre = document.createElement('pre');
  pre.textContent = JSON.stringify({ ...head, strings: head.strings.length }, null, 2);
  document.getElementById('tally')!.append(pre);
});
