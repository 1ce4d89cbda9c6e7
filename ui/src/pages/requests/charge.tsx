/** Use of a request, and the parts of its cost: a line for each kind of tokens, and their sum. */

import { formatCount, Money } from '../../parts/numbers.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import type { RequestDetail } from './query.ts';

type Line = NonNullable<RequestDetail['charge']>['lines'][number];
type Basis = NonNullable<RequestDetail['charge']>['basis'];

const KINDS: Record<string, string> = {
  input: 'Input',
  cached: 'Input from a cache',
  cached_audio: 'Audio from a cache',
  cache_write: 'Written to a cache',
  cache_write_1h: 'Written to a cache for an hour',
  audio_input: 'Audio in',
  image_input: 'Images in',
  output: 'Output',
  reasoning: 'Reasoning',
  audio_output: 'Audio out',
  image_output: 'Images out',
  image_tool_input: 'Image tool in',
  image_tool_output: 'Image tool out',
  searches: 'Searches',
  file_searches: 'Searches in files',
  containers: 'Containers, or gigabytes of them',
  map_requests: 'Places of a map',
  requests: 'The request itself',
};
/** Priced one by one, and not by the million. */
const PIECES = ['searches', 'file_searches', 'containers', 'map_requests', 'requests'];

const REASONS: Record<Basis, string> = {
  prices: 'It used nothing that has a price.',
  provider: 'The provider has reported this cost itself, so there are no lines.',
  free: 'This operation is free.',
  nothing: 'An answer without content is not charged.',
  unknown: 'The price of the model was not known, so the cost is not known either.',
};

const ASSUMED = ', whose prices are not known: the prices are an assumption.';

export function Charge({ detail }: { detail: RequestDetail }) {
  const { charge, estimated } = detail;
  const lines = charge && charge.lines.length > 0 ? charge.lines : undefined;
  return (
    <section>
      <h2 className="mb-2">Use and cost</h2>
      <Table
        label="Use and cost"
        className="border"
        columns={['Used', ...['Tokens', 'USD per million', 'Cost'].map(numbers)]}
        foot={
          <tr>
            <td className="font-medium">In all</td>
            <td className="number">{formatCount(detail.input_tokens + detail.output_tokens)}</td>
            <td />
            <td className="number font-medium">
              <Money usd={charge?.basis === 'unknown' ? null : detail.cost} />
            </td>
          </tr>
        }
      >
        {lines ? lines.map((line) => <PricedLine key={line.kind} line={line} />) : <Counts detail={detail} />}
      </Table>
      <p className="mt-2 text-dim">
        {lines
          ? 'Prices are those of the moment of the request.'
          : charge
            ? REASONS[charge.basis]
            : 'The prices of the moment were not kept with this request.'}
        {charge?.service_tier && ` Service tier: ${charge.service_tier}${charge.assumed ? ASSUMED : '.'}`}
        {charge?.limited && ' The cost is limited to the most that is charged for one request.'}
        {estimated && ' Its counts are estimates, since the provider reported none.'}
      </p>
    </section>
  );
}

function PricedLine({ line: { kind, count, price, price_per_million: million, cost } }: { line: Line }) {
  return (
    <tr>
      <td>{KINDS[kind] ?? kind}</td>
      <td className="number">{formatCount(count)}</td>
      <td className="number text-dim">
        {PIECES.includes(kind) ? (
          <>
            <Money usd={price} /> each
          </>
        ) : (
          <Money usd={million} />
        )}
      </td>
      <td className="number">
        <Money usd={cost} />
      </td>
    </tr>
  );
}

/** Without prices the parts are those that every record has. */
function Counts({ detail }: { detail: RequestDetail }) {
  const { input_tokens: input, output_tokens: output, cached_tokens: cached, cache_write_tokens: written } = detail;
  const { reasoning_tokens: reasoning } = detail;
  const parts = [
    ['input', input, true],
    ['cached', cached, cached > 0],
    ['cache_write', written, written > 0],
    ['output', output, true],
    ['reasoning', reasoning, reasoning > 0],
  ] as const;
  return parts.map(
    ([kind, count, isShown]) =>
      isShown && (
        <tr key={kind}>
          <td>
            {kind !== 'input' && kind !== 'output' && <span className="text-dim">of these: </span>}
            {KINDS[kind]}
          </td>
          <td className="number">{formatCount(count)}</td>
          <td className="number text-dim">—</td>
          <td className="number text-dim">—</td>
        </tr>
      ),
  );
}
