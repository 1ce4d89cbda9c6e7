/** Explain: where a request would go, in which order and why, without sending it. */

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, bodyOf } from '../../api.ts';
import { Combobox } from '../../parts/combobox.tsx';
import { CopyAs, commandWith } from '../../parts/copy-as.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { ErrorNotice, Loaded } from '../../parts/states.tsx';
import { quoted } from '../../shell.ts';
import { modelList } from '../models/query.ts';
import { Candidates, type Explanation } from './candidates.tsx';

const route = getRouteApi('/explain');
const PROTOCOLS = ['chat', 'messages', 'generate', 'responses'] as const;
const KNOWLEDGE = ['now', 'ideal'] as const;
const KNOWLEDGE_NAMES = { now: 'As it is now', ideal: 'As if all were well' };
const FIRST_MODEL = 'sandbox/echo';
/** After the last key. */
const PAUSE_MS = 400;

export function ExplainPage() {
  const { protocol = 'chat', model = FIRST_MODEL, policy = '', ideal = false } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const models = useQuery(modelList);
  const [typed, setTyped] = useState(policy);
  const parsed = parsedPolicy(policy);
  useEffect(() => {
    const timer = setTimeout(() => typed !== policy && change({ policy: typed || undefined }), PAUSE_MS);
    return () => clearTimeout(timer);
  });
  const asked = useQuery({
    queryKey: ['explain', protocol, model, policy, ideal],
    enabled: !(parsed instanceof Error),
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: async () => {
      const body = { protocol, model, ideal, ...(parsed && { policy: parsed }) };
      return (await bodyOf<{ data: Explanation }>(api.POST('/admin/v1/explain', { body: body as never }))).data;
    },
  });
  return (
    <Page title="Explain" about="Where a request would go, in which order and why. Nothing is sent.">
      <Card>
        <div className="flex flex-col gap-3 p-4">
          <div className="flex flex-wrap items-center gap-2">
            <Segments
              label="Protocol"
              values={PROTOCOLS}
              value={protocol}
              onChange={(next) => change({ protocol: next })}
            />
            <Combobox
              label="Model"
              value={model}
              options={models.data?.map(({ id }) => id) ?? []}
              onChange={(next) => change({ model: next })}
            />
            <Segments
              label="Knowledge"
              values={KNOWLEDGE}
              names={KNOWLEDGE_NAMES}
              value={ideal ? 'ideal' : 'now'}
              onChange={(next) => change({ ideal: next === 'ideal' ? true : undefined })}
            />
            {!(parsed instanceof Error) && (
              <div className="ml-auto">
                <CopyAs
                  path="/admin/v1/explain"
                  body={{ protocol, model, ideal, ...(parsed && { policy: parsed }) }}
                  command={commandWith(`polygate route ${quoted(model)}`, {
                    '--protocol': protocol === 'chat' ? undefined : protocol,
                    '--provider': parsed && JSON.stringify(parsed),
                  })}
                  note={
                    ideal
                      ? undefined
                      : 'The command knows nothing of the health of endpoints: it shows what the configuration says.'
                  }
                />
              </div>
            )}
          </div>
          <label className="flex flex-col gap-1">
            <span className="font-medium">Policy, as the field provider of a request</span>
            <textarea
              className="input min-h-16 font-mono"
              spellCheck={false}
              placeholder='{"sort": "price", "max_price": {"prompt": 2}}'
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </label>
          {parsed instanceof Error && <ErrorNotice error={new Error(`The policy is not JSON: ${parsed.message}`)} />}
        </div>
      </Card>
      <Card title="Endpoints in the order in which they would be tried">
        <Loaded asked={asked}>{(explanation) => <Candidates explanation={explanation} />}</Loaded>
      </Card>
    </Page>
  );
}

function parsedPolicy(text: string): object | Error | undefined {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    return error as Error;
  }
}
