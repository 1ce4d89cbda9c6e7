/** Makes provider types out of descriptions, so that a provider's file holds only what is special about it. */

import { GatewayError } from '../core/errors.ts';
import type { Provider, ProviderSettings, ProviderType } from '../core/provider.ts';
import { withoutEnd } from '../core/text.ts';
import { createHeaderPlatform, type HeaderPlatformOptions } from './platform/headers.ts';

export interface Description
  extends Omit<ProviderType, 'keyless' | 'create'>,
    Pick<Provider, 'rules' | 'family' | 'adapt' | 'billsReportedCost' | 'countsTokens' | 'video'>,
    Pick<HeaderPlatformOptions, 'credential' | 'keyPair' | 'headers'> {
  keyless?: boolean;
  /** The end of a base URL that the protocol's paths bring themselves. */
  version?: RegExp;
  /** The end of a base URL that the paths of videos don't share. */
  chatBase?: RegExp;
}

export function providerType(description: Description): ProviderType {
  const { credential, keyPair, headers, version, chatBase, rules, family, adapt, video, ...others } = description;
  const { billsReportedCost, countsTokens, ...about } = others;
  return {
    ...about,
    keyless: about.keyless ?? false,
    create: (settings) => {
      const url = baseUrl(settings, description);
      return {
        id: settings.id,
        protocol: about.protocol,
        environment: about.environment,
        platform: createHeaderPlatform({
          ...{ baseUrl: url, credential, keyPair, headers },
          ...(chatBase && { videoBaseUrl: url.replace(chatBase, '') }),
        }),
        ...(rules && { rules }),
        ...(family && { family }),
        ...(adapt && { adapt }),
        ...(billsReportedCost && { billsReportedCost }),
        ...(countsTokens && { countsTokens }),
        ...(video && { video }),
      };
    },
  };
}

type ChatDescription = Omit<Description, 'protocol' | 'credential' | 'modelsPath'> & { modelsPath?: string | null };

/** A server of chat completions with a bearer key and a list of its models; `modelsPath: null` for one without. */
export function chatServer({ modelsPath = '/models', ...description }: ChatDescription): ProviderType {
  return providerType({
    ...description,
    protocol: 'chat',
    ...(modelsPath !== null && { modelsPath }),
  });
}

type VideoDescription = Omit<Description, 'protocol' | 'catalog'> & Pick<Required<Description>, 'video'>;

/** A server that makes videos only, with a bearer key and models in the catalog; its protocol is a formality. */
export function videoServer(description: VideoDescription): ProviderType {
  return providerType({ ...description, protocol: 'chat', catalog: description.id });
}

/** Without a slash at the end, so that a protocol's path follows directly. */
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
