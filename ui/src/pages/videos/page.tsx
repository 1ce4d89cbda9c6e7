/** Videos: all tasks as a gallery or as a list, with filters, and one of them with its player. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { CopyButton } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { pathWith } from '../../parts/copy-as.tsx';
import { KeyPicker } from '../../parts/key-picker.tsx';
import { formatCount, Money } from '../../parts/numbers.tsx';
import { Card, Figure, Figures, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Select } from '../../parts/select.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { FilterLine, Older, SearchField, ShownCount } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { CreateVideo } from './create.tsx';
import { VideoDetails } from './details.tsx';
import { columnsOf, Gallery, VideoTable } from './lists.tsx';
import { useVideos, type VideoSummary, type VideoTask, videoSummary } from './query.ts';
import { VIDEO_STATUSES } from './search.ts';

const route = getRouteApi('/videos');
const VIEWS = ['grid', 'list'] as const;

export function VideosPage() {
  const { open, view = 'grid', find, ...rest } = route.useSearch();
  const filters = { ...rest, search: find };
  const navigate = route.useNavigate();
  const { isOperator, isAdmin, session } = useSession();
  const [isCreating, setCreating] = useState(false);
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const pages = useVideos(filters);
  const tasks = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  const asked = { ...pages, data: pages.data && tasks };
  const summary = useQuery(videoSummary(isOperator, filters)).data;
  const models = useQuery(videoSummary(isOperator, { key: filters.key })).data?.models ?? [];
  return (
    <Page
      title="Videos"
      about={isOperator ? 'Tasks of all keys, the newest first.' : 'Tasks of this key, the newest first.'}
      actions={
        <>
          <Segments label="View" values={VIEWS} value={view} onChange={(next) => change({ view: next })} />
          {(isAdmin || session?.role === 'key') && (
            <button type="button" className="button button-primary" onClick={() => setCreating(true)}>
              <Plus size={15} aria-hidden />
              Ask for a video
            </button>
          )}
        </>
      }
    >
      {summary && summary.tasks > 0 && <Summary summary={summary} />}
      <Card>
        <FilterLine>
          <SearchField
            placeholder="Prompt, model or id"
            value={find ?? ''}
            onChange={(next) => change({ find: next })}
          />
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
              ...modelsOf(models, filters.model).map((value) => ({ value, label: value })),
            ]}
            onChange={(model) => change({ model: model || undefined })}
          />
          {isOperator && (
            <KeyPicker
              label="Key"
              value={filters.key}
              none="All keys"
              onChange={(key) => change({ key: key || undefined })}
            />
          )}
          <ShownCount
            shown={tasks.length}
            all={pages.data?.pages[0]?.total ?? tasks.length}
            isPartial={pages.data?.pages[0]?.total_complete === false}
          />
          <TableTools
            table="Videos"
            columns={view === 'list' ? columnsOf(isOperator) : undefined}
            file="videos"
            rows={pathWith(isOperator ? '/admin/v1/videos' : '/v1/videos', { ...filters, format: 'csv' })}
          />
        </FilterLine>
        <Loaded asked={asked}>
          {(shown) => (
            <Tasks
              isWhole={!pages.hasNextPage}
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
        {open && (
          <VideoDetails
            key={open}
            id={open}
            onDeleted={() => change({ open: undefined })}
            onAgain={(id) => change({ open: id })}
          />
        )}
      </Panel>
      <CreateVideo
        isOpen={isCreating}
        onClose={() => setCreating(false)}
        onCreated={(id) => {
          setCreating(false);
          void change({ open: id });
        }}
      />
    </Page>
  );
}

interface TasksProps {
  tasks: VideoTask[];
  view: (typeof VIEWS)[number];
  open: string | undefined;
  isFiltered: boolean;
  /** There is no further page. */
  isWhole: boolean;
  onOpen(id: string): void;
}

function Tasks({ tasks, view, open, isFiltered, isWhole, onOpen }: TasksProps) {
  const rowProps = useListKeys(
    tasks.map(({ id }) => id),
    { open, onOpen },
  );
  if (tasks.length === 0 && isWhole) return isFiltered ? <Empty title="No video is like that" /> : <NoVideos />;
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

function Summary({ summary: { tasks, states, cost, seconds, complete } }: { summary: VideoSummary }) {
  const share = (count: number) => (tasks === 0 ? undefined : `${Math.round((100 * count) / tasks)} %`);
  return (
    <Figures>
      <Figure label="Videos" value={formatCount(tasks)} note={complete ? 'tasks' : 'newest ones'} />
      <Figure label="On the way" value={formatCount(states.queued + states.in_progress)} />
      <Figure label="Completed" value={formatCount(states.completed)} note={share(states.completed)} />
      <Figure label="Failed" value={formatCount(states.failed)} note={share(states.failed)} />
      <Figure label="Made" value={`${formatCount(seconds)} s`} />
      <Figure label="Cost" value={<Money usd={cost} />} note="of those that ended" />
    </Figures>
  );
}

/** Those of all tasks, and the chosen one. */
function modelsOf(models: VideoSummary['models'], chosen: string | undefined): string[] {
  return [...new Set([chosen, ...models.map(({ model }) => model)])].filter((model) => model !== undefined).toSorted();
}
