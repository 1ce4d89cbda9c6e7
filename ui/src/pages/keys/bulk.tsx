/** Creation of several keys from names or CSV; then the keys, once, as a table and as a file. */

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import type { FormEvent } from 'react';
import { api, bodyOf } from '../../api.ts';
import { csvOf, saveFile } from '../../csv.ts';
import { type KeyView, keyQueries, tagsOf } from '../../keys.ts';
import { CopyAs } from '../../parts/copy-as.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { TableScroll } from '../../parts/table-scroll.tsx';
import { useTyped } from '../../typed.ts';

interface Created {
  data: KeyView;
  key: string;
  webhook_secret: string | null;
}

const EXAMPLE = 'name,owner,tag:team,budget:month\nana-laptop,Ana,search,25.00';
const HEAD = ['name', 'owner', 'tags', 'expires', 'key', 'webhook_secret', 'hash'] as const;

export function CreateKeys({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const queries = useQueryClient();
  const [text, setText] = useTyped('keys', '');
  const creation = useMutation({
    mutationFn: () => bodyOf<{ data: Created[] }>(api.POST('/admin/v1/keys/bulk', { body: bodyOfText(text) })),
    onSuccess: () => queries.invalidateQueries(keyQueries),
  });

  function close() {
    setText('');
    creation.reset();
    onClose();
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    creation.mutate();
  }

  const { error, data: created } = creation;
  return (
    <Dialog
      title={created ? (created.data.length === 1 ? '1 key' : `${created.data.length} keys`) : 'Create several keys'}
      isOpen={isOpen}
      onClose={close}
      isKept
      mustStay={() => queries.isMutating() > 0}
      wide
    >
      {created ? (
        <NewKeys created={created.data} onDone={close} />
      ) : (
        <form className="flex flex-col gap-4" onSubmit={submit}>
          <label className="flex flex-col gap-1">
            <span className="font-medium">Names or CSV</span>
            <textarea
              className="input min-h-56 py-2 font-mono"
              value={text}
              onChange={(event) => setText(event.target.value)}
              placeholder={EXAMPLE}
              spellCheck={false}
              aria-describedby="several-hint"
              required
              data-autofocus
            />
            <span id="several-hint" className="text-dim">
              A name a line, or a line of column names and one a key: name, owner, expires, models, surfaces, cidrs,
              rpm, tpm, concurrent, tag:team, metadata:note, budget:month. All are made, or none.
            </span>
          </label>
          {error && <ErrorNotice error={error} />}
          <div className="flex flex-wrap items-center gap-3">
            <button type="submit" className="button button-primary" disabled={creation.isPending}>
              {creation.isPending ? 'Creating …' : 'Create them'}
            </button>
            {text.trim() !== '' && (
              <CopyAs path="/admin/v1/keys/bulk" body={bodyOfText(text)} command={commandOf(text)} />
            )}
          </div>
        </form>
      )}
    </Dialog>
  );
}

/** Text whose first line has a column "name" is CSV; else each line is a name. */
function bodyOfText(text: string): { csv: string } | { keys: { name: string }[] } {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const columns = (lines[0] ?? '').split(',').map((cell) => cell.replaceAll('"', '').trim().toLowerCase());
  if (columns.includes('name')) return { csv: text };
  return { keys: lines.map((line) => ({ name: line.trim() })) };
}

/** With the file in the command itself. */
function commandOf(text: string): string {
  const body = bodyOfText(text);
  const csv =
    'csv' in body
      ? body.csv.trimEnd()
      : csvOf(
          ['name'],
          body.keys.map(({ name }) => [name]),
        ).trimEnd();
  return `polygate keys create --csv --from /dev/stdin << 'END'\n${csv}\nEND`;
}

function NewKeys({ created, onDone }: { created: readonly Created[]; onDone(): void }) {
  const rows = created.map(({ data, key, webhook_secret: secret }) => [
    data.name,
    data.owner,
    tagsOf(data).join(' '),
    data.expires_at,
    key,
    secret,
    data.hash,
  ]);
  return (
    <div className="flex flex-col gap-4">
      <p>Shown once and stored only as hashes. Save the file now.</p>
      <TableScroll label="New keys">
        <table className="data" aria-label="New keys">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Owner</th>
              <th scope="col">Key</th>
            </tr>
          </thead>
          <tbody>
            {created.map(({ data, key }) => (
              <tr key={data.hash}>
                <td>{data.name}</td>
                <td>{data.owner ?? '—'}</td>
                <td className="font-mono text-xs">{key}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
      <div className="flex flex-wrap justify-between gap-3">
        <button type="button" className="button" onClick={() => saveFile('keys.csv', csvOf(HEAD, rows))}>
          <Download size={14} aria-hidden />
          Save as CSV
        </button>
        <button type="button" className="button button-primary" onClick={onDone}>
          I have the keys
        </button>
      </div>
    </div>
  );
}
