/** Provider type builder: completes a provider's description with defaults. */

import { GatewayError } from '../core/errors.ts';
import type { CatalogModel } from '../core/model.ts';
import type { Platform } from '../core/platform.ts';
import type { Dialect, Provider, ProviderSettings, ProviderType } from '../core/provider.ts';
import { withoutEnd } from '../core/text.ts';
import { createHeaderPlatform, type HeaderPlatformOptions } from './platform/headers.ts';

export interface Description
  extends Omit<ProviderType, 'keyless' | 'create' | 'protocols'>,
    Pick<Provider, 'family' | 'billsReportedCost' | 'video'>,
    Pick<HeaderPlatformOptions, 'credential' | 'keyPair' | 'headers'> {
  keyless?: boolean;
  /** Dialects of the supported protocols, in order of preference. */
  dialects: readonly Dialect[];
  /** Dialects for a model, where they differ between models; `dialects` if absent. */
  dialectsOf?(model: CatalogModel, settings: ProviderSettings): readonly Dialect[];
  /** Ids of the protocols for a model, in order of preference; all protocols if absent. */
  protocolsOf?(model: CatalogModel): readonly string[];
  /** Platform, unless it is paths below `baseUrl` with a credential header. */
  platform?(settings: { baseUrl: string; apiVersion?: string }): Platform;
  /** Suffix of a base URL that is removed because the protocol's paths begin with it. */
  version?: RegExp;
  /** Suffix of a base URL that is removed for the paths of videos. */
  chatBase?: RegExp;
}

export function providerType(description: Description): ProviderType {
  const {
    credential,
    keyPair,
    headers,
    platform,
    version,
    chatBase,
    family,
    billsReportedCost,
    video,
    dialects,
    dialectsOf = () => dialects,
    protocolsOf,
    ...about
  } = description;
  return withIdentity({
    ...about,
    protocols: dialects.map(({ protocol }) => protocol),
    keyless: about.keyless ?? false,
    create: (settings) => {
      const url = baseUrl(settings, description);
      return {
        id: settings.id,
        speaks: (model) => ordered(dialectsOf(model, settings), spokenFor(model, settings, description)),
        environment: about.environment,
        platform: platform?.({ baseUrl: url, apiVersion: settings.apiVersion }) ?? headerPlatform(url, description),
        ...(family && { family }),
        ...(billsReportedCost && { billsReportedCost }),
        ...(video && { video }),
      };
    },
  });
}

/** The type, whose platform gets credentials of a source as they are at the time of a request. */
function withIdentity(type: ProviderType): ProviderType {
  if (!type.identity) return type;
  return {
    ...type,
    create(settings) {
      const provider = type.create(settings);
      return { ...provider, platform: withRenewal(provider.platform) };
    },
  };
}

function headerPlatform(baseUrl: string, { credential, keyPair, headers, chatBase }: Description): Platform {
  const videoBaseUrl = chatBase && baseUrl.replace(chatBase, '');
  return createHeaderPlatform({ baseUrl, videoBaseUrl, credential, keyPair, headers });
}

function withRenewal(platform: Platform): Platform {
  return {
    ...platform,
    authorize(request, value, now) {
      if (value.type !== 'renewed') return platform.authorize(request, value, now);
      const current = value.source.current();
      if (!(current instanceof Promise)) return platform.authorize(request, current, now);
      return current.then((renewed) => platform.authorize(request, renewed, now));
    },
  };
}

/** Protocols for a model: those of its rules, as far as the provider speaks them; else all that it speaks. */
function spokenFor(
  model: CatalogModel,
  settings: ProviderSettings,
  { dialects, protocolsOf, choosesProtocols = false }: Description,
): readonly string[] {
  const own = dialects.map(({ protocol }) => protocol);
  const spoken = protocolsOf?.(model) ?? settings.protocols ?? (choosesProtocols ? own.slice(0, 1) : own);
  const served = model.rules.protocols?.filter((protocol) => spoken.includes(protocol)) ?? [];
  return served.length > 0 ? served : spoken;
}

function ordered(dialects: readonly Dialect[], protocols: readonly string[]): Dialect[] {
  return protocols.flatMap((id) => dialects.find(({ protocol }) => protocol === id) ?? []);
}

type ChatDescription = Omit<Description, 'dialects' | 'credential' | 'modelsPath'> &
  Omit<Dialect, 'protocol'> & {
    modelsPath?: string | null;
    /** Dialect of the Responses protocol, if the server also speaks it; `true` for the defaults. */
    responses?: true | Omit<Dialect, 'protocol'>;
    /** Whether the Responses protocol is used unless the client speaks chat completions. */
    prefersResponses?: true;
  };

/** Server of chat completions with a bearer key and a model list; `modelsPath: null` for one without a list. */
export function chatServer({
  modelsPath = '/models',
  rules,
  adapt,
  responses,
  prefersResponses,
  ...description
}: ChatDescription): ProviderType {
  const chat: Dialect = { protocol: 'chat', rules, adapt };
  const own: Dialect[] = responses ? [{ protocol: 'responses', rules, ...(responses !== true && responses) }] : [];
  return providerType({
    ...description,
    dialects: prefersResponses ? [...own, chat] : [chat, ...own],
    ...(modelsPath !== null && { modelsPath }),
  });
}

type VideoDescription = Omit<Description, 'dialects' | 'catalog'> & Pick<Required<Description>, 'video'>;

/** Server of videos only, by default with a bearer key, and with models in the catalog. */
export function videoServer(description: VideoDescription): ProviderType {
  return providerType({ ...description, dialects: [], catalog: description.id });
}

/** Base URL without a trailing slash. */
function baseUrl(settings: ProviderSettings, { name, version, baseUrl: own }: Description): string {
  const text = settings.baseUrl ?? own;
  const about = `of provider "${settings.id}" (${name})`;
  if (text === undefined) throw invalid(`The base_url ${about} is missing; it has no address of its own.`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw invalid(`The base_url ${about} must be an http or https URL.`);
  if (url.search || url.hash) throw invalid(`The base_url ${about} must not have a query or a fragment.`);
  const plain = withoutEnd(text, '/');
  return version ? withoutEnd(plain.replace(version, ''), '/') : plain;
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', message, { param: 'base_url' });
}
