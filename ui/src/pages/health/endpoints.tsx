/** One row for each endpoint: its circuit, its success, its times, and the limits that its upstream told. */

import { clockTimeOf } from '../../parts/clock-time.tsx';
import { formatCount, formatShort, Time } from '../../parts/numbers.tsx';
import { Empty } from '../../parts/states.tsx';
import { Status, type Tone } from '../../parts/status.tsx';
import { BreakableName, numbers, Table } from '../../parts/table.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { type Counts, type Endpoint, nameOf, type Timings } from './query.ts';
import { Strip, successOf } from './strip.tsx';

export const ENDPOINT_TABLE = 'Endpoints, their success and their times';
export const ENDPOINT_COLUMNS = [
  'Endpoint',
  'State',
  'Last 24 h',
  ...['5 min', '1 h', '24 h', 'First byte p50 / p95', 'Tokens/s'].map(numbers),
  'Limits',
];

interface EndpointTableProps {
  endpoints: readonly Endpoint[];
  /** Name of the row that is open. */
  open: string | undefined;
  onOpen(name: string): void;
}

export function EndpointTable({ endpoints, open, onOpen }: EndpointTableProps) {
  const rowProps = useListKeys(endpoints.map(nameOf), { open, onOpen });
  if (endpoints.length === 0)
    return <Empty title="No endpoint was used in the last day">Its first request shows it here, with its times.</Empty>;
  return (
    <Table label={ENDPOINT_TABLE} columns={ENDPOINT_COLUMNS}>
      {endpoints.map((endpoint) => (
        <Row
          key={nameOf(endpoint)}
          endpoint={endpoint}
          isOpen={nameOf(endpoint) === open}
          buttonProps={rowProps(nameOf(endpoint))}
        />
      ))}
    </Table>
  );
}

interface RowProps {
  endpoint: Endpoint;
  isOpen: boolean;
  buttonProps: ReturnType<ReturnType<typeof useListKeys>>;
}

function Row({ endpoint, isOpen, buttonProps }: RowProps) {
  const { endpoint: name, credential, credentials, history, limits, cause } = endpoint;
  const [tone, word] = toneOf(endpoint);
  const rest = restOf(endpoint);
  const kinds = kindsOf(endpoint);
  return (
    <tr className="align-top" data-opens data-open={isOpen ? '' : undefined}>
      <td className="name">
        <button type="button" className="min-h-[24px] text-left font-medium" {...buttonProps}>
          <BreakableName name={name} />
        </button>
        {credential !== null && credentials !== null && (
          <div className="text-dim">{credentialWords(credential, credentials)}</div>
        )}
      </td>
      <td>
        <span className="flex items-center gap-2">
          <Status tone={tone}>{word}</Status>
          {rest !== undefined && <span className="text-dim">{Math.ceil(rest / 1000)} s</span>}
        </span>
        {cause && cause !== history?.last_failures[0]?.code && <div className="mt-0.5 text-dim">{cause}</div>}
        {history && <Failures failures={history.last_failures} />}
        <Gateways endpoint={endpoint} />
      </td>
      <td>{history && <Strip endpoint={name} halfHours={history.half_hours} day={history.last_day} />}</td>
      <Success counts={history?.last_5_minutes} />
      <Success counts={history?.last_hour} />
      <Success counts={history?.last_day} />
      <Lines
        kinds={kinds}
        show={({ first_byte_seconds: { p50, p95 } }) => `${wholeMs(p50)} / ${wholeMs(p95)} ms`}
        withKind
      />
      <Lines kinds={kinds} show={({ tokens_per_second: rate }) => (rate ? formatCount(Math.round(rate.p50)) : '—')} />
      <td className="text-dim !whitespace-normal">
        {limits.length === 0 && '—'}
        {limits.map(({ kind, limit, remaining, reset, told_at: at }) => (
          <div key={kind} title={`Told at ${clockTimeOf(Date.parse(at))}`}>
            <span className="text-ink tabular-nums">{remaining === null ? '?' : formatShort(remaining)}</span>
            {limit !== null && ` of ${formatShort(limit)}`} {kind.replace('_', ' ')} left
            {reset && `, reset ${reset}`}
          </div>
        ))}
      </td>
    </tr>
  );
}

