/** One video task: its player, what was asked for, how its provider got it, and what can be done with it. */

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Ban, Download, RefreshCw, Trash2, Webhook } from 'lucide-react';
import { useState } from 'react';
import { CopyAs, type SameCall } from '../../parts/copy-as.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Age, Money, Time } from '../../parts/numbers.tsx';
import { ErrorNotice, Loaded } from '../../parts/states.tsx';
import { useSession } from '../../session.ts';
import { gatewayNow } from '../../times.ts';
import { useTyped } from '../../typed.ts';
import { CreateVideo } from './create.tsx';
import { Poster, VideoStatus } from './lists.tsx';
import {
  contentAddress,
  hasWebhook,
  isOpen,
  pathOfVideo,
  type Submission,
  useVideoChange,
  type VideoTask,
  videoDetail,
} from './query.ts';

interface VideoDetailsProps {
  id: string;
  onDeleted(): void;
  /** Another task was made of this one. */
  onAgain(id: string): void;
}

export function VideoDetails({ id, ...events }: VideoDetailsProps) {
  const { isOperator } = useSession();
  const asked = useQuery(videoDetail(isOperator, id));
  return <Loaded asked={asked}>{(task) => <Detail task={task} {...events} />}</Loaded>;
}

interface DetailProps extends Omit<VideoDetailsProps, 'id'> {
  task: VideoTask & { submission?: Submission };
}

function Detail({ task, ...events }: DetailProps) {
  const { isOperator } = useSession();
  const { submission } = task;
  const moment = (seconds: number | undefined) =>
    seconds === undefined ? '—' : <Time at={new Date(seconds * 1000).toISOString()} />;
  const asked: [string, React.ReactNode][] = [
    ['Model', task.model],
    ['Seconds', task.seconds],
    ['Size', task.size],
    ['Resolution', task.resolution],
    ['Aspect ratio', task.aspect_ratio],
    ['Seed', task.seed],
    ...Object.entries(task.metadata ?? {}),
  ];
  return (
    <div className="flex flex-col gap-6">
      <Player task={task} />
      <div className="flex flex-wrap items-center gap-2">
        <VideoStatus task={task} />
        <Age at={task.created_at * 1000} />
        <code className="truncate text-dim">{task.id}</code>
      </div>
      {task.error && <p className="rounded-lg bg-bad-soft px-4 py-3">{task.error}</p>}
      <Actions task={task} {...events} />
      <section>
        <h2 className="mb-2">What was asked for</h2>
        {task.prompt !== undefined && <p className="mb-3 whitespace-pre-wrap break-words">{task.prompt}</p>}
        <Facts rows={asked.filter(([, value]) => value !== undefined)} />
      </section>
      {submission && (
        <section>
          <h2 className="mb-2">What its provider was sent</h2>
          <Facts
            rows={[
              ['Provider', submission.provider],
              ['Submission', submission.state],
              ['Sent', submission.sent_at ? <Time key="sent" at={submission.sent_at} /> : 'not yet'],
              ['Accepted', submission.accepted_at ? <Time key="accepted" at={submission.accepted_at} /> : '—'],
              ['Id upstream', <code key="named">{referenceOf(submission.reference)}</code>],
            ]}
          />
          <p className="mt-2 text-dim">The request itself is erased as soon as the provider has accepted it.</p>
        </section>
      )}
      <section>
        <h2 className="mb-2">Facts</h2>
        <Facts
          rows={[
            ...(isOperator ? [['Key', task.key_name ?? task.key] as const] : []),
            ['Made', `${task.usage?.video_seconds ?? 0} s`],
            ['Cost', task.usage ? <Money key="cost" usd={task.usage.video_cost} /> : 'not known yet'],
            ['Created', moment(task.created_at)],
            ['Completed', moment(task.completed_at)],
            ['Kept until', moment(task.expires_at)],
          ]}
        />
      </section>
    </div>
  );
}

/** The task as a call, and as a command of operators. */
function sameVideo(isOperator: boolean, { id }: VideoTask): SameCall {
  return { path: pathOfVideo(isOperator, id), command: isOperator ? `polygate videos show ${id}` : undefined };
}

