/** The newest requests of the key. */

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { formatMs, Money, Time } from '../../parts/numbers.tsx';
import { Card } from '../../parts/page.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { list, type RequestView } from '../requests/query.ts';
import { RequestStatus } from '../requests/status.tsx';

const COUNT = 5;
const EVERY_MS = 5000;

export function NewestRequests() {
  const asked = useQuery({
    queryKey: ['requests', 'newest of the key'],
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) => (await list(false, { limit: COUNT }, signal)).data,
  });
  return (
    <Card
      title="Newest requests"
      actions={
        <Link to="/requests" className="text-accent underline-offset-4 hover:underline">
          All requests
        </Link>
      }
    >
      <Loaded asked={asked}>{(requests) => <Requests requests={requests} />}</Loaded>
    </Card>
  );
}

function Requests({ requests }: { requests: RequestView[] }) {
  if (requests.length === 0)
    return <Empty title="This key has made no request yet">The snippet below makes the first one.</Empty>;
  return (
    <Table label="Requests that ended last" columns={['Time', 'Model', 'State', ...['Cost', 'Whole'].map(numbers)]}>
      {requests.map((request) => (
        <tr key={request.id}>
          <td>
            <Link
              to="/requests"
              search={{ open: request.id }}
              className="font-mono text-accent underline-offset-4 hover:underline"
            >
              <Time at={request.ended_at ?? request.started_at} withDate={false} />
            </Link>
          </td>
          <td className="max-w-60 truncate font-medium">{request.model}</td>
          <td>
            <RequestStatus view={request} />
          </td>
          <td className="number">
            <Money usd={request.cost} />
          </td>
          <td className="number text-dim">{request.total_ms === null ? '…' : formatMs(request.total_ms)}</td>
        </tr>
      ))}
    </Table>
  );
}
