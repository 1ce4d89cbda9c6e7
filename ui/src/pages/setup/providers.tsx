/** Providers: those that are ready, each with a test, the variable that enables one of the others, and local servers. */

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api.ts';
import { Code } from '../../parts/code.tsx';
import { Combobox } from '../../parts/combobox.tsx';
import { formatCount } from '../../parts/numbers.tsx';
import { ProviderTest } from '../../parts/provider-test.tsx';
import { Loaded } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { useSession } from '../../session.ts';
import { LocalServers } from './local.tsx';

interface Provider {
  id: string;
  state: 'ready' | 'waiting' | 'unreachable';
  models: number;
  waiting_for: string[] | null;
}

/** Providers that are shown at first: the steps after them stay near. */
const FIRST_PROVIDERS = 8;

export function Providers() {
  const { isAdmin } = useSession();
  const [areAllShown, setAllShown] = useState(false);
  const asked = useQuery({
    queryKey: ['setup', 'providers'],
    queryFn: async ({ signal }) =>
      (await bodyOf<{ data: { providers: Provider[] } }>(api.GET('/admin/v1/setup', { signal }))).data.providers,
  });
  return (
    <Loaded asked={asked}>
      {(providers) => {
        const configured = configuredOf(providers);
        return (
          <div className="flex flex-col gap-5">
            <div className="flex flex-col gap-3">
              <ul className="flex flex-col divide-y rounded-lg border">
                {(areAllShown ? configured : configured.slice(0, FIRST_PROVIDERS)).map((provider) => (
                  <ReadyProvider key={provider.id} provider={provider} />
                ))}
              </ul>
              {configured.length > FIRST_PROVIDERS && (
                <button type="button" className="button self-start" onClick={() => setAllShown(!areAllShown)}>
                  {areAllShown ? `Show ${FIRST_PROVIDERS}` : `Show all ${formatCount(configured.length)}`}
                </button>
              )}
            </div>
            <More waiting={providers.filter(({ state }) => state === 'waiting')} />
            {isAdmin && <LocalServers />}
          </div>
        );
      }}
    </Loaded>
  );
}

/** Those that need a look come first. */
function configuredOf(providers: readonly Provider[]): Provider[] {
  const withState = (wanted: Provider['state']) => providers.filter(({ state }) => state === wanted);
  return [...withState('unreachable'), ...withState('ready')];
}

function ReadyProvider({ provider: { id, state, models } }: { provider: Provider }) {
  const { isAdmin } = useSession();
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
      <span className="font-medium">{id}</span>
      <Status tone={state === 'ready' ? 'good' : 'bad'}>{state}</Status>
      <span className="text-dim">{models === 1 ? '1 model' : `${formatCount(models)} models`}</span>
      {isAdmin && <ProviderTest id={id} />}
    </li>
  );
}

function More({ waiting }: { waiting: Provider[] }) {
  const [chosen, setChosen] = useState<string>();
  const provider = waiting.find(({ id }) => id === chosen) ?? waiting.find(({ id }) => id === 'openai') ?? waiting[0];
  if (!provider) return null;
  const [variable = ''] = provider.waiting_for ?? [];
  return (
    <div className="flex flex-col gap-2">
      <p className="flex flex-wrap items-center gap-2">
        Add
        <Combobox label="Provider" value={provider.id} options={waiting.map(({ id }) => id)} onChange={setChosen} />
        by its environment variable, then restart:
      </p>
      <div className="rounded-lg border bg-page">
        <Code language="shell" text={`${variable}=... polygate`} />
      </div>
    </div>
  );
}
