/** Stored responses: references of requests to them, the storage of answers, and reads by id. */

import { isStorableId } from '../core/answer-id.ts';
import { writeBody } from '../core/json/body.ts';
import type { Json } from '../core/json/json.ts';
import { setMembers } from '../core/json/members.ts';
import type { NamedResponses } from '../core/stored-access.ts';
import { withSummaries } from '../protocols/responses/compaction.ts';
import { asListed, inputItems, withInput, withoutState } from '../protocols/responses/stored.ts';
import type { StoredResponse } from '../records/stored-response.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import { findReferred, readChain } from './chain.ts';
import { createContentReader, type StoredContent } from './content.ts';
import { limitsOf, readReserved, readWhole, type StoredContext } from './context.ts';
import { type OpenTurn, openTurn, readTurn, type TurnReader } from './conversation-turn.ts';
import { type Conversations, createConversations } from './conversations.ts';
import { notStored, tooLong, unknownConversation, unknownItem, unknownPrevious, unknownResponse } from './errors.ts';
import { type Reader, unnamedItemId } from './items.ts';
import { createKeeper } from './keeper.ts';
import { resolveNames } from './resolve.ts';

export interface PrepareOptions extends Pick<TurnReader, 'reserve' | 'onEnd'> {
  /** Setting of the key; absent means that of the gateway. */
  mayStore: boolean | undefined;
  /** Called before anything that the request names is read. Throws what refuses the request. */
  beforeReads(): void;
}

/** A stored response; without content if its provider keeps it. */
export interface FoundResponse {
  stored: StoredResponse;
  content?: StoredContent;
}

export interface StoredResponses {
  /**
   * Replaces references of a request by the items, or pins the request to the account that keeps them, and arranges that the answer is
   * stored, and appended to the conversation that it belongs to. Throws what `beforeReads` throws, `previous_response_not_found`, `item_not_found`,
   * `conversation_not_found`, `conversation_locked` and `context_length_exceeded`.
   */
  prepare(call: InferenceCall, options: PrepareOptions): Promise<void> | undefined;
  /** Whether responses of a key with this setting are stored. */
  isOn(mayStore: boolean | undefined): boolean;
  /** Whether the model summarizes a conversation where its provider does not compact it. */
  maySummarize(): boolean;
  /** A response without its content. Throws `response_not_found`. */
  locate(owner: string, id: string): Promise<StoredResponse>;
  /** Throws `response_not_found`. */
  find(reader: Reader, id: string): Promise<FoundResponse>;
  /** The response object, with encrypted reasoning if `include` names it. */
  encode(content: StoredContent, include: readonly string[]): Json;
  /**
   * Input items of a response with those of the conversation before it, oldest first, with encrypted reasoning if `include` names
   * it; undefined if its provider keeps them. Throws `response_not_found`.
   */
  inputItems(reader: Reader, id: string, include: readonly string[]): Promise<Json[] | undefined>;
  /** False if the owner has none with this id. */
  remove(owner: string, id: string): Promise<boolean>;
  readonly conversations: Conversations;
}

