/** Generated parts of pages: tables, and the text between two markers. */

const START = '<!-- results: written by npm run bench -- --write-docs -->';
const END = '<!-- end of results -->';

/** The first line has the headers. */
export function markdownTable(lines: readonly string[][]): string {
  const [head = [], ...rest] = lines;
  const widths = head.map((_, column) => Math.max(3, ...lines.map((line) => line[column]?.length ?? 0)));
  const row = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [row(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rest.map(row)].join('\n');
}

/** What stands between the markers of a page. */
export function generatedPart(page: string): string {
  return partsOf(page).inner.trim();
}

export function withGeneratedPart(page: string, part: string): string {
  const { before, after } = partsOf(page);
  return `${before}${START}\n\n${part}\n\n${END}${after}`;
}

function partsOf(page: string): { before: string; inner: string; after: string } {
  const [before = '', rest] = page.split(START);
  const [inner, after] = rest?.split(END) ?? [];
  if (inner === undefined || after === undefined) throw new Error('The page lacks its markers.');
  return { before, inner, after };
}
