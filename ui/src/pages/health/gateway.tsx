/** A gateway or worker in all details: its signs, its workers, and the endpoints as it knows them. */

import { Link } from '@tanstack/react-router';
import { CopyAs } from '../../parts/copy-as.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Age, Time } from '../../parts/numbers.tsx';
import { Section } from '../../parts/section.tsx';
import { Table } from '../../parts/table.tsx';
import { type EndpointList, nameOf, type Replica } from './query.ts';
import { GatewayLink, LINK, TOLD_COLUMNS, ToldCells } from './told.tsx';

interface GatewayDetailsProps {
  gateway: Replica;
  /** All that run. */
  replicas: readonly Replica[];
  /** Absent until it is known. */
  list: EndpointList | undefined;
}

export function GatewayDetails({ gateway, replicas, list }: GatewayDetailsProps) {
  const { id, role, version, started_at: started, seen_at: seen, silent, alive_until: until, answers } = gateway;
  const [own = ''] = id.split('/');
  const workers = replicas.filter((one) => one.id.startsWith(`${id}/`));
  const primary = role === 'worker' ? replicas.find((one) => one.id === own) : undefined;
  const source = list?.gateways.find((one) => one.id === id);
  const known = list?.data.flatMap((endpoint) => {
    const told = endpoint.gateways.find((one) => one.id === id);
    return told ? [{ endpoint, told }] : [];
  });
  return (
    <div className="flex flex-col gap-6">
      <Facts
        rows={[
          ['Role', role],
          ['Version', version ?? 'unknown'],
          ['Answers this page', answers ? 'yes' : 'no'],
          [
            'Started',
            <span key="started">
              <Time at={started} />, <Age at={Date.parse(started)} />
            </span>,
          ],
          [
            'Last sign',
            <span key="seen" className={silent ? 'text-bad' : ''}>
              <Age at={Date.parse(seen)} />
            </span>,
          ],
          ['Listed until', <Time key="until" at={until} />],
          ...(primary ? [['Worker of', <GatewayLink key="of" id={primary.id} />] as const] : []),
          ...(source ? [['Endpoints as of', <Age key="known" at={Date.parse(source.known_at)} />] as const] : []),
        ]}
      />
      <div>
        <CopyAs path="/admin/v1/health/replicas" note="The call lists all of them." />
      </div>
      {workers.length > 0 && (
        <Section title="Workers">
          <ul className="flex flex-col gap-1">
            {workers.map((worker) => (
              <li key={worker.id}>
                <GatewayLink id={worker.id} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Endpoints as it knows them" note="of the last day">
        {known?.length === 0 && <p className="text-dim">It used none.</p>}
        {known !== undefined && known.length > 0 && (
          <Table label="Endpoints as it knows them" className="border" columns={['Endpoint', ...TOLD_COLUMNS]}>
            {known.map(({ endpoint, told }) => (
              <tr key={nameOf(endpoint)}>
                <td>
                  <Link to="/health" search={{ open: nameOf(endpoint) }} className={LINK}>
                    {nameOf(endpoint)}
                  </Link>
                </td>
                <ToldCells told={told} />
              </tr>
            ))}
          </Table>
        )}
      </Section>
    </div>
  );
}
