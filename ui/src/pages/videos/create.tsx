/** Form that asks for a video: an empty one, or one with what was asked for before. */

import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { api, bodyOf, request } from '../../api.ts';
import { Combobox } from '../../parts/combobox.tsx';
import { CopyAs } from '../../parts/copy-as.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { KeyPicker } from '../../parts/key-picker.tsx';
import { ErrorNotice, Loaded } from '../../parts/states.tsx';
import { useSession } from '../../session.ts';
import { useTyped } from '../../typed.ts';
import type { VideoTask } from './query.ts';

interface VideoModel {
  id: string;
  /** Null where it is not known. */
  supported_durations: number[] | null;
  supported_resolutions: string[] | null;
  supported_aspect_ratios: string[] | null;
}

const videoModels = queryOptions({
  queryKey: ['videos', 'models'],
  staleTime: 60_000,
  queryFn: async ({ signal }) => (await bodyOf<{ data: VideoModel[] }>(api.GET('/v1/videos/models', { signal }))).data,
});

interface CreateVideoProps {
  isOpen: boolean;
  /** Request that was made before. */
  before?: VideoTask | undefined;
  onClose(): void;
  onCreated(id: string): void;
}

export function CreateVideo({ isOpen, before, onClose, onCreated }: CreateVideoProps) {
  const models = useQuery({ ...videoModels, enabled: isOpen });
  return (
    <Dialog title={before ? 'Again with changes' : 'Ask for a video'} isOpen={isOpen} onClose={onClose} isKept wide>
      <Loaded asked={models}>{(all) => <Form models={all} before={before} onCreated={onCreated} />}</Loaded>
    </Dialog>
  );
}

interface VideoForm {
  model: string;
  prompt: string;
  seconds: string;
  resolution: string;
  aspectRatio: string;
  size: string;
  seed: string;
  more: string;
}

/** Its size says the same as resolution and aspect ratio, and would contradict what is changed of them. */
function formOf(before: VideoTask | undefined, models: readonly VideoModel[]): VideoForm {
  const hasShape = before?.resolution !== undefined || before?.aspect_ratio !== undefined;
  return {
    model: before?.model ?? models[0]?.id ?? '',
    prompt: before?.prompt ?? '',
    seconds: before?.seconds ?? '',
    resolution: before?.resolution ?? '',
    aspectRatio: before?.aspect_ratio ?? '',
    size: hasShape ? '' : (before?.size ?? ''),
    seed: before?.seed === undefined ? '' : String(before.seed),
    more: before?.metadata ? JSON.stringify({ metadata: before.metadata }, null, 2) : '',
  };
}

/** The fields that are filled. Undefined where further fields are no JSON object. */
function bodyOfForm({ more, ...form }: VideoForm): object | undefined {
  try {
    const further: unknown = more.trim() === '' ? {} : JSON.parse(more);
    if (typeof further !== 'object' || further === null || Array.isArray(further)) return undefined;
    return { ...fieldsOf(form), ...further };
  } catch {
    return undefined;
  }
}

function fieldsOf({ model, prompt, seconds, resolution, aspectRatio, size, seed }: Omit<VideoForm, 'more'>): object {
  const texts = { prompt: prompt.trim(), resolution, aspect_ratio: aspectRatio, size };
  const numbers = { seconds, seed };
  return {
    model,
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...Object.fromEntries(
      Object.entries(numbers).flatMap(([name, text]) => (text === '' ? [] : [[name, Number(text)]])),
    ),
  };
}

const choices = (values: readonly (string | number)[] | null | undefined): { hint?: string } =>
  values && values.length > 0
    ? { hint: isSuccessive(values) ? `${values[0]} to ${values.at(-1)}.` : `One of ${values.join(', ')}.` }
    : {};

/** Three or more whole numbers in a row. */
function isSuccessive(values: readonly (string | number)[]): boolean {
  return values.length > 2 && values.every((value, index) => value === Number(values[0]) + index);
}

interface FormProps extends Pick<CreateVideoProps, 'before' | 'onCreated'> {
  models: readonly VideoModel[];
}

