/** An endpoint in all details: state, success, times, limits that its upstream told, last failures, and the models that have it. */

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Facts } from '../../parts/facts.tsx';
import { formatCount, formatShort, Time } from '../../parts/numbers.tsx';
import { ProviderTest } from '../../parts/provider-test.tsx';
import { Section } from '../../parts/section.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { useSession } from '../../session.ts';
import { gatewayNow } from '../../times.ts';
import { credentialWords, kindsOf, restOf, shortOf, toneOf, wholeMs } from './endpoints.tsx';
import { type Counts, type Endpoint, nameOf, providerOf, servedModels } from './query.ts';
import { Strip, successOf } from './strip.tsx';
import { GatewayLink, LINK, TOLD_COLUMNS, ToldCells } from './told.tsx';

interface EndpointDetailsProps {
  endpoint: Endpoint;
  /** Whether the store told what other gateways know. */
  isComplete: boolean;
}

export function EndpointDetails({ endpoint, isComplete }: EndpointDetailsProps) {
  const { isAdmin } = useSession();
  const { history, limits, gateways } = endpoint;
  return (
    <div className="flex flex-col gap-6">
      {!isComplete && <p className="text-warn">As this gateway alone knows it: the store does not answer.</p>}
      <State endpoint={endpoint} />
      {isAdmin && endpoint.credentials !== null && <TestOfProvider id={providerOf(endpoint)} />}
      {history && (
        <Section title="Success" note="attempts that did not fail by the fault of the upstream">
          <Strip endpoint={nameOf(endpoint)} halfHours={history.half_hours} day={history.last_day} isWide />
          <p className="mb-3 flex justify-between text-dim" aria-hidden="true">
            <span>a day ago</span>
            <span>now</span>
          </p>
          <Table
            label="Success of the endpoint"
            className="border"
            columns={['Time', ...['Attempts', 'Failed', 'Success'].map(numbers)]}
          >
            <SuccessRow name="5 minutes" counts={history.last_5_minutes} />
            <SuccessRow name="1 hour" counts={history.last_hour} />
            <SuccessRow name="24 hours" counts={history.last_day} />
          </Table>
        </Section>
      )}
      <Times endpoint={endpoint} />
      <Section title="Limits that the upstream told">
        {limits.length === 0 && <p className="text-dim">It told none.</p>}
        {limits.length > 0 && (
          <Table
            label="Limits that the upstream told"
            className="border"
            columns={['Of', ...['Limit', 'Left'].map(numbers), 'Reset', numbers('Told')]}
          >
            {limits.map(({ kind, limit, remaining, reset, told_at: at }) => (
              <tr key={kind}>
                <td>{kind.replace('_', ' ')}</td>
                <td className="number">{limit === null ? '—' : formatShort(limit)}</td>
                <td className="number">{remaining === null ? '—' : formatShort(remaining)}</td>
                <td>{reset ?? '—'}</td>
                <td className="number">
                  <Time at={at} withDate={false} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Section>
      <Failures endpoint={endpoint} />
      <Section title="Models that have it">
        <Models endpoint={endpoint.endpoint} />
      </Section>
      {gateways.length > 1 && (
        <Section title="What each gateway says">
          <Table label="What each gateway says" className="border" columns={['Gateway', ...TOLD_COLUMNS]}>
            {gateways.map((one) => (
              <tr key={one.id}>
                <td className="font-mono" title={one.id}>
                  {one.state === null ? shortOf(one.id) : <GatewayLink id={one.id}>{shortOf(one.id)}</GatewayLink>}
                </td>
                <ToldCells told={one} />
              </tr>
            ))}
          </Table>
        </Section>
      )}
    </div>
  );
}

function TestOfProvider({ id }: { id: string }) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="text-dim">List of models of {id}</span>
      <ProviderTest id={id} />
    </div>
  );
}

function State({ endpoint }: { endpoint: Endpoint }) {
  const { credential, credentials, cause } = endpoint;
  const [tone, word] = toneOf(endpoint);
  const rest = restOf(endpoint);
  return (
    <Facts
      rows={[
        [
          'State',
          <Status key="state" tone={tone}>
            {word}
          </Status>,
        ],
        ...(cause ? [['Because of', cause] as const] : []),
        ...(rest === undefined ? [] : [['Tried again', <Until key="until" ms={rest} />] as const]),
        [
          'Credentials',
          credential === null || credentials === null ? 'none is configured' : credentialWords(credential, credentials),
        ],
      ]}
    />
  );
}

function Until({ ms }: { ms: number }) {
  return (
    <>
      in {formatCount(Math.ceil(ms / 1000))} s, at{' '}
      <Time at={new Date(gatewayNow() + ms).toISOString()} withDate={false} />
    </>
  );
}

function SuccessRow({ name, counts }: { name: string; counts: Counts }) {
  return (
    <tr>
      <td>{name}</td>
      <td className="number">{formatCount(counts.attempts)}</td>
      <td className={`number ${counts.failed > 0 ? 'text-warn' : ''}`}>{formatCount(counts.failed)}</td>
      <td className="number">{successOf(counts) ?? '—'}</td>
    </tr>
  );
}

function Times({ endpoint }: { endpoint: Endpoint }) {
  const kinds = kindsOf(endpoint);
  return (
    <Section title="Times" note="of the last five minutes">
      {kinds.length === 0 && <p className="text-dim">It answered nothing in them.</p>}
      {kinds.length > 0 && (
        <Table
          label="Times of the endpoint"
          className="border"
          columns={['Responses', ...['First byte p50', 'p95', 'Tokens/s p50', 'p90'].map(numbers)]}
        >
          {kinds.map(({ kind, timings: { first_byte_seconds: first, tokens_per_second: rate } }) => (
            <tr key={kind}>
              <td>{kind}</td>
              <td className="number">{wholeMs(first.p50)} ms</td>
              <td className="number">{wholeMs(first.p95)} ms</td>
              <td className="number">{rate ? formatCount(Math.round(rate.p50)) : '—'}</td>
              <td className="number">{rate ? formatCount(Math.round(rate.p90)) : '—'}</td>
            </tr>
          ))}
        </Table>
      )}
    </Section>
  );
}

function Failures({ endpoint }: { endpoint: Endpoint }) {
  const failures = endpoint.history?.last_failures ?? [];
  // Requests have the endpoint that answered last, by its name, as their model.
  const failed = { model: endpoint.endpoint, status: 'failed', range: '24h' } as const;
  return (
    <Section title="Last failures">
      {failures.length === 0 && <p className="text-dim">None in the last day.</p>}
      <ul className="flex flex-col gap-1">
        {failures.map(({ code, at }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: Failures of one moment are alike.
          <li key={index} className="flex gap-4">
            <span className="text-dim">
              <Time at={at} />
            </span>
            <Link
              to="/requests"
              search={{ ...failed, code }}
              title={`Failed requests of ${endpoint.endpoint} with this code`}
              className={LINK}
            >
              {code}
            </Link>
          </li>
        ))}
      </ul>
      <p className="mt-2 text-dim">
        <Link to="/requests" search={failed} className={LINK}>
          All failed requests of {endpoint.endpoint}
        </Link>
        ; those that another endpoint answered are among{' '}
        <Link to="/requests" search={{ fell_back: true, range: '24h' }} className={LINK}>
          requests that fell back
        </Link>
        .
      </p>
    </Section>
  );
}

/** Panel of an endpoint without attempts: a link may name it, such as that of a candidate. */
export function UnusedEndpoint({ name }: { name: string }) {
  return (
    <div className="flex flex-col gap-6">
      <Empty title="This endpoint was not used in the last day" />
      <Section title="Models that have it">
        <Models endpoint={name.replace(/#\w+$/, '')} />
      </Section>
    </div>
  );
}

function Models({ endpoint }: { endpoint: string }) {
  const asked = useQuery(servedModels(endpoint));
  return (
    <Loaded asked={asked}>
      {({ data, total }) => (
        <>
          {total === 0 && <p className="text-dim">No model of the list has it: the configuration changed.</p>}
          <ul className="flex flex-col gap-1">
            {data.map(({ id, aliases }) => (
              <li key={id}>
                <Link to="/models" search={{ open: id }} className={LINK}>
                  {id}
                </Link>
                {aliases.length > 0 && <span className="text-dim"> also {aliases.join(', ')}</span>}
              </li>
            ))}
          </ul>
          {total > data.length && <p className="mt-1 text-dim">and {formatCount(total - data.length)} more</p>}
        </>
      )}
    </Loaded>
  );
}
