/** How a request was routed: the candidates with the reasons of those left out, and the policy. */

import { Facts } from '../../parts/facts.tsx';
import { TableScroll } from '../../parts/page.tsx';
import type { RequestDetail } from './query.ts';

type Trace = NonNullable<RequestDetail['trace']>;

export function Candidates({ trace: { candidates, attempts, policy } }: { trace: Trace }) {
  if (candidates.length === 0) {
    const endpoints = new Set(attempts.map(({ endpoint, credential }) => `${endpoint} ${credential}`));
    // With a policy, or a second endpoint, there was a list, which was too long to be kept.
    const wasOne = policy === null && endpoints.size === 1;
    return (
      <p className="text-dim">{wasOne ? 'There was one endpoint.' : 'The list of them was too long to be kept.'}</p>
    );
  }
  return (
    <TableScroll label="Candidates" className="border">
      <table className="data">
        <thead>
          <tr>
            <th scope="col">Endpoint</th>
            <th scope="col" className="number">
              Price, in + out
            </th>
            <th scope="col">Left out because</th>
          </tr>
        </thead>
        <tbody>
          {candidates.map(({ endpoint, credential, price, left_out: reason }) => (
            <tr key={`${endpoint} ${credential ?? ''}`}>
              <td className={reason ? 'text-dim' : 'font-medium'}>
                {endpoint}
                {credential !== undefined && <span className="font-normal text-dim"> credential {credential}</span>}
              </td>
              <td className="number">{price === undefined ? '—' : `$${price}`}</td>
              <td className="!whitespace-normal text-dim">{reason ?? '—'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

/** What the policy asked for; nothing for the default one. */
export function Policy({ policy }: Pick<Trace, 'policy'>) {
  const rows = Object.entries(policy ?? {})
    .filter(([name, value]) => value !== DEFAULTS[name] && textOf(value) !== '')
    .map(([name, value]) => [requestName(name), textOf(value)] as const);
  if (rows.length === 0) return null;
  return (
    <section>
      <h2 className="mb-2">Policy</h2>
      <Facts rows={rows} />
    </section>
  );
}

/** Of fields that a policy always has; empty lists are left out as well. */
const DEFAULTS: Record<string, unknown> = { allowFallbacks: true, acrossModels: false, requireParameters: false };

/** As the request writes it. */
function requestName(name: string): string {
  return name === 'fallbackModels' ? 'models' : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Providers are named as the request has them. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  if (typeof value !== 'object') return String(value);
  if ('text' in value) return String(value.text);
  return Object.entries(value)
    .map(([name, inner]) => `${requestName(name)} ${textOf(inner)}`)
    .join(', ');
}