export function createStoredResponses(context: StoredContext): StoredResponses {
  const { store, cipher, clock, settings } = context;

  async function resolve(call: InferenceCall, named: NamedResponses, options: PrepareOptions): Promise<Resolved> {
    options.beforeReads();
    const input = inputItems(call.body.input);
    const { conversation } = named;
    const turn = conversation === undefined ? undefined : await beginTurn(call, conversation, options);
    let size = call.bytes.length;
    function reserve(bytes: number): void | Promise<void> {
      size += bytes;
      return options.reserve(bytes);
    }
    const reader = { owner: call.owner, reserve };
    const read = conversation === undefined ? undefined : await readTurn(context, reader, conversation);
    const resolved = await resolveNames(context, { ...reader, named, input, turn: read });
    call.pin = resolved.pin;
    if (turn) turn.input = resolved.own;
    if (resolved.input) {
      call.asked = call.body;
      call.body = withInput(call.body, resolved.input, resolved.root);
      call.bytes = await writeBody(call.body, size);
    }
    return { input, previous: resolved.previous };
  }

  /** Undefined for a request that is only counted or compacted, or that is run later. */
  async function beginTurn(call: InferenceCall, id: string, { onEnd }: PrepareOptions): Promise<OpenTurn | undefined> {
    const { operation, owner, body } = call;
    if (operation.name !== 'complete' || operation.stored?.inBackground(body)) return undefined;
    const turn = await openTurn(context, { owner, onEnd }, id);
    call.turn = turn;
    return turn;
  }

  function keep(call: InferenceCall, { input, previous }: Resolved, isStored: boolean): void {
    const { requestId, owner, previous: previousId = previous?.id } = call;
    // A response in the background has a keeper of its own.
    call.keeper ??= createKeeper(context, { requestId, owner, input, previous, previousId, isStored });
  }

  async function locate(owner: string, id: string): Promise<StoredResponse> {
    const found = isStorableId(id)
      ? await store.call('findStoredResponse', { owner, id, now: clock.now() })
      : undefined;
    if (!found) throw unknownResponse(id);
    return found;
  }

  async function find({ owner, reserve }: Reader, id: string): Promise<FoundResponse> {
    const found = await readWhole(reserve, (more) => read({ owner, reserve: more }, id));
    if (!found) throw unknownResponse(id);
    return found;
  }

  /** Undefined if a part was deleted meanwhile. */
  async function read({ owner, reserve }: Reader, id: string): Promise<FoundResponse | undefined> {
    if (!isStorableId(id)) throw unknownResponse(id);
    const query = { owner, id, now: clock.now() };
    const found = await readReserved(
      (room) => store.call('readStoredResponse', { ...query, room }),
      reserve,
      (known) => known?.response.wholeBytes ?? 0,
    );
    if (!found) throw unknownResponse(id);
    const { response: stored, parts } = found;
    if (!stored.content) return { stored };
    const content = await createContentReader(owner, parts, cipher).read(stored);
    if (!content) return undefined;
    // Only the row tells that one in the background has begun or was cancelled.
    if (stored.background) content.response.status = stored.status;
    return { stored, content };
  }

  function prepareNames(call: InferenceCall, options: PrepareOptions): Promise<void> | undefined {
    const access = call.operation.stored;
    if (!access) return undefined;
    const isAnswered = call.operation.name === 'complete';
    const named = access.namedIn(call.body);
    const isOn = options.mayStore ?? settings().store;
    if (!isOn) {
      if (named) throw refusal(named);
      if (isAnswered) leaveUnstored(call, access.storeMember);
      return undefined;
    }
    const isKept = isAnswered && access.mayStore(call.body);
    if (!named) {
      if (isKept) keep(call, { input: inputItems(call.body.input) }, true);
      return undefined;
    }
    return resolve(call, named, options).then((resolved) => {
      if (isKept || call.turn) keep(call, resolved, isKept);
    });
  }

  return {
    conversations: createConversations(context),

    prepare(call, options) {
      const preparing = prepareNames(call, options);
      return preparing ? preparing.then(() => expandSummaries(call)) : expandSummaries(call);
    },

    isOn: (mayStore) => mayStore ?? settings().store,

    maySummarize: () => settings().compaction === 'model',

    locate,
    find,
    encode: ({ response, output }, include) => withoutState({ ...response, output }, include),

    async inputItems(reader, id, include) {
      const errors = { unknown: unknownResponse(id), tooLong: tooLong('response_id', limitsOf(context)) };
      const { newest, links } = await readChain(context, reader, { id, errors });
      if (!links) return undefined;
      const resolved = await findReferred(context, reader, { links, errors });
      return links.flatMap(({ stored: { row }, content }) => {
        const { output } = withoutState({ output: row === newest.row ? [] : content.output }, include);
        return [...content.input.map(resolved), ...output].map((item, index) =>
          asListed(item, (prefix) => unnamedItemId(prefix, row, index)),
        );
      });
    },

    async remove(owner, id) {
      return isStorableId(id) && (await store.call('deleteStoredResponse', { owner, id, now: clock.now() }));
    },
  };
}

interface Resolved {
  /** Items of the request itself. */
  input: Json[];
  previous?: StoredResponse | undefined;
}

function refusal({ previous, comparison, conversation, references: [first] }: NamedResponses): Error {
  if (conversation !== undefined) return notStored(unknownConversation(conversation));
  if (previous !== undefined) return notStored(unknownPrevious(previous));
  if (first) return notStored(unknownItem(first.id, `input[${first.index}].id`));
  return notStored(unknownPrevious(comparison ?? '', 'prompt_cache_options.comparison_response_id'));
}

/** Summaries that the gateway made are sent as messages, which every model reads. */
function expandSummaries(call: InferenceCall): Promise<void> | undefined {
  const input = call.operation.stored && withSummaries(call.body.input);
  if (!input) return undefined;
  call.asked ??= call.body;
  call.body = { ...call.body, input };
  return Promise.resolve(writeBody(call.body, call.bytes.length)).then((bytes) => {
    call.bytes = bytes;
  });
}

/** The upstream stores nothing either. */
function leaveUnstored(call: InferenceCall, member: string): void {
  if (call.body[member] === false) return;
  call.body[member] = false;
  call.bytes = setMembers(call.bytes, [], [{ path: [member], value: false }]);
}
