/** Videos: all tasks as a gallery or as a list, with filters, and one of them with its player. */

import { getRouteApi } from '@tanstack/react-router';
import { useKeyNames } from '../../keys.ts';
import { CopyButton } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Select } from '../../parts/select.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { FilterLine, Older } from '../../parts/table.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { VideoDetails } from './details.tsx';
import { Gallery, VideoTable } from './lists.tsx';
import { useVideos, type VideoTask } from './query.ts';
import { VIDEO_STATUSES } from './search.ts';

const route = getRouteApi('/videos');
const VIEWS = ['grid', 'list'] as const;

export function VideosPage() {
  const { open, view = 'grid', ...filters } = route.useSearch();
  const navigate = route.useNavigate();
  const { isOperator } = useSession();
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const pages = useVideos(filters);
  const tasks = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  const asked = { ...pages, data: pages.data && tasks };
  return (
    <Page
      title="Videos"
      about={isOperator ? 'Tasks of all keys, the newest first.' : 'Tasks of this key, the newest first.'}
      actions={<Segments label="View" values={VIEWS} value={view} onChange={(next) => change({ view: next })} />}
    >
      <Card>
        <FilterLine>
          <Select
            label="Status"
            value={filters.status ?? ''}
            options={[
              { value: '', label: 'Any status' },
              ...VIDEO_STATUSES.map((value) => ({ value, label: value.replace('_', ' ') })),
            ]}
            onChange={(status) => change({ status: status || undefined })}
          />
          <Select
            label="Model"
            value={filters.model ?? ''}
            options={[
              { value: '', label: 'All models' },
              ...namesIn(tasks, 'model', filters.model).map((value) => ({ value, label: value })),
            ]}
            onChange={(model) => change({ model: model || undefined })}
          />
          {isOperator && (
            <KeyFilter tasks={tasks} value={filters.key} onChange={(key) => change({ key: key || undefined })} />
          )}
        </FilterLine>
        <Loaded asked={asked}>
          {(shown) => (
            <Tasks
              tasks={shown}
              view={view}
              open={open}
              onOpen={(id) => change({ open: id })}
              isFiltered={Object.values(filters).some(Boolean)}
            />
          )}
        </Loaded>
        <Older pages={pages} />
      </Card>
      <Panel
        title="Video"
        isOpen={open !== undefined}
        onClose={() => change({ open: undefined })}
        actions={open && <CopyButton text={open} label="Copy the id" />}
      >
        {open && <VideoDetails key={open} id={open} onDeleted={() => change({ open: undefined })} />}
      </Panel>
    </Page>
  );
}

interface TasksProps {
  tasks: VideoTask[];
  view: (typeof VIEWS)[number];
  open: string | undefined;
  isFiltered: boolean;
  onOpen(id: string): void;
}

function Tasks({ tasks, view, open, isFiltered, onOpen }: TasksProps) {
  const rowProps = useListKeys(
    tasks.map(({ id }) => id),
    { open, onOpen },
  );
  if (tasks.length === 0) return isFiltered ? <Empty title="No video is like that" /> : <NoVideos />;
  const List = view === 'grid' ? Gallery : VideoTable;
  return <List tasks={tasks} open={open} rowProps={rowProps} />;
}

function NoVideos() {
  const { clientsUrl } = useSession();
  return (
    <Empty title="No videos yet">
      <div className="rounded-lg border text-left">
        <Code
          language="shell"
          text={`curl ${clientsUrl}/v1/videos -H "Authorization: Bearer $POLYGATE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "sandbox/video", "prompt": "A paper boat on a river", "duration": 2}'`}
        />
      </div>
    </Empty>
  );
}

interface KeyFilterProps {
  tasks: VideoTask[];
  value: string | undefined;
  onChange(key: string): void;
}

function KeyFilter({ tasks, value, onChange }: KeyFilterProps) {
  const nameOf = useKeyNames();
  const hashes = namesIn(tasks, 'key', value);
  return (
    <Select
      label="Key"
      value={value ?? ''}
      options={[{ value: '', label: 'All keys' }, ...hashes.map((hash) => ({ value: hash, label: nameOf(hash) }))]}
      onChange={onChange}
    />
  );
}

/** What the tasks that are shown have, and what is chosen. */
function namesIn(tasks: VideoTask[], field: 'model' | 'key', chosen: string | undefined): string[] {
  const names = [chosen, ...tasks.map((task) => task[field])].filter((name) => name !== undefined);
  return [...new Set(names)].toSorted();
}