/** Actions on a task: an open one is cancelled, another one deleted. */
function sameChange(isOperator: boolean, task: VideoTask): Record<string, SameCall> {
  const path = pathOfVideo(isOperator, task.id);
  const command = isOperator ? `polygate videos cancel ${task.id}` : undefined;
  return isOpen(task)
    ? { Cancel: { path: `${path}/cancel`, method: 'POST', command } }
    : { Delete: { path, method: 'DELETE' } };
}

function referenceOf(reference: unknown): string {
  if (reference === null || reference === undefined) return '—';
  return typeof reference === 'string' ? reference : JSON.stringify(reference);
}

/** The browser asks for the bytes in ranges, so that a jump needs no download of all. */
function Player({ task }: { task: VideoTask }) {
  const { isOperator } = useSession();
  const isKept = task.status === 'completed' && (task.expires_at ?? Number.POSITIVE_INFINITY) * 1000 > gatewayNow();
  if (!isKept) return <Poster task={task} />;
  return (
    <div className="flex flex-col gap-3">
      {task.unsigned_urls.map((url, index) => (
        // biome-ignore lint/a11y/useMediaCaption: Generated videos come without captions.
        <video
          key={url}
          className="max-h-[75vh] w-full rounded-lg bg-black"
          style={{ aspectRatio: shapeOf(task) }}
          controls
          preload="metadata"
          aria-label={`Video ${index + 1} of ${task.unsigned_urls.length}`}
          src={contentAddress(isOperator, task.id, index)}
        />
      ))}
    </div>
  );
}

/** Its width by its height, known before its bytes are, so that the buttons below it do not move under the mouse. */
function shapeOf({ size = '', aspect_ratio: ratio = '' }: VideoTask): string {
  const shape = [size, ratio].find((text) => /^[1-9]\d{0,4}[x:][1-9]\d{0,4}$/.test(text)) ?? '16:9';
  return shape.replace(/[x:]/, ' / ');
}

function Actions({ task, onDeleted, onAgain }: DetailProps) {
  const { isOperator, mayChange } = useSession();
  const [isAsked, setAsked] = useState(false);
  const [isAgain, setAgain] = useTyped(`video ${task.id} again`, false);
  const change = useVideoChange(task.id);
  const webhook = useQuery(hasWebhook(isOperator, task));
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        {mayChange && isOpen(task) && (
          <button
            type="button"
            className="button"
            disabled={change.isPending || task.cancel_requested}
            onClick={() => change.mutate('cancel')}
          >
            <Ban size={14} aria-hidden />
            {task.cancel_requested ? 'Being cancelled …' : 'Cancel'}
          </button>
        )}
        {task.status === 'completed' && (
          <a className="button" href={contentAddress(isOperator, task.id)} download={`${task.id}.mp4`}>
            <Download size={14} aria-hidden />
            Download
          </a>
        )}
        {mayChange && (
          <button type="button" className="button" onClick={() => setAgain(true)}>
            <RefreshCw size={14} aria-hidden />
            Again with changes
          </button>
        )}
        {mayChange && !isOpen(task) && (
          <button
            type="button"
            className="button button-danger"
            onClick={() => {
              change.reset();
              setAsked(true);
            }}
          >
            <Trash2 size={14} aria-hidden />
            Delete …
          </button>
        )}
        <CopyAs {...sameVideo(isOperator, task)} {...(mayChange && { others: sameChange(isOperator, task) })} />
        {/* Known last, so that it moves none of the others. */}
        {webhook.data && (
          <Link className="button" to="/webhooks" search={{ open: task.id }}>
            <Webhook size={14} aria-hidden />
            Webhook
          </Link>
        )}
      </div>
      {change.error && !isAsked && <ErrorNotice error={change.error} />}
      <Dialog title="Delete the video" isOpen={isAsked} onClose={() => setAsked(false)}>
        <div className="flex flex-col gap-4">
          <p>The video and its files are deleted. It cannot be undone.</p>
          {change.error && <ErrorNotice error={change.error} />}
          <button
            type="button"
            className="button button-danger self-start"
            disabled={change.isPending}
            onClick={() => change.mutate('delete', { onSuccess: onDeleted })}
          >
            Delete the video and its files
          </button>
        </div>
      </Dialog>
      <CreateVideo isOpen={isAgain} before={task} onClose={() => setAgain(false)} onCreated={onAgain} />
    </div>
  );
}
