/** Routing of a request: the candidates with the reasons of those left out, and the policy. */

import { EndpointLink } from '../../parts/endpoint-link.tsx';
import { Facts } from '../../parts/facts.tsx';
import { TableScroll } from '../../parts/table-scroll.tsx';
import { writtenPolicy } from './policy.ts';
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
      <table className="data" aria-label="Candidates">
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
                <EndpointLink endpoint={endpoint} credential={credential} />
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

/** Text of the policy as the request writes it; none for the default one. */
export function Policy({ policy }: Pick<Trace, 'policy'>) {
  const { provider, options } = writtenPolicy(policy);
  const rows = Object.entries(provider).map(([name, value]) => [name, textOf(value)] as const);
  if (options.length > 0) rows.push(['options', `of ${options.join(', ')}; their values are not kept`]);
  if (rows.length === 0) return null;
  return (
    <section>
      <h2 className="mb-2">Policy</h2>
      <Facts rows={rows} />
    </section>
  );
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${textOf(inner)}`)
    .join(', ');
}
