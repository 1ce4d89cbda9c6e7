/** Text of the page of fidelity about a field that was dropped. Loaded when somebody asks: the page is long. */

import text from '../../../../docs/fidelity.md?raw';
import { MarkedText } from '../../parts/marked-text.tsx';

interface FidelityProps {
  field: string;
  /** Protocols of the client and of the upstream. */
  from: string;
  to: string;
}

const LINES = text.split('\n');

export function Fidelity({ field, from, to }: FidelityProps) {
  const found = findLine(field, from, to);
  if (!found) {
    return (
      <p>
        docs/fidelity.md has no line for it between {from} and {to}: the model, or its provider, does not take it.
      </p>
    );
  }
  return (
    <p>
      <MarkedText text={`${found.field} from ${from} to ${to}: ${found.outcome}`} />
      <span className="block text-dim">docs/fidelity.md, line {found.line}</span>
    </p>
  );
}

/** The row of the table of requests that names the field, or one that names it in brackets. */
function findLine(
  given: string,
  from: string,
  to: string,
): { field: string; outcome: string; line: number } | undefined {
  const name = given.replaceAll(/\[\d+\]/g, '');
  const start = LINES.indexOf(`### From ${from}`);
  if (start < 0) return undefined;
  const length = LINES.slice(start + 1).findIndex((line) => line.startsWith('##'));
  const rows = LINES.slice(start, length < 0 ? undefined : start + 1 + length).flatMap((line, index) =>
    line.startsWith('|') ? [{ line: start + index + 1, cells: cellsOf(line) }] : [],
  );
  const column = rows[0]?.cells.indexOf(`to ${to}`) ?? -1;
  if (column < 0) return undefined;
  const dropped = rows.flatMap(({ line, cells: { 0: field = '', [column]: outcome = '' } }) =>
    outcome.includes('dropped') ? [{ line, field, outcome }] : [],
  );
  return (
    dropped.find(({ field }) => field === `\`${name}\``) ??
    dropped.find(({ outcome }) => outcome.includes(`(\`${name}\`)`)) ??
    dropped.find(({ field }) => field.startsWith(`\`${name}.`) || name.startsWith(`${field.replaceAll('`', '')}.`))
  );
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}
