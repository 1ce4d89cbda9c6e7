/** Lists of video tasks: cards with first frames, and rows. */

import { Film } from 'lucide-react';
import { Age, Money } from '../../parts/numbers.tsx';
import { Status, type Tone } from '../../parts/status.tsx';
import { type Column, numbers, Table } from '../../parts/table.tsx';
import type { useListKeys } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { gatewayNow } from '../../times.ts';
import { usePoster } from './poster.ts';
import { contentAddress, isOpen, type VideoTask } from './query.ts';

interface ListProps {
  tasks: VideoTask[];
  open: string | undefined;
  rowProps: ReturnType<typeof useListKeys>;
}

export function Gallery({ tasks, open, rowProps }: ListProps) {
  return (
    <ul className="grid grid-cols-[repeat(auto-fill,minmax(15rem,1fr))] gap-4 p-4">
      {tasks.map((task) => (
        <li key={task.id}>
          <button
            type="button"
            {...rowProps(task.id)}
            className={`flex w-full flex-col overflow-hidden rounded-lg border text-left hover:border-strong ${task.id === open ? 'border-accent!' : ''}`}
          >
            <Poster task={task} />
            <span className="flex w-full flex-col gap-1.5 p-3">
              <span className="truncate font-medium">{task.prompt ?? 'Without a prompt'}</span>
              <span className="flex items-center justify-between gap-2">
                <VideoStatus task={task} />
                <Age at={task.created_at * 1000} />
              </span>
              <span className="flex justify-between gap-2 text-dim">
                <span className="truncate">{task.model}</span>
                {task.usage && <Money usd={task.usage.video_cost} />}
              </span>
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The first frame, or how far the video is. */
export function Poster({ task }: { task: VideoTask }) {
  const { isOperator } = useSession();
  const isKept = task.status === 'completed' && (task.expires_at ?? Number.POSITIVE_INFINITY) * 1000 > gatewayNow();
  const poster = usePoster(isKept ? contentAddress(isOperator, task.id) : undefined);
  const length = task.usage?.video_seconds || Number(task.seconds ?? 0);
  return (
    <span className="relative grid aspect-video w-full place-items-center overflow-hidden bg-hover">
      {poster ? (
        <img src={poster} alt="" className="size-full object-contain" />
      ) : isOpen(task) ? (
        <Progress task={task} />
      ) : (
        <Film size={26} aria-hidden className="text-faint" />
      )}
      {length > 0 && (
        <span className="absolute right-2 bottom-2 rounded bg-black/75 px-1.5 text-xs text-white tabular-nums">
          {length} s
        </span>
      )}
    </span>
  );
}

function Progress({ task: { progress = 0 } }: { task: VideoTask }) {
  return (
    <span className="flex w-3/5 flex-col gap-1.5 text-center text-dim">
      <progress className="bar" max={100} value={progress} aria-label="Progress" />
      <span className="tabular-nums">{progress} %</span>
    </span>
  );
}

export function columnsOf(isOperator: boolean): Column[] {
  const names = ['Prompt', 'Status', ...(isOperator ? ['Key'] : []), 'Model'];
  return [...names, ...['Seconds', 'Cost', 'Age'].map(numbers)];
}

export function VideoTable({ tasks, open, rowProps }: ListProps) {
  const { isOperator } = useSession();
  return (
    <Table label="Videos" columns={columnsOf(isOperator)}>
      {tasks.map((task) => (
        <tr key={task.id} data-opens data-open={task.id === open ? '' : undefined}>
          <td>
            <button
              type="button"
              className="max-w-96 truncate text-left font-medium max-sm:max-w-44"
              {...rowProps(task.id)}
            >
              {task.prompt ?? 'Without a prompt'}
            </button>
          </td>
          <td>
            <VideoStatus task={task} />
          </td>
          {isOperator && <td className="max-w-36 truncate">{task.key_name ?? task.key}</td>}
          <td className="text-dim">{task.model}</td>
          <td className="number">{task.usage?.video_seconds || task.seconds || '—'}</td>
          <td className="number">{task.usage ? <Money usd={task.usage.video_cost} /> : '—'}</td>
          <td className="number text-dim">
            <Age at={task.created_at * 1000} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

const TONES: Record<VideoTask['status'], Tone> = {
  queued: 'quiet',
  in_progress: 'quiet',
  completed: 'good',
  failed: 'bad',
  cancelled: 'quiet',
  expired: 'warn',
};

export function VideoStatus({ task: { status, progress, error_code: code } }: { task: VideoTask }) {
  const share = status === 'in_progress' && progress !== undefined ? ` ${progress} %` : '';
  return (
    <Status
      tone={TONES[status]}
    >{`${status.replace('_', ' ')}${share}${code && code !== status ? `: ${code}` : ''}`}</Status>
  );
}
