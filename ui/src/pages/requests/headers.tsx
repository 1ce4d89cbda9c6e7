/** Headers that the trace keeps: which client asked, and what each upstream said of its answer. */

import { Facts } from '../../parts/facts.tsx';
import type { RequestDetail } from './query.ts';

export function Headers({ trace }: { trace: NonNullable<RequestDetail['trace']> }) {
  const groups = [
    { title: 'Of the client', headers: trace.request_headers },
    ...trace.attempts.map(({ endpoint, response_headers: headers }, index) => ({
      title: trace.attempts.length > 1 ? `Of ${endpoint}, attempt ${index + 1}` : `Of ${endpoint}`,
      headers,
    })),
  ].filter(({ headers }) => Object.keys(headers).length > 0);
  if (groups.length === 0) return null;
  return (
    <section className="flex flex-col gap-3">
      <h2>Headers</h2>
      {groups.map(({ title, headers }) => (
        <div key={title}>
          <h3 className="mb-1 font-medium">{title}</h3>
          <Facts rows={Object.entries(headers).map(([name, value]) => [name, <code key={name}>{value}</code>])} />
        </div>
      ))}
    </section>
  );
}
