/** Documents as their readers see them: code blocks, tables and links. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Paths from the root of every document that readers are meant to open. */
export const DOCUMENTS = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file.replaceAll('\\', '/')}`)
    .sort(),
];

export function textOf(document: string): string {
  return readFileSync(join(ROOT, document), 'utf8');
}

export interface CodeBlock {
  language: string;
  code: string;
  /** Number of its first line in the document. */
  line: number;
}

export function codeBlocks(document: string): CodeBlock[] {
  const text = textOf(document);
  return [...text.matchAll(/^( *)```(\S*)\n(.*?)^\1```$/gms)].map(
    ({ index, 1: indent = '', 2: language = '', 3: code = '' }) => ({
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      line: text.slice(0, index).split('\n').length + 1,
    }),
  );
}

export function codeIn(document: string, language: string): string[] {
  return codeBlocks(document).flatMap((block) => (block.language === language ? [block.code] : []));
}

/** Every row of every table, heads and rules left out, as the texts of its cells. */
export function tableRows(document: string): string[][] {
  const lines = textOf(document).split('\n');
  return lines
    .filter((line, index) => line.startsWith('|') && !isRule(line) && !isRule(lines[index + 1] ?? ''))
    .map((line) =>
      line
        .slice(1, line.lastIndexOf('|'))
        .split('|')
        .map((cell) => cell.trim()),
    );
}

function isRule(line: string): boolean {
  return /^\|[\s|:-]+\|$/.test(line);
}

/** Targets of links and images, code apart. */
export function links(document: string): string[] {
  const prose = textOf(document)
    .replaceAll(/^ *```.*?^ *```$/gms, '')
    .replaceAll(/`[^`\n]*`/g, 'code');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
}

/** The anchors of a document's headings, as code hosts make them. */
export function anchors(document: string): string[] {
  const prose = textOf(document).replaceAll(/^ *```.*?^ *```$/gms, '');
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
