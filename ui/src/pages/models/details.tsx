/** One model in all details. */

import { snippetOf } from '../../first-model.ts';
import { Code } from '../../parts/code.tsx';
import { formatCount, PerMillion } from '../../parts/numbers.tsx';
import { useSession } from '../../session.ts';
import { LastPriceChange, PRICES } from './figures.tsx';
import { Operation } from './operation.tsx';
import { isKnown, type Model } from './query.ts';

export function ModelDetails({ model }: { model: Model }) {
  const { clientsUrl, isOperator } = useSession();
  const { context_length: context, top_provider: top, architecture } = model;
  const rows: [string, string][] = [
    ['Takes', architecture.input_modalities.join(', ')],
    ['Gives', architecture.output_modalities.join(', ')],
    ['Context', isKnown(context) ? `${formatCount(context)} tokens` : 'unknown'],
    [
      'Longest answer',
      isKnown(top.max_completion_tokens) ? `${formatCount(top.max_completion_tokens)} tokens` : 'unknown',
    ],
  ];
  return (
    <div className="flex flex-col gap-5">
      <p>{model.description}</p>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        {rows.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-dim">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div>
        <h2 className="mb-1.5">Price of a million tokens</h2>
        <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
          {PRICES.filter(([name]) => model.pricing[name] !== undefined).map(([name, label]) => (
            <div key={name} className="contents">
              <dt className="text-dim">{label}</dt>
              <dd>
                <PerMillion perToken={model.pricing[name]} />
              </dd>
            </div>
          ))}
        </dl>
        <LastPriceChange id={model.id} />
      </div>
      {isOperator && <Operation id={model.id} />}
      <div>
        <h2 className="mb-1.5">Parameters</h2>
        <ul className="flex flex-wrap gap-1.5">
          {model.supported_parameters.map((name) => (
            <li key={name} className="rounded-md border px-1.5 py-0.5 font-mono text-xs">
              {name}
            </li>
          ))}
        </ul>
      </div>
      <div>
        <h2 className="mb-1.5">Try it</h2>
        <div className="rounded-lg border">
          <Code
            text={snippetOf('curl', { origin: clientsUrl, model: model.id, key: '$POLYGATE_KEY' })}
            language="shell"
          />
        </div>
      </div>
    </div>
  );
}
