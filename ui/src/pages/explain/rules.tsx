/** The rules of routing as the documentation has them: each reason leads to its line. */

import text from '../../../../docs/routing.md?raw';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Card } from '../../parts/page.tsx';
import { Status } from '../../parts/status.tsx';

interface Rule {
  id: string;
  /** Line of the documentation, from 1. */
  line: number;
  /** Name of the line of a table: its first column. */
  name?: string;
  text: string;
}

const LINES = text.split('\n');

/** The list below the heading "The order", where a line may go on in the next one. */
const ORDER: Rule[] = linesBelow('## The order').reduce<Rule[]>((rules, [line, number]) => {
  const [, place, rule] = /^(\d+)\. (.*)$/.exec(line) ?? [];
  const last = rules.at(-1);
  if (rule !== undefined) rules.push({ id: `order-${place}`, line: number, text: rule });
  else if (last && line.trim() !== '') last.text += ` ${line.trim()}`;
  return rules;
}, []);

/** The lists below the heading "Falling back". */
const FALLING_BACK: Rule[] = linesBelow('## Falling back').reduce<Rule[]>((rules, [line, number]) => {
  const last = rules.at(-1);
  if (line.startsWith('- ')) rules.push({ id: `fallback-${number}`, line: number, text: line.slice(2) });
  else if (last && line.startsWith('  ')) last.text += ` ${line.trim()}`;
  return rules;
}, []);

/** The table of the fields of a policy. */
const FIELDS: Rule[] = linesBelow('## Routing policy of a request').flatMap(([line, number]) => {
  const [, name, meaning] = /^\| (`[^|]*?) +\| ([^|]*?) +\|$/.exec(line) ?? [];
  if (name === undefined || meaning === undefined) return [];
  return [{ id: `field-${number}`, line: number, name, text: meaning }];
});

/** Lines of a section with their numbers. */
function linesBelow(heading: string): [line: string, number: number][] {
  const start = LINES.indexOf(heading) + 1;
  const length = LINES.slice(start).findIndex((line) => line.startsWith('## '));
  return LINES.slice(start, length < 0 ? undefined : start + length).map((line, index) => [line, start + index + 1]);
}

/** Words of reasons, with the field of the policy that they come from. */
const FIELDS_OF_REASONS: [words: RegExp, field: string][] = [
  [/\(zdr\)|\(data_collection\)/, 'zdr'],
  [/enforce_distillable_text|quantization/, 'quantizations'],
  [/max_price/, 'max_price'],
  [/in only$|in ignore$/, 'only'],
  [/fallbacks are not allowed/, 'allow_fallbacks'],
  [/require_parameters|would drop/, 'require_parameters'],
  [/pinned/, 'options'],
];

/** The rule that a reason comes from; undefined where it is of no rule, such as a missing credential. */
function ruleOf(reason: string): Rule | undefined {
  if (/^it is (in cooldown|being probed)/.test(reason)) {
    return FALLING_BACK.find(({ text: words }) => words.includes('circuit breaker'));
  }
  const field = FIELDS_OF_REASONS.find(([words]) => words.test(reason))?.[1];
  return field === undefined ? undefined : FIELDS.find(({ name }) => name?.includes(field));
}

export function Rules() {
  return (
    <Card title="The rules" actions={<span className="text-dim">docs/routing.md, of this version</span>}>
      <div className="grid gap-x-8 gap-y-5 p-4 lg:grid-cols-2">
        <section>
          <h3 className="mb-1.5">The order</h3>
          <ol className="flex flex-col">
            {ORDER.map((rule, index) => (
              <Line key={rule.id} rule={rule} mark={`${index + 1}.`} />
            ))}
          </ol>
        </section>
        <section>
          <h3 className="mb-1.5">Fields of a policy</h3>
          <ul className="flex flex-col">
            {FIELDS.map((rule) => (
              <Line key={rule.id} rule={rule} />
            ))}
          </ul>
        </section>
        <section className="lg:col-span-2">
          <h3 className="mb-1.5">Falling back</h3>
          <ul className="flex flex-col">
            {FALLING_BACK.map((rule) => (
              <Line key={rule.id} rule={rule} />
            ))}
          </ul>
        </section>
      </div>
    </Card>
  );
}

function Line({ rule: { id, line, name, text: words }, mark }: { rule: Rule; mark?: string }) {
  return (
    <li
      id={id}
      // A link leads here, and the next Tab goes on from here.
      tabIndex={-1}
      title={`docs/routing.md, line ${line}`}
      className="-mx-2 flex scroll-mt-6 gap-2 rounded-md px-2 py-1 target:bg-accent-soft focus:bg-accent-soft"
    >
      {mark && <span className="w-5 shrink-0 text-dim tabular-nums">{mark}</span>}
      <span>
        {name && (
          <>
            <MarkedText text={name} />:{' '}
          </>
        )}
        <MarkedText text={words} />
      </span>
    </li>
  );
}

/** A reason with a button that leads to its rule. */
export function RuledReason({ reason }: { reason: string }) {
  const rule = ruleOf(reason);
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <Status tone="quiet">{reason}</Status>
      {rule && (
        <button
          type="button"
          className="min-h-[24px] text-accent underline-offset-4 hover:underline"
          title={`docs/routing.md, line ${rule.line}`}
          onClick={() => {
            const line = document.getElementById(rule.id);
            line?.scrollIntoView({ block: 'center' });
            line?.focus({ preventScroll: true });
          }}
        >
          the rule
        </button>
      )}
    </span>
  );
}