/** Milliseconds until it is tried again. */
export const restOf = (endpoint: Endpoint): number | undefined =>
  endpoint.cooldown_ms ?? endpoint.credential_cooldown_ms;

/** Streamed and whole responses are measured apart; of the last five minutes. */
export function kindsOf(endpoint: Endpoint): { kind: 'streamed' | 'whole'; timings: Timings }[] {
  return (['streamed', 'whole'] as const).flatMap((kind) => {
    const timings = endpoint[kind];
    return timings ? [{ kind, timings }] : [];
  });
}

export function credentialWords(credential: number, credentials: number): string {
  return credentials === 1 ? '1 credential' : `credential ${credential} of ${credentials}`;
}

/** Knowledge of each gateway, where it is more than one. */
function Gateways({ endpoint: { gateways, told_by: worst } }: { endpoint: Endpoint }) {
  if (gateways.length < 2) return null;
  const isAlike = gateways.every((one) => wordOf(one) === wordOf(gateways[0]));
  return (
    <details className="mt-0.5 text-dim">
      <summary className="min-h-[24px] cursor-pointer content-center">
        {isAlike ? (
          `${gateways.length} gateways`
        ) : (
          <>
            says {shortOf(worst)}, of {gateways.length} gateways
          </>
        )}
      </summary>
      {gateways.map((one) => (
        <div key={one.id} className="whitespace-nowrap">
          <span className="font-mono" title={one.id}>
            {shortOf(one.id)}
          </span>{' '}
          {wordOf(one)}, {successOf(one.last_day) ?? 'none'} of {formatCount(one.last_day.attempts)} in 24 h
        </div>
      ))}
    </details>
  );
}

export const wordOf = (one: Endpoint['gateways'][number] | undefined): string =>
  !one || one.state === null ? 'gone' : toneOf({ ...one, state: one.state })[1];

/** Of a worker its place, of a gateway the beginning of its id. */
export function shortOf(id: string): string {
  const [gateway = '', worker] = id.split('/');
  return gateway.slice(0, 8) + (worker ? `/${worker}` : '');
}

/** The newest one; the others on a click. */
function Failures({ failures: [newest, ...others] }: { failures: NonNullable<Endpoint['history']>['last_failures'] }) {
  if (!newest) return null;
  const time = <Time at={newest.at} withDate={false} />;
  return (
    <div className="mt-0.5 text-dim">
      {newest.code}
      {others.length === 0 ? (
        <div>{time}</div>
      ) : (
        <details>
          <summary className="min-h-[24px] cursor-pointer content-center">
            {time} <span className="text-accent">and {others.length} before</span>
          </summary>
          {others.map(({ code, at }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: Failures of one moment are alike.
            <div key={index}>
              {code} <Time at={at} withDate={false} />
            </div>
          ))}
        </details>
      )}
    </div>
  );
}

function Success({ counts }: { counts: Counts | undefined }) {
  const share = counts && successOf(counts);
  if (counts === undefined || share === undefined) return <td className="number text-dim">—</td>;
  return (
    <td
      className={`number ${counts.failed > 0 ? 'text-warn' : ''}`}
      title={`${counts.failed} of ${counts.attempts} failed`}
    >
      {share}
    </td>
  );
}

interface LinesProps {
  kinds: ReturnType<typeof kindsOf>;
  show(timings: Timings): string;
  withKind?: boolean;
}

function Lines({ kinds, show, withKind = false }: LinesProps) {
  return (
    <td className="number whitespace-nowrap">
      {kinds.length === 0 && <span className="text-dim">—</span>}
      {kinds.map(({ kind, timings }) => (
        <div key={kind}>
          {withKind && <span className="text-dim">{kind} </span>}
          {show(timings)}
        </div>
      ))}
    </td>
  );
}

export function wholeMs(seconds: number): string {
  return formatCount(Math.round(seconds * 1000));
}

export function toneOf({
  state,
  cause,
  credential_cooldown_ms: credentialCooldownMs,
}: Pick<Endpoint, 'state' | 'cause' | 'credential_cooldown_ms'>): [Tone, string] {
  if (state === 'open') return ['bad', 'in cooldown'];
  if (credentialCooldownMs) return ['warn', 'credential in cooldown'];
  if (state !== 'closed') return ['warn', 'being probed'];
  return cause ? ['warn', 'failed recently'] : ['good', 'healthy'];
}
