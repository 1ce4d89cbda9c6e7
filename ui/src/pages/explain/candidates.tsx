/** Candidates of a request in the order in which they would be tried, with the reasons of those left out. */

import type { ComponentType } from 'react';
import { EndpointLink } from '../../parts/endpoint-link.tsx';
import { formatMs, formatShort } from '../../parts/numbers.tsx';
import { Status } from '../../parts/status.tsx';
import { TableScroll } from '../../parts/table-scroll.tsx';

export interface Explanation {
  requested: string;
  model: string;
  candidates: {
    endpoint: string;
    model: string;
    credential?: number;
    price?: number;
    /** Medians of the last five minutes. */
    first_byte_ms?: number;
    tokens_per_second?: number;
    left_out?: string;
    path?: string;
    dropped?: string[];
    unable?: string;
  }[];
  omitted?: number;
}

interface CandidatesProps {
  explanation: Explanation;
  /** Component that shows a reason. */
  Reason?: ComponentType<{ reason: string }>;
}

const PlainReason = ({ reason }: { reason: string }) => <Status tone="quiet">{reason}</Status>;

const MEDIANS = 'Median of the last five minutes, as this gateway knows it';

/** Of a median that may not be known. */
const known = (value: number | undefined, format: (value: number) => string) =>
  value === undefined ? '—' : format(value);

export function Candidates({ explanation, Reason = PlainReason }: CandidatesProps) {
  const tried = explanation.candidates.filter((candidate) => !candidate.left_out);
  return (
    <TableScroll label="Candidates">
      <table className="data" aria-label="Candidates">
        <thead>
          <tr>
            <th scope="col">Order</th>
            <th scope="col">Endpoint</th>
            <th scope="col" className="number">
              Price, in + out
            </th>
            <th scope="col" className="number" title={MEDIANS}>
              First byte
            </th>
            <th scope="col" className="number" title={MEDIANS}>
              Tokens/s
            </th>
            <th scope="col">Path</th>
            <th scope="col">Dropped fields</th>
            <th scope="col">Left out because</th>
          </tr>
        </thead>
        <tbody>
          {explanation.candidates.map((candidate) => {
            const place = tried.indexOf(candidate);
            const reason = candidate.left_out ?? candidate.unable;
            return (
              <tr key={`${candidate.endpoint} ${candidate.credential ?? ''}`}>
                <td>{place < 0 ? '—' : place + 1}</td>
                <td className={`name ${reason ? 'text-dim' : 'font-medium'}`}>
                  <EndpointLink endpoint={candidate.endpoint} credential={candidate.credential} />
                </td>
                <td className="number">{candidate.price === undefined ? '—' : `$${candidate.price}`}</td>
                <td className="number">{known(candidate.first_byte_ms, formatMs)}</td>
                <td className="number">{known(candidate.tokens_per_second, formatShort)}</td>
                <td className="text-dim">{candidate.path ?? '—'}</td>
                <td className={`!whitespace-normal ${candidate.dropped?.length ? 'text-warn' : 'text-dim'}`}>
                  {candidate.dropped?.join(', ') || '—'}
                </td>
                <td className="!whitespace-normal">{reason ? <Reason reason={reason} /> : '—'}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {explanation.omitted !== undefined && (
        <p className="border-t p-3 text-dim">{explanation.omitted} more are not shown.</p>
      )}
    </TableScroll>
  );
}
