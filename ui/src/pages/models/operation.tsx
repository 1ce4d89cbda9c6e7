/** A model as operators see it: endpoints with their times, other names, lines of the configuration, and keys that used it. */

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { formatCount, Money } from '../../parts/numbers.tsx';
import { RequestsLink } from '../../parts/requests-link.tsx';
import { Section } from '../../parts/section.tsx';
import { Loaded } from '../../parts/states.tsx';
import { BreakableName, numbers, Table } from '../../parts/table.tsx';
import { UTC } from '../../spans.ts';
import { firstByteText, throughputText } from './figures.tsx';
import { type ConfiguredLine, type ModelDetail, modelDetail } from './query.ts';

/** Videos have a list of their own. */
export function Operation({ id, isVideo }: { id: string; isVideo: boolean }) {
  const asked = useQuery(modelDetail(id));
  return <Loaded asked={asked}>{(detail) => (detail ? <Parts detail={detail} isVideo={isVideo} /> : null)}</Loaded>;
}

function Parts({ detail, isVideo }: { detail: ModelDetail; isVideo: boolean }) {
  const { endpoints, aliases, configured, users, users_total: count, users_from: from, users_to: to } = detail;
  const span = { from: new Date(from), to: new Date(to), zone: UTC };
  /** Several endpoints have no filter in common. */
  const [only, ...others] = endpoints;
  const model = others.length === 0 ? only?.endpoint : undefined;
  const linkOf = (key: string) => ({
    span,
    videos: isVideo ? ('all' as const) : ('none' as const),
    filters: model === undefined ? undefined : { key, model },
  });
  return (
    <>
      <Section title="Endpoints" note="medians of the last five minutes">
        <Table
          label="Endpoints of the model"
          className="border"
          columns={['Endpoint', ...['Priority', 'First byte', 'Tokens/s'].map(numbers), 'Retention']}
        >
          {endpoints.map(({ endpoint, priority, zero_retention: zero, statistics }) => (
            <tr key={endpoint}>
              <td className="name">
                <BreakableName name={endpoint} />
              </td>
              <td className="number">{priority}</td>
              <td className="number">{firstByteText(statistics)}</td>
              <td className="number">{throughputText(statistics)}</td>
              <td className="text-dim">{zero === null ? 'not said' : zero ? 'none' : 'kept'}</td>
            </tr>
          ))}
        </Table>
      </Section>
      {aliases.length > 0 && (
        <Section title="Other names">
          <p className="flex flex-wrap gap-1.5">
            {aliases.map((alias) => (
              <code key={alias} className="rounded-md border px-1.5 py-0.5 text-xs">
                {alias}
              </code>
            ))}
          </p>
        </Section>
      )}
      <Section title="Configuration">
        {configured.length === 0 ? (
          <p className="text-dim">No line of it names this model: it comes from the catalog or from its provider.</p>
        ) : (
          <Table label="Lines of the configuration" className="border" columns={['Setting', 'Value', 'From']}>
            {configured.map(({ path, value, source }) => (
              <tr key={path}>
                <td className="!whitespace-normal break-all font-mono text-xs">{path}</td>
                <td className="!whitespace-normal break-all font-mono text-xs">{String(value)}</td>
                <td className="text-dim">{originOf(source)}</td>
              </tr>
            ))}
          </Table>
        )}
      </Section>
      <Section title="Used by" note={endpoints.length > 1 ? 'its endpoints, the last 30 days' : 'the last 30 days'}>
        {users.length === 0 ? (
          <p className="text-dim">No key has used it.</p>
        ) : (
          <Table
            label="Keys that used the model"
            className="border"
            columns={['Key', ...['Requests', 'Cost'].map(numbers)]}
          >
            {users.map(({ key, key_name: name, requests, cost }) => (
              <tr key={key}>
                <td className="name">
                  <Link
                    to={isVideo ? '/videos' : '/requests'}
                    search={{ key, range: '30d', model }}
                    className="text-accent underline-offset-4 hover:underline"
                  >
                    {name ?? key}
                  </Link>
                </td>
                <td className="number">
                  <RequestsLink {...linkOf(key)}>{formatCount(requests)}</RequestsLink>
                </td>
                <td className="number">
                  <RequestsLink {...linkOf(key)}>
                    <Money usd={cost} />
                  </RequestsLink>
                </td>
              </tr>
            ))}
          </Table>
        )}
        {count > users.length && <p className="mt-1 text-dim">and {formatCount(count - users.length)} more</p>}
      </Section>
    </>
  );
}

function originOf(source: ConfiguredLine['source']): string {
  if (source.line !== undefined) return `${source.from}, line ${source.line}`;
  return source.from;
}
