/** Lanes: the events of items that an upstream interleaves, item after item. */

import type { ChatEvent } from '../../core/chat.ts';

type Indexed = Extract<ChatEvent, { type: 'part-start' | 'part-delta' | 'part-end' }>;

/** An event of a part, without the numbers that it gets when its turn comes. */
export type LaneEvent = Indexed extends infer Event
  ? Event extends Indexed
    ? Omit<Event, 'index' | 'candidate'>
    : never
  : never;

/** The parts of one item, one after the other. */
export interface Lane {
  write(event: LaneEvent): ChatEvent[];
  /** No more events follow; the lane that was opened next goes on. */
  end(): ChatEvent[];
}

interface LaneState {
  /** Events that wait for the end of an earlier lane. */
  held: LaneEvent[];
  ended: boolean;
}

/** Opens lanes. Events of the first open lane pass at once. */
export function createLanes(): () => Lane {
  const lanes: LaneState[] = [];
  /** Position of the lane that passes. */
  let first = 0;
  /** Number of parts. */
  let count = 0;

  function numbered(event: LaneEvent): ChatEvent {
    if (event.type === 'part-start') return { ...event, index: count++, candidate: 0 };
    return { ...event, index: count - 1 };
  }

  function advance(): ChatEvent[] {
    const events: ChatEvent[] = [];
    while (lanes[first]?.ended) {
      first++;
      for (const event of lanes[first]?.held.splice(0) ?? []) events.push(numbered(event));
    }
    return events;
  }

  return () => {
    const lane: LaneState = { held: [], ended: false };
    lanes.push(lane);
    return {
      write(event) {
        if (lanes[first] === lane) return [numbered(event)];
        lane.held.push(event);
        return [];
      },
      end() {
        lane.ended = true;
        return advance();
      },
    };
  };
}
