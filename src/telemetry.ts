import { type Channel, channel } from 'node:diagnostics_channel'

/** A request that has ended; each repeat is an event of its own. */
export interface RequestEnded {
  readonly service: 'appraisal' | 'vehicle-data'
  /** Name of the API key in the config, never its value. */
  readonly keyName: string
  readonly method: string
  /** Relative to the base URL, without the query. */
  readonly path: string
  /** null: no complete answer came. */
  readonly status: number | null
  readonly seconds: number
  /** From 1; above 1 it is a repeat. */
  readonly attempt: number
}

/** A slice of work that has ended in this process. */
export interface SliceEnded {
  readonly stream: string
  /** done: committed. fenced: another worker had taken it over, nothing was written. stopped: ended by a signal. */
  readonly outcome: 'done' | 'failed' | 'parked' | 'fenced' | 'stopped'
  /** Counts of its records; all 0 unless it is done. */
  readonly rows: Readonly<Record<'inserted' | 'updated' | 'unchanged' | 'quarantined', number>> & {
    readonly vanished: number
    readonly listed: number
    readonly windows: number
  }
}

/** The event loop of this process was blocked for longer than the heartbeats allow. */
export interface EventLoopBlocked {
  readonly seconds: number
}

/** A typed diagnostics channel. The publisher does not know its subscribers, and without them it costs nothing. */
interface Topic<Message> {
  readonly publish: (message: Message) => void
  /** Returns a function that ends the subscription. */
  readonly subscribe: (listener: (message: Message) => void) => () => void
}

/** Every request to a source. */
export const requestEnded = topic<RequestEnded>('forecourt:request-ended')
/** Every long block of the event loop. */
export const eventLoopBlocked = topic<EventLoopBlocked>('forecourt:event-loop-blocked')
/** Every slice of work. */
export const sliceEnded = topic<SliceEnded>('forecourt:slice-ended')

function topic<Message>(name: string): Topic<Message> {
  const messages: Channel = channel(name)
  return {
    publish: (message) => {
      if (messages.hasSubscribers) messages.publish(message)
    },
    subscribe: (listener) => {
      const onMessage = (message: unknown) => listener(message as Message)
      messages.subscribe(onMessage)
      return () => messages.unsubscribe(onMessage)
    },
  }
}
