/** A setting as the schema of the configuration describes it, and lines for the file that would change it. */

import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { api, bodyOf } from '../../api.ts';
import { Spoken } from '../../parts/announcer.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Facts } from '../../parts/facts.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { useSettled } from '../../parts/use-settled.ts';
import type { Check, Setting } from './query.ts';
import { choicesOf, type DescribedSetting, describeSetting, isProposable, limitsOf, typeOf, yamlOf } from './schema.ts';
import { originOf, textOf } from './texts.ts';

interface FieldProps {
  path: string;
  /** Absent for one that is not set. */
  setting: Setting | undefined;
  /** Name of the file. */
  origin: string | null;
}

export function Field({ path, setting, origin }: FieldProps) {
  const described = describeSetting(path);
  if (!described) {
    return (
      <p>The schema of the configuration does not describe {path}: its name is one of your own, or it was derived.</p>
    );
  }
  const { node, sections } = described;
  const choices = choicesOf(node);
  return (
    <div className="flex flex-col gap-6">
      <div>
        <code className="block break-all text-dim">{path}</code>
        <p className="mt-2 text-[1.05rem]">{node.description ?? sections.at(-1)?.description ?? 'No description.'}</p>
        {sections.length > 1 && (
          <p className="mt-1 text-dim">
            {sections
              .slice(0, -1)
              .map(({ name, description }) => `${name}: ${description}`)
              .join(' ')}
          </p>
        )}
      </div>
      <Facts
        rows={[
          ['Value', setting ? textOf(setting.value) : 'not set'],
          ['From', setting ? originOf(setting.source) : '—'],
          ['Type', typeOf(node)],
          ...(choices.length > 0 ? [['Allowed', choices.map(String).join(', ')] as const] : []),
          ...limitsOf(node).map((limit, index) => [index === 0 ? 'Must be' : 'and', limit] as const),
          ['Default', node.default === undefined ? 'none' : JSON.stringify(node.default)],
        ]}
      />
      {isProposable(described) ? (
        <Proposal
          key={path}
          path={path}
          described={described}
          choices={choices}
          origin={origin}
          isSet={setting !== undefined}
        />
      ) : (
        <p className="text-dim">
          It is an item of a list, or has parts: change it in the file, where the others stand.
        </p>
      )}
    </div>
  );
}

interface ProposalProps {
  path: string;
  described: DescribedSetting;
  choices: readonly unknown[];
  origin: string | null;
  isSet: boolean;
}

function Proposal({ path, described, choices, origin, isSet }: ProposalProps) {
  const [typed, setTyped] = useState('');
  const lines = typed.trim() === '' ? undefined : yamlOf(described, typed);
  const asked = useSettled(lines);
  const field = useId();
  const check = useQuery({
    queryKey: ['config-check', asked],
    enabled: asked !== undefined,
    retry: false,
    queryFn: async ({ signal }) =>
      (await bodyOf<{ data: Check }>(api.POST('/admin/v1/config/check', { body: { text: asked ?? '' }, signal }))).data,
  });
  const isChecked = lines !== undefined && lines === asked && check.data !== undefined;
  const wrong = check.data?.problems.filter((problem) => isOf(problem.path, path)) ?? [];
  const beside = check.data?.problems.filter((problem) => !isOf(problem.path, path)) ?? [];
  return (
    <section className="flex flex-col gap-3">
      <h2>Propose {isSet ? 'another' : 'a'} value</h2>
      <label className="flex flex-col gap-1" htmlFor={field}>
        <span className="text-dim">
          {typeOf(described.node).startsWith('list') ? 'Values, with commas between them' : 'Value'}
        </span>
        <input
          id={field}
          className="input"
          list={choices.length > 0 ? `${field}-choices` : undefined}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        {choices.length > 0 && (
          <datalist id={`${field}-choices`}>
            {choices.map((choice) => (
              <option key={String(choice)} value={String(choice)} />
            ))}
          </datalist>
        )}
      </label>
      {lines !== undefined && (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reached by keyboard. */}
          <pre className="overflow-x-auto rounded-lg border bg-page p-3" tabIndex={0}>
            <code>{lines}</code>
          </pre>
          <Spoken as="div" className="flex flex-wrap items-center gap-3">
            {isChecked && wrong.length === 0 && (
              <>
                <CopyButton text={`${lines}\n`} label="Copy the lines" wide />
                <Status tone="good">valid</Status>
              </>
            )}
            {isChecked && wrong.length > 0 && (
              <Status tone="bad">{wrong.map(({ message }) => message).join('; ')}</Status>
            )}
            {!isChecked && !check.error && <span className="text-dim">Checking …</span>}
          </Spoken>
          {isChecked && beside.length > 0 && (
            <p className="text-dim">
              The file needs beside it: {beside.map(({ path: other, message }) => `${other} ${message}`).join('; ')}.
            </p>
          )}
          {check.error && <ErrorNotice error={check.error} />}
          <p className="text-dim">
            For {origin ? <code className="break-all">{origin}</code> : 'a configuration file'}: where a section is
            there already, add the line below it. Nothing is written from here.
          </p>
        </>
      )}
    </section>
  );
}

/** Whether a problem is that of the setting, or of a part of it. */
function isOf(problem: string, path: string): boolean {
  return problem === path || problem.startsWith(`${path}.`) || problem.startsWith(`${path}[`);
}
