/** What was done to a key or a tag, from the audit log. */

import { useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../api.ts';
import { Time } from './numbers.tsx';
import { Loaded } from './states.tsx';

interface AuditEntry {
  id: number;
  at: string;
  actor: string;
  action: string;
  request_id: string | null;
}

/** `subject`: hash of a key, or a tag. */
export function History({ subject, since }: { subject: string; since: string }) {
  const asked = useQuery({
    queryKey: ['audit', subject],
    queryFn: async () => {
      const params = { query: { subject, limit: 50 } };
      return (await bodyOf<{ data: AuditEntry[] }>(api.GET('/admin/v1/audit', { params }))).data;
    },
  });
  return (
    <section>
      <h2 className="mb-2">Audit log</h2>
      <Loaded asked={asked}>
        {(entries) => (
          <ul className="flex flex-col gap-1.5">
            {entries.length === 0 && <li className="text-dim">Nothing {since}.</li>}
            {entries.map(({ id, at, actor, action }) => (
              <li key={id} className="flex gap-3">
                <span className="text-dim">
                  <Time at={at} />
                </span>
                <span>{action}</span>
                <span className="ml-auto text-dim">{actor}</span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}
