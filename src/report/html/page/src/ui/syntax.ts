// Colours for GLSL, HLSL and SPIR-V assembly: comments, numbers, words of the language. Line by line.

import { h, printable } from '../dom';

const kWords = new Set(('const in out inout uniform buffer layout struct void return if else for while do switch case default break ' +
  'continue discard precision highp mediump lowp flat smooth centroid shared coherent readonly writeonly restrict static cbuffer ' +
  'register true false').split(' '));
const kType = /^(bool|u?int|float|double|half|[biud]?vec[234]|d?mat[234](x[234])?|[iu]?(sampler|image|texture)\w*|float[234](x[234])?|u?int[234]|Texture\w*|SamplerState|RW\w+)$/;
const kToken = /(\/\/.*|;.*|"(?:[^"\\]|\\.)*")|(^\s*#.*)|(\b\d[\w.+]*|%\d+)|(%?[A-Za-z_]\w*)/g;
const kMaxLine = 2000; // longer lines stay plain

// Indexed by line: whether it begins inside /* */.
export function commentStarts(lines: string[]): boolean[] {
  let inside = false;
  return lines.map((line) => {
    const starts = inside;
    for (let at = 0; at < line.length;) {
      if (inside) {
        const end = line.indexOf('*/', at);
        if (end < 0) break;
        inside = false;
        at = end + 2;
      } else {
        const open = line.indexOf('/*', at), comment = line.indexOf('//', at);
        if (open < 0 || (comment >= 0 && comment < open)) break;
        inside = true;
        at = open + 2;
      }
    }
    return starts;
  });
}

export function highlight(raw: string, spirv: boolean, insideComment: boolean): HTMLElement {
  const line = printable(raw.replace(/\t/g, '    ')), root = h('code');
  const span = (className: string, text: string) => root.append(h('span', { class: className }, text));
  if (line.length > kMaxLine) {
    root.append(line);
    return root;
  }
  let at = 0;
  if (insideComment || (!spirv && /^\s*\/\*/.test(line))) {
    const end = line.indexOf('*/');
    at = end < 0 ? line.length : end + 2;
    span('comment', line.slice(0, at));
  }
  kToken.lastIndex = at;
  for (let match = kToken.exec(line); match; match = kToken.exec(line)) {
    const [token, comment, directive, number, word] = match;
    if (comment && comment.startsWith(';') && !spirv) {
      kToken.lastIndex = match.index + 1;
      continue;
    }
    const name = comment ? 'comment' : directive && !spirv ? 'directive' : number ? (number.startsWith('%') ? spirv ? 'type' : '' : 'constant')
      : word && spirv ? (word.startsWith('Op') ? 'word' : word.startsWith('%') ? 'type' : '')
      : word && kWords.has(word) ? 'word' : word && kType.test(word) ? 'type' : '';
    if (!name) continue;
    root.append(line.slice(at, match.index));
    span(name, token);
    at = match.index + token.length;
  }
  root.append(line.slice(at));
  return root;
}
