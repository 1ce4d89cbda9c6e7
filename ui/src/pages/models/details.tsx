/** One model in all details. */

import { Code } from '../../parts/code.tsx';
import { formatCount } from '../../parts/numbers.tsx';
import { useSession } from '../../session.ts';
import { LastPriceChange } from './figures.tsx';
import { Operation } from './operation.tsx';
import { isVideoModel, Price, pricesOf, type ShownPrice, useVideoPrices } from './prices.tsx';
import { isKnown, type Model } from './query.ts';
import { callOf } from './try-it.ts';

export function ModelDetails({ model }: { model: Model }) {
  const { clientsUrl, isOperator } = useSession();
  const prices = [...useVideoPrices().videoPricesOf(model.id), ...pricesOf(model)];
  const ofTokens = prices.filter(({ unit }) => unit === undefined);
  const ofOthers = prices.filter(({ unit }) => unit !== undefined);
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
        {ofTokens.length > 0 && <Prices title="Price of a million tokens" prices={ofTokens} />}
        {ofOthers.length > 0 && (
          <div className={ofTokens.length > 0 ? 'mt-5' : undefined}>
            <Prices title={isVideoModel(model) ? 'Price of videos' : 'Other prices'} prices={ofOthers} />
          </div>
        )}
        {prices.length === 0 && (
          <>
            <h2 className="mb-1.5">Price</h2>
            <p className="text-dim">unknown</p>
          </>
        )}
        <LastPriceChange id={model.id} />
      </div>
      {isOperator && <Operation id={model.id} isVideo={isVideoModel(model)} />}
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
          <Code text={callOf(model, clientsUrl)} language="shell" />
        </div>
      </div>
    </div>
  );
}

function Prices({ title, prices }: { title: string; prices: readonly ShownPrice[] }) {
  return (
    <>
      <h2 className="mb-1.5">{title}</h2>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        {prices.map(({ name, label, usd, unit }) => (
          <div key={name} className="contents">
            <dt className="text-dim">{label}</dt>
            <dd>
              <Price usd={usd} unit={unit} />
              {unit && ` ${unit === 'image' ? 'an' : 'a'} ${unit}`}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
