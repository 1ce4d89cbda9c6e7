/** An entry of the audit log in all details, with the key or tag that it is about, and what was changed. */

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, bodyOf } from '../../api.ts';
import { Code } from '../../parts/code.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Time } from '../../parts/numbers.tsx';
import { Section } from '../../parts/section.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';

export interface AuditEntry {
  id: number;
  at: string;
  actor: string;
  action: string;
  subject: string;
  request_id: string | null;
}

/** With what it changed, as far as the log has it. */
interface WholeEntry extends AuditEntry {
  before?: object;
  after?: object;
}

export function AuditEntryDetails({ id }: { id: number }) {
  const asked = useQuery({
    queryKey: ['audit', 'entry', id],
    staleTime: Number.POSITIVE_INFINITY,
    // The list is cut above the entry.
    queryFn: ({ signal }) =>
      bodyOf<{ data: WholeEntry[] }>(
        api.GET('/admin/v1/audit', { params: { query: { after: String(id + 1), limit: 1 } }, signal }),
      ),
  });
  return (
    <Loaded asked={asked}>
      {({ data: [entry] }) => (entry?.id === id ? <Detail entry={entry} /> : <Empty title="There is no such entry" />)}
    </Loaded>
  );
}

function Detail({ entry }: { entry: WholeEntry }) {
  const { at, actor, action, subject, request_id: request, before, after } = entry;
  return (
    <div className="flex flex-col gap-6">
      <Facts
        rows={[
          ['Time', <Time key="time" at={at} />],
          ['Action', action],
          ['Of', <Subject key="of" action={action} subject={subject} />],
          ['By', actor],
          [
            'Request',
            request === null ? (
              'none'
            ) : (
              <Link
                key="request"
                to="/settings"
                search={{ find: request }}
                title="All changes of this request"
                className={`${LINK} font-mono`}
              >
                {request}
              </Link>
            ),
          ],
        ]}
      />
      {before && <Values title="Before" values={before} />}
      {after && <Values title="After" values={after} />}
    </div>
  );
}

function Values({ title, values }: { title: string; values: object }) {
  return (
    <Section title={title}>
      <div className="rounded-lg border bg-page [&_pre]:whitespace-pre-wrap [&_pre]:wrap-anywhere">
        <Code language="json" text={JSON.stringify(values, undefined, 2)} />
      </div>
    </Section>
  );
}

const LINK = 'text-accent underline-offset-4 hover:underline';

/** Leads to the key or the tag; other things have no panel. */
function Subject({ action, subject }: Pick<AuditEntry, 'action' | 'subject'>) {
  const [kind = ''] = action.split('.');
  if (kind === 'key' || kind === 'webhook-secret') {
    return (
      <Link to="/keys" search={{ open: subject }} className={LINK}>
        key {subject}
      </Link>
    );
  }
  if (kind === 'tag') {
    return (
      <Link to="/tags" search={{ open: subject }} className={LINK}>
        tag {subject}
      </Link>
    );
  }
  return <code>{subject}</code>;
}