function Form({ models, before, onCreated }: FormProps) {
  const { isOperator } = useSession();
  const queries = useQueryClient();
  const [form, setForm] = useTyped(`video ${before?.id ?? 'new'}`, () => formOf(before, models));
  const [key, setKey] = useTyped(`video ${before?.id ?? 'new'} key`, before?.key);
  const [isWrong, setWrong] = useState(false);
  const moreId = useId();
  const chosen = models.find(({ id }) => id === form.model);
  const change = (next: Partial<VideoForm>) => setForm((all) => ({ ...all, ...next }));
  const creation = useMutation({
    mutationFn: async (body: object) => {
      const headers = isOperator && key ? { 'x-polygate-key': key } : undefined;
      const sent = { method: 'POST', body: JSON.stringify(body), ...(headers && { headers }) };
      return (await (await request('/v1/videos', sent)).json()) as VideoTask;
    },
    async onSuccess({ id }) {
      await queries.invalidateQueries({ queryKey: ['videos'] });
      onCreated(id);
    },
  });

  const body = bodyOfForm(form);

  function send(event: FormEvent) {
    event.preventDefault();
    setWrong(body === undefined);
    if (body) creation.mutate(body);
  }

  return (
    <form className="flex flex-col gap-4" onSubmit={send}>
      <div className="flex flex-wrap gap-2">
        <Combobox
          label="Model of the video"
          value={form.model}
          options={models.map(({ id }) => id)}
          onChange={(model) => change({ model })}
        />
        {isOperator && (
          <KeyPicker label="Key that pays" value={key} wordsOf={(name) => `as ${name}`} onChange={setKey} />
        )}
      </div>
      <label className="flex flex-col gap-1">
        <span className="font-medium">Prompt</span>
        <textarea
          className="input min-h-24"
          value={form.prompt}
          onChange={({ target }) => change({ prompt: target.value })}
        />
      </label>
      <div className="grid grid-cols-2 gap-4">
        <Field
          label="Seconds"
          type="number"
          min={1}
          {...choices(chosen?.supported_durations)}
          value={form.seconds}
          onChange={(seconds) => change({ seconds })}
        />
        <Field label="Seed" type="number" value={form.seed} onChange={(seed) => change({ seed })} />
        <Field
          label="Resolution"
          placeholder="720p"
          {...choices(chosen?.supported_resolutions)}
          value={form.resolution}
          onChange={(resolution) => change({ resolution })}
        />
        <Field
          label="Aspect ratio"
          placeholder="16:9"
          {...choices(chosen?.supported_aspect_ratios)}
          value={form.aspectRatio}
          onChange={(aspectRatio) => change({ aspectRatio })}
        />
        <Field
          label="Size"
          placeholder="1280x720"
          hint="In place of resolution and aspect ratio."
          value={form.size}
          onChange={(size) => change({ size })}
        />
      </div>
      <label className="flex flex-col gap-1">
        <span className="font-medium">More fields, as JSON</span>
        <textarea
          className={`input min-h-20 font-mono text-xs ${isWrong ? '!border-bad' : ''}`}
          placeholder={'{ "negative_prompt": "rain" }'}
          aria-invalid={isWrong}
          aria-describedby={moreId}
          value={form.more}
          onChange={({ target }) => change({ more: target.value })}
        />
        <span id={moreId} className={isWrong ? 'text-bad' : 'text-dim'}>
          {isWrong
            ? 'It must be a JSON object.'
            : before
              ? 'Pictures, the address of its webhook and options of the provider are not kept with a task: give them here.'
              : 'Pictures, the address of its webhook, options of the provider.'}
        </span>
      </label>
      {creation.error && <ErrorNotice error={creation.error} />}
      <div className="flex flex-wrap items-center gap-3">
        <button
          type="submit"
          className="button button-primary"
          disabled={creation.isPending || form.model === '' || (isOperator && !key)}
        >
          {creation.isPending ? 'Asking …' : 'Ask for the video'}
        </button>
        {body && form.model !== '' && (
          <CopyAs path="/v1/videos" body={body} note="POLYGATE_KEY is the key that pays." isOfClients />
        )}
      </div>
    </form>
  );
}
