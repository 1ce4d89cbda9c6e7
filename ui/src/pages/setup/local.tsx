/** Model servers of this machine: looked for on a click, with the lines of the configuration that add each of them. */

import { useMutation } from '@tanstack/react-query';
import { Search } from 'lucide-react';
import { api, bodyOf } from '../../api.ts';
import { Spoken } from '../../parts/announcer.tsx';
import { Code } from '../../parts/code.tsx';
import { formatCount } from '../../parts/numbers.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';

interface LocalServer {
  type: string;
  name: string;
  base_url: string;
  state: 'found' | 'absent' | 'itself' | 'unclear';
  problem: string | null;
  models: number;
  first_models: string[];
  configured_as: string[];
  lines: string;
}

export function LocalServers() {
  const search = useMutation({
    mutationFn: async () => (await bodyOf<{ data: LocalServer[] }>(api.POST('/admin/v1/providers/local'))).data,
  });
  const answering = search.data?.filter(({ state }) => state === 'found' || state === 'unclear');
  return (
    <section aria-label="Local model servers" className="flex flex-col gap-3">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <button type="button" className="button" disabled={search.isPending} onClick={() => search.mutate()}>
          <Search size={15} aria-hidden />
          {search.isPending ? 'Looking …' : 'Look for local model servers'}
        </button>
        <span className="text-dim">
          Ollama, vLLM, llama.cpp and LM Studio, at their usual ports of the gateway’s machine.
        </span>
      </p>
      <Spoken as="div" className="flex flex-col gap-3 empty:hidden">
        {answering?.map((server) => (
          <Server key={server.type} server={server} />
        ))}
        {answering?.length === 0 && <NothingFound servers={search.data ?? []} />}
      </Spoken>
      {search.error && <ErrorNotice error={search.error} onRetry={() => search.mutate()} />}
    </section>
  );
}

function Server({ server }: { server: LocalServer }) {
  const { name, base_url: address, state, problem, models, first_models: first, configured_as: configuredAs } = server;
  const isFound = state === 'found';
  return (
    <div className="overflow-hidden rounded-lg border">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
        <span className="font-medium">{name}</span>
        <Status tone={isFound ? 'good' : 'warn'}>{isFound ? 'found' : 'unclear'}</Status>
        <code className="text-dim">{address}</code>
        {configuredAs.length > 0 && <span className="ml-auto text-dim">configured as {configuredAs.join(', ')}</span>}
      </p>
      <p className="px-3 pb-2 break-words">
        {isFound ? modelsOf(models, first) : `Something answers there, perhaps not ${name}. ${problem}`}
      </p>
      {isFound && configuredAs.length === 0 && (
        <div className="border-t bg-page">
          <p className="px-4 pt-3 text-dim">Add to the configuration file:</p>
          <Code text={server.lines.trimEnd()} />
        </div>
      )}
    </div>
  );
}

function modelsOf(count: number, first: string[]): string {
  if (count === 0) return 'It has no models yet.';
  const more = count > first.length ? ` and ${formatCount(count - first.length)} more` : '';
  return `${formatCount(count)} ${count === 1 ? 'model' : 'models'}: ${first.join(', ')}${more}`;
}

function NothingFound({ servers }: { servers: LocalServer[] }) {
  const asked = servers.filter(({ state }) => state === 'absent').map(({ base_url: url }) => new URL(url).host);
  const own = servers.filter(({ state }) => state === 'itself').map(({ name }) => name);
  return (
    <p>
      Nothing answers at {asked.join(', ')}. Start one, for example with <code>ollama serve</code>, and look again; in a
      container these are ports of the container.
      {own.length > 0 && ` The usual port of ${own.join(' and ')} is this gateway’s own.`}
    </p>
  );
}
