/** Attachments of a question: pictures, tools, and the schema of the answer. */

import { Braces, ImagePlus, Wrench, X } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import { ErrorNotice } from '../../parts/states.tsx';
import { EXAMPLE_SCHEMA, EXAMPLE_TOOLS, type Picture, type Turn } from './conversation.ts';

const MAX_PICTURES = 4;
const MAX_BYTES = 5_000_000;

interface AttachmentsProps {
  turn: Turn;
  onChange(change: (turn: Turn) => Turn): void;
}

export function Attachments({ turn, onChange }: AttachmentsProps) {
  const { pictures, tools, schema } = turn;
  const change = (next: Partial<Turn>) => onChange((now) => ({ ...now, ...next }));
  const input = useRef<HTMLInputElement>(null);
  const [refusal, setRefusal] = useState<string>();

  async function add(files: readonly File[]) {
    const taken = files.filter(({ type, size }) => type.startsWith('image/') && size <= MAX_BYTES);
    const room = MAX_PICTURES - pictures.length;
    setRefusal(
      taken.length < files.length || taken.length > room
        ? `Up to ${MAX_PICTURES} pictures of ${MAX_BYTES / 1e6} MB each can be sent.`
        : undefined,
    );
    try {
      const added = await Promise.all(taken.slice(0, room).map(pictureOf));
      // While they were read, more was typed or added.
      onChange((now) => ({ ...now, pictures: [...now.pictures, ...added].slice(0, MAX_PICTURES) }));
    } catch (error) {
      setRefusal(`A picture cannot be read: ${(error as Error).message}`);
    }
  }

  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <button
          type="button"
          className="button"
          disabled={pictures.length >= MAX_PICTURES}
          onClick={() => input.current?.click()}
        >
          <ImagePlus size={14} aria-hidden />
          Image
        </button>
        <input
          ref={input}
          type="file"
          accept="image/*"
          multiple
          hidden
          aria-label="Images"
          onChange={(event) => {
            void add([...(event.target.files ?? [])]);
            // The same file can be chosen again.
            event.target.value = '';
          }}
        />
        <Toggle isOn={tools !== ''} onClick={() => change({ tools: tools === '' ? EXAMPLE_TOOLS : '' })}>
          <Wrench size={14} aria-hidden />
          Tools
        </Toggle>
        <Toggle isOn={schema !== ''} onClick={() => change({ schema: schema === '' ? EXAMPLE_SCHEMA : '' })}>
          <Braces size={14} aria-hidden />
          Schema
        </Toggle>
        {pictures.map((picture, index) => (
          <Thumbnail
            // biome-ignore lint/suspicious/noArrayIndexKey: A file can be chosen twice.
            key={index}
            picture={picture}
            onRemove={() => change({ pictures: pictures.filter((_, place) => place !== index) })}
          />
        ))}
      </div>
      {refusal && <ErrorNotice error={refusal} />}
      {(tools !== '' || schema !== '') && (
        <div className="grid gap-3 md:grid-cols-2">
          {tools !== '' && (
            <JsonField
              label="Tools"
              hint="Name, description and JSON schema of each; written as each protocol wants it."
              value={tools}
              onChange={(text) => change({ tools: text })}
            />
          )}
          {schema !== '' && (
            <JsonField
              label="Schema of the answer"
              hint="The answer is JSON that fits it."
              value={schema}
              onChange={(text) => change({ schema: text })}
            />
          )}
        </div>
      )}
    </div>
  );
}

function Thumbnail({ picture: { name, type, data }, onRemove }: { picture: Picture; onRemove(): void }) {
  return (
    <span className="flex items-center gap-1 rounded-md border bg-surface pr-1">
      <img src={`data:${type};base64,${data}`} alt={name} className="size-7 rounded-l-md object-cover" />
      <span className="max-w-32 truncate text-dim">{name}</span>
      <button
        type="button"
        aria-label={`Remove ${name}`}
        className="grid size-[24px] place-items-center rounded text-dim hover:bg-hover"
        onClick={onRemove}
      >
        <X size={13} aria-hidden />
      </button>
    </span>
  );
}

function Toggle({ isOn, onClick, children }: { isOn: boolean; onClick(): void; children: ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      className="button aria-pressed:!border-accent aria-pressed:!bg-accent-soft aria-pressed:!text-accent"
      onClick={onClick}
    >
      {children}
    </button>
  );
}

interface JsonFieldProps {
  label: string;
  hint: string;
  value: string;
  onChange(text: string): void;
}

function JsonField({ label, hint, value, onChange }: JsonFieldProps) {
  return (
    <label className="flex min-w-0 flex-col gap-1">
      <span>
        <span className="font-medium">{label}</span> <span className="text-dim">{hint}</span>
      </span>
      <textarea
        className="input min-h-36 font-mono"
        rows={9}
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

function pictureOf(file: File): Promise<Picture> {
  const { promise, resolve, reject } = Promise.withResolvers<Picture>();
  const reader = new FileReader();
  reader.onerror = () => reject(reader.error);
  // A data URL, whose beginning names the type.
  reader.onload = () =>
    resolve({ name: file.name, type: file.type, data: String(reader.result).replace(/^[^,]*,/, '') });
  reader.readAsDataURL(file);
  return promise;
}
