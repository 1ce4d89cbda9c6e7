/** Configuration: every setting in use with its origin, what is wrong, what changed since the start, and a check of a text. */

import { useMutation, useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';
import { Spoken } from '../../parts/announcer.tsx';
import { Time } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { ErrorNotice, Loaded, LoadingRows } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Table } from '../../parts/table.tsx';
import type { Change, Check, Config } from './query.ts';
import { Settings } from './settings.tsx';
import { textOf } from './texts.ts';

export function ConfigPage() {
  const asked = useQuery({
    queryKey: ['config'],
    queryFn: async ({ signal }) => (await bodyOf<{ data: Config }>(api.GET('/admin/v1/config', { signal }))).data,
  });
  return (
    <Page
      title="Configuration"
      about="Every setting in use, with its default where the file has none. The file is the truth: change it there."
    >
      <Loaded asked={asked} loading={<LoadingSettings />}>
        {(config) => <Parts config={config} />}
      </Loaded>
      <TextCheck />
    </Page>
  );
}

/** As high as the window: settings are a long list, and what is below must not be pushed out of it. */
function LoadingSettings() {
  return (
    <Card className="min-h-dvh">
      <LoadingRows rows={20} />
    </Card>
  );
}

function Parts({ config }: { config: Config }) {
  const { origin, started_at: started, faults, changes, needs_restart: restart } = config;
  return (
    <div className="flex flex-col gap-5">
      {faults.map(({ subject, message }) => (
        <div key={subject} role="alert" className="rounded-lg bg-bad-soft px-4 py-3">
          <p className="font-medium">
            {subject === 'file' ? 'The file is not in use as it is' : `${subject} is not reached`}
          </p>
          <pre className="whitespace-pre-wrap break-words">{message}</pre>
        </div>
      ))}
      {restart.length > 0 && (
        <Spoken as="p" className="rounded-lg bg-warn-soft px-4 py-3">
          A restart is needed for <code>{restart.join(', ')}</code>.
        </Spoken>
      )}
      {changes.length > 0 && (
        <Card title="Changed since the start">
          <Changes changes={changes} names={['At the start', 'Now']} />
        </Card>
      )}
      <Card>
        <Settings config={config} />
        <p className="border-t px-4 py-3 text-dim">
          {origin ? (
            <>
              From <code className="break-all">{origin}</code>
            </>
          ) : (
            'Without a file, from the environment alone'
          )}
          , in use since <Time at={started} />.
        </p>
      </Card>
    </div>
  );
}

function Changes({ changes, names }: { changes: Change[]; names: [before: string, now: string] }) {
  return (
    <Table label="Changes" columns={['Setting', ...names]}>
      {changes.map(({ path, before, now }) => (
        <tr key={path}>
          <td className="font-mono text-[0.9em] max-sm:min-w-48 max-sm:!whitespace-normal max-sm:wrap-anywhere">
            {path}
          </td>
          <td className="min-w-36 !whitespace-normal break-all text-dim">{textOf(before)}</td>
          <td className="min-w-36 !whitespace-normal break-all">
            {textOf(before) === textOf(now) ? `${textOf(now)} (another secret)` : textOf(now)}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function TextCheck() {
  const check = useMutation({
    mutationFn: async (text: string) =>
      (await bodyOf<{ data: Check }>(api.POST('/admin/v1/config/check', { body: { text } }))).data,
  });
  return (
    <Card title="Check a configuration">
      <form
        className="flex flex-col gap-3 p-4"
        onChange={() => check.reset()}
        onSubmit={(event) => {
          event.preventDefault();
          check.mutate(String(new FormData(event.currentTarget).get('text')));
        }}
      >
        <label className="flex flex-col gap-1">
          <span className="sr-only">Configuration</span>
          <textarea
            className="input font-mono text-xs"
            name="text"
            rows={8}
            spellCheck={false}
            required
            placeholder={'limits: { requests_per_minute: 600 }'}
          />
        </label>
        <div className="flex flex-wrap items-center gap-3">
          <button type="submit" className="button" disabled={check.isPending}>
            Check
          </button>
          <span className="text-dim">Nothing is changed. Values of environment variables and files are not read.</span>
        </div>
        {check.error && <ErrorNotice error={check.error} />}
        <Spoken as="div">{check.data && <CheckResult check={check.data} />}</Spoken>
      </form>
    </Card>
  );
}

function CheckResult({ check: { valid, problems, unchecked, changes } }: { check: Check }) {
  return (
    <div className="flex flex-col gap-3">
      <p className="flex flex-wrap items-center gap-2">
        <Status tone={valid ? 'good' : 'bad'}>{valid ? 'valid' : `${problems.length} wrong`}</Status>
        {unchecked.length > 0 && <span className="text-dim">not checked: {unchecked.join(', ')}</span>}
      </p>
      {problems.length > 0 && (
        <ul className="flex flex-col gap-1">
          {problems.map(({ line, path, message }) => (
            <li key={`${line} ${path} ${message}`}>
              <span className="text-dim">line {line}:</span> <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {changes.length > 0 && <Changes changes={changes} names={['In use', 'In this text']} />}
    </div>
  );
}
