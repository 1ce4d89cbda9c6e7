/** Videos: all tasks as a gallery or as a list, with filters, and one of them with its player. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import type { ReactNode } from 'react';
import { TimeZone } from '../../parts/clock-time.tsx';
import { Code } from '../../parts/code.tsx';
import { commandWith, pathWith, type SameCall } from '../../parts/copy-as.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { ChoiceFilter, KeyFilter, PagesCount } from '../../parts/list-filters.tsx';
import { formatCount, formatShare, Money } from '../../parts/numbers.tsx';
import { Card, Figure, Figures, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { RangePicker } from '../../parts/range-picker.tsx';
import { FIGURE_LINK } from '../../parts/requests-link.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Empty, Loaded, LoadingBlock } from '../../parts/states.tsx';
import { FilterLine, Older, SearchField } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { useTimeFilter } from '../../parts/time-filter.ts';
import { Unanswered } from '../../parts/unanswered.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { LOCAL_ZONE, useSpan } from '../../spans.ts';
import type { TimeSearch } from '../../times.ts';
import { CreateVideo } from './create.tsx';
import { VideoDetails } from './details.tsx';
import { columnsOf, Gallery, VideoTable } from './lists.tsx';
import { useVideos, type VideoSummary, type VideoTask, videoSummary } from './query.ts';
import { VIDEO_STATUSES, type VideoFilters } from './search.ts';

const route = getRouteApi('/videos');
const VIEWS = ['grid', 'list'] as const;

export function VideosPage() {
  const { open, create, view = 'grid', find, range, from, to, zone = LOCAL_ZONE, ...rest } = route.useSearch();
  const time = { range, from, to, zone };
  const span = useSpan(time);
  const filters = { ...rest, search: find, ...useTimeFilter(time) };
  const navigate = route.useNavigate();
  const { isOperator, mayChange } = useSession();
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const pages = useVideos(filters);
  const tasks = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  const asked = { ...pages, data: pages.data && tasks };
  const sums = useQuery(videoSummary(isOperator, filters));
  const all = useQuery(videoSummary(isOperator, { key: filters.key }));
  const summary = sums.data;
  const models = all.data?.models ?? [];
  return (
    <TimeZone value={zone}>
      <Page
        title="Videos"
        about={isOperator ? 'Tasks of all keys, the newest first.' : 'Tasks of this key, the newest first.'}
        actions={
          <>
            <Segments label="View" values={VIEWS} value={view} onChange={(next) => change({ view: next })} />
            {mayChange && (
              <button type="button" className="button button-primary" onClick={() => change({ create: true })}>
                <Plus size={15} aria-hidden />
                Ask for a video
              </button>
            )}
          </>
        }
      >
        <RangePicker time={time} span={span} byDefault="any" onChange={change} />
        <Unanswered
          sources={[
            { name: 'Sums of videos', asked: sums },
            ...(filters.model === undefined ? [] : [{ name: 'Models of videos', asked: all }]),
          ]}
        />
        {sums.isPending && <LoadingBlock className="as-figures" />}
        {summary && <Summary {...{ summary, filters, view, time }} />}
        <Card>
          <FilterLine>
            <SearchField
              placeholder="Prompt, model or id"
              value={find ?? ''}
              onChange={(next) => change({ find: next })}
            />
            <ChoiceFilter
              label="Status"
              none="Any status"
              value={filters.status}
              values={VIDEO_STATUSES}
              wordsOf={(status) => status.replace('_', ' ')}
              onChange={(status) => change({ status })}
            />
            <ChoiceFilter
              label="Model"
              none="All models"
              value={filters.model}
              values={modelsOf(models, filters.model)}
              onChange={(model) => change({ model })}
            />
            <KeyFilter value={filters.key} onChange={(key) => change({ key })} />
            <PagesCount shown={tasks.length} pages={pages.data?.pages} />
            <TableTools
              table="Videos"
              columns={view === 'list' ? columnsOf(isOperator) : undefined}
              file="videos"
              rows={pathWith(isOperator ? '/admin/v1/videos' : '/v1/videos', { ...filters, format: 'csv' })}
              same={sameVideos(isOperator, filters)}
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
          isOpen={mayChange && create === true}
          onClose={() => change({ create: undefined })}
          onCreated={(id) => change({ create: undefined, open: id })}
        />
      </Page>
    </TimeZone>
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

interface SummaryProps {
  summary: VideoSummary;
  filters: VideoFilters;
  view: (typeof VIEWS)[number];
  time: TimeSearch;
}

/** Of all states; each figure leads to its tasks. */
function Summary({ summary, filters: { key, model }, view, time }: SummaryProps) {
  const { tasks, states, cost, seconds, complete } = summary;
  const share = (count: number) => (tasks === 0 ? undefined : formatShare(count, tasks));
  const linked = (figure: ReactNode, status?: VideoTask['status']) => (
    <Link to="/videos" search={{ key, model, view, status, ...time }} title="Show these videos" className={FIGURE_LINK}>
      {figure}
    </Link>
  );
  return (
    <Figures>
      <Figure label="Videos" value={linked(formatCount(tasks))} note={complete ? 'tasks' : 'newest ones'} />
      <Figure
        label="On the way"
        value={formatCount(states.queued + states.in_progress)}
        note={
          <>
            {linked(`${formatCount(states.queued)} queued`, 'queued')},{' '}
            {linked(`${formatCount(states.in_progress)} in progress`, 'in_progress')}
          </>
        }
      />
      <Figure
        label="Completed"
        value={linked(formatCount(states.completed), 'completed')}
        note={share(states.completed)}
      />
      <Figure label="Failed" value={linked(formatCount(states.failed), 'failed')} note={share(states.failed)} />
      <Figure label="Made" value={linked(`${formatCount(seconds)} s`)} />
      <Figure label="Cost" value={linked(<Money usd={cost} />)} note="of those that ended" />
    </Figures>
  );
}

/** Those of all tasks, and the chosen one. */
function modelsOf(models: VideoSummary['models'], chosen: string | undefined): string[] {
  return [...new Set([chosen, ...models.map(({ model }) => model)])].filter((model) => model !== undefined).toSorted();
}

function sameVideos(isOperator: boolean, { key, ...filters }: VideoFilters): SameCall {
  if (!isOperator) return { path: pathWith('/v1/videos', { ...filters }) };
  const { status, model, search, from, to } = filters;
  const isWhole = [key, search, from, to].every((value) => value === undefined);
  return {
    path: pathWith('/admin/v1/videos', { ...filters, key }),
    command: commandWith('polygate videos list', { '--status': status, '--model': model }),
    note: isWhole ? undefined : 'The command has no filter for a key or a time, and no search.',
  };
}
